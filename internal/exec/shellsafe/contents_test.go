package shellsafe

import (
	"slices"
	"strings"
	"testing"
)

// TestGitNames checks that each path that git prints or takes from its objects is
// among the reads, below every folder in which the repository may begin.
func TestGitNames(t *testing.T) {
	for _, s := range []string{
		"git show HEAD:.env", "git show :.env", "git show :0:.env", "git show HEAD~2:./.env", "git show 'HEAD^{commit}:.env'", "git cat-file -p HEAD:.env", "git cat-file blob main:.env", "git cat-file --textconv HEAD:.env",
		"git log -p -- .env", "git log -p .env", "git log -L1,5:.env", "git log -L 1,5:.env", "git log -p -- :/.env", "git log -p -- ':(top).env'", "git diff HEAD~1 -- .env", "git diff HEAD:.env HEAD~1:.env", "git grep x HEAD -- .env", "git grep x HEAD:.env", "git blame .env", "git annotate HEAD .env",
		"git checkout HEAD -- .env", "git checkout .env", "git restore --source=HEAD~1 .env", "git archive HEAD .env", "git add .env", "git rm .env", "git mv .env x", "git hash-object .env", "git show --textconv HEAD:.env", "git --no-pager show HEAD:.env", "git-show HEAD:.env", "/usr/lib/git-core/git-cat-file -p HEAD:.env",
		"git -c a.b=c show HEAD:.env", "git config --blob HEAD:.env -l", "git config --blob=HEAD:.env -l", "git config --file=.env -l", "git config -f .env -l", "git difftool HEAD~1 -- .env", "git checkout-index --temp .env", "git diff-tree -p HEAD -- .env", "git stash show -p -- .env", "git commit -m x .env", "git format-patch -1 -- .env", "GIT show HEAD:.env", "sh -c 'git show HEAD:.env'", "git rev-parse HEAD:.env", "git ls-tree HEAD .env", "git interpret-trailers .env", "git apply .env", "git merge-file -p .env a b", "git restore -s HEAD --pathspec-from-file=.env",
	} {
		a := Analyse(s, ws)
		if !slices.ContainsFunc(a.Reads, func(p Path) bool { return p.Dir == "/ws" && (p.Text == ".env" || p.Text == "./.env") }) {
			t.Errorf("%s reads %s", s, showPaths(a.Reads))
		}
	}
	a := Analyse("cd sub/deep && git show HEAD:secrets/x", ws)
	for _, dir := range []string{"/ws", "/ws/sub", "/ws/sub/deep"} {
		if !slices.ContainsFunc(a.Reads, func(p Path) bool { return p.Dir == dir && p.Text == "secrets/x" }) {
			t.Errorf("in %s: %s", dir, showPaths(a.Reads))
		}
	}
	for _, s := range []string{"git commit -m .env", "git log --grep=.env", "git log --grep .env", "git push origin a:.env", "git clone h:.env", "git checkout -b .env", "git log --since .env"} {
		if a := Analyse(s, ws); slices.ContainsFunc(a.Reads, func(p Path) bool {
			return strings.HasSuffix(p.Text, ".env") && p.Text == ".env" && !strings.Contains(s, "log")
		}) {
			t.Errorf("%s reads %s", s, showPaths(a.Reads))
		}
	}
}

