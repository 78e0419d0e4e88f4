package command

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// frontSetup makes a repository with hidden files (.env, secrets/), a protected one
// (.vscode/settings.json), and branches: feat changes the protected file, hid the hidden
// ones, clean neither, and conflict the same line as main.
const frontSetup = `set -e
export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
git init -qb main .
git config user.name a; git config user.email a@example.com
mkdir .vscode secrets src
echo 1 >.vscode/settings.json; echo HIDDEN=42 >secrets/a; echo HIDDEN=1 >.env; echo f >f; echo s >src/s
git add -A; git commit -qm one
git checkout -qb feat; echo 2 >.vscode/settings.json; echo f2 >f; git commit -qam two
git checkout -q main; git checkout -qb hid; echo HIDDEN=2 >.env; echo HIDDEN=3 >secrets/a; git commit -qam three
git checkout -q main; git checkout -qb hidnew; echo HIDDEN=n >secrets/n; git add -A; git commit -qm new
git checkout -q main; git checkout -qb outside; echo o >src/o; git add -A; git commit -qm outside
git checkout -q main; git checkout -qb clean; echo g >g; git add g; git commit -qm g
git checkout -q main; git checkout -qb conflict; echo other >f; git commit -qam other
git checkout -q main; echo m >f; git commit -qam m
git format-patch --stdout -1 feat >.git/feat.patch; git format-patch --stdout -1 clean >.git/clean.patch
touch -d 2020-01-01 f src/s .env secrets/a .vscode/settings.json; git update-index --refresh >/dev/null
`

// frontState prints the commit, the branch, the index and the files that are not hidden.
const frontState = `git cat-file commit HEAD; git symbolic-ref -q HEAD; git ls-files -sv; git stash list | wc -l
find . -name .git -prune -o -path ./secrets -prune -o -name .env -o -type f -print | sort | while read -r p; do echo "$p $(cat "$p")"; done`

// frontCase is a command. refused tells that it must be refused before anything changed;
// otherwise it must end as plain git does.
type frontCase struct {
	script  string
	refused bool
}

// frontCases lists commands in an ordinary repository.
var frontCases = []frontCase{
	{"git status --short", false},
	{"git diff", false},
	{"git diff -R --binary", false},
	{"git difftool --extcmd=cat -y", false},
	{"git diff-files -p", false},
	{"git -C src diff", false},
	{"env -i /usr/bin/git diff", false},
	{"git diff --no-ext-diff -- .", false},
	{"git ls-files -d -m", false},
	{"git describe --always --dirty", false},
	{"echo y >>f; git add -A; git commit -qm x", false},
	{"echo y >>f; git add .; git commit -qm x", false},
	{"echo y >>f; git commit -qam x", false},
	{"echo y >>f; git commit -qm x f", false},
	{"echo y >>f; git add -u", false},
	{"echo n >n; git add n; git commit -qm n", false},
	{"echo y >>f; git stage -A", false},
	{"echo y >>f; git stash -q", false},
	{"echo y >>f; git stash -q; git stash pop -q", false},
	{"echo n >n; git stash -qu", false},
	{"git rm -q f", false},
	{"git mv f h", false},
	{"mkdir d; git mv f d; git mv src/s .; git mv d e; git mv e/f d/..", false},
	{"git merge -q none; git checkout -q none; git rebase -q none; git cherry-pick none..main; git reset -q --hard v1.0; git stash pop", false},
	{"git rm -qr .", true},
	{"git rm -qr secrets", true},
	{"printf .env | git rm -q --pathspec-from-file=-", true},
	{"git checkout -q clean", false},
	{"git switch -q clean", false},
	{"git checkout -qb new", false},
	{"git checkout -q feat", true},
	{"git switch -q feat", true},
	{"git checkout -q hid", true},
	{"git switch -q --detach hid", true},
	{"git checkout -q feat -- .", true},
	{"git checkout -q feat -- f", false},
	{"git checkout -q hid -- .env", true},
	{"git checkout -qb x feat", true},
	{"git checkout -qfb x hid", true},
	{"git switch -qc x feat", true},
	{"git checkout -qBx hid", true},
	{"git reset -q --har feat", true},
	{"git merge -qm x feat", true},
	{"git merge -qm x clean", false},
	{"git restore -qWs feat .vscode", true},
	{"echo y >>f; git stash push -qm text; git stash pop -q", false},
	{"echo y >>f; git checkout -q -- f", false},
	{"echo y >>f; git checkout -q -- .", false},
	{"echo y >>f; git restore f", false},
	{"git restore -s feat .", true},
	{"git restore -s feat f", false},
	{"git restore -S -s clean .", false},
	{"git merge -q --no-edit clean", false},
	{"git merge -q --no-edit feat", true},
	{"git merge -q --no-edit hid", true},
	{"git merge -q conflict", false},
	{"git merge -q conflict; git merge --abort", false},
	{"git pull -q --no-rebase --no-edit . clean", false},
	{"git pull -q --no-rebase . feat", true},
	{"git pull -q --rebase . feat", true},
	{"git rebase -q clean", false},
	{"git rebase -q feat", true},
	{"git rebase -q hid", true},
	{"git rebase -q conflict; git rebase --abort", false},
	{"git reset -q --hard clean", false},
	{"git reset -q --hard feat", true},
	{"git reset -q --hard hid", true},
	{"echo y >>f; git reset -q --hard", false},
	{"git reset -q --soft clean", false},
	{"git cherry-pick clean", false},
	{"git cherry-pick feat", true},
	{"git cherry-pick hid", true},
	{"git revert --no-edit HEAD", false},
	{"git am -q .git/clean.patch", false},
	{"git am -q .git/feat.patch", true},
	{"git am -q <.git/feat.patch", true},
	{"git apply .git/clean.patch", false},
	{"git apply <.git/clean.patch", false},
	{"git apply .git/feat.patch", true},
	{"git apply <.git/feat.patch", true},
	{"git checkout-index -f f", false},
	{"git checkout-index -a --prefix=out/ --temp", true},
	{"git checkout-index --prefix=out/ secrets/a", true},
	{"git read-tree -u -m clean", false},
	{"git read-tree -u -m feat", true},
	{"git sparse-checkout set src", true},
	{"git sparse-checkout set --no-cone '/*' '!/src/s'", false},
	{"git sparse-checkout set --no-cone '/*' '!/.vscode'", true},
	{"git sparse-checkout set --no-cone '/*' '!.env'", true},
	{"git sparse-checkout set --cone .vscode secrets src", false},
	{"printf '/*\n!/f\n' | git sparse-checkout set --no-cone --stdin", false},
	{"git checkout -q hidnew", true},
	{"git merge -q --no-edit hidnew", true},
	{"git merge -q -s ours --no-edit hid", false},
	{"git merge -q -sours --no-edit feat", false},
	{"git merge -q --strategy=ours --no-edit hid", false},
	{"echo n >n; mkdir d; echo d >d/d; git clean -fdq", false},
	{"echo n >n; git clean -nd", false},
	{"cd src; GIT_DIR=../.git GIT_WORK_TREE=.. git add -A; GIT_DIR=../.git GIT_WORK_TREE=.. git commit -qam x --allow-empty", false},
	{"GIT_SEQUENCE_EDITOR='sed -i 1s/pick/reword/' git rebase -qi HEAD~1", false},
	{"git rebase -q --onto clean HEAD~1", false},
	{"echo q >>f; git commit -qam 'fixup! m'; GIT_SEQUENCE_EDITOR=true git rebase -qi --autosquash HEAD~2", false},
	{"git commit -q --amend -m z", false},
	{"git bisect start HEAD HEAD~1; git bisect run true; git bisect reset", false},
	{"printf 'git checkout -q feat\\n' >../s.sh; sh ../s.sh", true},
	{"git -c alias.co=checkout co -q feat", true},
	{"git -c 'alias.co=!git checkout' co -q feat", true},
	{"git worktree add -q wt clean; git -C wt status --short", false},
}

