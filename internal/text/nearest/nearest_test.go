package nearest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	tools := []string{"Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "Write"}
	for _, tc := range []struct {
		name string
		want []string
	}{
		{"Reed", []string{"Read"}},
		{"Raed", []string{"Read"}},
		{"read", []string{"Read"}},
		{"read_file", []string{"Read"}},
		{"edit", []string{"Edit", "NotebookEdit"}},
		{"Gre", []string{"Grep"}},
		{"xyzzy", nil},
		{"", nil},
		{strings.Repeat("x", 1<<20), nil},
	} {
		got := Names(tc.name, tools, 3)
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("Names(%.20q) (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestLook lists names that look the same, and names that do not.
func TestLook(t *testing.T) {
	for _, same := range [][]string{
		{"r\u00e9sum\u00e9", "re\u0301sume\u0301"}, {"\ud55c\uae00", "\u1112\u1161\u11ab\u1100\u1173\u11af"}, {"\u212b", "\u00c5", "A\u030a"},
		{"a b", "a\u00a0b", "a\u202fb", "a\u3000b", "a\u2009b"}, {"a-b", "a\u2011b"}, {"ab", "a\u200bb", "\ufeffab", "a\u00adb"},
		{"\ufffd.txt", "\xe9.txt", "\xe4\xb8.txt"}, {"\u2764", "\u2764\ufe0f"},
	} {
		for _, name := range same[1:] {
			if Look(name) != Look(same[0]) {
				t.Errorf("%q does not look like %q", name, same[0])
			}
		}
	}
	for _, pair := range [][2]string{{"e", "\u00e9"}, {"a", "A"}, {"ab", "a b"}, {"\U0001f468\u200d\U0001f469", "\U0001f468\U0001f469"}, {"o", "\u03bf"}} {
		if Look(pair[0]) == Look(pair[1]) {
			t.Errorf("%q looks like %q", pair[0], pair[1])
		}
	}
	jamo := "\u1112\u1161\u11ab\u1100\u1173\u11af.txt"
	if got := Names("\ud55c\uae00.txt", []string{"g.txt", "q.txt", jamo}, 1); !cmp.Equal(got, []string{jamo}) {
		t.Errorf("near Hangul: %q", got)
	}
}

func TestTypo(t *testing.T) {
	keys := []string{"env", "hooks", "permissions", "sandbox"}
	for name, want := range map[string]string{
		"hook": "hooks", "Hooks": "hooks", "permisions": "permissions", "sandobx": "sandbox", "ENV": "env", "evn": "env",
		"disableAllHooks": "", "environment": "", "box": "", "x": "", "": "",
	} {
		if have := Typo(name, keys); have != want {
			t.Errorf("Typo(%q) = %q, want %q", name, have, want)
		}
	}
}
