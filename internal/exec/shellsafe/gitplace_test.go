package shellsafe

import (
	"mcp-toolset/internal/testscale"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestGitPlaces runs read-only git in repositories whose settings or links lead out
// of the root, to a repository of the user. Nothing of that one may appear.
func TestGitPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("git prints other paths here")
	}
	bash := needBash(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	const (
		show   = "show"   // it runs and shows the expected content
		silent = "silent" // it runs and shows nothing of the other repository
	)
	cases := []struct{ name, setup, root, command, want string }{
		{"plain", ``, "ws", "git log", show},
		{"folder below the top", ``, "ws/sub", "git log", show},
		{"linked working tree", `git -C ../other worktree add -q ../linked; mkdir ../linked/deep; `, "linked", "git log", show},
		{"below a linked working tree", `git -C ../other worktree add -q ../linked; mkdir ../linked/deep`, "linked/deep", "git log", show},
		{"moved settings of a submodule", `git -c protocol.file.allow=always submodule --quiet add ../other m`, "ws/m", "git log", show},
		{"submodule of the root", `git -c protocol.file.allow=always submodule --quiet add ../other m`, "ws", "git -C m log", show},
		{"separate folder inside", `git init -q --separate-git-dir=repo .`, "ws", "git log", show},
		{"included settings inside", `printf '[user]\n\tname = x\n' > .git/more; git config include.path more`, "ws", "cd sub && git log", show},
		{"no repository", `rm -rf .git`, "ws", "git diff sub/s f.txt", show},

		{"revisions to ignore", `echo TOPSECRET > ../s; git config blame.ignoreRevsFile "$PWD/../s"`, "ws", "git blame f.txt", silent},
		{"mail addresses", `echo 'TOPSECRET <a@b>' > ../s; git config mailmap.file "$PWD/../s"`, "ws", "git log --use-mailmap", silent},
		{"names to ignore", `echo 'f*' > ../TOPSECRET; git config core.excludesFile "$PWD/../TOPSECRET"`, "ws", "git check-ignore -v --no-index f.txt", silent},
		{"order of files", `mkdir ../TOPSECRET; git config diff.orderFile "$PWD/../TOPSECRET"`, "ws", "git diff", silent},
		{"working tree", `git config core.worktree "$PWD/../other"`, "ws", "git status -uall", "core.worktree"},
		{"working tree of a folder above", `git config core.worktree ../..`, "ws", "git ls-files -o --full-name ..", "core.worktree"},
		{"working tree by its own settings", `git config extensions.worktreeConfig true; git config -f .git/config.worktree core.worktree "$PWD/../other"`, "ws", "git status -uall", "core.worktree"},
		{"gitfile", `echo "gitdir: $PWD/../other/.git" > sub/.git`, "ws", "git -C sub log", "outside of the roots"},
		{"gitfile to a linked one", `git -C ../other worktree add -q ../linked; echo "gitdir: $PWD/../other/.git/worktrees/linked" > sub/.git`, "ws", "git -C sub log", "outside of the roots"},
		{"gitfile to a home folder's", `git -C ../other config core.worktree "$PWD/.."; echo "gitdir: $PWD/../other/.git" > sub/.git`, "ws", "git -C sub log", "outside of the roots"},
		{"link", `rm -rf .git; ln -s ../other/.git .git`, "ws", "git log", "outside of the roots"},
		{"folder that is a link", `rm -rf sub; ln -s ../other sub`, "ws", "git -C sub log", "outside of the roots"},
		{"shared folder", `echo "$PWD/../other/.git" > .git/commondir; cp ../other/.git/HEAD .git/HEAD`, "ws", "git log --all", "takes its objects"},
		{"included settings", `printf '[topsecret]\n\tkey = TOPSECRET\n' > ../s; git config include.path ../../s`, "ws", "git config --list", "includes settings"},
		{"included settings, below", `printf '[topsecret]\n\tkey = TOPSECRET\n' > ../s; git config include.path "$PWD/../s"`, "ws", "cd sub && git config --list", "includes settings"},
	}
	for _, c := range testscale.Sample(cases, 12) {
		t.Run(c.name, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			base := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(top, "home"), "LANG=C.UTF-8"}
			set := append([]string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}, base...)
			const make = `set -e; mkdir home ws other; for d in other ws; do (cd $d; git init -q -b main; git config user.email a@b; git config user.name n
			mkdir sub; echo $d > f.txt; echo s > sub/s; git add .; git commit -qm "commit of $d"; echo more >> f.txt); done
			git -C other commit -q --allow-empty -m TOPSECRET; echo > other/TOPSECRET; cd ws; `
			if out, err := runScript(bash, top, make+c.setup, set...); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			dir := filepath.Join(top, c.root)
			a := Analyse(c.command, Options{Dir: dir, Roots: []string{dir}})
			if !a.ReadOnly || len(a.GitDirs) != 1 {
				t.Fatalf("%s: %q, git in %v", c.command, a.Reason, a.GitDirs)
			}
			probe, _ := runScript(bash, a.GitDirs[0], GitProbe, append(a.Env, base...)...)
			env, refuse := GitEnv(a.Env, []string{probe}, []string{dir})
			out := ""
			if refuse == "" {
				out, _ = runScript(bash, dir, a.Script, append(env, base...)...)
			}
			switch {
			case c.want == show && (refuse != "" || out == "" || strings.Contains(out, "fatal")):
				t.Errorf("%s: it does not run: %s%s\n%q", c.command, refuse, out, probe)
			case c.want == show:
			case c.want == silent && refuse != "":
				t.Errorf("%s: it is refused: %s", c.command, refuse)
			case strings.Contains(out, "TOPSECRET") || strings.Contains(out, "fatal"):
				t.Errorf("%s shows what is outside, or fails: %s", c.command, out)
			case c.want != silent && !strings.Contains(refuse, c.want):
				t.Errorf("%s: %q, want %q\n%q", c.command, refuse, c.want, probe)
			}
			if plain, _ := runScript(bash, dir, c.command, base...); c.want != show && !strings.Contains(plain, "TOPSECRET") && !strings.Contains(plain, "other/") {
				t.Errorf("%s shows nothing of the other repository without protection: %s", c.command, plain)
			}
		})
	}
}

// TestGitProbeCut checks that an incomplete probe is refused.
func TestGitProbeCut(t *testing.T) {
	for _, probe := range []string{"", "x", strings.Repeat("x\x00", 9) + "x", strings.Repeat("\x00", 20)} {
		if _, refuse := GitEnv(nil, []string{probe}, []string{"/"}); refuse == "" {
			t.Errorf("%q is taken", probe)
		}
	}
}
