package powershell

import "strings"

// maxNamed is the limit of words of a command that may name files.
const maxNamed = 1000

// movers lists commands that change the folder of relative paths.
var movers = strings.Fields("set-location sl cd chdir push-location pushd pop-location popd")

// named collects words that may name files.
type named struct {
	words []string
	seen  map[string]bool
}

// add adds words that are new. It reports whether all of them were within maxNamed.
func (n *named) add(words []string) bool {
	for _, word := range words {
		if word == "" || n.seen[word] {
			continue
		}
		if len(n.words) == maxNamed {
			return false
		}
		if n.seen == nil {
			n.seen = map[string]bool{}
		}
		n.seen[word] = true
		n.words = append(n.words, word)
	}
	return true
}

// quotedWords splits a text at blanks and separators outside of quotes and removes the
// quotes: a quoted path may hold both. Each quoted string is also a word of its own.
func quotedWords(text string) (words []string) {
	var word strings.Builder
	end := func() {
		words = append(words, word.String())
		word.Reset()
	}
	for text != "" {
		switch b := text[0]; {
		case b == '\'' || b == '"':
			inner, rest, _ := strings.Cut(text[1:], string(b))
			words = append(words, inner)
			word.WriteString(inner)
			text = rest
			continue
		case strings.IndexByte(" \t"+separators+"<>", b) >= 0:
			end()
		default:
			word.WriteByte(b)
		}
		text = text[1:]
	}
	end()
	return words
}

// moves returns why relative paths among the words may begin at another folder; "" if
// they do not.
func moves(words []string) string {
	for _, word := range words {
		for _, mover := range movers {
			if baseName(word) == mover {
				return "it changes the folder that paths begin at"
			}
		}
	}
	return ""
}

// maxPrograms is the limit of simple commands of a text.
const maxPrograms = 500

// programs returns the simple commands between the separators of a text, each with the
// bare name of its program first. It omits segments that are not simple. all is false
// if there are more than maxPrograms.
func programs(text string) (out [][]string, all bool) {
	for _, segment := range segments(text) {
		words, ok := simple(segment)
		if !ok {
			continue
		}
		if len(out) == maxPrograms {
			return out, false
		}
		out = append(out, program(words))
	}
	return out, true
}

// program returns words with the bare name of the program first.
func program(words []string) []string {
	return append([]string{baseName(words[0])}, words[1:]...)
}

// segments splits a text at separators outside of quotes.
func segments(text string) (out []string) {
	start, quote := 0, byte(0)
	for i := range len(text) {
		switch b := text[i]; {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '\'' || b == '"':
			quote = b
		case strings.IndexByte(separators, b) >= 0:
			out = append(out, text[start:i])
			start = i + 1
		}
	}
	return append(out, text[start:])
}
