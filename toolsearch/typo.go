package toolsearch

import (
	"math/bits"
	"unicode/utf8"
)

// typos adds the terms of which a word may be a misspelling. stem is the stem of the word.
func (ix *index) typos(list []variant, word, stem string) []variant {
	length, allowed := utf8.RuneCountInString(stem), 0
	switch typed := utf8.RuneCountInString(word); {
	case typed >= leastTwo && length >= leastStem:
		allowed = 2
	case typed >= leastOne:
		allowed = 1
	default:
		return list
	}
	set, letters := letters(stem), []rune(stem)
	for i := range ix.terms {
		t := &ix.terms[i]
		// A typo changes at most two letters of the set. This excludes nearly all terms
		// without computing a distance.
		if len(t.runes) < length-allowed || len(t.runes) > length+allowed || bits.OnesCount64(set^t.letters) > 2*allowed {
			continue
		}
		switch d := distance(letters, t.runes, allowed); {
		case d > allowed:
		case d == 2:
			list = append(list, variant{i, twoTypos})
		default:
			list = append(list, variant{i, oneTypo})
		}
	}
	return list
}

// letters returns the set of a word's letters, with 64 bits. Several letters can share a
// bit.
func letters(word string) uint64 {
	var set uint64
	for _, r := range word {
		set |= 1 << (uint32(r) % 64)
	}
	return set
}

// longest is the limit of words that are compared for typos, in letters.
const longest = 31

// distance returns the number of typos between two words: a wrong, missing or additional
// letter, or two swapped neighbours (the restricted Damerau-Levenshtein distance). It
// returns most+1 for any larger distance, so it computes only the cells near the diagonal
// and stops at a row without a cell in reach.
func distance(a, b []rune, most int) int {
	if len(a) > longest || len(b) > longest {
		return most + 1
	}
	var rows [3][longest + 1]int
	before, prev, cur := &rows[0], &rows[1], &rows[2]
	for j := range b {
		prev[j+1] = j + 1
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-most), min(len(b), i+most)
		cur[from-1] = most + 1
		if from == 1 {
			cur[0] = i
		}
		least := cur[from-1]
		for j := from; j <= to; j++ {
			d := prev[j-1]
			if a[i-1] != b[j-1] {
				d++
				if j < i+most { // the cell above is in the band
					d = min(d, prev[j]+1)
				}
				d = min(d, cur[j-1]+1)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d = min(d, before[j-2]+1)
				}
			}
			cur[j] = d
			least = min(least, d)
		}
		if least > most {
			return most + 1
		}
		before, prev, cur = prev, cur, before
	}
	return min(prev[len(b)], most+1)
}
