package toolsearch

import (
	"math/rand/v2"
	"testing"
)

// TestDistance compares distance with a full table.
func TestDistance(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	word := func() []rune {
		w := make([]rune, rnd.IntN(12))
		for i := range w {
			w[i] = rune("abcé"[0]) + rune(rnd.IntN(3))
		}
		return w
	}
	for range 100_000 {
		a, b := word(), word()
		for most := 1; most <= 2; most++ {
			if got, want := distance(a, b, most), min(table(a, b), most+1); got != want && max(len(a), len(b))-min(len(a), len(b)) <= most {
				t.Fatalf("distance(%s, %s, %d) = %d, want %d", string(a), string(b), most, got, want)
			}
		}
	}
	for _, tc := range []struct {
		a, b string
		want int
	}{{"issu", "isu", 1}, {"creat", "craet", 1}, {"postgr", "postgr", 0}, {"kubernet", "kuberent", 1}, {"wether", "weather", 1}, {"abcd", "badc", 2}} {
		if got := distance([]rune(tc.a), []rune(tc.b), 2); got != tc.want {
			t.Errorf("distance(%s, %s) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// table computes the restricted Damerau-Levenshtein distance by its definition.
func table(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			default:
				same := 1
				if a[i-1] == b[j-1] {
					same = 0
				}
				d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+same)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d[i][j] = min(d[i][j], d[i-2][j-2]+1)
				}
			}
		}
	}
	return d[len(a)][len(b)]
}
