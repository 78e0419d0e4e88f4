package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// cacheCommands returns Commands with a home folder that has caches with programs.
func cacheCommands(t *testing.T, edit func(c *Config)) (c *Commands, home string) {
	t.Helper()
	c, _ = newCommands(t, func(config *Config) {
		home = config.Home
		pnpm, bin := home+"/.local/share/pnpm", home+"/.cache/tool/bin"
		if err := write(home, ".cache/x", "old", ".cache/tool/bin/git", "old", ".npm/_npx/x", "old", ".npm/_cacache/x", "old", "go/pkg/mod/x", "old",
			".local/share/pnpm/git", "old", ".local/share/pnpm/store/x", "old", ".pub-cache/bin/x", "old", ".gradle/wrapper/dists/x", "old"); err != nil {
			t.Fatal(err)
		}
		config.Environ = append(config.Environ, "PATH="+os.Getenv("PATH")+":"+pnpm+":"+bin, "GOCACHE=", "GOMODCACHE=", "GOPATH=", "XDG_CACHE_HOME=")
		if edit != nil {
			edit(config)
		}
	})
	needContained(t, c)
	return c, home
}

// cacheScript tries to change every file in the caches and to add files, and prints the
// files that it then finds there.
const cacheScript = `cd; for f in .cache/x .cache/tool/bin/git .npm/_npx/x .npm/_cacache/x go/pkg/mod/x .local/share/pnpm/git .local/share/pnpm/store/x .pub-cache/bin/x .gradle/wrapper/dists/x; do
	rm -f $f; echo new >$f; echo new >${f%/*}/added; echo "$f $(cat $f) $(cat ${f%/*}/added)"
done 2>/dev/null`

