package worktree_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	core "mcp-toolset/internal/exec/worktree"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
	"mcp-toolset/tools/worktree"
)

// bench is a registry with a repository, and sessions in it.
type bench struct {
	t     *testing.T
	base  string
	repo  string
	tools map[string]*tools.Tool
	reg   *core.Registry
}

func newBench(t *testing.T) *bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, base: base, repo: filepath.Join(base, "app"), tools: map[string]*tools.Tool{}}
	state := filepath.Join(base, "state")
	b.reg = &core.Registry{State: state, Folder: core.FolderFor(state), Locks: filelock.New(filepath.Join(base, "locks"))}
	t.Cleanup(func() { _ = b.reg.Close() })
	for _, tool := range worktree.New(worktree.Options{Worktrees: b.reg}) {
		b.tools[tool.Name] = tool
	}
	b.write("app/a.txt", "one\n")
	b.write("app/sub/b.txt", "two\n")
	b.write("app/.gitignore", ".env\n")
	b.git("init", "-q", "-b", "main")
	b.git("config", "user.name", "a")
	b.git("config", "user.email", "a@b")
	b.git("add", ".")
	b.git("commit", "-qm", "first")
	return b
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.base, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) git(args ...string) string { return b.gitIn(b.repo, args...) }

func (b *bench) gitIn(dir string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// open returns a session with roots.
func (b *bench) open(id string, roots ...string) *toolstest.Workspace {
	w := toolstest.NewWorkspace(b.t)
	w.Session = session.New(session.Config{ID: id, Roots: roots})
	return w
}

// call calls a tool and returns its text, or that of the error, with the folders shortened.
func (b *bench) call(w *toolstest.Workspace, tool, args string) string {
	b.t.Helper()
	resp, err := w.Call(b.t.Context(), b.tools[tool], args)
	text := ""
	if err != nil {
		text = "error: " + err.Error()
	} else {
		text = toolstest.Text(resp)
	}
	text = regexp.MustCompile(regexp.QuoteMeta(b.reg.Folder)+`/[a-z]+-[0-9a-f]{8}`).ReplaceAllString(text, "$$WT")
	return strings.ReplaceAll(text, b.base, "$BASE")
}

func (b *bench) want(got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("have %s\nwant %s", got, want)
	}
}

const (
	enter = "EnterWorktree"
	exit  = "ExitWorktree"
	keep  = `{"action":"keep"}`
	drop  = `{"action":"remove"}`
)

