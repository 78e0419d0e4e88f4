package toolsearch

import (
	"slices"
	"strings"

	"mcp-toolset/tools"
)

// This file finds the tools that a query means: what each word says of each
// tool, times how rare that is, and more for tools that have many of the words.

// How much a word counts that is not there as it was written, but for its form.
const (
	asAlike  = 0.5  // another word says the same
	asPrefix = 0.5  // a word begins with it
	asLonger = 0.4  // it begins with a word
	oneTypo  = 0.35 // a letter is wrong, missing or too many, or two are swapped
	twoTypos = 0.25

	leastPrefix = 3 // letters
	leastLonger = 4
	mostPrefix  = 64 // bytes of a longer word in which one is looked for: those of the longest name
	leastOne    = 4  // letters of a word that may have one typo
	leastTwo    = 8
	leastStem   = 6 // letters that such a word has without its ending
)

// What is left out: hits that have less than a part of what the best has, or of
// what a tool with all of the words in its name would have.
const (
	ofBest = 0.3
	ofFull = 0.1
)

// variant is a term that a word may mean.
type variant struct {
	term   int
	factor float32
}

// rank finds the tools that the words mean, the best first, ties by name.
func (ix *index) rank(q query, most int) []*tools.Tool {
	if len(ix.docs) == 0 {
		return nil
	}
	may := ix.required(q.required)
	words := append(ix.resolve(q.words), q.required...)
	n := len(ix.docs)
	column := func() []float32 { return make([]float32, n) }
	scores, covered, shares := column(), column(), column() // of all words
	best, share, match := column(), column(), column()      // of one
	var touched []int32
	var full float32
	for i := range words {
		variants, exact := ix.variants(words, i)
		touched = touched[:0]
		with := 0 // tools that have the word as it is
		for _, v := range variants {
			for _, p := range ix.terms[v.term].postings {
				if best[p.doc] == 0 {
					touched = append(touched, p.doc)
				}
				best[p.doc] = max(best[p.doc], v.factor*p.says)
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
			rare /= 2 // of what nobody knows it is not known how much it says
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
		return scores[d] / full * (0.5 + 0.5*covered[d]/full) * (0.75 + 0.25*min(1, shares[d]))
	})
}

// top are the tools with the highest scores, without those that match next to
// nothing.
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
				return -1 // in front of it: an earlier name
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

// required are the tools that have all of the words in their names, in any
// form; nil: all tools may be meant.
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

// resolve makes the words of a query lower case. CamelCase that is no word of
// any tool is taken apart.
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

// variants are the terms that a word of a query may mean, those first that it
// has exactly.
func (ix *index) variants(words []string, i int) (list []variant, exact bool) {
	word := words[i]
	own := stem(word)
	if at, ok := ix.byStem[own]; ok {
		list = append(list, variant{at, 1})
	}
	for _, both := range [][2]int{{i - 1, i}, {i, i + 1}} { // web hook for webhook
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

// begins adds the terms of which some form begins with a word.
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
