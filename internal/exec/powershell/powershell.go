// Package powershell analyses PowerShell commands by their text, without a parser of
// the language. It finds the texts that are certainly one simple command, which a rule
// may allow. For any other text it finds what it may run, for deny and ask rules.
package powershell

import (
	"slices"
	"strings"
)

// Command is the analysis of a command.
type Command struct {
	// Simple reports whether the text is one command of literal words and nothing else.
	Simple bool
	Words  []string // words of a simple command, without quotes
	// Forms lists the texts that deny and ask rules are matched against: everything in
	// the command that may be a command, as words joined by one blank.
	Forms []string
	// Incomplete is the reason why Forms may not include all that runs; "" if it does.
	Incomplete string
	// Named lists words that may name files. It omits the name of a simple command that
	// runs no other command.
	Named []string
	// Unnamed is the reason why Named may not include all files that the text names; ""
	// if it does.
	Unnamed string
	// Programs lists the simple commands in the text: the bare name of the program, in
	// lower case, and its arguments without quotes.
	Programs [][]string
}

// Text returns the words of a simple command joined by one blank. For any other command
// it returns written without surrounding white space.
func (c *Command) Text(written string) string {
	if c.Simple {
		return strings.Join(c.Words, " ")
	}
	return strings.TrimSpace(written)
}

// Analyse returns the analysis of a command.
func Analyse(text string) Command {
	var c Command
	if c.Words, c.Simple = simple(text); c.Simple && !launches(c.Words[0]) {
		c.Forms, c.Named, c.Programs = spellings(c.Words), c.Words[1:], [][]string{program(c.Words)}
		return c
	}
	all := false
	c.Incomplete = incompleteReason(text, c.Simple)
	if c.Programs, all = programs(text); !all {
		c.Incomplete = tooLong
	}
	var names named
	c.Forms, c.Incomplete = candidates(text, c.Incomplete, &names)
	c.Named, c.Unnamed = names.words, c.Incomplete
	if c.Unnamed == "" {
		c.Unnamed = moves(c.Named)
	}
	return c
}

// simple splits a text that is provably one command: a name and arguments that are bare
// or quoted. A text with anything that has another meaning in PowerShell is not simple:
// variables, escapes, wildcards, or quotes and dashes that are not ASCII. Nor is one
// with characters that have a meaning in a batch file (% ^).
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
	// bare lists the characters of a word without quotes.
	bare = letters + `-_./\:=+,~!`
	// quoted lists the characters of a quoted word. Words in single quotes may also
	// hold a dollar sign.
	quoted = bare + " ;#@(){}"
)

// cutWord splits off the first word of a text. A quote must be followed by a blank,
// since a"b"c is parsed in several ways.
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
	// A backslash at the end escapes the quote in the command line of a program.
	ok = strings.Trim(word, allowed) == "" && !strings.HasSuffix(word, `\`) && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
	return word, rest, ok
}

// isName reports whether a bare word names a command or program rather than a number,
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

// keywords lists words that begin statements other than simple commands.
var keywords = strings.Fields(`begin break catch class clean configuration continue data define do dynamicparam else elseif end enum
	exit filter finally for foreach from function hidden if in inlinescript param parallel process return sequence static switch
	throw trap try until using var while workflow`)
