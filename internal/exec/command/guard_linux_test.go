package command

import (
	"errors"
	"io/fs"
	"mcp-toolset/internal/testscale"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

// guardedCommands returns Commands that protect names, with real git.
func guardedCommands(t *testing.T, edit func(*Config)) (*Commands, string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	c, root := newCommands(t, func(config *Config) {
		config.Environ = append(config.Environ, gitEnv...)
		config.Pass = []string{"GIT_*"}
		if edit != nil {
			edit(config)
		}
	})
	if len(c.Open(t.Context(), false)) > 0 || !c.Report(t.Context()).Write.InForce() {
		t.Skip("nothing can be protected here")
	}
	return c, root
}

// repository makes a repository with a commit. It copies the first one made, since a copy
// starts no process.
func repository(t testing.TB, dir string) {
	t.Helper()
	firstRepository.Lock()
	defer firstRepository.Unlock()
	if firstRepository.files == nil {
		first := t.TempDir()
		git(t, first, "init", "-q", "-b", "main")
		if err := write(first, "f", "1\n"); err != nil {
			t.Fatal(err)
		}
		git(t, first, "add", "f")
		git(t, first, "commit", "-q", "-m", "x")
		firstRepository.files = inMemory(t, first)
	}
	if err := os.CopyFS(dir, firstRepository.files); err != nil {
		t.Fatal(err)
	}
}

var firstRepository struct {
	sync.Mutex
	files fs.FS
}

// inMemory reads the files below a folder.
func inMemory(t testing.TB, dir string) fs.FS {
	t.Helper()
	files, disk := fstest.MapFS{}, os.DirFS(dir)
	if err := fs.WalkDir(disk, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		file := &fstest.MapFile{Mode: info.Mode()}
		if files[path] = file; d.Type().IsRegular() {
			file.Data, err = fs.ReadFile(disk, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

func text(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

// TestTakeAwayBehindLink checks that links that a command makes do not move
// quarantined files out of the root.
func TestTakeAwayBehindLink(t *testing.T) {
	for i, script := range []string{
		"ln -s OUT .git",
		"git init -q . && rm -rf .git/hooks && ln -s OUT .git/hooks",
		"git init -q . && rm -rf .git/info && ln -s OUT .git/info",
		"git init -q . && rm -rf .git/config && ln -s OUT/config .git/config",
		"mkdir a && ln -s OUT a/.git",
		"ln -s OUT .mcp-toolset",
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			c, root := guardedCommands(t, nil)
			out := tempRoot(t)
			if err := write(out, "config", "[core]\n\tpager = x\n", "hooks/pre-commit", "x", "attributes", "x"); err != nil {
				t.Fatal(err)
			}
			said, res := run(t, c, Spec{Script: strings.ReplaceAll(script, "OUT", out)})
			if res.Code != 0 || len(res.Removed) != 1 {
				t.Errorf("%s: %d, removed %q: %s", script, res.Code, res.Removed, said)
			}
			for _, name := range []string{"config", "hooks/pre-commit", "attributes"} {
				if text(t, filepath.Join(out, name)) == "" {
					t.Errorf("%s has vanished", name)
				}
			}
			for _, name := range res.Removed {
				if _, err := os.Lstat(name); err == nil || !strings.HasPrefix(name, root) {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}

// TestRepositoriesStay checks that changes that a command makes in several steps do
// not affect what the user's git runs.
func TestRepositoriesStay(t *testing.T) {
	for _, tc := range testscale.Sample([]struct {
		name   string
		make   func(t *testing.T, root string)
		script []string
		// watched lists files that must stay unchanged, or absent.
		watched []string
	}{
		{"below the root", func(t *testing.T, root string) { repository(t, root+"/a/b") }, []string{
			"echo '[core] fsmonitor = x' >>a/b/.git/config", "echo x >a/b/.git/hooks/pre-commit", "mv a/b/.git/hooks h", "mv a/b/.git g && cp -r g a/b/.git && echo x >>a/b/.git/config",
			"mv a c && cp -r c a && echo x >>a/b/.git/config", "git -C a/b config core.fsmonitor x", "rm -rf a/b/.git/hooks",
		}, []string{"a/b/.git/config", "a/b/.git/hooks/pre-commit", "a/b/.git/hooks/update.sample"}},
		{"without hooks", func(t *testing.T, root string) {
			repository(t, root)
			if err := os.RemoveAll(root + "/.git/hooks"); err != nil {
				t.Fatal(err)
			}
		}, []string{"mkdir -p .git/hooks; echo x >.git/hooks/pre-commit"}, []string{".git/hooks/pre-commit"}},
		{"a hard link", func(t *testing.T, root string) {
			repository(t, root)
			if err := errors.Join(os.Link(root+"/.git/config", root+"/c"), os.Link(root+"/.git/hooks/update.sample", root+"/h")); err != nil {
				t.Fatal(err)
			}
		}, []string{"echo '[core] fsmonitor = x' >>c; echo x >>h"}, []string{".git/config", ".git/hooks/update.sample"}},
		{"a link to a repository", func(t *testing.T, root string) {
			repository(t, root+"/real")
			if err := errors.Join(os.Rename(root+"/real/.git", root+"/git"), os.Symlink("git", root+"/.git")); err != nil {
				t.Fatal(err)
			}
		}, []string{"echo x >>git/config", "echo x >>.git/config", "mv git g; mkdir git; echo x >git/config", "rm .git; cp -r git g; echo x >>g/config; ln -s g .git", "echo x >git/hooks/pre-commit"},
			[]string{".git/config", "git/config", "git/hooks/pre-commit"}},
		{"hooks that are a link", func(t *testing.T, root string) {
			repository(t, root)
			if err := errors.Join(os.RemoveAll(root+"/.git/hooks"), write(root, "tools/pre-commit", "good"), os.Symlink("../tools", root+"/.git/hooks")); err != nil {
				t.Fatal(err)
			}
		}, []string{"echo x >tools/pre-commit", "rm .git/hooks; mkdir .git/hooks; echo x >.git/hooks/pre-commit", "rm .git/hooks; mkdir e; echo x >e/pre-commit; ln -s ../e .git/hooks"},
			[]string{".git/hooks/pre-commit"}},
		{"a submodule", func(t *testing.T, root string) {
			repository(t, root+"/lib")
			repository(t, root+"/main")
			git(t, root+"/main", "submodule", "--quiet", "add", "../lib", "sub/x")
			git(t, root+"/main", "commit", "-q", "-m", "x")
		}, []string{"echo x >>main/.git/modules/sub/x/config", "echo x >main/.git/modules/sub/x/hooks/pre-commit", "mv main/.git/modules m; cp -r m main/.git/modules; echo x >>main/.git/modules/sub/x/config",
			"rm main/sub/x/.git; mkdir e; echo 'gitdir: ../../../e' >main/sub/x/.git"},
			[]string{"main/.git/modules/sub/x/config", "main/.git/modules/sub/x/hooks/pre-commit", "main/sub/x/.git"}},
		{"a worktree", func(t *testing.T, root string) {
			repository(t, root+"/main")
			git(t, root+"/main", "worktree", "add", "-q", "../wt")
		}, []string{"echo '[core] fsmonitor = x' >main/.git/worktrees/wt/config.worktree", "mkdir e; echo ../../../../e >e/commondir; cp e/commondir main/.git/worktrees/wt/commondir"},
			[]string{"main/.git/worktrees/wt/config.worktree"}},
	}, 4) {
		t.Run(tc.name, func(t *testing.T) {
			c, root := guardedCommands(t, nil)
			tc.make(t, root)
			before := map[string]string{}
			for _, name := range tc.watched {
				before[name] = text(t, filepath.Join(root, name))
			}
			for _, script := range tc.script {
				said, res := run(t, c, Spec{Script: script})
				for _, name := range tc.watched {
					if now := text(t, filepath.Join(root, name)); now != before[name] {
						t.Errorf("%s: %s is now %q; %d, removed %q: %s", script, name, now, res.Code, res.Removed, said)
					}
				}
			}
		})
	}
}

// TestHooksMade checks that an absent folder of hooks is made, so that a hook
// cannot exist there even briefly.
func TestHooksMade(t *testing.T) {
	c, root := guardedCommands(t, nil)
	repository(t, root+"/a")
	if err := os.RemoveAll(root + "/a/.git/hooks"); err != nil {
		t.Fatal(err)
	}
	if said, res := run(t, c, Spec{Script: "echo x >a/.git/hooks/pre-commit"}); res.Code == 0 || len(res.Removed) > 0 || !strings.Contains(said, "Read-only") {
		t.Errorf("%d, removed %q: %s", res.Code, res.Removed, said)
	}
}

// TestHardLinkNextCommand has a hard link that one command makes together with the
// repository and the next command uses.
func TestHardLinkNextCommand(t *testing.T) {
	c, root := guardedCommands(t, nil)
	run(t, c, Spec{Script: "git init -q . && ln .git/config cfg2"})
	run(t, c, Spec{Script: "printf '[core]\\n\\tfsmonitor = ./evil\\n' >>cfg2; cat .git/config"})
	if now := text(t, root+"/.git/config"); strings.Contains(now, "fsmonitor") {
		t.Errorf("config is %q", now)
	}
}

// TestGuardWhileRunning checks that files that a command makes under protected
// names are quarantined while it runs, even if another command starts meanwhile.
func TestGuardWhileRunning(t *testing.T) {
	c, root := guardedCommands(t, nil)
	hook := filepath.Join(root, ".git/hooks/pre-commit")
	r, err := c.Start(t.Context(), Spec{
		Script: "git init -q . && echo x >.git/hooks/pre-commit && echo made; while test -e .git/hooks/pre-commit; do sleep 0.01; done; until test -e go; do sleep 0.01; done; mkdir -p .git/hooks; echo y >.git/hooks/pre-commit; echo again >made; until test -e end; do sleep 0.01; done",
		Dir:    root,
	})
	if err != nil {
		t.Fatal(err)
	}
	for text(t, hook) != "x\n" {
		if t.Context().Err() != nil {
			t.Fatal("no hook")
		}
	}
	c.guard.tick()
	if text(t, hook) != "" {
		t.Error("the hook is still there")
	}
	// A second command does not accept what the first one has made as its own.
	other, err := c.Start(t.Context(), Spec{Script: "touch go; until test -e made; do sleep 0.01; done; cat made", Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	if res := other.Result(); res.Code != 0 || text(t, hook) != "" {
		t.Errorf("%+v; hook %q", res, text(t, hook))
	}
	if err := write(root, "end", ""); err != nil {
		t.Fatal(err)
	}
	if res := r.Result(); !slices.Contains(res.Removed, filepath.Dir(hook)) {
		t.Errorf("removed %q", res.Removed)
	}
}

// TestGitWorks checks that common uses of git work.
func TestGitWorks(t *testing.T) {
	c, root := guardedCommands(t, nil)
	repository(t, root+"/main")
	for _, script := range testscale.Sample([]string{
		"cd main && git status --short && echo 2 >f && git add f && git commit -q -m 2 && git log --oneline && git diff HEAD~",
		"cd main && git checkout -q -b b && echo 3 >f && git stash -q && git stash pop -q && git commit -qam 3 && git checkout -q main && git merge -q b && git tag v1 && git gc -q",
		"cd main && git worktree add -q ../wt b && cd ../wt && echo 4 >f && git commit -qam 4",
		"cd wt && git status --short && git worktree list && cd ../main && git worktree remove ../wt && test ! -e ../wt",
		"git init -q new && cd new && echo 1 >f && git add f && git commit -q -m 1",
		"cd new && git commit -q --allow-empty -m 2 && git status",
		"git clone -q \"file://$PWD/main\" $TMPDIR/copy && git -C $TMPDIR/copy log --oneline",
		"mkdir -p deep/er && git init -q deep/er/x && git init -q --bare bare.git",
		"git -C bare.git log 2>/dev/null; git -C new push -q ../bare.git main 2>&1 || git -C new push -q ../bare.git master",
	}, 9) {
		if said, res := run(t, c, Spec{Script: script}); res.Code != 0 || len(res.Removed) > 0 {
			t.Errorf("%s: %d, removed %q: %s", script, res.Code, res.Removed, said)
		}
	}
}

// TestCloneRecursive clones a repository with its submodules from a place where no
// command can write.
func TestCloneRecursive(t *testing.T) {
	origin := tempRoot(t)
	repository(t, origin+"/lib")
	repository(t, origin+"/main")
	git(t, origin+"/main", "submodule", "--quiet", "add", origin+"/lib", "sub/x")
	git(t, origin+"/main", "commit", "-q", "-m", "x")
	root := tempRoot(t)
	g, _ := newGuard(t, root)
	w, _ := g.begin(nil, []string{root})
	git(t, root, "clone", "-q", "--recurse-submodules", origin+"/main", "copy")
	if got := g.end(w); len(got) > 0 {
		t.Errorf("taken %q\n%s\n%s", got, text(t, root+"/copy/.git/config"), text(t, root+"/copy/.git/modules/sub/x/config"))
	}
	git(t, root+"/copy/sub/x", "status")
}

// TestSettingsLink checks that a settings file that is a link, or is in a folder
// that is one, stays.
func TestSettingsLink(t *testing.T) {
	var settings string
	c, root := guardedCommands(t, func(config *Config) {
		settings = filepath.Join(config.Roots[0], "conf/settings.json")
		config.Protected = []string{settings}
	})
	if err := errors.Join(write(root, "etc/real/s", "good"), os.Symlink("etc/real", root+"/conf"), os.Symlink("s", root+"/etc/real/settings.json")); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"echo bad >conf/settings.json", "rm conf/settings.json; echo bad >conf/settings.json", "rm conf; mkdir conf; echo bad >conf/settings.json",
		"mv etc e; mkdir -p etc/real; echo bad >etc/real/settings.json", "rm conf", "mv etc/real x; mkdir etc/real; echo bad >etc/real/s", "ln -sf ../../b etc/real/settings.json",
	} {
		said, res := run(t, c, Spec{Script: script})
		if now := text(t, settings); now != "good" {
			t.Errorf("%s: %q; %d, removed %q: %s", script, now, res.Code, res.Removed, said)
		}
	}
}

// TestSettingsAbsent checks that a command cannot make an absent settings file, nor
// put a link in the place of a folder above it, whether the folder existed or not.
func TestSettingsAbsent(t *testing.T) {
	for _, there := range []string{"other", "conf/other", "conf/mcp/other"} {
		var settings string
		c, root := guardedCommands(t, func(config *Config) {
			settings = filepath.Join(config.Roots[0], "conf/mcp/settings.json")
			config.Protected = []string{settings, filepath.Dir(settings)}
		})
		if err := write(root, there, "", "evil/mcp/settings.json", "bad", "evil/settings.json", "bad"); err != nil {
			t.Fatal(err)
		}
		for _, script := range testscale.Sample([]string{
			"mkdir -p conf/mcp; echo bad >conf/mcp/settings.json", "mv conf x1; ln -s evil conf", "mv conf x2; ln -s $PWD/evil conf", "mkdir -p conf; mv conf/mcp x3; ln -s ../evil conf/mcp",
			"cp -r evil conf", "mkdir -p conf/mcp; ln -s ../../evil/settings.json conf/mcp", "mv conf x4; cp -r evil conf", "mv conf x5; ln -s evil e2; ln -s e2 conf",
		}, 3) {
			said, res := run(t, c, Spec{Script: script})
			if now, err := os.ReadFile(settings); err == nil {
				t.Errorf("with %s, %s: %q; %d, removed %q: %s", there, script, now, res.Code, res.Removed, said)
			}
		}
		if _, res := run(t, c, Spec{Script: "mkdir -p conf && echo mine >conf/mine"}); res.Code != 0 || len(res.Removed) > 0 || text(t, filepath.Join(root, "conf/mine")) != "mine\n" {
			t.Errorf("with %s, beside it: %d, removed %q", there, res.Code, res.Removed)
		}
	}
}

// TestSettingsRemoved checks that a command cannot make settings whose hidden folder the user
// has removed since the server started, and that settings stay that the user makes while a
// command runs that cannot see the folder.
func TestSettingsRemoved(t *testing.T) {
	var settings string
	c, root := guardedCommands(t, func(config *Config) {
		settings = filepath.Join(config.Roots[0], "conf/mcp/settings.json")
		config.Closed, config.Protected = []string{filepath.Dir(settings)}, []string{settings}
		if err := write(config.Roots[0], "conf/mcp/other", "secret"); err != nil {
			t.Fatal(err)
		}
	})
	r, err := c.Start(t.Context(), Spec{Script: "until [ -e go ]; do :; done; cat conf/mcp/*; echo bad >conf/mcp/settings.json", Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	if err := write(root, "conf/mcp/settings.json", "mine", "go", ""); err != nil {
		t.Fatal(err)
	}
	if res := r.Result(); len(res.Removed) > 0 || text(t, settings) != "mine" {
		t.Errorf("the user's settings: %q, removed %q", text(t, settings), res.Removed)
	}
	if err := os.RemoveAll(root + "/conf"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		said, res := run(t, c, Spec{Script: "mkdir -p conf/mcp; echo bad >conf/mcp/settings.json"})
		if now := text(t, settings); now != "" || !slices.Equal(res.Removed, []string{settings}) {
			t.Errorf("%q; removed %q: %s", now, res.Removed, said)
		}
		if err := os.RemoveAll(root + "/conf"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLeftByKilled checks that the next server examines the files that commands of
// a killed server left, and does not touch files that the user made since.
func TestLeftByKilled(t *testing.T) {
	root, state := tempRoot(t), t.TempDir()
	repository(t, root+"/old")
	git(t, root+"/old", "config", "core.pager", "mine")
	server := func() *guard {
		g, _ := newGuard(t, root)
		g.journal = state
		return g
	}
	killed, next := server(), server()
	killed.begin(nil, []string{root})
	for _, dir := range []string{"evil", "good"} {
		repository(t, filepath.Join(root, dir))
	}
	git(t, root+"/evil", "config", "core.fsmonitor", "x")
	at := time.Now()
	early := at.Add(-lookMargin) // so that a file made now is later than its last look
	if err := os.Chtimes(killed.file.Name(), early, early); err != nil {
		t.Fatal(err)
	}
	made := func() int64 { at, _ := lookAt(root + "/mine/.git/config"); return at.changed }
	repository(t, root+"/mine")
	git(t, root+"/mine", "config", "core.fsmonitor", "mine")
	for made() <= at.UnixNano() { // file times advance in ticks
		git(t, root+"/mine", "config", "core.fsmonitor", "mine")
	}
	// A running server is left alone.
	next.begin(nil, []string{root})
	if !strings.Contains(text(t, root+"/evil/.git/config"), "fsmonitor") {
		t.Error("taken away from a server that lives")
	}
	_ = killed.lock.Close()
	next = server()
	next.begin(nil, []string{root})
	for name, want := range map[string]string{"old": "pager", "good": "bare", "mine": "fsmonitor", "evil": "bare"} {
		if have := text(t, root+"/"+name+"/.git/config"); !strings.Contains(have, want) || name == "evil" && strings.Contains(have, "fsmonitor") {
			t.Errorf("%s: %q", name, have)
		}
	}
	if _, err := os.Stat(killed.file.Name()); err == nil {
		t.Error("the journal is still there")
	}
}

// TestGuardLooksFirst checks that files that one command has made do not count as
// existing when the next one starts.
func TestGuardLooksFirst(t *testing.T) {
	root := tempRoot(t)
	g, _ := newGuard(t, root)
	g.begin(nil, []string{root})
	if err := write(root, "p/.git", "gitdir: ../evil\n", "evil/config", "", "evil/HEAD", ""); err != nil {
		t.Fatal(err)
	}
	g.begin(nil, []string{root})
	if _, err := os.Lstat(root + "/p/.git"); err == nil {
		t.Error("the pointer is still there")
	}
}
