package toolsearch

import (
	"slices"
	"strings"
	"unicode"

	"mcp-toolset/tools"
)

// This file makes words of text, and of words what they are compared by.

// stops are words that say nothing of what is looked for.
var stops = strings.Fields(`
	a an and another any are as at be by can could do does for from how i if in into is it its let lets mcp me my
	need of on or other our please should so some something that the their them there these they thing this those to tool
	tools us use using want was we what when where which will with would you your`)

// alike are what tools and those who look for them call the same. Only what
// nearly all tools are about is here: what they do.
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

// stop reports whether a word in lower case says nothing.
func stop(word string) bool {
	_, is := slices.BinarySearch(stops, word)
	return is
}

// prose are the words of a text in lower case.
func prose(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// nameWords are the words of a name, and what they form where nothing but
// capitals tells them apart: of GitHub git, hub and github.
func nameWords(name string) []string {
	words := tools.NameWords(name)
	for _, whole := range prose(name) {
		if !slices.Contains(words, whole) {
			words = append(words, whole)
		}
	}
	return words
}

// stem is what plain forms of an English word have in common; it need not be a
// word. Forms are the plural, -ing and -ed, with what they do to the end of a
// word: -ies for -y, an e that is gone, a consonant that is doubled. Forms such
// as -er and -tion are taken for other words. Other scripts stay as they are.
func stem(word string) string {
	const least = 4 // letters of a word that has an ending
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

// singular takes the plural's ending away.
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

// verb is the first n letters, of which one of a doubled consonant is gone; the
// whole word, if those are none that could have an ending.
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

// firstSentence is the first sentence of a description, in one line: up to a
// full stop that no small letter follows, a blank line or the beginning of a
// list.
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
