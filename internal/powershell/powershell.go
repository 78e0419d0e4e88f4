// Package powershell judges PowerShell commands by their text, without a parser of
// the language: which are one simple command for certain, which a rule may allow,
// and what any other may run, for rules that deny or ask.
package powershell

import (
	"slices"
	"strings"
)

// Command is the analysis of a command.
type Command struct {
	// Simple reports whether the text is one command of literal words and nothing else.
	Simple bool
	Words  []string // of a simple command, without quotes
	// Forms are the texts that rules which deny or ask are matched against: everything
	// in it that may be a command, words joined by one blank.
	Forms []string
	// Doubtful is why Forms may not include all that runs; "" if they do.
	Doubtful string
	// Named are words that may name files. The name of a simple command that runs no
	// other one is not among them.
	Named []string
	// Unnamed is why Named may not include all files that the text names; "" if it does.
	Unnamed string
	// Programs are the simple commands in it, each with the bare name of the program,
	// in lower case, and its arguments without quotes.
	Programs [][]string
}

// Text returns the words of a simple command joined by one blank, and any other
// command as it is written.
func (c *Command) Text(written string) string {
	if c.Simple {
		return strings.Join(c.Words, " ")
	}
	return strings.TrimSpace(written)
}

// Analyse analyses a command.
func Analyse(text string) Command {
	var c Command
	if c.Words, c.Simple = simple(text); c.Simple && !launches(c.Words[0]) {
		c.Forms, c.Named, c.Programs = spellings(c.Words), c.Words[1:], [][]string{program(c.Words)}
		return c
	}
	all := false
	c.Doubtful = doubt(text, c.Simple)
	if c.Programs, all = programs(text); !all {
		c.Doubtful = tooLong
	}
	var names named
	c.Forms, c.Doubtful = candidates(text, c.Doubtful, &names)
	c.Named, c.Unnamed = names.words, c.Doubtful
	if c.Unnamed == "" {
		c.Unnamed = moves(c.Named)
	}
	return c
}

// simple splits a text that is provably one command: a name and arguments which are
// bare or in quotes. A command with anything else that has a meaning in PowerShell, such
// as variables, escapes, wildcards, and quotes and dashes that are not ASCII, or in a
// batch file (% ^), is not simple.
func simple(text string) (words []string, ok bool) {
	text = strings.Trim(text, " \t\r\n")
	if strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "'") { // an expression
		return nil, false
	}
	for text != "" {
		word, rest, ok := cutWord(text)
		if !ok || word == "--%" {
			return nil, false
		}
		words = append(words, word)
		text = strings.TrimLeft(rest, " \t")
	}
	if len(words) == 0 || !isName(words[0]) || slices.Contains(keywords, strings.ToLower(words[0])) {
		return nil, false
	}
	return words, true
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	// bare are the characters of a word without quotes.
	bare = letters + `-_./\:=+,~!`
	// quoted are those of one in quotes; single quotes also have a dollar sign.
	quoted = bare + " ;#@(){}"
)

// cutWord cuts the first word off a text. A quote ends a word only where a blank
// follows, since a"b"c is taken apart in several ways.
func cutWord(text string) (word, rest string, ok bool) {
	quote := text[0]
	if quote != '\'' && quote != '"' {
		end := strings.IndexAny(text, " \t")
		if end < 0 {
			end = len(text)
		}
		word = text[:end]
		return word, text[end:], strings.Trim(word, bare) == ""
	}
	end := strings.IndexByte(text[1:], quote)
	if end < 0 {
		return "", "", false
	}
	word, rest = text[1:1+end], text[2+end:]
	allowed := quoted
	if quote == '\'' {
		allowed += "$"
	}
	// A backslash at the end would escape the quote in the command line of a program.
	ok = strings.Trim(word, allowed) == "" && !strings.HasSuffix(word, `\`) && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
	return word, rest, ok
}

// isName reports whether a bare word names a command or a program: not a number,
// an operator or a parameter.
func isName(word string) bool {
	if len(word) > 2 && word[1] == ':' && strings.ContainsRune(letters, rune(word[0])) && (word[2] == '\\' || word[2] == '/') {
		word = word[3:]
	} else {
		for _, prefix := range []string{`..\`, `../`, `.\`, `./`} {
			if rest, ok := strings.CutPrefix(word, prefix); ok {
				word = rest
				break
			}
		}
	}
	return word != "" && strings.Trim(word, letters+`_-./\`) == "" && strings.ContainsRune(letters+"_", rune(word[0])) &&
		strings.Trim(word, "0123456789.") != ""
}

// keywords begin statements that are no simple command.
var keywords = strings.Fields(`begin break catch class clean configuration continue data define do dynamicparam else elseif end enum
	exit filter finally for foreach from function hidden if in inlinescript param parallel process return sequence static switch
	throw trap try until using var while workflow`)
