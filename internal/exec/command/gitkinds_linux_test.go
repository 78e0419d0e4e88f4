package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// frontKinds lists kinds of repositories with commands that depend on them.
var frontKinds = []frontKind{
	{name: "worktree", more: "git worktree add -q ../wt -b wtb main\n", dir: "wt", rooty: true, cases: []frontCase{
		{"git status --short; git diff", false},
		{"echo y >>f; git add -A; git commit -qm x", false},
		{"echo y >>f; git stash -q; git stash pop -q", false},
		{"git merge -q --no-edit clean", false},
		{"git rebase -q clean", false},
		{"git reset -q --hard HEAD~1", false},
		{"git commit -q --amend -m x", false},
		{"git checkout -q hid", true},
		{"git merge -q --no-edit feat", true},
		{"git cherry-pick hidnew", true},
	}},
	{name: "submodule", more: submoduleSetup, hide: []string{"lib/.env", "lib/secrets"}, cases: []frontCase{
		{"git status --short; git diff --submodule=diff", false},
		{"git submodule foreach -q 'git status --short; git diff; git add -A'", false},
		{"(cd lib; echo y >>l; git add -A; git commit -qm s); git add lib; git commit -qm s", false},
		{"git checkout -q other; git submodule update -q", false},
		{"git submodule absorbgitdirs", false},
		{"git checkout -q other; git submodule update -q; cd lib; git checkout -q -", false},
		{"git -C lib checkout -q origin/hid", true},
		{"git submodule deinit -f lib", true},
		{"git submodule deinit --all -f", true},
		{"git rm -qf lib", true},
		{"git mv lib lib2", true},
	}},
	{name: "submodule as root", more: submoduleSetup, dir: "r/lib", rooty: true, cases: []frontCase{
		{"git status --short; git diff", false},
		{"echo y >>l; git commit -qam x", false},
		{"echo y >>l; git stash -q; git stash pop -q", false},
		{"git checkout -q origin/ok", false},
		{"git checkout -q origin/hid", true},
	}},
	{name: "protected submodule", more: "git rm -rq .vscode; git commit -qm x\n" + strings.ReplaceAll(submoduleSetup, " lib", " .vscode") + "git checkout -q other\n", hide: []string{".vscode/.env", ".vscode/secrets"}, cases: []frontCase{
		{"git submodule status", false},
		{"git submodule update -q f", false},
		{"git checkout -q main; git submodule update -q", false},
		{"git submodule update -q", true},
		{"git submodule --quiet update -j 2 --init -- .vscode", true},
	}},
	{name: "split index", more: "git config core.splitIndex true; git config splitIndex.maxPercentChange 80; git update-index --split-index; echo x >x; git add x; git commit -qm x\n", cases: []frontCase{
		{"git status --short; git diff", false},
		{"echo y >>f; git add -A; git commit -qm x", false},
		{"echo y >>f; git stash -q; git checkout -q clean; git checkout -q main; git stash pop -q", false},
		{"git rm -q f; git reset -q --hard", false},
		{"git checkout -q hid", true},
	}},
	{name: "index version 4", more: "git update-index --index-version 4\n", cases: []frontCase{
		{"echo y >>f; git commit -qam x; git checkout -q clean", false},
		{"git reset -q --hard hid", true},
	}},
	{name: "untracked cache", more: "git config core.untrackedCache true; git update-index --untracked-cache; git status --short\n", cases: []frontCase{
		{"echo n >n; git status --short; git add -A; git commit -qm x", false},
		{"echo n >n; git stash -qu; git stash pop -q", false},
	}},
	{name: "sha256", env: "export GIT_DEFAULT_HASH=sha256\n", cases: []frontCase{
		{"git status --short; git diff", false},
		{"echo y >>f; git commit -qam x; git rebase -q clean", false},
		{"git merge -q conflict; git merge --abort", false},
		{"git sparse-checkout set --no-cone '/*' '!/src/s'", false},
		{"git checkout -q feat", true},
		{"git checkout -q hid", true},
	}},
	{name: "cone", more: "git sparse-checkout set --cone secrets .vscode\n", cases: []frontCase{
		{"git status --short; echo y >>f; git add -A; git commit -qm x", false},
		{"git merge -q --no-edit clean", false},
		{"git checkout -q outside; git status --short", false},
		{"git rebase -q clean; git merge -q --no-edit outside", false},
		{"echo y >>f; git stash -q; git checkout -q clean; git stash pop -q", false},
		{"git sparse-checkout add src", false},
		{"git sparse-checkout reapply; git sparse-checkout list", false},
		{"git sparse-checkout disable", false},
		{"git sparse-checkout set .vscode src", true},
		{"git sparse-checkout set secrets", true},
		{"git checkout -q hid", true},
	}},
	{name: "patterns", more: "git sparse-checkout set --no-cone '/*' '!/src' '!/.env'\n", cases: []frontCase{
		{"git status --short; git diff; echo y >>f; git commit -qam x", false},
		{"git rebase -q clean; git checkout -q outside", false},
		{"git sparse-checkout set '/*' '!/.env'", false},
		{"git sparse-checkout disable", false}, // .env is not there, so nothing hides it
	}},
	{name: "hidden below", more: "echo HIDDEN=5 >src/.env; mkdir src/in; echo i >src/in/i; git add -A; git commit -qm x\n", hide: []string{"src/.env"}, cases: []frontCase{
		{"git mv src/s s2; echo y >>s2; git mv f src; git commit -qm x", false},
		{"git mv src/in in; git mv src/s in/../src2; git commit -qm x", false},
		{"echo y >>src/s; git mv src/s src/in/i2; git mv f src/in s3", false},
		{"echo y >>src/s; cd src; git mv -f in/i ../f; git mv s ../t", false},
		{"git mv src lib", true},
		{"git rm -qr src", true},
		{"git mv src/in/i src/s", false},
	}},
	{name: "cherry-pick waits", more: "git cherry-pick conflict feat >/dev/null 2>&1 || :\n", cases: []frontCase{
		{"echo r >f; git commit -qam r; git status --short", false},
		{"git cherry-pick --abort", false},
		{"git cherry-pick --quit", false},
		{"git cherry-pick --continue", true},
		{"git cherry-pick --skip", true},
	}},
	{name: "am waits", more: "(git format-patch --stdout -1 conflict; git format-patch --stdout -1 hid) >.git/two; git am -q .git/two >/dev/null 2>&1 || :\n", cases: []frontCase{
		{"git am --abort", false},
		{"git am --quit", false},
		{"git am --skip", true},
	}},
	{name: "not tracked", more: "git rm -q --cached .vscode/settings.json secrets/a; git commit -qm x; echo i >i; echo i >.gitignore\n", cases: []frontCase{
		{"git clean -nd; git clean -fdq src; git clean -fq i", false},
		{"git clean -fdq", true},
		{"git clean -qxfd", true},
		{"git clean -fd -e .vscode", true},
		{"git clean -fdq -e .vscode -e secrets", false},
		{"git checkout -q clean", true},
		{"git merge -q --no-edit feat", true},
		{"git stash -qu", true},
	}},
}

