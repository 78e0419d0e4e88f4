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
