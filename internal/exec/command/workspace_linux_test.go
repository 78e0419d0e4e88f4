package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func gitOut(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), gitEnv...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestWorktreeBranches checks that a command in a git worktree commits there, and does not move
// the branches of other checkouts, whether they have files of their own or are packed.
func TestWorktreeBranches(t *testing.T) {
	folder := tempRoot(t)
	c, root := guardedCommands(t, func(c *Config) { c.Worktrees = folder })
	repository(t, root)
	own, other := filepath.Join(folder, "own"), filepath.Join(folder, "other")
	git(t, root, "worktree", "add", "-q", "-b", "own", own)
	git(t, root, "worktree", "add", "-q", "-b", "x/other", other)
	common := filepath.Join(root, ".git")
	at := &Workspace{Roots: []string{own}, Folder: own, Main: root, Common: common, Own: filepath.Join(common, "worktrees/own")}
	for _, packed := range []bool{false, true} {
		if packed {
			git(t, root, "pack-refs", "--all")
		}
		before, log := text(t, filepath.Join(root, ".git/HEAD")), text(t, filepath.Join(common, "logs/refs/heads/main"))
		said, res := run(t, c, Spec{Dir: own, Workspace: at, Script: `git commit -q --allow-empty -m more || exit 9
			h=$(git rev-parse --git-dir)/HEAD; echo 'ref: refs/heads/main' >$h; git commit -q --allow-empty -m more; echo 'ref: refs/heads/own' >$h
			for b in main x/other; do git update-ref refs/heads/$b HEAD; git branch -m $b moved; git update-ref -d refs/heads/$b; echo bad >` + common + `/refs/heads/$b; done; git branch free; git branch -D free; exit 3`})
		if res.Code != 3 {
			t.Fatalf("packed %v: %d: %s", packed, res.Code, said)
		}
		for _, dir := range []string{root, other} {
			if branch := strings.TrimSpace(gitOut(t, dir, "log", "-1", "--format=%s", "HEAD")); branch != "x" {
				t.Errorf("packed %v: %s is at %q: %s", packed, dir, branch, said)
			}
		}
		if now := text(t, filepath.Join(root, ".git/HEAD")); now != before || text(t, filepath.Join(common, "logs/refs/heads/main")) != log || gitOut(t, own, "log", "-1", "--format=%s") != "more\n" || strings.Contains(gitOut(t, own, "branch"), "moved") {
			t.Errorf("packed %v: HEAD %q, %s: %s", packed, now, gitOut(t, own, "branch", "-v"), said)
		}
	}
	// A command can prepare what the server reads and writes.
	out := tempRoot(t)
	for _, c := range []struct{ packed, branch string }{
		{strings.Repeat("a", 40) + " refs/heads/link/id_rsa", "refs/heads/link/id_rsa"},
		{"[core]hooksPath=/x refs/heads/new", "refs/heads/new"},
	} {
		if err := write(common, "packed-refs", c.packed+"\n"); err != nil {
			t.Fatal(err)
		}
		_ = os.Symlink(out, filepath.Join(common, "refs/heads/link"))
		unpack(common, c.branch)
		if text(t, filepath.Join(common, c.branch)) != "" || exists(filepath.Join(common, c.branch+".lock")) {
			t.Errorf("%q has made %s", c.packed, c.branch)
		}
	}
	for head, want := range map[string]string{"ref: refs/heads/a/b\n": "refs/heads/a/b", "ref: refs/heads/../../x\n": "", "ref: refs/tags/a\n": "", strings.Repeat("a", 40): "", "": ""} {
		if err := write(out, "HEAD", head); err != nil {
			t.Fatal(err)
		}
		if got := branchOf(out); got != want {
			t.Errorf("%q is at %q", head, got)
		}
	}
}
