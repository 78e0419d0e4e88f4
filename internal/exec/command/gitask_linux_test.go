package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// askSetup makes a repository on a branch that has changed a protected file, with another branch
// that changes it elsewhere, one that changes the same line, patches, and an upstream that changes it.
const askSetup = `set -e
export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
git init -qb main .
git config user.name a; git config user.email a@example.com
mkdir .vscode .cargo .large sub; echo 1 >.large/a; head -c 1100000 /dev/zero >.large/b; printf '1\n2\n3\n4\n5\n' >.vscode/settings.json; echo 1 >.vscode/other; echo 1 >.cargo/config.toml; echo s >sub/s
printf '.npmrc text eol=crlf\n.mcp.json filter=up\n' >.gitattributes; printf '1\r\n' >.npmrc; echo A >.mcp.json
git config filter.up.smudge 'tr a-z A-Z'; git config filter.up.clean 'tr A-Z a-z'; git add -A; git commit -qm one
git checkout -qb feat; printf 'x\n2\n3\n4\n5\n' >.vscode/settings.json; echo g >g; git add -A; git commit -qm two
git checkout -q main; git checkout -qb folder; echo 2 >.cargo/config.toml; git commit -qam folder
git checkout -q main; git checkout -qb eol; printf '2\r\n' >.npmrc; git commit -qam eol
git checkout -q main; git checkout -qb filter; echo B >.mcp.json; git commit -qam filter
git checkout -q main; git checkout -qb large; echo 2 >.large/a; git commit -qam large
git checkout -q main; git checkout -qb clean; echo c >c; git add c; git commit -qm clean
git checkout -q main; git checkout -qb same; printf 'y\n2\n3\n4\n5\n' >.vscode/settings.json; git commit -qam same
git checkout -q main; printf '1\n2\n3\n4\ny\n' >.vscode/settings.json; git commit -qam both
git format-patch -q --stdout -1 feat >.git/feat.patch; git format-patch -q --stdout -1 clean >.git/clean.patch
git remote add origin .; git update-ref refs/remotes/origin/main feat; git config branch.main.remote origin; git config branch.main.merge refs/heads/main
`

const patchText = "diff --git a/.vscode/other b/.vscode/other\n--- a/.vscode/other\n+++ b/.vscode/other\n@@ -1 +1 @@\n-1\n+9\n"

// askCases lists commands with the git calls of their text, and the files that the user is asked
// about.
var askCases = []struct {
	script string
	calls  []GitCall
	asked  string
	evil   bool // after git, the script changes protected files that were not granted
}{
	{"git merge -q --no-edit feat", []GitCall{{Words: []string{"merge", "-q", "--no-edit", "feat"}}}, ".vscode/settings.json", false},
	{"git merge -q same", []GitCall{{Words: []string{"merge", "-q", "same"}}}, ".vscode/settings.json", false},
	{"git merge -q --no-edit clean", []GitCall{{Words: []string{"merge", "-q", "--no-edit", "clean"}}}, "", false},
	{"git merge -q --no-edit folder", []GitCall{{Words: []string{"merge", "-q", "--no-edit", "folder"}}}, "", false},
	{"git merge -q --no-edit eol", []GitCall{{Words: []string{"merge", "-q", "--no-edit", "eol"}}}, "", false},
	{"git merge -q --no-edit filter", []GitCall{{Words: []string{"merge", "-q", "--no-edit", "filter"}}}, ".mcp.json", false},
	{"git checkout -q eol", []GitCall{{Words: []string{"checkout", "-q", "eol"}}}, "", false},
	{"git cherry-pick feat", []GitCall{{Words: []string{"cherry-pick", "feat"}}}, ".vscode/settings.json", false},
	{"git rebase -q feat", []GitCall{{Words: []string{"rebase", "-q", "feat"}}}, ".vscode/settings.json", false},
	{"git am -q .git/feat.patch", []GitCall{{Words: []string{"am", "-q", ".git/feat.patch"}}}, ".vscode/settings.json", false},
	{"git am -q .git/clean.patch", []GitCall{{Words: []string{"am", "-q", ".git/clean.patch"}}}, "", false},
	{"git apply .git/feat.patch", []GitCall{{Words: []string{"apply", ".git/feat.patch"}}}, ".vscode/settings.json", false},
	{"git -C sub apply ../.git/clean.patch", []GitCall{{Words: []string{"-C", "sub", "apply", "../.git/clean.patch"}}}, "", false},
	{"git apply <.git/feat.patch", []GitCall{{Words: []string{"apply"}, InputFile: ".git/feat.patch"}}, ".vscode/settings.json", false},
	{"printf %s '" + patchText + "' | git apply", []GitCall{{Words: []string{"apply"}, Input: patchText}}, ".vscode/other", false},
	{"git pull -q --no-rebase --no-edit . feat", []GitCall{{Words: []string{"pull", "-q", "--no-rebase", "--no-edit", ".", "feat"}}}, ".vscode/settings.json", false},
	{"git rm -q .vscode/other", []GitCall{{Words: []string{"rm", "-q", ".vscode/other"}}}, ".vscode/other", false},
	{"cd sub; git rm -q ../.vscode/other", []GitCall{{Words: []string{"rm", "-q", "../.vscode/other"}, Dirs: []string{"sub"}}}, ".vscode/other", false},
	{"git merge -q --no-edit feat; echo evil >.vscode/other", []GitCall{{Words: []string{"merge", "-q", "--no-edit", "feat"}}}, ".vscode/settings.json", true},
	{"git merge -q --no-edit feat; echo evil >.vscode/new; git add -A; git commit -qm evil", []GitCall{{Words: []string{"merge", "-q", "--no-edit", "feat"}}}, ".vscode/settings.json", true},
	{"git merge -q --no-edit folder; git reset -q --hard HEAD^; rm -r .cargo; mkdir e; echo evil >e/config.toml; ln -s e .cargo", []GitCall{{Words: []string{"merge", "-q", "--no-edit", "folder"}}}, "", true},
	{"git merge -q --no-edit folder; git reset -q --hard HEAD^; rm -r .cargo; ln -s /usr .cargo", []GitCall{{Words: []string{"merge", "-q", "--no-edit", "folder"}}}, "", true},
	{"git restore -S -W .vscode/other", []GitCall{{Words: []string{"restore", "-S", "-W", ".vscode/other"}}}, "", false},
	{"git checkout -q large", []GitCall{{Words: []string{"checkout", "-q", "large"}}}, ".large", false},
	{"git checkout -q eol --", []GitCall{{Words: []string{"checkout", "-q", "eol", "--"}}}, "", false},
	{"git checkout -qb new folder", []GitCall{{Words: []string{"checkout", "-qb", "new", "folder"}}}, "", false},
	{"git bisect start HEAD HEAD~1 >/dev/null", []GitCall{{Words: []string{"bisect", "start", "HEAD", "HEAD~1"}}}, "", false},
	{"echo n >.git/n; git stash -qu", []GitCall{{Words: []string{"stash", "-qu"}}}, "", false},
	{"git mv sub/s .vscode/s", []GitCall{{Words: []string{"mv", "sub/s", ".vscode/s"}}}, ".vscode/s", false},
	{"git clean -qfd .vscode", []GitCall{{Words: []string{"clean", "-qfd", ".vscode"}}}, "", false},
	{"git --work-tree=. --git-dir=.git checkout -q eol", []GitCall{{Words: []string{"--work-tree=.", "--git-dir=.git", "checkout", "-q", "eol"}}}, ".npmrc .vscode/settings.json", false},
}

