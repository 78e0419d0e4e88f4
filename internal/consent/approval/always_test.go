//go:build unix || windows

package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/record/state"
)

func (s *server) allows(r Request) bool { return s.Always(r.Principal, r.Tool, r.Subject, r.Root) }

// TestAlways checks that Always allows exactly the subject shown, in that
// workspace only.
func TestAlways(t *testing.T) {
	s := newServer(t, "")
	base := call("npm test")
	if err := s.Approve(s.pend(t, base), "", true); err != nil {
		t.Fatal(err)
	}
	if !s.allows(base) {
		t.Error("what was allowed for always is not")
	}
	if s.Take(base) == 0 {
		t.Error("what was allowed for always was not allowed this time")
	}
	for name, change := range map[string]func(*Request){
		"tool":   func(r *Request) { r.Tool = "BashReadOnly" },
		"root":   func(r *Request) { r.Root = "/work/sub" },
		"none":   func(r *Request) { r.Root = "" },
		"value":  func(r *Request) { r.Subject.Value = "npm test " },
		"empty":  func(r *Request) { r.Subject.Value = "" },
		"star":   func(r *Request) { r.Subject.Value = "npm *" },
		"kind":   func(r *Request) { r.Subject.Kind = "path" },
		"access": func(r *Request) { r.Subject.Access = "Read" },
	} {
		r := base
		change(&r)
		if s.allows(r) {
			t.Errorf("allowed with another %s", name)
		}
	}
	// A star is not a pattern.
	star := call("npm *")
	if err := s.Remember(star); err != nil {
		t.Fatal(err)
	}
	if s.allows(call("npm run evil")) || !s.allows(star) {
		t.Error("a star stands for more than itself")
	}
	if info, err := os.Stat(s.always.path); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
}

