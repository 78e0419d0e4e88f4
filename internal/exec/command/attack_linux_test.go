package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplacedGrants checks that a command gets no access to the target of a link that
// it puts in place of a folder it may use.
func TestReplacedGrants(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(c *Config, root string)
	}{
		"cache": {
			edit: func(c *Config, root string) { c.Environ = append(c.Environ, "GOCACHE="+root+"/place") },
		},
		"nested root": {
			edit: func(c *Config, root string) { c.Roots = append(c.Roots, root+"/place") },
		},
		"allowed": {
			edit: func(c *Config, root string) { c.AllowWrite = append(c.AllowWrite, root+"/place") },
		},
		"path": {
			edit: func(c *Config, root string) { c.Environ = append(c.Environ, "PATH="+root+"/place:/usr/bin:/bin") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("hush"), 0o600); err != nil {
				t.Fatal(err)
			}
			c, root := newCommands(t, func(c *Config) {
				if err := os.Mkdir(filepath.Join(c.Roots[0], "place"), 0o700); err != nil {
					t.Fatal(err)
				}
				tc.edit(c, c.Roots[0])
			})
			needContained(t, c)
			run(t, c, Spec{Script: "mv place was; ln -s " + outside + " place"})
			// A link above protected names is quarantined.
			if got, err := os.Readlink(filepath.Join(root, "place")); err != nil && name != "nested root" || err == nil && got != outside {
				t.Fatalf("the link was not made: %q, %v", got, err)
			}
			for _, readOnly := range []bool{false, true} {
				text, _ := run(t, c, Spec{Script: "cat place/secret; touch place/new; " + outside + "/secret", ReadOnly: readOnly})
				if strings.Contains(text, "hush") {
					t.Errorf("read-only %v: the command read %q", readOnly, text)
				}
			}
			if _, err := os.Lstat(filepath.Join(outside, "new")); err == nil {
				t.Error("the command wrote outside")
			}
		})
	}
}

// TestTempOutside checks that the folder for temporary files is where no command can
// replace it by a link.
func TestTempOutside(t *testing.T) {
	root := t.TempDir()
	t.Setenv("TMPDIR", root)
	c, _ := newCommands(t, func(c *Config) { c.Roots = []string{root} })
	dir, err := c.temp.of("")
	if err != nil || inside(dir, root) {
		t.Errorf("%q, %v", dir, err)
	}
	for _, bad := range []string{"relative", "/" + strings.Repeat("x", 100)} {
		t.Setenv("TMPDIR", bad)
		c, _ := newCommands(t, nil)
		if dir, err := c.temp.of(""); err != nil || !inside(dir, "/tmp") {
			t.Errorf("TMPDIR=%s: %q, %v", bad, dir, err)
		}
	}
}

// TestRootReplaced checks that no command runs in a root that has become a link.
func TestRootReplaced(t *testing.T) {
	c, root := newCommands(t, nil)
	if err := os.Rename(root, root+"-was"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root + "-was") })
	if err := os.Symlink(t.TempDir(), root); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(t.Context(), Spec{Script: "true", Dir: "/"}); err == nil || !strings.Contains(err.Error(), "leads to") {
		t.Error(err)
	}
}

// TestHome checks that no cache is made if there is no home folder.
func TestHome(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, home := range []string{"", "/", none} {
		c, _ := newCommands(t, func(c *Config) { c.Home = home })
		if caches := c.Caches(); len(caches) > 0 {
			t.Errorf("HOME=%s: %v", home, caches)
		}
	}
}

// needContained skips a test on systems where commands are not confined.
func needContained(t *testing.T, c *Commands) {
	t.Helper()
	if !c.Report(t.Context()).Write.InForce() {
		t.Skip("there is no containment here")
	}
}
