package command

import (
	"mcp-toolset/internal/testscale"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var plantNames = []string{".cursor", ".vscode", ".npmrc", ".gitattributes", ".gitmodules", ".cargo/config.toml", "opencode.json"}

// TestPlants checks that a command leaves no protected name that was absent, unless
// git brings it.
func TestPlants(t *testing.T) {
	_, first := guardedCommands(t, nil)
	repository(t, first)
	git(t, first, "checkout", "-q", "-b", "theirs")
	if err := write(first, ".vscode/settings.json", "{}"); err != nil {
		t.Fatal(err)
	}
	git(t, first, "add", ".vscode")
	git(t, first, "commit", "-q", "-m", "y")
	git(t, first, "checkout", "-q", "main")
	repository(t, first+"/sub")
	planted := inMemory(t, first)
	for _, tc := range testscale.Sample([]struct {
		name, script string
		taken, stay  []string // names that the command makes
		appeared     []string // those of stay that are reported
	}{
		{"made", "mkdir .cursor; echo x >.cursor/mcp.json; echo x >.npmrc; echo x >opencode.json; echo x >other", []string{".cursor", ".npmrc", "opencode.json"}, []string{"other"}, nil},
		{"another case", "mkdir .CURSOR; echo x >.CURSOR/mcp.json", []string{".CURSOR"}, nil, nil},
		{"below a folder", "mkdir .cargo; echo x >.cargo/config.toml; echo x >.cargo/other", []string{".cargo/config.toml"}, []string{".cargo/other"}, nil},
		{"a link", "mkdir e; echo x >e/mcp.json; ln -s e .cursor", []string{".cursor"}, []string{"e/mcp.json"}, nil},
		{"an empty folder", "mkdir .cursor", []string{".cursor"}, nil, nil},
		{"staged", "mkdir .cursor; echo x >.cursor/mcp.json; git add -f .cursor", []string{".cursor"}, nil, nil},
		{"ignored", "mkdir .cursor; echo x >.cursor/mcp.json; echo .cursor >>.git/info/exclude", []string{".cursor"}, nil, nil},
		{"in a repository below", "mkdir sub/.vscode; echo x >sub/.vscode/tasks.json", []string{"sub/.vscode"}, nil, nil},
		{"in another folder", "mkdir -p a/.vscode; echo x >a/.vscode/tasks.json", nil, []string{"a/.vscode/tasks.json"}, nil},
		{"attributes", "echo '*.bin filter=x' >.gitattributes", []string{".gitattributes"}, nil, nil},
		{"attributes, a driver by a macro", "printf '[attr]a diff=x\\n' >.gitattributes", []string{".gitattributes"}, nil, nil},
		{"attributes that run nothing", "printf '* text=auto\\n*.bin filter=lfs diff=lfs merge=lfs -text\\n*.x -diff\\n' >.gitattributes", nil, []string{".gitattributes"}, nil},
		{"checkout", "git checkout -q theirs", nil, []string{".vscode/settings.json"}, []string{".vscode"}},
		{"checkout and a change", "git checkout -q theirs; echo y >>.vscode/settings.json", []string{".vscode"}, nil, nil},
		{"checkout and a file more", "git checkout -q theirs; echo y >.vscode/tasks.json", []string{".vscode"}, nil, nil},
		{"merge", "git merge -q theirs", nil, []string{".vscode/settings.json"}, []string{".vscode"}},
		{"merge in conflict", "git checkout -q theirs; echo x >f; git add f; git commit -qm x; git checkout -q main; echo y >f; git add f; git commit -qm y; git merge -q theirs", nil, []string{".vscode/settings.json"}, []string{".vscode"}},
		{"files of a branch", "git checkout -q theirs -- .vscode", nil, []string{".vscode/settings.json"}, []string{".vscode"}},
		{"a pick without a commit", "git cherry-pick -n theirs", nil, []string{".vscode/settings.json"}, []string{".vscode"}},
		{"files of a branch, changed", "git checkout -q theirs -- .vscode; echo y >.vscode/settings.json; git add .vscode", []string{".vscode"}, nil, nil},
		{"modules", "printf '[submodule \"x\"]\n\tpath = x\n\turl = https://example.org/x\n' >.gitmodules", nil, []string{".gitmodules"}, nil},
		{"modules that run something", "printf '[submodule \"x\"]\n\tpath = x\n\tupdate = !touch x\n' >.gitmodules", []string{".gitmodules"}, nil, nil},
		{"clone", "git clone -q -b theirs \"file://$PWD\" $TMPDIR/c && git -C $TMPDIR/c remote remove origin && mv $TMPDIR/c copy", nil, []string{"copy/.vscode/settings.json"}, nil},
		{"worktree", "git worktree add -q wt theirs", nil, []string{"wt/.vscode/settings.json"}, nil},
	}, 8) {
		t.Run(tc.name, func(t *testing.T) {
			c, root := guardedCommands(t, func(c *Config) { c.Names = plantNames })
			if err := os.CopyFS(root, planted); err != nil {
				t.Fatal(err)
			}
			said, res := run(t, c, Spec{Script: tc.script, Names: plantNames})
			below := func(names []string) (out []string) {
				for _, name := range names {
					out = append(out, filepath.Join(root, name))
				}
				return out
			}
			slices.Sort(res.Removed)
			if !slices.Equal(res.Removed, below(tc.taken)) || !slices.Equal(res.Appeared, below(tc.appeared)) {
				t.Errorf("removed %q, appeared %q: %s", res.Removed, res.Appeared, said)
			}
			for _, path := range below(tc.taken) {
				if _, err := os.Lstat(path); err == nil {
					t.Errorf("%s is still there", path)
				}
			}
			for _, path := range below(tc.stay) {
				if _, err := os.Lstat(path); err != nil {
					t.Errorf("%s is gone: %s", path, said)
				}
			}
		})
	}
}

// TestPlantsAgreed checks that existing names stay, even if changed by their path,
// and so do names that the user has approved, even while another command runs.
func TestPlantsAgreed(t *testing.T) {
	root := tempRoot(t)
	g, _ := newGuard(t, root)
	g.scanner = newScanner(plantNames)
	g.tracked = func(string, []string) []string { return nil }
	if err := write(root, ".vscode/x", ""); err != nil {
		t.Fatal(err)
	}
	guarded, _ := g.begin(nil, []string{root}, plantNames...)
	agreed, _ := g.begin(nil, []string{root})
	if err := write(root, ".vscode/y", "", ".npmrc", ""); err != nil {
		t.Fatal(err)
	}
	if got := g.end(agreed); len(got) > 0 {
		t.Errorf("taken from an agreed command: %q", got)
	}
	if err := write(root, ".cursor/x", ""); err != nil {
		t.Fatal(err)
	}
	if got := g.end(guarded); !slices.Equal(got, []string{root + "/.cursor"}) {
		t.Errorf("taken %q", got)
	}
}

// TestPlantsOfTools checks that files that a file tool makes while a command runs
// are not attributed to the command.
func TestPlantsOfTools(t *testing.T) {
	c, root := newCommands(t, func(c *Config) { c.Names = plantNames })
	needContained(t, c)
	r, err := c.Start(t.Context(), Spec{Script: "until test -e end; do sleep 0.01; done", Dir: root, Names: plantNames})
	if err != nil {
		t.Fatal(err)
	}
	c.Changing(root + "/.vscode/settings.json")
	if err := write(root, ".vscode/settings.json", "{}", ".cursor/mcp.json", "{}", "end", ""); err != nil {
		t.Fatal(err)
	}
	if res := r.Result(); !slices.Equal(res.Removed, []string{root + "/.cursor"}) {
		t.Errorf("removed %q", res.Removed)
	}
}

// TestPlantsWhileGitWorks checks that files that git may be about to commit are
// left alone while a command runs.
func TestPlantsWhileGitWorks(t *testing.T) {
	root := tempRoot(t)
	g, _ := newGuard(t, root)
	g.scanner = newScanner(plantNames)
	g.tracked = func(string, []string) []string { return nil }
	repository(t, root)
	w, _ := g.begin(nil, []string{root}, plantNames...)
	if err := write(root, ".npmrc", "", ".git/index.lock", ""); err != nil {
		t.Fatal(err)
	}
	if g.look(nil); len(w.removed) > 0 {
		t.Errorf("taken while git works: %q", w.removed)
	}
	if err := os.Remove(root + "/.git/index.lock"); err != nil {
		t.Fatal(err)
	}
	if g.look(nil); !slices.Equal(w.removed, []string{root + "/.npmrc"}) {
		t.Errorf("taken %q", w.removed)
	}
	// The command can make the lock file, too, which does not help it at its end.
	if err := write(root, ".npmrc", "", ".cursor/x", "", ".git/index.lock", ""); err != nil {
		t.Fatal(err)
	}
	if got := g.end(w); !slices.Contains(got, root+"/.cursor") {
		t.Errorf("taken %q", got)
	}
}

// TestPlantsLeftByKilled checks that the next server quarantines protected names
// that a command of a killed server has made.
func TestPlantsLeftByKilled(t *testing.T) {
	root, state := tempRoot(t), t.TempDir()
	server := func() *guard {
		g, _ := newGuard(t, root)
		g.journal, g.scanner = state, newScanner(plantNames)
		g.tracked = func(string, []string) []string { return nil }
		return g
	}
	killed := server()
	if err := write(root, ".npmrc", ""); err != nil {
		t.Fatal(err)
	}
	killed.begin(nil, []string{root}, plantNames...)
	if err := write(root, ".cursor/mcp.json", ""); err != nil {
		t.Fatal(err)
	}
	_ = killed.lock.Close()
	server().begin(nil, []string{root}, plantNames...)
	for name, want := range map[string]bool{".npmrc": true, ".cursor": false} {
		if _, err := os.Lstat(filepath.Join(root, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
