package toolsearch

import (
	"math/bits"
	"unicode/utf8"
)

// typos adds the terms that a word with a stem may be a mistyped form of.
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
		// A typo changes two letters of the set at most, which rules nearly all out.
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

// letters is the set of a word's letters; some share a place in it.
func letters(word string) uint64 {
	var set uint64
	for _, r := range word {
		set |= 1 << (uint32(r) % 64)
	}
	return set
}

// longest is how many letters a word may have that is looked at for typos.
const longest = 31

// distance is how many typos make one word of the other: a letter that is
// wrong, missing or too many, or two neighbours that are swapped (the restricted
// distance of Damerau). More than most are most+1: so only cells near the
// diagonal count, and it ends at a row that has nothing in reach.
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
				if j < i+most { // above is in the band
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