// cacheFiles returns the contents of the files in a home folder, new ones first.
func cacheFiles(t *testing.T, home string) (changed []string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && text(t, path) != "old" {
			changed = append(changed, strings.TrimPrefix(path, home+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// TestLayers checks that a command changes the layer of its workspace and no file
// that others use.
func TestLayers(t *testing.T) {
	var home, state string
	c, _ := cacheCommands(t, func(c *Config) { home, state = c.Home, c.State })
	if !c.Report(t.Context()).Write.Coverage.Layers {
		t.Skip("there are no overlays here")
	}
	said, _ := run(t, c, Spec{Script: cacheScript})
	if changed := cacheFiles(t, home); len(changed) > 0 || strings.Count(said, "new new") != 8 {
		t.Errorf("changed %q\n%s", changed, said)
	}
	for _, readOnly := range []bool{false, true} {
		if said, _ := run(t, c, Spec{Script: "cat ~/go/pkg/mod/x ~/go/pkg/mod/added ~/.npm/_npx/added", ReadOnly: readOnly}); said != "new\nnew\nnew\n" {
			t.Errorf("a later command, read-only %v, finds %q", readOnly, said)
		}
	}
	// A command that runs at the same time has another layer.
	first, err := c.Start(t.Context(), Spec{Script: "echo 1 >~/.cache/x; echo ready; until test -e end; do sleep 0.01; done; cat ~/.cache/x", Dir: c.config.Roots[0]})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if v, err := first.Output.View(100); err != nil || v.Head != "" {
			break
		}
	}
	if said, _ := run(t, c, Spec{Script: "cat ~/.cache/x; echo 2 >~/.cache/x; touch end"}); said != "old" {
		t.Errorf("the command beside it finds %q", said)
	}
	first.Result()
	if v, _ := first.Output.View(100); v.Head != "ready\n1\n" {
		t.Errorf("the first command prints %q", v.Head)
	}
	// Another workspace sees no change.
	other, _ := newCommands(t, func(c *Config) {
		c.Home, c.State, c.Environ = home, state, append(c.Environ, "HOME="+home)
	})
	if said, _ := run(t, other, Spec{Script: "cat ~/go/pkg/mod/x; ls ~/go/pkg/mod"}); said != "oldx\n" {
		t.Errorf("another workspace finds %q", said)
	}
}

// TestLayersRootInside checks that a root in a cache folder is used itself, not
// through a layer.
func TestLayersRootInside(t *testing.T) {
	c, home := cacheCommands(t, func(c *Config) {
		c.Roots = append(c.Roots, filepath.Join(c.Home, ".cache/project"))
		if err := write(c.Home, ".cache/project/x", "old"); err != nil {
			t.Fatal(err)
		}
	})
	run(t, c, Spec{Script: "echo new >~/.cache/project/x; echo new >~/.cache/x"})
	if changed := cacheFiles(t, home); len(changed) == 0 || changed[0] != ".cache/project/x" || c.Report(t.Context()).Write.Coverage.Layers && len(changed) > 1 {
		t.Errorf("changed %q", changed)
	}
}

// TestCachesWithoutLayers checks that without layers, a command can change packages
// but no programs.
func TestCachesWithoutLayers(t *testing.T) {
	c, home := cacheCommands(t, nil)
	c.Report(t.Context()).Write.Coverage.Layers = false
	run(t, c, Spec{Script: cacheScript})
	got := strings.Join(cacheFiles(t, home), " ")
	want := ".cache/x .npm/_cacache/added .npm/_cacache/x .local/share/pnpm/store/added .local/share/pnpm/store/x go/pkg/mod/added go/pkg/mod/x"
	for _, name := range strings.Fields(want) {
		if !strings.Contains(" "+got+" ", " "+name+" ") {
			t.Errorf("%s was not changed", name)
		}
		got = strings.TrimSpace(strings.Replace(" "+got+" ", " "+name+" ", " ", 1))
	}
	if got != "" {
		t.Errorf("changed, too: %s", got)
	}
}

// TestSweepLayers checks that layers unused for a long time are removed, and that
// others stay.
func TestSweepLayers(t *testing.T) {
	c, _ := cacheCommands(t, nil)
	old, used, young := filepath.Join(c.layersFolder(), "old"), filepath.Join(c.layersFolder(), "used"), filepath.Join(c.layersFolder(), "young")
	for _, folder := range []string{old, used, young} {
		if err := write(folder, "1/x/upper/f", "", "2/x/work/f", ""); err != nil {
			t.Fatal(err)
		}
		past := time.Now().Add(-layerAge - time.Hour)
		if err := os.Chtimes(folder, past, past); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := lockFolder(filepath.Join(used, "2"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	now := time.Now()
	if err := os.Chtimes(young, now, now); err != nil {
		t.Fatal(err)
	}
	c.sweepLayers()
	for path, want := range map[string]bool{old: false, used + "/1": false, used + "/2/x/work/f": true, young + "/1/x/upper/f": true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestLayeredOnly checks that commands write to caches whose content programs of the user run only
// where a layer keeps it from them.
func TestLayeredOnly(t *testing.T) {
	c, home := cacheCommands(t, func(c *Config) {
		if err := write(c.Home, ".java/.userPrefs/prefs.xml", "old"); err != nil {
			t.Fatal(err)
		}
	})
	prefs := home + "/.java/.userPrefs"
	for _, layers := range []bool{true, false} {
		p := c.policy(nil, false, t.TempDir())
		if done := c.grantCaches(&p, layers); done != nil {
			defer done.Close()
		}
		if got := slices.ContainsFunc(p.Write, func(path string) bool { return inside(path, prefs) }); got != layers {
			t.Errorf("with layers %v: commands write to %s: %v", layers, prefs, got)
		}
	}
	if !c.Report(t.Context()).Write.Coverage.Layers {
		t.Skip("there are no layers here")
	}
	text, _ := run(t, c, Spec{Script: "cd; echo new >.java/.userPrefs/prefs.xml; cat .java/.userPrefs/prefs.xml"})
	if data, err := os.ReadFile(prefs + "/prefs.xml"); text != "new\n" || err != nil || string(data) != "old" {
		t.Errorf("the command reads %q, the file holds %q, %v", text, data, err)
	}
}