// frontKind is a kind of repository.
type frontKind struct {
	name  string
	env   string   // variables for git init
	more  string   // what follows frontSetup
	dir   string   // the folder of the commands, from the folder above the repository
	hide  []string // from dir
	rooty bool     // dir is the root of the session
	cases []frontCase
}

const frontIdentity = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com GIT_AUTHOR_DATE=2026-01-02T00:00:00Z GIT_COMMITTER_DATE=2026-01-02T00:00:00Z GIT_EDITOR=true; "

// frontPlain runs a script as plain git does.
func frontPlain(t *testing.T, dir, script string) string {
	cmd := exec.Command("sh", "-c", frontIdentity+script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// sample returns how many cases run at quick scale.
func (k frontKind) sample() int {
	if k.name == "" {
		return testscale.N(12, len(k.cases))
	}
	return testscale.N(1, len(k.cases))
}

// make makes repositories of the kind in new folders. The commands are for the first.
func (k frontKind) make(t *testing.T) (c *Commands, here, twin string, s Spec) {
	k.dir, k.hide = cmp.Or(k.dir, "r"), append([]string{".env", "secrets"}, k.hide...)
	make := func(above string) string {
		dir := filepath.Join(above, "r")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if out := frontPlain(t, dir, k.env+frontSetup+k.more); out != "" {
			t.Fatal(out)
		}
		return filepath.Join(above, k.dir)
	}
	c, _ = guardedCommands(t, func(c *Config) {
		if here = make(c.Roots[0]); k.rooty {
			c.Roots = []string{here}
		}
	})
	s = Spec{Dir: here, Owner: "o", Name: "n", Protect: []string{filepath.Join(here, ".vscode")}}
	for _, name := range k.hide {
		s.Hide = append(s.Hide, filepath.Join(here, name))
	}
	return c, here, make(t.TempDir()), s
}

// TestGitFront compares git in the sandbox with plain git in a twin, for repositories with
// hidden and protected files. No command may end in a third state, or print hidden content.
func TestGitFront(t *testing.T) {
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	for _, k := range append([]frontKind{{cases: frontCases}}, frontKinds...) {
		for _, tt := range testscale.Sample(k.cases, k.sample()) {
			t.Run(k.name+":"+tt.script, func(t *testing.T) {
				t.Parallel()
				c, here, twin, s := k.make(t)
				if !tt.refused {
					frontPlain(t, twin, tt.script)
				}
				s.Script = frontIdentity + tt.script
				r, err := c.Start(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				res := r.Result()
				v, err := r.Output.View(20000)
				if err != nil {
					t.Fatal(err)
				}
				out := v.Head + v.Tail
				if strings.Contains(out, "HIDDEN") {
					t.Errorf("prints hidden content:\n%s", out)
				}
				if refused := strings.Contains(out, "Nothing was changed"); refused != tt.refused || refused && res.Code == 0 {
					t.Errorf("refused %v, code %d:\n%s", refused, res.Code, out)
				}
				if got, want := frontPlain(t, here, frontState), frontPlain(t, twin, frontState); got != want {
					t.Errorf("ends as\n%s\nwant\n%s\noutput:\n%s", got, want, out)
				}
				index := strings.TrimSpace(frontPlain(t, here, "git rev-parse --path-format=absolute --git-path index"))
				if left, _ := filepath.Glob(index + "*"); fmt.Sprint(left) != fmt.Sprint([]string{index}) {
					t.Errorf("left %v", left)
				}
			})
		}
	}
}