// submoduleSetup adds the submodule lib, with hidden files, and branches: other changes its
// commit, and bad to one with other hidden files.
const submoduleSetup = `(mkdir ../lib; cd ../lib; git init -qb main .; git config user.name a; git config user.email a@example.com
mkdir secrets; echo l >l; echo HIDDEN=l >.env; echo HIDDEN=m >secrets/a; git add -A; git commit -qm l
git checkout -qb ok; echo l2 >l; git commit -qam l2; git checkout -q main; git checkout -qb hid; echo HIDDEN=n >.env; git commit -qam hid; git checkout -q main)
git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm sub
git -C lib config user.name a; git -C lib config user.email a@example.com
git checkout -qb other; git -C lib checkout -q origin/ok; git commit -qam other
git checkout -q main; git checkout -qb bad; git -C lib checkout -q origin/hid; git commit -qam bad
git checkout -q main; git submodule --quiet update
`

// TestGitFrontKilled checks that a command that ends while git works leaves the index as it was.
// It also checks that the next git command removes the copy of the index that git left.
func TestGitFrontKilled(t *testing.T) {
	c, here, _, s := frontKind{}.make(t)
	before := frontPlain(t, here, frontState)
	s.Script = frontIdentity + `echo y >>f; GIT_EDITOR='echo >ready; exec sleep 1000; :' git commit -qa`
	r, err := c.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "git waits in the editor", func() bool {
		_, err := os.Stat(filepath.Join(here, "ready"))
		return err == nil
	})
	if err := r.End(Timeout, 0); err != nil {
		t.Fatal(err)
	}
	r.Result()
	lock := filepath.Join(here, ".git", "index.lock")
	if err := os.Remove(lock); err != nil {
		t.Error(err)
	}
	frontPlain(t, here, "rm ready; echo m >f")
	if got := frontPlain(t, here, frontState); got != before {
		t.Errorf("ends as\n%s\nwant\n%s", got, before)
	}
	s.Script = "git add -A"
	if said, res := run(t, c, s); res.Code != 0 {
		t.Error(said)
	}
	if left, _ := filepath.Glob(filepath.Join(here, ".git", "index*")); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

// TestGitFrontTogether checks that of git commands that run at the same time, each one that
// succeeds has its change in the index.
func TestGitFrontTogether(t *testing.T) {
	c, here, _, s := frontKind{}.make(t)
	results := make(chan string)
	for i := range 2 {
		s := s
		s.Name = fmt.Sprint(i)
		s.Script = fmt.Sprintf(`for i in 1 2 3 4; do (echo n >n%d$i; git add n%[1]d$i 2>/dev/null && echo n%[1]d$i) & done; git status >/dev/null || echo status; git diff >/dev/null || echo diff; wait`, i)
		go func() {
			said, _ := run(t, c, s)
			results <- said
		}()
	}
	want := strings.Fields(<-results + " " + <-results)
	slices.Sort(want)
	if got := strings.Fields(frontPlain(t, here, "git ls-files 'n*'")); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("index has %q, want %q", got, want)
	}
	if got := frontPlain(t, here, "git status --short -uno | grep -v ^A"); got != "" {
		t.Error(got)
	}
}

// TestGitAsksSubmodule checks that a plan asks about protected submodules that git would update.
func TestGitAsksSubmodule(t *testing.T) {
	k := frontKinds[slices.IndexFunc(frontKinds, func(k frontKind) bool { return k.name == "protected submodule" })]
	c, here, _, s := k.make(t)
	needContained(t, c)
	for words, want := range map[string]bool{"update": true, "--quiet update -j 2 -- .vscode": true, "update f": false, "status": false} {
		plan := c.PlanGit(t.Context(), s, gitCalls(strings.Fields("submodule "+words)))
		if got := plan != nil && slices.Equal(plan.Asked, []string{filepath.Join(here, ".vscode")}); got != want || !want && plan != nil {
			t.Errorf("%s: %+v", words, plan)
		}
	}
}
