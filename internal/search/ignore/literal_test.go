package ignore

import (
	"slices"
	"strings"
	"testing"
)

func TestLiteral(t *testing.T) {
	for glob, want := range map[string]string{
		"a/*.go":                  "",
		"app/[id]/p.tsx":          `app/\[id\]/p.tsx`,
		"!app/[id]/**":            `!app/\[id\]/**`,
		"[[...slug]]/*":           `\[\[...slug\]\]/*`,
		"*.{c,h}":                 `*.\{c,h\}`,
		"[a]/{b}":                 `\[a\]/{b} [a]/\{b\} \[a\]/\{b\}`,
		"[id]/x.{ts,tsx}":         `\[id\]/x.{ts,tsx} [id]/x.\{ts,tsx\} \[id\]/x.\{ts,tsx\}`,
		"{a,b/c}/x":               `\{a,b/c\}/x`,
		"[a":                      `\[a`,
		"a}":                      `a\}`,
		"[a]/[b]/[c]/[d]/[e].{f}": `\[a\]/\[b\]/\[c\]/\[d\]/\[e\].{f} \[a\]/\[b\]/\[c\]/\[d\]/\[e\].\{f\}`,
	} {
		got := Literal(glob)
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q, want %s", glob, got, want)
		}
		for _, v := range got {
			if _, err := Globs([]string{v}); err != nil {
				t.Errorf("%s: %v", glob, err)
			}
		}
	}
}