func TestNotAlways(t *testing.T) {
	s := newServer(t, "")
	for want, change := range map[string]func(*Request){
		errOnce("a rule asks each time").Error(): func(r *Request) { r.Once = "a rule asks each time" },
		errNoSubject.Error():                     func(r *Request) { r.Subject.Value = "" },
		errNoRoot.Error():                        func(r *Request) { r.Root = "" },
	} {
		r := call("a")
		change(&r)
		wants(t, s.Remember(r), want)
		n := s.pend(t, r)
		wants(t, s.Approve(n, "", true), want)
		_, err := Approve(t.Context(), s.state, n, true)
		wants(t, err, want)
		if s.Take(r) != 0 || s.allows(r) {
			t.Errorf("%s: allowed nonetheless", want)
		}
	}
	r := call("\xff")
	wants(t, s.Remember(r), errNoSubject.Error())
	if _, err := os.Lstat(s.always.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

// TestAlwaysFails checks that nothing is granted if the entry cannot be stored.
func TestAlwaysFails(t *testing.T) {
	s := newServer(t, "")
	n := s.pend(t, call("a"))
	if err := os.WriteFile(s.always.path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, s.Approve(n, "", true), "storing a permanent approval: reading "+s.always.path+": unexpected EOF")
	if s.Take(call("a")) != 0 {
		t.Error("granted")
	}
}

// TestAlwaysShared checks that new and removed entries take effect in all
// servers at once.
func TestAlwaysShared(t *testing.T) {
	s := newServer(t, "")
	other := startServer(t, s.state)
	old := newServer(t, s.state)
	if got := other.say("always", call("a")); got != "false" {
		t.Errorf("before it was remembered: %s", got)
	}
	for range 3 {
		if err := s.Remember(call("a")); err != nil {
			t.Fatal(err)
		}
		if got := other.say("always", call("a")); got != "true" || !old.allows(call("a")) {
			t.Errorf("the other server says %s", got)
		}
		entries, err := Entries(s.state)
		if err != nil || len(entries) != 1 {
			t.Fatalf("%v, %v", entries, err)
		}
		if _, err := ForgetEntry(s.state, entries[0].Number); err != nil {
			t.Fatal(err)
		}
		if got := other.say("always", call("a")); got != "false" || old.allows(call("a")) {
			t.Errorf("once it was removed, the other server says %s", got)
		}
	}
	// The entries outlive the servers.
	if err := s.Remember(call("a")); err != nil {
		t.Fatal(err)
	}
	if !newServer(t, s.state).allows(call("a")) {
		t.Error("it is not allowed after a restart")
	}
}

// TestAlwaysChanged checks that an unchanged old file is not read again, and a
// changed one is, even with the same length.
func TestAlwaysChanged(t *testing.T) {
	s := newServer(t, "")
	if err := s.Remember(call("a")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(s.always.path, old, old); err != nil {
		t.Fatal(err)
	}
	if !s.allows(call("a")) || s.always.seen == nil {
		t.Error("it was not kept")
	}
	text, err := os.ReadFile(s.always.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := state.Replace(s.always.path, []byte(strings.Replace(string(text), `"a"`, `"b"`, 1))); err != nil {
		t.Fatal(err)
	}
	if s.allows(call("a")) || !s.allows(call("b")) {
		t.Error("the change was not seen")
	}
	if s.always.seen != nil {
		t.Error("a file that was written just now is trusted to be told from the next")
	}
	if err := os.Remove(s.always.path); err != nil {
		t.Fatal(err)
	}
	if s.allows(call("b")) {
		t.Error("it is allowed without the file")
	}
}

func TestAlwaysForm(t *testing.T) {
	s := newServer(t, "")
	for _, c := range []string{"<a> && b\n\"c\"", "d"} {
		if err := s.Remember(call(c)); err != nil {
			t.Fatal(err)
		}
	}
	more := call("d")
	more.Root = "/other"
	for range 2 {
		if err := s.Remember(more); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ForgetEntry(s.state, 1); err != nil {
		t.Fatal(err)
	}
	path := Request{Tool: "Write", Root: "/work", Input: json.RawMessage("{}"), Subject: Subject{Kind: "path", Access: "Edit", Value: "/work/a"}}
	if err := s.Remember(path); err != nil {
		t.Fatal(err)
	}
	when := s.clock.Now().UTC().Truncate(time.Second)
	want := fmt.Sprintf(`{
  "version": 1,
  "last": 3,
  "entries": [
    {
      "number": 2,
      "tool": "Bash",
      "kind": "command",
      "value": "d",
      "roots": [
        "/work",
        "/other"
      ],
      "when": %[1]q
    },
    {
      "number": 3,
      "tool": "Edit",
      "kind": "path",
      "access": "Edit",
      "value": "/work/a",
      "roots": [
        "/work"
      ],
      "when": %[1]q
    }
  ]
}
`, when.Format(time.RFC3339))
	got, err := os.ReadFile(s.always.path)
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if !s.allows(more) || !s.allows(call("d")) {
		t.Error("one of two workspaces does not count")
	}
	_, err = ForgetEntry(s.state, 1)
	wants(t, err, "nothing is always allowed by number 1, only by 2, 3; `mcp-toolset approvals` lists them")
	_, err = ForgetEntry(s.state+"-absent", 1)
	wants(t, err, "nothing is always allowed")
	if _, err := os.Lstat(s.state + "-absent"); err == nil {
		t.Error("looking made a state folder")
	}
}

// TestAlwaysRefused checks that a file that other users could have written, or
// that is invalid, allows nothing. Each new problem is logged once.
func TestAlwaysRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	s := newServer(t, "")
	if err := s.Remember(call("a")); err != nil {
		t.Fatal(err)
	}
	path := s.always.path
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	for _, tc := range []struct {
		name string
		do   func() error
		want string
	}{
		{"group", func() error { return os.Chmod(path, 0o620) }, "other users can write to it; see what is in it and make its mode 600"},
		{"world", func() error { return os.Chmod(path, 0o602) }, "other users can write to it; see what is in it and make its mode 600"},
		{"version", func() error { return put(strings.Replace(string(good), `"version": 1`, `"version": 2`, 1)) }, "its version is 2, and this program knows 1"},
		{"key", func() error { return put(strings.Replace(string(good), `"roots"`, `"unless": 1, "roots"`, 1)) }, "json: unknown field \"unless\""},
		{"more", func() error { return put(string(good) + "{}") }, "something is behind its end"},
		{"long", func() error { return put(string(good) + strings.Repeat(" ", maxAlwaysSize)) }, "it is too long"},
		{"folder", func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, "it is not a file"},
		{"link", func() error {
			return errors.Join(os.Remove(path), write(path+".real", good), os.Symlink(path+".real", path))
		}, "it is not a file"},
	} {
		if err := tc.do(); err != nil {
			t.Fatal(err)
		}
		before := len(s.log.String())
		for range 2 {
			if s.allows(call("a")) {
				t.Errorf("%s: allowed", tc.name)
			}
		}
		said := s.log.String()[before:]
		known := tc.name == "world" || tc.name == "link" // the same problem as before
		if strings.Count(said, "level=WARN") > 1 || known != (said == "") || !known && !strings.Contains(said, strings.ReplaceAll(tc.want, `"`, `\"`)) {
			t.Errorf("%s: the log says %q", tc.name, said)
		}
		_, err := Entries(s.state)
		wants(t, err, "reading "+path+": "+tc.want)
		_, err = ForgetEntry(s.state, 1)
		wants(t, err, "reading "+path+": "+tc.want)
		if tc.name == "world" {
			if err := os.Chmod(path, 0o600); err != nil || !s.allows(call("a")) {
				t.Errorf("not allowed once it was put right: %v", err)
			}
		}
	}
}

func write(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }

// TestAlwaysOwner checks that a file of another user is rejected even with a
// private mode.
func TestAlwaysOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	s := newServer(t, "")
	if err := s.Remember(call("a")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(s.always.path, old, old); err != nil {
		t.Fatal(err)
	}
	if !s.allows(call("a")) {
		t.Error("not allowed")
	}
	if err := os.Chown(s.always.path, 4711, 0); err != nil {
		t.Fatal(err)
	}
	if s.allows(call("a")) {
		t.Error("allowed by a file of another user")
	}
}

func TestAlwaysFull(t *testing.T) {
	s := newServer(t, "")
	c := content{Version: alwaysVersion}
	now := time.Now()
	for i := range maxAlways {
		if err := c.add(call(fmt.Sprint(i)), now); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.add(call("more"), now); err != errFull {
		t.Errorf("beyond the most: %v", err)
	}
	if err := c.add(call("7"), now); err != nil {
		t.Errorf("one that is there: %v", err)
	}
	long := call(strings.Repeat("x", maxAlwaysSize))
	wants(t, s.Remember(long), "storing a permanent approval: "+errFull.Error())
}

// TestRememberAtOnce checks that servers that store entries concurrently lose
// none.
func TestRememberAtOnce(t *testing.T) {
	state := filepath.Join(shortDir(t), "state")
	servers := []*server{newServer(t, state), newServer(t, state), newServer(t, state)}
	var wg sync.WaitGroup
	for i, s := range servers {
		for j := range 5 {
			wg.Go(func() {
				if err := s.Remember(call(fmt.Sprint(i, j))); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	entries, err := Entries(state)
	numbers := map[int]bool{}
	for _, e := range entries {
		numbers[e.Number] = true
	}
	if err != nil || len(entries) != 15 || len(numbers) != 15 {
		t.Errorf("%d entries with %d numbers, %v", len(entries), len(numbers), err)
	}
}
