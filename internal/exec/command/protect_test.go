package command

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPlainConfig(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	link := filepath.Join(outside, "link")
	if err := os.Symlink(root, link); err != nil {
		t.Skip(err)
	}
	const core = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
	remote := func(url string) string { return core + "[remote \"origin\"]\n\turl = " + url + "\n" }
	for _, tc := range []struct {
		name, text string
		want       bool
	}{
		{"nothing", "", true},
		{"git init", core, true},
		{"Windows", strings.ReplaceAll(core, "\n", "\r\n"), true},
		{"other hashes", core + "[extensions]\n\tobjectformat = sha256\n\trefstorage = reftable\n", true},
		{"git clone", remote("https://example.com/a/b.git") + "\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n", true},
		{"ssh", remote("ssh://git@example.com/a"), true},
		{"ssh, short", remote("git@github.com:a/b.git"), true},
		{"ssh, without a user", remote("example.com:a/b.git"), true},
		{"a user", core + "[user]\n\tname = A B\n\temail = a@example.com\n", true},
		{"a local branch", core + "[branch \"x\"]\n\tremote = .\n\tmerge = refs/heads/main\n", true},
		{"a folder out of reach", remote(outside), true},

		{"fsmonitor", core + "\tfsmonitor = ./evil\n", false},
		{"fsmonitor, case", core + "\tFsMonitor = ./evil\n", false},
		{"fsmonitor alone", "[core]\n\tfsmonitor\n", false},
		{"in the line of the section", "[core] fsmonitor = ./evil\n", false},
		{"section behind section", "[core][filter \"x\"]\n\tclean = ./evil\n", false},
		{"hooksPath", core + "\thooksPath = evil\n", false},
		{"worktree", core + "\tworktree = /\n", false},
		{"pager", core + "\tpager = ./evil\n", false},
		{"editor", core + "\teditor = ./evil\n", false},
		{"sshCommand", core + "\tsshCommand = ./evil\n", false},
		{"gitProxy", core + "\tgitproxy = ./evil\n", false},
		{"include", core + "[include]\n\tpath = ../evil\n", false},
		{"include, case", core + "[InClude]\n\tpath = ../evil\n", false},
		{"includeIf", core + "[includeIf \"gitdir:/\"]\n\tpath = ../evil\n", false},
		{"filter", core + "[filter \"x\"]\n\tclean = ./evil\n", false},
		{"diff", core + "[diff \"x\"]\n\ttextconv = ./evil\n", false},
		{"alias", core + "[alias]\n\tst = !./evil\n", false},
		{"credential", core + "[credential]\n\thelper = ./evil\n", false},
		{"gpg", core + "[gpg]\n\tprogram = ./evil\n", false},
		{"submodule", core + "[submodule \"x\"]\n\tupdate = !./evil\n", false},
		{"url", core + "[url \"ext::evil\"]\n\tinsteadOf = https://\n", false},
		{"worktreeConfig", core + "[extensions]\n\tworktreeConfig = true\n", true},
		{"uploadpack", remote("https://example.com") + "\tuploadpack = ./evil\n", false},
		{"receivepack", remote("https://example.com") + "\treceivepack = ./evil\n", false},
		{"vcs", remote("https://example.com") + "\tvcs = evil\n", false},
		{"proxy", remote("https://example.com") + "\tproxy = ext\n", false},
		{"ext::", remote("ext::sh -c ./evil"), false},
		{"a helper", remote("evil::https://example.com"), false},
		{"an option", remote("-uevil"), false},
		{"an option as host", remote("ssh://-oProxyCommand=evil/a"), false},
		{"an option as short host", remote("-oProxyCommand=evil:a"), false},
		{"a folder in the root", remote(root), false},
		{"a file: in the root", remote("file://" + root), false},
		{"a link into the root", remote(link), false},
		{"a relative folder", remote("./evil.git"), false},
		{"a relative folder, bare", remote("evil.git"), false},
		{"up and down", remote(outside + "/../" + filepath.Base(root)), false},
		{"what is not there", remote(outside + "/absent"), false},
		{"a branch of a folder", core + "[branch \"x\"]\n\tremote = ./evil.git\n", false},
		{"a branch of a remote that is none", core + "[branch \"x\"]\n\tremote = evil\n", false},
		{"a branch of a remote without a url", core + "[remote \"evil\"]\n\tfetch = x\n[branch \"x\"]\n\tremote = evil\n", false},
		{"a branch of ext::", core + "[branch \"x\"]\n\tremote = ext::evil\n", false},
		{"quotes", "[core]\n\tbare = \"false\"\n", true},
		{"quoted name", "[remote \"a\\\"b\"]\n", true},
		{"comment", "[core] # \n", true},
		{"comment line", "# x\n[core]\n", true},
		{"comment behind", "[core]\n\tbare = false ; x\n", true},
		{"continuation", "[core]\n\tbare = false \\\n\tfsmonitor = evil\n", true},
		{"continued name", "[core]\n\tname = \\\n", false},
		{"dotted", "[core.x]\n\tbare = false\n", false},
		{"upper case", "[CORE]\n\tbare = false\n", true},
		{"no blank", "[core]\n\tbare=false\n", true},
		{"form feed", "\f[core]\n", false},
		{"byte order mark", "\ufeff[core]\n", true},
		{"no-break space", "\u00a0[core]\n", false},
	} {
		g := &guard{}
		if got := g.plainConfig([]byte(tc.text), name{repo: repo{dir: root + "/.git"}}, found{}, []string{root}); got != tc.want {
			t.Errorf("%s: %v, want %v\n%s", tc.name, got, tc.want, tc.text)
		}
	}
}

