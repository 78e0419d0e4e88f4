package toolsearch

import (
	"slices"
	"strings"
	"unicode"

	"mcp-toolset/tools"
)

// This file splits text into words and reduces words to stems.

// stops lists the words that do not distinguish tools, sorted.
var stops = strings.Fields(`
	a an and another any are as at be by can could do does for from how i if in into is it its let lets mcp me my
	need of on or other our please should so some something that the their them there these they thing this those to tool
	tools us use using want was we what when where which will with would you your`)

// alike lists groups of synonyms. It covers only the actions that nearly all tools perform.
var alike = [][]string{
	{"find", "search", "look"},
	{"create", "make", "new", "add"},
	{"delete", "remove"},
	{"change", "edit", "update", "modify"},
	{"show", "view", "get", "read"},
	{"run", "execute"},
	{"send", "post"},
	{"directory", "folder"},
}

// stop reports whether a word in lower case is a stop word.
func stop(word string) bool {
	_, is := slices.BinarySearch(stops, word)
	return is
}

// prose returns the words of a text in lower case.
func prose(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// nameWords returns the words of a name, and the whole words that only capitals divide:
// git, hub and github for GitHub.
func nameWords(name string) []string {
	words := tools.NameWords(name)
	for _, whole := range prose(name) {
		if !slices.Contains(words, whole) {
			words = append(words, whole)
		}
	}
	return words
}

// stem returns the common part of the regular forms of an English word, which need not be a
// word itself. The forms are the plural, -ing and -ed, with their changes of spelling: -ies
// for -y, a dropped e, and a doubled consonant. Forms such as -er and -tion count as other
// words. Words in other scripts are returned unchanged.
func stem(word string) string {
	const least = 4 // minimal length in letters of a word with an ending
	if len(word) < least || strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) >= 0 {
		return word
	}
	word = singular(word)
	switch {
	case strings.HasSuffix(word, "ied"):
		word = word[:len(word)-2]
	case strings.HasSuffix(word, "eed"):
	case strings.HasSuffix(word, "ed"):
		word = verb(word, len(word)-2)
	case strings.HasSuffix(word, "ing"):
		word = verb(word, len(word)-3)
	}
	switch n := len(word) - 1; {
	case n >= 3 && word[n] == 'e':
		return word[:n]
	case n >= 2 && word[n] == 'y' && !vowel(word[n-1]):
		return word[:n] + "i"
	}
	return word
}

// singular removes the ending of the plural.
func singular(word string) string {
	n := len(word)
	switch {
	case n < 4 || word[n-1] != 's' || strings.ContainsRune("siu", rune(word[n-2])):
		return word // class, analysis, status
	case strings.HasSuffix(word, "ies") && n > 4:
		return word[:n-3] + "y"
	case word[n-2] == 'e' && (strings.ContainsRune("sxz", rune(word[n-3])) || strings.HasSuffix(word, "ches") || strings.HasSuffix(word, "shes")):
		return word[:n-2]
	}
	return word[:n-1]
}

// verb returns the first n letters of a word, without the second of a doubled consonant. It
// returns the whole word if these letters cannot have an ending.
func verb(word string, n int) string {
	base := word[:n]
	if n < 3 || !strings.ContainsAny(base, "aeiouy") {
		return word // string, bed
	}
	if last := base[n-1]; n > 3 && last == base[n-2] && strings.ContainsRune("bdgmnprt", rune(last)) {
		return base[:n-1] // running, but not adding, calling, passing
	}
	return base
}

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }

// firstSentence returns the first sentence of a description in one line. It ends at a full
// stop, question mark or exclamation mark that no lower-case letter follows, at a blank
// line, or at a list.
func firstSentence(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	for _, end := range []string{"\n\n", "\n-", "\n*", "\n#"} {
		text, _, _ = strings.Cut(text, end)
	}
	text = strings.Join(strings.Fields(text), " ")
	for at := 0; ; {
		dot := strings.IndexAny(text[at:], ".!?")
		if dot < 0 {
			return text
		}
		at += dot + 1
		rest := strings.TrimLeft(text[at:], ` `)
		if rest == "" || len(rest) < len(text[at:]) && !startsSmall(rest) {
			return text[:at]
		}
	}
}

func startsSmall(s string) bool {
	for _, r := range s {
		return unicode.IsLower(r)
	}
	return false
}
