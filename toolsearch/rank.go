package toolsearch

import (
	"slices"
	"strings"

	"mcp-toolset/tools"
)

// This file ranks tools for a query. The score of a tool is the sum over the words of the
// word's weight in the tool times its rarity. Tools that have many of the words score more.

// Factors of words that do not occur in the form of the query, apart from inflection.
const (
	asAlike  = 0.5  // a synonym occurs
	asPrefix = 0.5  // an occurring word begins with it
	asLonger = 0.4  // it begins with an occurring word
	oneTypo  = 0.35 // one letter is wrong, missing or too many, or two are swapped
	twoTypos = 0.25

	leastPrefix = 3 // minimal length in letters
	leastLonger = 4
	mostPrefix  = 64 // limit of the prefixes of a longer word, in bytes: the length of the longest name
	leastOne    = 4  // minimal length in letters of a word with one typo
	leastTwo    = 8
	leastStem   = 6 // minimal length in letters of its stem, for two typos
)

// Limits below which hits are dropped: a part of the best score, and a part of the score of
// a tool with all of the words in its name.
const (
	ofBest = 0.3
	ofFull = 0.1
)

// variant is a term that a word of a query may mean, with its factor.
type variant struct {
	term   int
	factor float32
}

// rank returns at most most tools that match the words, best first. Equal scores are sorted
// by name.
func (ix *index) rank(q query, most int) []*tools.Tool {
	if len(ix.docs) == 0 {
		return nil
	}
	may := ix.required(q.required)
	words := append(ix.resolve(q.words), q.required...)
	n := len(ix.docs)
	column := func() []float32 { return make([]float32, n) }
	scores, covered, shares := column(), column(), column() // sums over all words
	best, share, match := column(), column(), column()      // values of one word
	var touched []int32
	var full float32
	for i := range words {
		variants, exact := ix.variants(words, i)
		touched = touched[:0]
		with := 0 // number of tools with the exact word
		for _, v := range variants {
			for _, p := range ix.terms[v.term].postings {
				if best[p.doc] == 0 {
					touched = append(touched, p.doc)
				}
				best[p.doc] = max(best[p.doc], v.factor*p.weight)
				match[p.doc] = max(match[p.doc], v.factor)
				share[p.doc] = max(share[p.doc], v.factor*p.share)
			}
			if v.factor == 1 {
				with = len(touched)
			}
		}
		if !exact {
			with = len(touched)
		}
		rare := ix.rarity(with)
		if len(variants) == 0 {
			rare /= 2 // a word that no tool has may be meaningless
		}
		full += rare
		for _, d := range touched {
			scores[d] += rare * best[d]
			covered[d] += rare * match[d]
			shares[d] += share[d]
			best[d], share[d], match[d] = 0, 0, 0
		}
	}
	if full == 0 {
		return nil
	}
	return ix.top(most, func(d int) float32 {
		if may != nil && !may[d] {
			return 0
		}
		return scores[d] / full * (0.4 + 0.6*covered[d]/full) * (0.75 + 0.25*min(1, shares[d]))
	})
}

// top returns the tools with the highest scores, without those below ofFull and ofBest.
func (ix *index) top(most int, score func(int) float32) []*tools.Tool {
	type hit struct {
		doc   int
		score float32
	}
	var hits []hit
	for d := range ix.docs {
		s := score(d)
		if s < ofFull || len(hits) == most && s <= hits[most-1].score {
			continue
		}
		at, _ := slices.BinarySearchFunc(hits, s, func(h hit, s float32) int {
			if h.score >= s {
				return -1 // goes first: equal scores are in order of name
			}
			return 1
		})
		if len(hits) == most {
			hits = hits[:most-1]
		}
		hits = slices.Insert(hits, at, hit{d, s})
	}
	var out []*tools.Tool
	for _, h := range hits {
		if h.score >= ofBest*hits[0].score {
			out = append(out, ix.docs[h.doc])
		}
	}
	return out
}

// required reports for each tool whether its name has all of the words, in any form. It
// returns nil if there are no words.
func (ix *index) required(words []string) []bool {
	if len(words) == 0 {
		return nil
	}
	has := make([]int, len(ix.docs))
	for _, word := range words {
		if at, ok := ix.byStem[stem(word)]; ok {
			for _, p := range ix.terms[at].postings {
				if p.named {
					has[p.doc]++
				}
			}
		}
	}
	may := make([]bool, len(ix.docs))
	for d, n := range has {
		may[d] = n == len(words)
	}
	return may
}

// resolve returns the words of a query in lower case. It splits a CamelCase word that no
// tool has.
func (ix *index) resolve(words []string) []string {
	var out []string
	for _, word := range words {
		whole := strings.ToLower(word)
		if _, known := ix.byStem[stem(whole)]; known {
			out = append(out, whole)
			continue
		}
		out = append(out, tools.NameWords(word)...)
	}
	return out[:min(len(out), mostWords)]
}

// variants returns the terms that a word of a query may mean, exact ones first.
func (ix *index) variants(words []string, i int) (list []variant, exact bool) {
	word := words[i]
	own := stem(word)
	if at, ok := ix.byStem[own]; ok {
		list = append(list, variant{at, 1})
	}
	for _, both := range [][2]int{{i - 1, i}, {i, i + 1}} { // "web hook" matches webhook
		if both[0] >= 0 && both[1] < len(words) {
			if at, ok := ix.byStem[stem(words[both[0]]+words[both[1]])]; ok {
				list = append(list, variant{at, 1})
			}
		}
	}
	exact = len(list) > 0
	for _, at := range ix.alike[own] {
		list = append(list, variant{at, asAlike})
	}
	list = ix.begins(list, singular(word))
	if len(list) > 0 {
		return list, exact
	}
	for n := min(len(word)-1, mostPrefix); n >= leastLonger; n-- {
		if at, ok := ix.byStem[stem(word[:n])]; ok {
			list = append(list, variant{at, asLonger})
			break
		}
	}
	return ix.typos(list, word, own), false
}

// begins adds the terms with a form that begins with a word.
func (ix *index) begins(list []variant, word string) []variant {
	if len([]rune(word)) < leastPrefix {
		return list
	}
	from, _ := slices.BinarySearchFunc(ix.surfaces, word, func(s surface, w string) int { return strings.Compare(s.word, w) })
	for _, s := range ix.surfaces[from:] {
		if !strings.HasPrefix(s.word, word) {
			break
		}
		if !slices.ContainsFunc(list, func(v variant) bool { return v.term == s.term }) {
			list = append(list, variant{s.term, asPrefix})
		}
	}
	return list
}
