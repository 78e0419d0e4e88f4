package command

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPrivate checks which files below the folders for temporary files are the session's own.
func TestPrivate(t *testing.T) {
	root := tempRoot(t) // below /tmp, unless TMPDIR leads elsewhere
	c, err := New(Config{Roots: []string{root}, Home: t.TempDir(), State: t.TempDir(), Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if r := c.Report(t.Context()).Write; !r.InForce() || !r.Coverage.Mounts {
		t.Skip("mounts do not hold here")
	}
	machine, err := os.MkdirTemp("/tmp", "private-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(machine) })
	file := filepath.Join(machine, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := c.Private("one")
	own := p.Real("/tmp/new", true)
	temp := filepath.Dir(own)
	if !p.Owns(own) || p.Owns("/tmp/new") || c.Private("two").Owns(own) {
		t.Errorf("%s is not owned", own)
	}
	if got := p.Shown(own + " is not " + temp); got != "/tmp/new is not /tmp" || c.Private("two").Shown(own) != own {
		t.Errorf("shown as %q", got)
	}
	if err := os.WriteFile(filepath.Join(temp, "made"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]string{ // read, made
		"/tmp":                             {temp, temp},
		"/tmp/new":                         {temp + "/new", temp + "/new"},
		"/var/tmp/new":                     {temp + "/new", temp + "/new"},
		"/tmp/made":                        {temp + "/made", temp + "/made"},
		"/tmp/a/b":                         {temp + "/a/b", temp + "/a/b"},
		machine:                            {machine, temp + "/" + filepath.Base(machine)},
		file:                               {file, file},
		filepath.Join(machine, "absent"):   {filepath.Join(machine, "absent"), filepath.Join(machine, "absent")},
		filepath.Join(root, "a"):           {filepath.Join(root, "a"), filepath.Join(root, "a")},
		filepath.Join(c.config.State, "a"): {filepath.Join(c.config.State, "a"), filepath.Join(c.config.State, "a")},
		"/etc/hosts":                       {"/etc/hosts", "/etc/hosts"},
		own:                                {own, own},
	} {
		for i, made := range []bool{false, true} {
			if got := p.Real(path, made); got != want[i] {
				t.Errorf("%s, made %v: %s, want %s", path, made, got, want[i])
			}
		}
	}
}
