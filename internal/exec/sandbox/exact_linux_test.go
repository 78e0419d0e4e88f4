package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExact checks that an exact path grants the file there, and that nothing
// starts if the path goes through a link, at its end or before.
func TestExact(t *testing.T) {
	t.Parallel()
	for _, at := range tiers(t) {
		s := newScratch(t)
		write(t, s.outside+"/victim/file", "outside\n")
		write(t, s.outside+"/real/file", "outside\n")
		for _, one := range []struct{ from, to string }{{s.outside + "/link", "victim"}, {s.outside + "/real/name", "file"}} {
			if err := os.Symlink(one.to, one.from); err != nil {
				t.Fatal(err)
			}
		}
		given := func(path string, change bool) Policy {
			p := s.policy
			p.Exact = []string{path}
			if change {
				p.Write = append(p.Write[:len(p.Write):len(p.Write)], path)
			} else {
				p.Read = append(p.Read[:len(p.Read):len(p.Read)], path)
			}
			return p
		}
		for _, path := range []string{s.outside + "/link", s.outside + "/link/file", s.outside + "/real/name"} {
			for _, change := range []bool{true, false} {
				r := job{Policy: given(path, change), Args: []string{"true"}}.try(t, at, s.root)
				if !strings.Contains(r.Err, "leads through a link now") {
					t.Errorf("%s, %s: %q", at.name, path, r.Err)
				}
			}
		}
		file := filepath.Join(s.outside, "real", "file")
		s.steps(t, at, given(file, true), []step{
			{"echo changed > " + file + " && cat " + file, true, ""},
			{"echo x > " + filepath.Dir(file) + "/other", false, ""},
			{"cat " + s.outside + "/victim/file", false, ""},
		})
		s.steps(t, at, given(file, false), []step{{"cat " + file, true, ""}, {"echo x > " + file, false, ""}})
		s.steps(t, at, given(s.outside+"/absent", true), []step{{"true", true, ""}, {"echo x > " + s.outside + "/absent", false, ""}})
	}
}

// TestExactPlace checks that a mount or a rule for an exact path applies to the
// file there, and not to the target of a link that was put there meanwhile.
func TestExactPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "name")
	write(t, path, "x")
	exact, err := openExact([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	defer exact.close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", path); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "elsewhere"), "victim")
	m := &mounter{exact: exact}
	if err := m.attach(-1, path); err == nil || !strings.Contains(err.Error(), "leads through a link now") {
		t.Errorf("a mount: %v", err)
	}
	if err := addRule(-1, exact, path, readFile); err == nil || !strings.Contains(err.Error(), "leads through a link now") {
		t.Errorf("a rule: %v", err)
	}
	if got := (&Resolver{exact: exact}).all([]string{path}); len(got) != 1 || got[0] != path {
		t.Errorf("the path became %q", got)
	}
}