// TestGitAsks checks which files a plan asks about, that git ends as plain git does if they are
// granted, that it changes nothing if they are not, and that nothing else changes.
func TestGitAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	who := "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com GIT_AUTHOR_DATE=2026-01-02T00:00:00Z GIT_COMMITTER_DATE=2026-01-02T00:00:00Z GIT_EDITOR=true; "
	home := t.TempDir()
	plain := func(t *testing.T, dir, script string) string {
		cmd := exec.Command("sh", "-c", who+script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	const state = `git cat-file commit HEAD; git symbolic-ref -q HEAD; git ls-files -s; git status --short
find . -name .git -prune -o \( -type f -o -type l \) -print | sort | while read -r p; do echo "$p $(head -c 100 "$p" | od -c)"; done`
	for _, tt := range testscale.Sample(askCases, testscale.N(10, len(askCases))) {
		t.Run(tt.script, func(t *testing.T) {
			names := []string{".vscode", ".npmrc", ".mcp.json", ".cargo/config.toml", ".gitattributes", ".large"}
			c, here := guardedCommands(t, func(c *Config) { c.Names = names })
			twin := t.TempDir()
			for _, dir := range []string{here, twin} {
				if out := plain(t, dir, askSetup); out != "" {
					t.Fatal(out)
				}
			}
			s := Spec{Script: who + tt.script, Dir: here, Names: names}
			for _, name := range names {
				s.Protect = append(s.Protect, filepath.Join(here, name))
			}
			for i, call := range tt.calls {
				if len(call.Dirs) > 0 {
					tt.calls[i].Dirs = []string{filepath.Join(here, filepath.Base(call.Dirs[0]))}
				}
			}
			var asked []string
			s.Git = c.PlanGit(t.Context(), s, tt.calls)
			if s.Git != nil {
				for _, path := range s.Git.Asked {
					asked = append(asked, strings.TrimPrefix(path, here+"/"))
				}
			}
			if got := strings.Join(asked, " "); got != tt.asked {
				t.Fatalf("asks about %q, want %q", got, tt.asked)
			}
			if before := plain(t, here, state); tt.asked != "" && !tt.evil {
				said, res := run(t, c, s)
				if res.Code != 128 || !strings.Contains(said, "which is protected. Nothing was changed; ask the user to run it") || plain(t, here, state) != before {
					t.Fatalf("not refused, %d: %s", res.Code, said)
				}
			}
			// As the policy does: a grant opens the name that holds the file.
			for _, path := range asked {
				path = filepath.Join(here, path)
				s.Grants = append(s.Grants, Grant{Path: path, Change: true})
				s.Protect = slices.DeleteFunc(s.Protect, func(p string) bool { return inside(path, p) })
			}
			said, res := run(t, c, s)
			if tt.evil {
				got := plain(t, here, "ls -A .vscode; cat .vscode/other .cargo/config.toml; cd .cargo; pwd -P")
				if want := "other\nsettings.json\n1\n1\n" + here + "/.cargo\n"; got != want {
					t.Errorf("left %q, want %q\n%s", got, want, said)
				}
				return
			}
			plain(t, twin, tt.script)
			if got, want := plain(t, here, state), plain(t, twin, state); got != want {
				t.Errorf("ends as\n%s\nwant\n%s\n%s", got, want, said)
			}
			if strings.Contains(strings.Join(res.Restored, "\n"), "put back") {
				t.Errorf("says %q", res.Restored)
			}
		})
	}
}
