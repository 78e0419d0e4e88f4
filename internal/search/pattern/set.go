package pattern

import (
	"slices"
	"sync"
	"unicode"
)

// set is a set of runes: the ends of its ranges, in order, not touching each other. A
// set never changes.
type set []rune

// rangeSet returns the runes from lo to hi.
func rangeSet(lo, hi rune) set { return set{lo, hi} }

// normal sorts ranges given by their ends and merges those that touch.
func normal(r []rune) set {
	pairs := make([][2]rune, 0, len(r)/2)
	for i := 0; i < len(r); i += 2 {
		pairs = append(pairs, [2]rune{r[i], r[i+1]})
	}
	slices.SortFunc(pairs, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	out := make(set, 0, len(r))
	for _, p := range pairs {
		if n := len(out); n > 0 && p[0] <= out[n-1]+1 {
			out[n-1] = max(out[n-1], p[1])
			continue
		}
		out = append(out, p[0], p[1])
	}
	return out
}

func (s set) union(t set) set { return normal(slices.Concat(s, t)) }

func (s set) negate() set {
	out, next := make(set, 0, len(s)+2), rune(0)
	for i := 0; i < len(s); i += 2 {
		if s[i] > next {
			out = append(out, next, s[i]-1)
		}
		next = s[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

func (s set) minus(t set) set { return s.intersect(t.negate()) }

// differ returns the runes that are in only one of the two.
func (s set) differ(t set) set { return s.minus(t).union(t.minus(s)) }

func (s set) intersect(t set) set {
	out := set{}
	for i, j := 0, 0; i < len(s) && j < len(t); {
		if lo, hi := max(s[i], t[j]), min(s[i+1], t[j+1]); lo <= hi {
			out = append(out, lo, hi)
		}
		if s[i+1] < t[j+1] {
			i += 2
		} else {
			j += 2
		}
	}
	return out
}

// count returns the number of runes.
func (s set) count() int {
	n := 0
	for i := 0; i < len(s); i += 2 {
		n += int(s[i+1]-s[i]) + 1
	}
	return n
}

// has reports whether r is in the set.
func (s set) has(r rune) bool {
	i, found := slices.BinarySearch(s, r)
	return found || i%2 == 1
}

// cased returns every rune that folds to another, in order.
var cased = sync.OnceValue(func() []rune {
	var out []rune
	// The last block with such runes (Adlam) ends at U+1E943; up to U+1FFFF leaves room
	// to grow.
	for r := rune(0); r < 0x20000; r++ {
		if unicode.SimpleFold(r) != r {
			out = append(out, r)
		}
	}
	return out
})

// folded adds every rune that folds to one of the set.
func (s set) folded() set {
	out := slices.Clone(s)
	all := cased()
	for i := 0; i < len(s); i += 2 {
		from, _ := slices.BinarySearch(all, s[i])
		for _, r := range all[from:] {
			if r > s[i+1] {
				break
			}
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				out = append(out, f, f)
			}
		}
	}
	return normal(out)
}

// tables returns the union of tables of package unicode.
func tables(ts ...*unicode.RangeTable) set {
	var out []rune
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			out = append(out, lo, hi)
			return
		}
		for r := lo; r <= hi; r += stride {
			out = append(out, r, r)
		}
	}
	for _, t := range ts {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return normal(out)
}

var (
	anyRune    = rangeSet(0, unicode.MaxRune)
	newline    = rangeSet('\n', '\n')
	asciiDigit = rangeSet('0', '9')
	asciiWord  = set{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}
	asciiSpace = set{'\t', '\r', ' ', ' '}

	alphabetic = sync.OnceValue(func() set { return tables(unicode.L, unicode.Nl, unicode.Other_Alphabetic) })
	// word is \w as defined by UTS #18, annex C.
	word = sync.OnceValue(func() set {
		return alphabetic().union(tables(unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control))
	})
	digit = sync.OnceValue(func() set { return tables(unicode.Nd) })
	space = sync.OnceValue(func() set { return tables(unicode.White_Space) })
)
