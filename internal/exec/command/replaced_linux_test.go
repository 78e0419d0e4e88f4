package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReplaced checks that the result names a protected file that another program replaced, as an
// editor does, while the command ran.
func TestReplaced(t *testing.T) {
	for _, replace := range []bool{true, false} {
		c, root := guardedCommands(t, nil)
		file, ready, done := filepath.Join(root, ".npmrc"), filepath.Join(root, "ready"), filepath.Join(root, "done")
		if err := write(root, ".npmrc", "1\n"); err != nil {
			t.Fatal(err)
		}
		for _, pipe := range []string{ready, done} {
			if err := unix.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := c.Start(t.Context(), Spec{Script: "echo >ready; read x <done; echo evil >.npmrc", Dir: root, Owner: "o", Name: "n", Protect: []string{file}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.End(Stopped, 0) }()
		if _, err := os.ReadFile(ready); err != nil {
			t.Fatal(err)
		}
		if replace {
			if err := write(root, "new", "2\n"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(root, "new"), file); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(done, []byte("x\n"), 0); err != nil {
			t.Fatal(err)
		}
		facts := strings.Join(r.Result().Restored, "\n")
		want := ""
		if replace {
			want = file + " is protected; another program replaced it while this command ran, which could change it from then on. Ask the user to look at it"
		}
		if facts != want {
			t.Errorf("replaced %v: says %q, want %q", replace, facts, want)
		}
	}
}
