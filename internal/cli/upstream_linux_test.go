package cli

import (
	"strings"
	"testing"
)

// TestUpstreamAsks checks that a user at a terminal has to confirm having looked.
func TestUpstreamAsks(t *testing.T) {
	for answer, want := range map[string]int{"y": exitOK, "": exitError, "n": exitError} {
		f := two(t)
		f.run("diff")
		f.list["everything"] = changedListing
		keys, tty := newTerminal(t)
		f.host.In = tty
		if _, err := keys.WriteString(answer + "\n"); err != nil {
			t.Fatal(err)
		}
		code, out := f.run("diff", "everything", "--accept")
		if code != want || !strings.Contains(out, changedShown+"Have you looked at it? [y/N] ") || (code != exitOK) != strings.Contains(out, "it stays changed") {
			t.Errorf("%q: %d, %s", answer, code, out)
		}
		if code, _ := f.run("diff", "everything"); code != want {
			t.Errorf("%q: then %d", answer, code)
		}
	}
}
