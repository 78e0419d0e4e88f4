package toolsearch

import (
	"strings"
	"unicode"

	"mcp-toolset/tools"
)

const (
	selecting = "select:"
	// mostWords is the limit of words in a query; further words are ignored.
	mostWords = 20
)

// query is a parsed query: tools by name, or words.
type query struct {
	text     string   // as given, without surrounding blanks
	selects  bool     // the query is a list of names
	names    []string // without duplicates
	words    []string // as written
	required []string // parts of names that a hit must have
}

// parse parses a query.
func parse(text string) query {
	q := query{text: strings.TrimSpace(text)}
	if len(q.text) >= len(selecting) && strings.EqualFold(q.text[:len(selecting)], selecting) {
		q.selects = true
		seen := map[string]bool{}
		for name := range strings.SplitSeq(q.text[len(selecting):], ",") {
			if name = strings.TrimSpace(name); name != "" && !seen[name] {
				seen[name] = true
				q.names = append(q.names, name)
			}
		}
		return q
	}
	var empty []string // stop words
	for token := range strings.FieldsSeq(text) {
		if must, ok := strings.CutPrefix(token, "+"); ok {
			q.required = append(q.required, tools.NameWords(must)...)
			continue
		}
		for _, word := range pieces(token) {
			if stop(strings.ToLower(word)) {
				empty = append(empty, word)
				continue
			}
			q.words = append(q.words, word)
		}
	}
	if len(q.words)+len(q.required) == 0 {
		q.words = empty
	}
	q.words = q.words[:min(len(q.words), mostWords)]
	q.required = q.required[:min(len(q.required), mostWords)]
	return q
}

// pieces splits a token at characters other than letters and digits.
func pieces(token string) []string {
	return strings.FieldsFunc(strings.TrimPrefix(token, "mcp__"), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
