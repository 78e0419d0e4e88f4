// Package nearest finds names that were probably meant by a misspelled name.
package nearest

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Look returns a form of a name that is equal for names which look the same: composed
// (Unicode's NFC), with a blank for each kind of blank and a hyphen for each kind of hyphen,
// without invisible characters, and with U+FFFD for bytes that are not UTF-8.
func Look(name string) string {
	if isASCII(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Zs, r):
			return ' '
		case r == '\u2010' || r == '\u2011':
			return '-'
		case unicode.Is(unicode.Cf, r) && r != zwnj && r != zwj || unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return r // U+FFFD for a byte that is not UTF-8
	}, norm.NFC.String(name))
	for strings.Contains(name, "\uFFFD\uFFFD") { // programs show several bytes as one
		name = strings.ReplaceAll(name, "\uFFFD\uFFFD", "\uFFFD")
	}
	return name
}

// zwnj and zwj are invisible, but change the letters around them.
const zwnj, zwj = '\u200c', '\u200d'

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Names returns up to max candidates that are close to name, nearest first,
// ties in byte order. Close means: equal except for case and what Look removes, one contains the
// other (three letters or more), or at most a third of the letters mistyped. A
// swap of two neighbours counts as one typo (Damerau 1964, restricted).
func Names(name string, candidates []string, max int) []string {
	type hit struct {
		name string
		cost int
	}
	var hits []hit
	low := strings.ToLower(Look(name))
	for _, c := range candidates {
		lc := strings.ToLower(Look(c))
		cost := distance(low, lc)
		switch {
		case mistyped(cost, lc):
		case len(low) >= 3 && len(lc) >= 3 && (strings.Contains(lc, low) || strings.Contains(low, lc)):
		default:
			continue
		}
		hits = append(hits, hit{c, cost})
	}
	slices.SortFunc(hits, func(a, b hit) int {
		if a.cost != b.cost {
			return a.cost - b.cost
		}
		return strings.Compare(a.name, b.name)
	})
	out := make([]string, 0, max)
	for _, h := range hits[:min(max, len(hits))] {
		out = append(out, h.name)
	}
	return out
}

// Typo returns the candidate that name is a misspelling of: equal except for
// case, or with at most a third of the letters mistyped. It returns "" if there
// is none. Unlike Names, it ignores names that merely contain each other.
func Typo(name string, candidates []string) string {
	best, least := "", 0
	for _, c := range candidates {
		low := strings.ToLower(c)
		cost := distance(strings.ToLower(name), low)
		if mistyped(cost, low) && (best == "" || cost < least || cost == least && c < best) {
			best, least = c, cost
		}
	}
	return best
}

// mistyped reports whether a name at this distance is likely a misspelling of
// the candidate.
func mistyped(cost int, candidate string) bool {
	length := len([]rune(candidate))
	return cost*3 <= length || cost == 1 && length > 1
}

// maxLen is the number of characters of each name that are compared. It bounds
// the work of one comparison.
const maxLen = 128

// distance returns the restricted Damerau-Levenshtein distance in characters.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	x, y = x[:min(len(x), maxLen)], y[:min(len(y), maxLen)]
	before, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(y)]
}
