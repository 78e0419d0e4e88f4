package shellsafe

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// hostile lists attacks by a repository on users who query it. Each script runs in
// a repository with two commits and a changed file. $EVIL is a program that leaves
// a mark and then does the work of a filter.
var hostile = map[string]string{
	"benign":           `:`,
	"fsmonitor":        `git config core.fsmonitor "$EVIL"`,
	"external diff":    `git config diff.external "$EVIL"`,
	"diff command":     `git config diff.x.command "$EVIL"; echo '*.txt diff=x' > .gitattributes`,
	"textconv":         `git config diff.x.textconv "$EVIL"; echo '*.txt diff=x' > .gitattributes`,
	"textconv in info": `git config diff.x.textconv "$EVIL"; echo '*.txt diff=x' > .git/info/attributes`,
	"clean filter":     `git config filter.x.clean "$EVIL"; git config filter.x.required true; echo '*.txt filter=x' > .gitattributes`,
	"filter in info":   `git config filter.x.clean "$EVIL"; echo '*.txt filter=x' > .git/info/attributes; touch -d '1 hour ago' f.txt`,
	"process filter":   `git config filter.y.process "$EVIL"; echo '*.txt filter=y' > .gitattributes`,
	"dotted filter":    `git config filter.a.b.clean "$EVIL"; echo '*.txt filter=a.b' > .gitattributes`,
	"smudge":           `git config filter.x.smudge "$EVIL"; echo '*.txt filter=x' > .gitattributes`,
	"hooks path":       `mkdir h; for k in post-index-change pre-auto-gc post-checkout reference-transaction fsmonitor-watchman query-watchman; do cp "$EVIL" h/$k; done; git config core.hooksPath "$PWD/h"; touch f.txt`,
	"index hook":       `cp "$EVIL" .git/hooks/post-index-change; touch f.txt; touch -d '2 hours ago' g.txt`,
	"include":          `printf '[core]\n\tfsmonitor = %s\n[filter "x"]\n\tclean = %s\n' "$EVIL" "$EVIL" > .git/extra; git config include.path extra; echo '*.txt filter=x' > .gitattributes`,
	"include if":       `printf '[core]\n\tfsmonitor = %s\n' "$EVIL" > .git/extra; git config includeIf.gitdir:/.path extra`,
	"worktree config":  `git config extensions.worktreeConfig true; printf '[core]\n\tfsmonitor = %s\n[filter "x"]\n\tclean = %s\n' "$EVIL" "$EVIL" > .git/config.worktree; echo '*.txt filter=x' > .gitattributes`,
	"gitfile":          `mv .git elsewhere; echo 'gitdir: elsewhere' > .git; git config core.fsmonitor "$EVIL"`,
	"bare in folder":   `git clone -q --bare . bare; rm -rf .git; cp -r bare/* .; git config -f config core.fsmonitor "$EVIL"; git config -f config core.bare false; git config -f config core.worktree .`,
	"submodule":        `git clone -q . m; git add m; printf '[submodule "m"]\n\tpath = m\n\turl = ./m\n' > .gitmodules; git add .gitmodules; git -c user.name=n -c user.email=a@b commit -qm m; git config submodule.m.url ./m; git -C m config core.fsmonitor "$EVIL"; git -C m config filter.z.clean "$EVIL"; echo '*.txt filter=z' > m/.gitattributes; echo four >> m/f.txt; git config submodule.m.ignore none; git config diff.submodule log; git config status.submoduleSummary true`,
	"promisor":         `git config remote.origin.url ./nosuch; git config remote.origin.promisor true; git config remote.origin.uploadpack "$EVIL"; git config extensions.partialClone origin; git config core.repositoryFormatVersion 1; rm -f .git/objects/$(git rev-parse HEAD~1:f.txt | sed 's|^..|&/|')`,
	"ssh command":      `git config core.sshCommand "$EVIL"; git config remote.origin.url ssh://h/x; git config remote.origin.promisor true`,
	"pager":            `git config core.pager "$EVIL"; for k in log diff show status blame branch tag grep; do git config pager.$k "$EVIL"; done`,
	"alias":            `for k in log diff show status blame branch lol; do git config alias.$k "!$EVIL"; done`,
	"gpg":              `git config gpg.program "$EVIL"; git config gpg.ssh.program "$EVIL"; git config log.showSignature true; git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----' > c; git update-ref HEAD $(git hash-object -t commit -w c); rm c`,
	"editor":           `git config core.editor "$EVIL"; git config sequence.editor "$EVIL"; git config core.askPass "$EVIL"; git config credential.helper "!$EVIL"`,
	"trailer":          `git config trailer.x.command "$EVIL"; git config interactive.diffFilter "$EVIL"`,
	"merge driver":     `git config merge.x.driver "$EVIL"; echo '*.txt merge=x' > .gitattributes`,
	"merge again":      conflict + `git config log.diffMerges remerge; git config merge.default evil; git config merge.evil.driver "$EVIL"`,
	"merge attribute":  conflict + `git config log.diffMerges remerge; echo '*.txt merge=x.y' > .git/info/attributes; git config merge.x.y.driver "$EVIL"`,
	"merge, no name":   conflict + `git config log.diffMerges r; echo '*.txt merge=' > .git/info/attributes; git config merge..driver "$EVIL"`,
	"filter, no name":  `printf '[filter ""]\n\tclean = %s\n' "$EVIL" >> .git/config; echo '*.txt filter=' > .gitattributes; touch -d '1 hour ago' f.txt`,
	"textconv, staged": `git config diff.x.textconv "$EVIL"; echo '*.txt diff=x' > .gitattributes; git add .`,
	"deprecated":       `git config alias.whatchanged "!$EVIL"; git config pretty.evil 'format:%G?'; git config format.pretty evil; git config gpg.program "$EVIL"`,
	"alternates":       `git config core.alternateRefsCommand "$EVIL"; git config core.gitProxy "$EVIL"`,
	"git in folder":    `cp "$EVIL" git; cp "$EVIL" cat; cp "$EVIL" false; cp "$EVIL" sh; cp "$EVIL" git-status`,
}

