package search

import (
	"context"
	"strings"
	"testing"
)

// TestNamed checks that a named file is searched whatever its kind.
func TestNamed(t *testing.T) {
	s := New(options(-1, t.TempDir()))
	defer s.Close()
	for _, c := range []struct {
		text string
		want []string // in Names, Counts, Lines
	}{
		{"foo\nx\nfoo\n", []string{`"f"`, `"f" 2`, "\"f\":1:\"foo\"\n\"f\":3:\"foo\"\n"}},
		{"foo\n\x00\nfoo\n", []string{`"f"`, `"f" 2`, "\"f\" binary\n"}},
		{"x\n\x00\n", []string{"", "", ""}},
		{"", []string{"", "", ""}},
	} {
		for mode, want := range c.want {
			k := asked{pattern: "foo", mode: Mode(mode)}
			a, err := s.File(context.Background(), k.query(t), strings.NewReader(c.text), int64(len(c.text)), "f")
			if err != nil {
				t.Fatal(err)
			}
			have := string(a.Text)
			if k.mode != Lines {
				have = strings.Join(got(t, k, a)["f"], "")
			}
			if have != want {
				t.Errorf("%q, mode %d: %q, want %q", c.text, mode, have, want)
			}
		}
	}
}