// newGuard returns a guard of a root and its quarantine folder.
func newGuard(t *testing.T, root string) (*guard, string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("nothing is contained here")
	}
	away := t.TempDir()
	return &guard{
		roots: []string{root}, files: []string{filepath.Join(root, settingsName)}, log: slog.New(slog.DiscardHandler),
		every: time.Hour, makeQuarantine: func() (string, error) { return away, nil },
	}, away
}

// tempRoot returns a folder without links in its path.
func tempRoot(t *testing.T) string { return resolved(t.TempDir()) }

func TestTakeAway(t *testing.T) {
	for _, tc := range []struct {
		name  string
		make  func(root string) error
		taken []string
		stays []string
	}{
		{"nothing", func(string) error { return nil }, nil, nil},
		{"a new repository", func(root string) error {
			return write(root, ".git/config", "[core]\n\tbare = false\n", ".git/hooks/pre-commit.sample", "", ".git/HEAD", "")
		}, nil, []string{".git/config", ".git/hooks"}},
		{"a hook", func(root string) error { return write(root, ".git/hooks/pre-commit", "", ".git/hooks/x.sample", "") },
			[]string{".git/hooks"}, []string{".git"}},
		{"a folder of a hook's name", func(root string) error { return write(root, ".git/hooks/a.sample/x", "") }, []string{".git/hooks"}, nil},
		{"a link to samples", func(root string) error {
			return errors.Join(write(root, "h/x.sample", "", ".git/HEAD", ""), os.Symlink("../h", filepath.Join(root, ".git/hooks")))
		}, []string{".git/hooks"}, []string{"h/x.sample"}},
		{"a config", func(root string) error { return write(root, ".git/config", "[core]\n\tfsmonitor = x\n") }, nil, []string{".git/config"}},
		{"a broken config", func(root string) error { return write(root, ".git/config", "[core\n") }, []string{".git/config"}, []string{".git"}},
		{"a link to a config", func(root string) error {
			return errors.Join(write(root, "c", "", ".git/HEAD", ""), os.Symlink("../c", filepath.Join(root, ".git/config")))
		}, []string{".git/config"}, []string{"c"}},
		{"a large config", func(root string) error { return write(root, ".git/config", strings.Repeat("[core]\n", 200_000)) }, []string{".git/config"}, nil},
		{"another config", func(root string) error { return write(root, ".git/commondir", "../evil") }, []string{".git/commondir"}, nil},
		{"attributes", func(root string) error { return write(root, ".git/info/attributes", "") }, []string{".git/info/attributes"}, []string{".git/info"}},
		{"settings", func(root string) error { return write(root, ".mcp-toolset/settings.json", "{}") }, []string{".mcp-toolset"}, nil},
		{"a repository elsewhere", func(root string) error { return write(root, ".git", "gitdir: evil", "evil/config", "") }, []string{".git"}, []string{"evil"}},
		{"a link to a repository", func(root string) error {
			return errors.Join(write(root, "evil/config", "[core]\n\tfsmonitor = x\n"), os.Symlink("evil", filepath.Join(root, ".git")))
		}, []string{".git"}, []string{"evil/config"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := tempRoot(t)
			g, dir := newGuard(t, root)
			w, _ := g.begin(nil, []string{root})
			if err := tc.make(root); err != nil {
				t.Fatal(err)
			}
			got := g.end(w)
			for i, name := range got {
				got[i], _ = filepath.Rel(root, name)
			}
			if !slices.Equal(got, tc.taken) {
				t.Errorf("taken %q, want %q", got, tc.taken)
			}
			for _, name := range tc.taken {
				if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
					t.Errorf("%s is still there", name)
				}
				if kept, _ := filepath.Glob(filepath.Join(dir, "*", filepath.Base(name))); len(kept) != 1 {
					t.Errorf("%s is not kept: %q", name, kept)
				}
			}
			for _, name := range tc.stays {
				if _, err := os.Lstat(filepath.Join(root, name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestTakeAwayTwice checks that equal names of two roots do not collide in
// quarantine. Without a quarantine folder they are removed.
func TestTakeAwayTwice(t *testing.T) {
	root := tempRoot(t)
	g, dir := newGuard(t, root)
	for i := range 3 {
		if i == 2 {
			g.makeQuarantine = func() (string, error) { return "", os.ErrPermission }
		}
		w, _ := g.begin(nil, []string{root})
		if err := write(root, ".mcp-toolset/x", ""); err != nil {
			t.Fatal(err)
		}
		if got := g.end(w); len(got) != 1 {
			t.Errorf("taken %q", got)
		}
		if _, err := os.Lstat(filepath.Join(root, ".mcp-toolset")); err == nil {
			t.Error("it is still there")
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "*", ".mcp-toolset", "x")); len(kept) != 2 {
		t.Errorf("kept are %q", kept)
	}
}

// TestProtectedFile checks that a name that existed is not attributed to the
// command. The file .git of a linked worktree is itself protected.
func TestProtectedFile(t *testing.T) {
	root := tempRoot(t)
	if err := write(root, ".git", "gitdir: /elsewhere"); err != nil {
		t.Fatal(err)
	}
	g, _ := newGuard(t, root)
	w, protect := g.begin(nil, []string{root})
	if !slices.Contains(protect, filepath.Join(root, ".git")) {
		t.Errorf("protected is %q", protect)
	}
	if got := g.end(w); len(got) != 0 {
		t.Errorf("taken %q", got)
	}
}

// TestGitStays checks that files that git makes stay.
func TestGitStays(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{{"init"}, {"clone", "ORIGIN", "."}} {
		t.Run(args[0], func(t *testing.T) {
			root, origin := tempRoot(t), tempRoot(t)
			git(t, origin, "init", "-q")
			git(t, origin, "commit", "-q", "--allow-empty", "-m", "x")
			g, _ := newGuard(t, root)
			w, _ := g.begin(nil, []string{root})
			args := slices.Clone(args)
			if i := slices.Index(args, "ORIGIN"); i >= 0 {
				args[i] = origin
			}
			git(t, root, args...)
			if got := g.end(w); len(got) != 0 {
				t.Errorf("taken %q", got)
			}
		})
	}
}

// git runs git as on a machine without settings.
func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), gitEnv...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

var gitEnv = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
	"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a",
}

// write writes files, given as names and texts, and makes their folders.
func write(root string, files ...string) error {
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(root, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			return err
		}
	}
	return nil
}