// conflict merges two branches that changed the same line.
const conflict = `git checkout -q -f -b side HEAD~1; echo side >> f.txt; git commit -qam side; git checkout -q main; git merge -q side || true; echo both > f.txt; git add f.txt; git commit -qm merged; echo three >> f.txt; `

const gitBase = `set -e
git init -q -b main .; git config user.email a@b; git config user.name n
echo one > f.txt; echo g > g.txt; git add .; git commit -qm c1; echo two >> f.txt; git commit -qam c2; git tag v1; git branch other
echo stashed >> f.txt; git stash -q; echo three >> f.txt
`

// gitForms returns the read-only lines of the corpus that run git, and further
// ones.
func gitForms(t *testing.T) []string {
	var out []string
	for _, name := range []string{"bash_readonly.txt", "more_readonly.txt"} {
		for _, s := range corpus(t, name) {
			if strings.HasPrefix(s, "git ") && !strings.Contains(s, "sub") {
				out = append(out, s)
			}
		}
	}
	return append(out, "git diff-files", "git diff-index HEAD", "git diff-files -p", "git diff-index -p HEAD", "git check-attr -a f.txt", "git ls-files -m", "git ls-files -o", "git blame f.txt",
		"git grep -n t", "git log -p", "git log --stat -p -m", "git show -p HEAD", "git stash list -p", "git cat-file -p HEAD:f.txt", "git describe --always", "git status --porcelain=v2 -uall --ignored", "git diff --stat HEAD", "git rev-list --objects --all", "git whatchanged -p",
		"git show -m", "git log -p --diff-merges=on", "git log --stat --diff-merges=m", "git whatchanged -m -p", "git status -s", "git diff HEAD", "git stash show -p", "git cherry main other", "git log -p --pretty=evil")
}

func TestHostileRepositories(t *testing.T) {
	testscale.NeedFull(t)
	if runtime.GOOS == "windows" {
		t.Skip("programs are scripts here")
	}
	bash := needBash(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	forms := gitForms(t)
	fired, refused := 0, 0
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		root := t.TempDir()
		dir, home, evil, mark := filepath.Join(root, "ws"), filepath.Join(root, "home"), filepath.Join(root, "evil"), filepath.Join(root, "mark")
		for _, d := range []string{dir, home} {
			if err := os.Mkdir(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(evil, []byte("#!"+bash+"\n: > "+mark+"\n/bin/cat \"$@\" 2>/dev/null\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		base := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "LANG=C.UTF-8"}
		set := append([]string{"EVIL=" + evil, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}, base...)
		if out, err := runScript(bash, dir, gitBase+hostile[name], set...); err != nil {
			t.Logf("%s: %v %s", name, err, out)
		}
		os.Remove(mark)
		o := Options{Dir: dir, Roots: []string{dir}}
		before := listing(t, root)
		var probe []string
		for _, s := range forms {
			a := Analyse(s, o)
			if !a.ReadOnly {
				t.Errorf("%q is not read-only: %s", s, a.Reason)
				continue
			}
			if probe == nil {
				if len(a.GitDirs) != 1 || a.GitDirs[0] != dir {
					t.Fatalf("%q runs git in %v", s, a.GitDirs)
				}
				text, _ := runScript(bash, dir, GitProbe, append(a.Env, base...)...)
				probe = []string{text}
			}
			env, why := GitEnv(a.Env, probe, []string{dir})
			if why != "" {
				refused++
			} else {
				runScript(bash, dir, a.Script, append(env, base...)...)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Errorf("%s: %q ran code of the repository: %s", name, s, a.Script)
				os.Remove(mark)
			}
		}
		os.Remove(mark)
		after := listing(t, root)
		delete(before, root)
		delete(after, root) // the mark was in it
		if d := differs(before, after); d != nil {
			t.Errorf("%s: something changed\n%s", name, strings.Join(d, "\n"))
		}
		// Check that the repository is hostile: run the same without our settings.
		runScript(bash, dir, "git status; git diff; git log -p --show-signature -1; git blame f.txt; git show; git cat-file -p HEAD~1:f.txt; git describe --dirty; git lol; git show -m; git status -v", base...)
		if _, err := os.Stat(mark); err == nil {
			fired++
		} else {
			t.Logf("%s does not fire here", name)
		}
	}
	t.Logf("%d repositories, %d fire without protection, %d calls refused, %d forms", len(hostile), fired, refused, len(forms))
	if fired < 12 {
		t.Errorf("only %d repositories are hostile", fired)
	}
}
