package search

import (
	"os"
	"os/exec"
	"path/filepath"
)

// branch makes the tree a git repository with two branches: the current state, and the
// state after some changes.
func (f *forest) branch() {
	f.t.Helper()
	f.git("init", "-q", "--template=")
	os.MkdirAll(filepath.Join(f.dir, ".git", "info"), 0o755)
	for i, name := range []string{"one", "two"} {
		f.git("checkout", "-q", "-b", name)
		for range 10 * i {
			f.disturb()
		}
		f.git("add", "-A", "-f", ".")
		f.git("commit", "-q", "--allow-empty", "-m", name)
		f.branches[1-i] = name
	}
}

// checkout switches to the other branch. Changes to files of the branch are lost; other
// files stay, unless they conflict.
func (f *forest) checkout() {
	f.t.Helper()
	f.git("checkout", "-q", "-f", f.branches[0])
	f.branches[0], f.branches[1] = f.branches[1], f.branches[0]
}

// git runs git in the tree without the configuration of the user and the system. It
// allows names that are invalid on other systems.
func (f *forest) git(args ...string) {
	f.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "core.autocrlf=false", "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false"}, args...)...)
	cmd.Dir = f.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(f.dir, ".none"),
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("git %q: %v: %s", args, err, out)
	}
}
