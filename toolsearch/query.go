package toolsearch

import (
	"strings"
	"unicode"

	"mcp-toolset/tools"
)

const (
	selecting = "select:"
	// mostWords is how many words of a query count: no sentence has more.
	mostWords = 20
)

// query is what a call looks for: tools by name, or words.
type query struct {
	text     string   // as given, without blanks around it
	selects  bool     // it asks for names
	names    []string // each once
	words    []string // as written
	required []string // parts of names that a hit must have
}

// parse reads a query.
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
	var empty []string // words that say nothing
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

// pieces are the parts of a token between what is neither letter nor digit.
func pieces(token string) []string {
	return strings.FieldsFunc(strings.TrimPrefix(token, "mcp__"), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