// TestGitContents tests commands that print the content of files that they do not
// name, and similar ones that do not.
func TestGitContents(t *testing.T) {
	for _, c := range []struct {
		want     bool
		commands string
	}{
		{true, `git log -p
git log -p -3 --stat
git log -u
git log --patch
git log --patc
git log -U5
git log --word-diff
git log -c
git log --cc
git log -p -- .
git log -p -- src
git log -p -- conf.d
git log -p -- '*.env'
git log -p -- ':(glob)**'
git log $X
git log -$X
git show
git show HEAD
git show 1234abc
git show HEAD --stat -p
git show HEAD:.env HEAD
git show HEAD:$X
git show ':/fix'
git show $X
git diff HEAD
git diff HEAD~1 HEAD
git diff main..dev
git diff --cached
git diff --staged
git diff HEAD -- .
git diff HEAD:src
git diff HEAD:src HEAD~1:src
git grep x HEAD:src
git diff 1234:x abc
git grep x HEAD
git grep . HEAD
git grep -A 3 x HEAD
git grep x HEAD~3 v1.0
git grep -e x HEAD
git grep --cached x
git grep -n x HEAD -- src
git archive HEAD
git archive HEAD | tar x
git cat-file -p 1234
git cat-file blob 1234
git cat-file -p HEAD
git cat-file --batch
git cat-file --batch-command
git cat-file --batch-all-objects --batch
git cat-file -p $(git rev-parse HEAD:.env)
git format-patch -1 --stdout
git bundle create - HEAD
git fast-export HEAD
git stash show -p
git stash -p
git diff-tree -p HEAD
git diff-index -p HEAD
git range-diff a b c
git rerere diff
git unpack-file 1234
git merge-file --object-id -p a b c
git merge-tree a b
git checkout-index -a --temp
git pack-objects --stdout
git status -v
git commit --dry-run -v
git add -p
git checkout -p
git for-each-ref --format='%(raw)'
git whatchanged -p
git reflog -p
git lp
git -c alias.x='show' x
git --no-pager log -p
git -C sub show HEAD
git-show HEAD
sh -c 'git show HEAD'
ls | xargs git show
ls | xargs git log
git $X
git send-email HEAD
git request-pull a b
git diff -z HEAD
git diff -Gs HEAD
git diff -G --stat HEAD
git log -p --full-diff -- a.go
git log -p --follow -- a.go
git stash list -p
git bisect view
git rebase --show-current-patch
git am --show-current-patch=diff
git fsck --lost-found
git notes add -C 1234 HEAD
git update-index --cacheinfo 100644,1234,x`},
		{false, `git status
git log
git log --oneline -20
git log --stat
git log --pretty=format:%h -n 5
git log -S foo --oneline
git log -p -- src/main.go
git log -L1,5:main.go
git diff
git diff --stat HEAD
git diff --name-only main..dev
git diff HEAD -- main.go
git diff --no-index a b
git diff src/
git diff ./a.go
git diff HEAD:a.go HEAD~1:a.go
git show HEAD:a.go
git show --stat HEAD
git show -s HEAD
git show --name-only
git show HEAD -- a.go
git grep x
git grep -n x -- src
git grep x src/ ./y
git grep x HEAD -- main.go
git grep x HEAD:main.go -- main.go
git blame a.go
git cat-file -t 1234
git cat-file -p HEAD:a.go
git cat-file --batch-check
git ls-files
git ls-tree -r HEAD
git rev-parse HEAD
git branch -a
git push -u origin main
git fetch -p
git stash
git stash list
git stash show
git add -u
git add -A
git commit -v -m x
git commit -am x
git remote -v
git archive -l
git checkout main
git restore a.go
git tag
git reflog
git config -l
git bundle verify x
git bisect start
git diff -S foo --stat HEAD
git fsck
git lfs pull
git submodule update
git clone u
git --version
git`},
	} {
		for _, s := range strings.Split(c.commands, "\n") {
			if got := Analyse(s, ws).GitContents() != ""; got != c.want {
				t.Errorf("%s: %v", s, got)
			}
		}
	}
}

// TestUnnamed tests read-only commands that print the content of files that they do
// not name, and similar ones that do not.
func TestUnnamed(t *testing.T) {
	for _, c := range []struct {
		want     bool
		commands string
	}{
		{true, `grep -r SECRET .
grep -rn x src
grep -rn x --include=.env
grep -d recurse x .
grep --directories=recurse x src
rg x
rg x src
find . -name '.e*' -exec cat {} +
find . -exec head -1 {} \;
echo .env | xargs cat
ls | xargs -n1 grep x
diff -r a b
diff a b
git grep x
git diff
ls; grep -r x .
(cat a; rg x)
ls | xargs md5sum`},
		{false, `cat README.md
cat a b
head -5 *.go
grep x a.go
grep -n x *.go
ls -R
ls -la
find . -name '*.go'
find . -type f -exec ls -l {} +
find . -exec stat {} \;
tree
du -sh .
ls | xargs ls -d
find . -name '*.go' | xargs wc -l
git status
git log --oneline
git diff --stat
cat < a
wc -l a
cd sub && ls
echo hi
timeout 5 cat a`},
	} {
		for _, s := range strings.Split(c.commands, "\n") {
			a := Analyse(s, ws)
			if !a.ReadOnly {
				t.Errorf("%s is not read-only: %s", s, a.Reason)
			}
			if got := a.Unnamed() != ""; got != c.want {
				t.Errorf("%s: %v (%s)", s, got, showPaths(a.Reads))
			}
		}
	}
}