// TestMove checks where a session is in a worktree and afterwards, what is copied, and what is
// removed.
func TestMove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("app/.env", "secret\n")
	b.write("app/notes/n.md", "note\n")
	b.write("app/other.md", "other\n")
	b.write("app/.worktreeinclude", ".env\n*.md\n!other.md\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(b.repo, "l.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(b.repo, ".env"), 0o600); err != nil {
		t.Fatal(err)
	}
	far := filepath.Join(b.base, "far")
	if err := os.Mkdir(far, 0o755); err != nil {
		t.Fatal(err)
	}
	w := b.open("1", b.repo, far)
	w.Session.Apply(session.Effect{Dir: filepath.Join(b.repo, "sub")})
	b.want(b.call(w, enter, `{"name":"feature/x"}`), "The session is in the new worktree $WT/feature-x, on the new branch feature/x.\n"+
		"The working directory is $WT/feature-x/sub.\nCopied: .env, notes/n.md.\nNot copied: l.md: it is a link.\nThe main checkout, $BASE/app, is read-only until ExitWorktree.")
	v := w.Session.View()
	folder := v.Worktree.Folder
	if !slices.Equal(v.Roots, []string{folder, far}) || v.Dir != filepath.Join(folder, "sub") || v.Worktree.Common != filepath.Join(b.repo, ".git") {
		t.Errorf("%q, %q, %+v", v.Roots, v.Dir, v.Worktree)
	}
	if info, err := os.Stat(filepath.Join(folder, ".env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	b.want(b.call(w, enter, `{}`), "error: the session is in the worktree $WT/feature-x already. Call ExitWorktree first.")
	// Copies are no work.
	b.want(b.call(w, exit, drop), "The worktree $WT/feature-x is removed, with the branch feature/x. The working directory is $BASE/app/sub.")
	if v := w.Session.View(); !slices.Equal(v.Roots, []string{b.repo, far}) || v.Worktree != nil {
		t.Errorf("%+v", v)
	}
	if list := b.git("worktree", "list"); strings.Contains(list, "\n") || b.git("branch", "--list") != "* main" {
		t.Error(list)
	}
	b.want(b.call(w, exit, drop), "error: the session is in no worktree. EnterWorktree makes one.")
}

// TestWork checks that remove refuses what would lose work, and what discard_changes leaves.
func TestWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.git("branch", "old")
	w := b.open("1", b.repo)
	b.want(b.call(w, enter, `{"name":"old"}`), "The session is in the new worktree $WT/old, on the branch old, which existed.\nThe main checkout, $BASE/app, is read-only until ExitWorktree.")
	folder := w.Session.View().Worktree.Folder
	const next = ". Commit and push or merge it, leave with the action keep, or set discard_changes if the user wants to lose it."
	if err := os.WriteFile(filepath.Join(folder, "new\nline"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b.want(b.call(w, exit, drop), `error: removing the worktree would lose work: not committed: new\nline`+next)
	b.gitIn(folder, "add", ".")
	b.gitIn(folder, "commit", "-qm", "on a branch that stays")
	b.gitIn(folder, "checkout", "-q", "--detach")
	b.gitIn(folder, "commit", "-qm", "on none", "--allow-empty")
	hash := b.gitIn(folder, "rev-parse", "--short", "HEAD")
	b.want(b.call(w, exit, drop), "error: removing the worktree would lose work: on no other branch: "+hash+" on none"+next)
	for i := range 12 {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%02d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := b.call(w, exit, drop)
	if !strings.Contains(text, "; not committed: f09; and 3 more.") || strings.Contains(text, "f10") {
		t.Error(text)
	}
	b.want(b.call(w, exit, `{"action":"keep","discard_changes":true}`), "error: discard_changes is only for the action remove. Leave it out.")
	discard, err := b.tools[exit].Parse(json.RawMessage(`{"action":"remove","discard_changes":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := toolstest.Prepare(t, discard, w.Env()).Check(w.Env()); d == nil || d.Behavior != policy.Ask || d.Reason != "it removes "+folder+" with changes and commits that are nowhere else" || d.Next != "leave with the action keep" {
		t.Errorf("%+v", d)
	}
	b.want(b.call(w, exit, `{"action":"remove","discard_changes":true}`), "The worktree $WT/old is removed. The working directory is $BASE/app.")
	if log := b.git("log", "--format=%s", "old"); log != "on a branch that stays\nfirst" {
		t.Error(log)
	}
}

// TestEnterPath checks which worktrees can be entered by path.
func TestEnterPath(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w, other := b.open("1", b.repo), b.open("2", b.repo)
	path := func(p string) string { return fmt.Sprintf(`{"path":%q}`, p) }
	b.want(b.call(w, enter, path(b.base)), "error: $BASE is no worktree of this repository, which has none besides this checkout. Call EnterWorktree without path to make one.")
	b.call(w, enter, `{"name":"w"}`)
	folder := w.Session.View().Worktree.Folder
	b.want(b.call(other, enter, path(b.base)), "error: $BASE is no worktree of this repository. The only worktree is $WT/w.")
	b.want(b.call(other, enter, path(folder)), "error: another session works in $WT/w. Make a worktree of another name.")
	b.want(b.call(other, enter, `{"name":"w"}`), "error: the branch w is checked out in $WT/w. Use another name, or enter that worktree with path.")
	b.want(b.call(other, enter, `{"name":"main"}`), "error: the branch main is checked out here. Use another name.")
	b.want(b.call(w, exit, keep), "The worktree $WT/w stays. EnterWorktree with its path enters it again, also for Undo of what was changed there. The working directory is $BASE/app.")
	b.want(b.call(other, enter, path(folder)), "The session is in the worktree $WT/w, on the branch w.\nThe main checkout, $BASE/app, is read-only until ExitWorktree.")
	b.want(b.call(other, exit, drop), "The worktree $WT/w is removed, with the branch w. The working directory is $BASE/app.")
	// One of the user's own is only left. It asks, since it is outside of the workspace.
	own := filepath.Join(b.base, "own")
	b.git("worktree", "add", "-q", "--detach", own)
	call, err := b.tools[enter].Parse(json.RawMessage(path(own)))
	if err != nil {
		t.Fatal(err)
	}
	env := w.Env()
	if d := toolstest.Prepare(t, call, env).Check(env); d == nil || d.Reason != own+" is outside of the workspace, and EnterWorktree has not made it" || d.Next != "call EnterWorktree without path to make a worktree" {
		t.Errorf("%+v", d)
	}
	b.want(b.call(w, enter, path(own)), "The session is in the worktree $BASE/own, at no branch.\nThe main checkout, $BASE/app, is read-only until ExitWorktree.")
	b.want(b.call(w, exit, drop), "error: EnterWorktree has not made this worktree. Leave it with the action keep; the user can remove it with git worktree remove.")
	b.want(b.call(w, exit, keep), "The worktree $BASE/own stays. EnterWorktree with its path enters it again, also for Undo of what was changed there. The working directory is $BASE/app.")
	// The user's worktree as the checkout, with its repository outside of the workspace.
	b.write("own/.gitmodules", "")
	b.gitIn(own, "add", ".")
	b.gitIn(own, "commit", "-qm", "modules")
	apart := b.open("3", own)
	b.want(b.call(apart, enter, `{"name":"apart"}`), "The session is in the new worktree $WT/apart, on the new branch apart.\nSubmodules are not checked out in it.\n"+
		"The repository's folder is outside of the workspace, so commits need approval as before.\nThe main checkout, $BASE/own, is read-only until ExitWorktree.")
	b.want(b.call(apart, exit, drop), "The worktree $WT/apart is removed, with the branch apart. The working directory is $BASE/own.")
	b.want(b.call(b.open("4", b.repo, own), enter, path(own)), "error: $BASE/own holds a root of the session. Work there without EnterWorktree.")
	loop := filepath.Join(b.base, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	b.want(b.call(w, enter, path(loop)), "error: $BASE/loop cannot be followed. Use the path of a worktree.")
	// A folder that only the repository calls its worktree.
	private := filepath.Join(b.base, "private")
	b.write("private/x", "")
	b.write("app/.git/worktrees/own/gitdir", private+"/.git\n")
	if text := b.call(w, enter, path(private)); !strings.HasPrefix(text, "error: ") || w.Session.View().Worktree != nil {
		t.Error(text)
	}
}

// TestRefused checks the repositories in which no worktree is made.
func TestRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, dir := range []string{"plain", "unborn", "bare", "fake"} {
		if err := os.Mkdir(filepath.Join(b.base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.gitIn(filepath.Join(b.base, "unborn"), "init", "-q")
	b.gitIn(filepath.Join(b.base, "bare"), "init", "-q", "--bare")
	b.write("fake/.git", "gitdir: "+b.repo+"/.git\n")
	b.write("partial/x", "")
	b.gitIn(filepath.Join(b.base, "partial"), "init", "-q")
	b.gitIn(filepath.Join(b.base, "partial"), "config", "remote.o.promisor", "true")
	b.write("app/.git/refs/heads/held.lock", "")
	for _, test := range []struct{ dir, args, want string }{
		{"plain", `{}`, "$BASE/plain is in no git repository. Work in the folder itself, or change to a folder of a repository first."},
		{"unborn", `{}`, "the repository has no commit yet. Make a first commit, then call EnterWorktree again."},
		{"bare", `{}`, "$BASE/bare is in a git directory, not in a checkout. Change to a checkout first; clone a bare repository for it."},
		{"fake", `{}`, "the repository $BASE/app/.git is outside of the workspace. Ask the user to start the server with the folder that holds it as a root."},
		{"partial", `{}`, "git would run programs that this repository names: objects may have to be fetched: remote.o.promisor. Ask the user to make the worktree with git worktree add; EnterWorktree enters it by its path."},
		{"app", `{"name":"held"}`, "git worktree add failed: cannot lock ref 'refs/heads/held': Unable to create '$BASE/app/.git/refs/heads/held.lock': File exists. Another git may be at work: try again; if it stays like that, ask the user to remove the lock file."},
		{"app", `{"name":"main/x"}`, "git worktree add failed: cannot lock ref 'refs/heads/main/x': 'refs/heads/main' exists; cannot create 'refs/heads/main/x'. Use another name."},
		{"app", `{"name":"../x"}`, `the name is invalid. Use parts of letters, digits, ".", "_" and "-", joined by "/", 64 characters at most.`},
		{"app", `{"name":"x","path":"y"}`, "name is for a new worktree, and path for an existing one. Give one of them."},
	} {
		w := b.open(test.dir, filepath.Join(b.base, test.dir))
		b.want(b.call(w, enter, test.args), "error: "+test.want)
	}
	wide := b.open("wide", b.base)
	wide.Session.Apply(session.Effect{Dir: b.repo})
	b.want(b.call(wide, enter, `{}`), "error: the root $BASE holds more than the repository $BASE/app. Ask the user to start the server with the repository as a root.")
	internal := b.open("internal", filepath.Join(b.repo, ".git", "refs"))
	b.want(b.call(internal, enter, `{}`), "error: $BASE/app/.git/refs is in a git directory, not in a checkout. Change to a checkout first; clone a bare repository for it.")
	// A folder of the checkout is a link in the commit. A worktree of the user on a disk that is
	// not there stays known.
	away, link := filepath.Join(b.base, "away"), filepath.Join(b.repo, "link")
	b.git("worktree", "add", "-q", "--detach", away)
	if err := errors.Join(os.RemoveAll(away), os.Symlink("sub", link)); err != nil {
		t.Fatal(err)
	}
	b.git("add", "link")
	b.git("commit", "-qm", "link")
	if err := errors.Join(os.Remove(link), os.Mkdir(link, 0o755)); err != nil {
		t.Fatal(err)
	}
	b.want(b.call(b.open("link", link), enter, `{"name":"w"}`), "error: the root $WT/w/link is a link in the worktree. Work without a worktree.")
	if !strings.Contains(b.git("worktree", "list"), away+" ") {
		t.Error("the worktree of the user is pruned")
	}
	b.git("worktree", "prune", "--expire", "now")
	w := toolstest.NewWorkspace(t)
	w.Session = session.New(session.Config{Roots: []string{b.repo}, Stateless: true})
	const stateless = "error: a worktree needs a session, and the requests of this client have none. Use git worktree in a command, and name the files by their full paths."
	b.want(b.call(w, enter, `{}`), stateless)
	b.want(b.call(w, exit, keep), stateless)
	// Nothing is left of those that failed.
	if list := b.git("worktree", "list"); strings.Contains(list, "\n") || b.git("branch", "--list") != "* main" {
		t.Error(list)
	}
	if list, damaged, err := b.reg.List(t.Context(), false); err != nil || len(list)+len(damaged) != 0 {
		t.Error(list, damaged, err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.reg.Folder, "*", "*")); len(left) != 0 {
		t.Error(left)
	}
}

// TestUnsafeRepository checks that no program of the repository runs, and that a file of git-lfs
// is a pointer.
func TestUnsafeRepository(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mark := filepath.Join(b.base, "ran")
	b.write("app/.gitattributes", "*.txt filter=x\n")
	b.git("add", ".")
	b.git("commit", "-qm", "attributes")
	for _, setting := range [][2]string{{"filter.x.smudge", "touch " + mark}, {"filter.x.clean", "touch " + mark}, {"filter.x.process", "touch " + mark}, {"filter.x.required", "true"}, {"core.fsmonitor", "touch " + mark + "; false"}, {"core.pager", "touch " + mark}} {
		b.git("config", setting[0], setting[1])
	}
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		b.write("app/.git/hooks/"+hook, "#!/bin/sh\ntouch "+mark+"\n")
		if err := os.Chmod(filepath.Join(b.repo, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := b.open("1", b.repo)
	b.call(w, enter, `{"name":"w"}`)
	b.want(b.call(w, exit, drop), "The worktree $WT/w is removed, with the branch w. The working directory is $BASE/app.")
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a program of the repository has run")
	}
}

// TestGone removes a worktree whose folder is gone already, or which git does not know any more,
// and the branch without commits.
func TestGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.open("1", b.repo)
	enterAndRemove := func(args ...string) {
		t.Helper()
		b.call(w, enter, `{"name":"w"}`)
		folder := w.Session.View().Worktree.Folder
		if len(args) > 0 {
			b.git(append(args, folder)...)
		} else if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	clean := func() {
		t.Helper()
		b.want(b.call(w, exit, keep), "The worktree $WT/w stays. EnterWorktree with its path enters it again, also for Undo of what was changed there. The working directory is $BASE/app.")
		list, damaged, err := b.reg.List(t.Context(), true)
		if err != nil || len(damaged) != 0 || len(list) != 1 || !list[0].Removed || list[0].Problem != "" {
			t.Errorf("%+v, %v, %v", list, damaged, err)
		}
		if list, _, _ := b.reg.List(t.Context(), false); len(list) != 0 {
			t.Errorf("%+v is listed", list)
		}
	}
	byGit := []string{"worktree", "remove", "--force", "--force"}
	for _, args := range [][]string{nil, byGit} {
		enterAndRemove(args...)
		b.want(b.call(w, exit, drop), "The worktree $WT/w is removed, with the branch w. The working directory is $BASE/app.")
		enterAndRemove(args...)
		clean()
	}
	if list := b.git("worktree", "list"); strings.Contains(list, "\n") || b.git("branch", "--list") != "* main" {
		t.Error(list)
	}
	// The repository is gone, too.
	enterAndRemove()
	if err := os.RemoveAll(b.repo); err != nil {
		t.Fatal(err)
	}
	clean()
}

// TestFolderInCheckout makes worktrees in a folder of the checkout, which git does not list there,
// and copies as many files with long names as the limit permits.
func TestFolderInCheckout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.reg.Folder = ".trees"
	for i := range 1002 {
		b.write(fmt.Sprintf("app/%s%d.log", strings.Repeat("long-", 40), i), "")
	}
	b.write("app/.worktreeinclude", "*.log\n")
	b.git("add", ".worktreeinclude")
	b.git("commit", "-qm", "include")
	w := b.open("1", b.repo)
	text := b.call(w, enter, `{"name":"w"}`)
	if !strings.Contains(text, "\nNot copied: 2 more; 1000 files and 100 MiB are the limit.\n") {
		t.Error(text)
	}
	folder := w.Session.View().Worktree.Folder
	if !strings.HasPrefix(folder, filepath.Join(b.repo, ".trees")+"/") {
		t.Error(folder)
	}
	if status := b.git("status", "--porcelain", "--", ".trees"); status != "" {
		t.Error(status)
	}
	if text := b.call(w, exit, drop); !strings.Contains(text, " is removed, with the branch w.") {
		t.Error(text)
	}
}

// TestOneName lets sessions ask for one name at once: one gets it.
func TestOneName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var group sync.WaitGroup
	got := make([]string, 4)
	for i := range got {
		w := b.open(fmt.Sprint(i), b.repo)
		group.Go(func() { got[i] = b.call(w, enter, `{"name":"n"}`) })
	}
	group.Wait()
	made := 0
	for _, text := range got {
		if strings.HasPrefix(text, "The session is in the new worktree $WT/n,") {
			made++
		} else if text != "error: the branch n is checked out in $WT/n. Use another name, or enter that worktree with path." {
			t.Error(text)
		}
	}
	if made != 1 {
		t.Errorf("%d sessions are in it", made)
	}
}
