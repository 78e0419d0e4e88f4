package pin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamaged checks that a file that is not trusted shows nothing, that
// nothing then counts as seen, and that the next Update repairs it.
func TestDamaged(t *testing.T) {
	for name, spoil := range map[string]func(text string) string{
		"empty":        func(string) string { return "" },
		"cut":          func(text string) string { return text[:len(text)/2] },
		"no JSON":      func(string) string { return "\x00\x01" },
		"another name": func(text string) string { return strings.Replace(text, `"server":"a"`, `"server":"b"`, 1) },
		"seen": func(text string) string {
			return strings.Replace(text, `"definition":{"description":"d"`, `"definition":{"description":"evil"`, 1)
		},
		"wrong type": func(text string) string { return strings.Replace(text, `"list":[`, `"list":[[`, 1) },
		"too long":   func(text string) string { return text + strings.Repeat(" ", maxRecord) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			update(t, s, "x")
			text, err := os.ReadFile(s.path("a"))
			if err != nil {
				t.Fatal(err)
			}
			bad := spoil(string(text))
			if bad == string(text) {
				t.Fatal("nothing is spoilt")
			}
			if err := os.WriteFile(s.path("a"), []byte(bad), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, ok := s.Cached("a", "c"); ok || s.Changed("a", "c") != nil {
				t.Errorf("%s", got)
			}
			if _, err := s.Diff("a"); err == nil || errors.Is(err, ErrUnknown) {
				t.Error(err)
			}
			if names, err := s.Servers(); err == nil && (name != "seen" && name != "wrong type" || len(names) != 1) {
				t.Errorf("%q", names)
			}
			changed, err := s.Update("a", "c", list("x"))
			if err == nil || changed["x"] != "it is new since the user last looked" {
				t.Errorf("%v, %v", changed, err)
			}
			if got := update(t, s, "x"); len(got) != 1 {
				t.Errorf("then %v", got)
			}
			accept(t, s)
			if got := update(t, s, "x"); got != nil {
				t.Errorf("at last %v", got)
			}
		})
	}
}

// TestOtherVersion checks that a file of another version is ignored.
func TestOtherVersion(t *testing.T) {
	s := newStore(t)
	update(t, s, "x")
	text := `{"version":2,"server":"a","config":"c","list":"another form"}`
	if err := os.WriteFile(s.path("a"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if names, err := s.Servers(); names != nil || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	if _, err := s.Diff("a"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if got := update(t, s, "y"); got != nil {
		t.Errorf("%v", got)
	}
}

// TestBig checks that a listing at the limit is stored and read again, and that
// a larger one is not stored but still compared.
func TestBig(t *testing.T) {
	s := newStore(t)
	s.most = 1 << 20 // a sixteenth of the real limit, to save time
	size := s.most / 2000
	tool := func(i, more int) string {
		head := fmt.Sprintf(`{"name":"tool_%04d","description":"`, i)
		return head + strings.Repeat("x", size-len(head)-2+more) + `"}`
	}
	var whole []string
	for i := range 2000 {
		whole = append(whole, tool(i, 0))
	}
	update(t, s, whole...)
	if got, ok := s.Cached("a", "c"); !ok || len(got) != 2000 {
		t.Fatal(len(got), ok)
	}
	whole[7] = tool(7, 4096)
	changed, err := s.Update("a", "c", list(whole...))
	if err == nil || len(changed) != 1 || changed["tool_0007"] == "" {
		t.Errorf("%v, %v", changed, err)
	}
	if got, ok := s.Cached("a", "c"); !ok || len(got) != 2000 || s.Changed("a", "c") != nil {
		t.Error("what was stored is gone")
	}
}

// TestCannotStore checks that Update returns the changes even if it cannot
// store the listing.
func TestCannotStore(t *testing.T) {
	s := newStore(t)
	update(t, s, "x")
	// A folder takes the place of the new file, so that even root cannot write
	// it.
	if err := os.MkdirAll(filepath.Join(s.path("a")+".new", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	changed, err := s.Update("a", "c", list("x", "y"))
	if err == nil || len(changed) != 1 || changed["y"] == "" {
		t.Errorf("%v, %v", changed, err)
	}
	if got, ok := s.Cached("a", "c"); !ok || len(got) != 1 {
		t.Errorf("%s, %v", got, ok)
	}
	// The state folder cannot be created.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := open(file).Update("a", "c", list("x")); err == nil || changed != nil {
		t.Errorf("%v, %v", changed, err)
	}
}

// TestUnchangedIsNotWritten checks that an unchanged listing is not written
// again.
func TestUnchangedIsNotWritten(t *testing.T) {
	s := newStore(t)
	update(t, s, "x")
	before, err := os.Lstat(s.path("a"))
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, "x")
	after, err := os.Lstat(s.path("a"))
	if err != nil || !os.SameFile(before, after) {
		t.Error("written again", err)
	}
}
