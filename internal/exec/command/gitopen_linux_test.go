package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// openSetup makes a repository whose branches change the protected file, remove it, and change it
// on both sides.
const openSetup = `set -e
export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
git init -qb main .
git config user.name a; git config user.email a@example.com
mkdir .vscode; printf '1\n2\n3\n4\n5\n' >.vscode/settings.json; echo f >f; echo 1 >.npmrc; git add -A; git commit -qm one
git checkout -qb none; git rm -qr .vscode; git commit -qm none
git checkout -q main; git checkout -qb feat; printf 'x\n2\n3\n4\n5\n' >.vscode/settings.json; echo g >g; echo 2 >.npmrc; git add -A; git commit -qm two
git checkout -q main; git checkout -qb both; printf '1\n2\n3\n4\ny\n' >.vscode/settings.json; git commit -qam both
git checkout -q main; echo m >m; git add m; git commit -qm m
`

const openState = `git cat-file commit HEAD; git symbolic-ref -q HEAD; git ls-files -s; git status --short; git stash list | wc -l
find . -name .git -prune -o -type f -print | sort | while read -r p; do echo "$p $(cat "$p")"; done`

const (
	asPlain = iota
	isRefused
	putBack
	keptShut // nothing was opened
)

var openCases = []struct {
	script string // runs in the sandbox
	git    [][]string
	how    int
}{
	{"git checkout -q feat", [][]string{{"checkout", "-q", "feat"}}, asPlain},
	{"git switch -q feat", [][]string{{"switch", "-q", "feat"}}, asPlain},
	{"git switch -q none", [][]string{{"switch", "-q", "none"}}, asPlain},
	{"git reset -q --hard feat", [][]string{{"reset", "-q", "--hard", "feat"}}, asPlain},
	{"git restore -s feat .", [][]string{{"restore", "-s", "feat", "."}}, asPlain},
	{"git checkout -q feat -- .vscode", [][]string{{"checkout", "-q", "feat", "--", ".vscode"}}, asPlain},
	{"git merge -q --no-edit feat", [][]string{{"merge", "-q", "--no-edit", "feat"}}, asPlain},
	{"git rebase -q feat", [][]string{{"rebase", "-q", "feat"}}, asPlain},
	{"git cherry-pick feat", [][]string{{"cherry-pick", "feat"}}, asPlain},
	{"git cherry-pick feat; git revert --no-edit HEAD", [][]string{{"cherry-pick", "feat"}, {"revert", "--no-edit", "HEAD"}}, asPlain},
	{"git checkout -q feat; git checkout -q -", [][]string{{"checkout", "-q", "feat"}, {"checkout", "-q", "-"}}, asPlain},
	// What the text does not show, or no commit has.
	{"git checkout -q feat", nil, isRefused},
	{"git checkout -q both; git merge -q --no-edit feat", [][]string{{"merge", "-q", "--no-edit", "feat"}, {"checkout", "-q", "both"}}, isRefused},
	{"git -c a.b=c checkout -q feat", [][]string{{"-c", "a.b=c", "checkout", "-q", "feat"}}, isRefused},
	{"git checkout -q main; echo evil >.vscode/settings.json", [][]string{{"checkout", "-q", "main"}}, keptShut},
	{"git checkout -q feat; git checkout -q main; echo evil >.vscode/settings.json", [][]string{{"checkout", "-q", "feat"}}, putBack},
	{"git checkout -q feat; git checkout -q main; echo evil >.vscode/settings.json; git commit -qam evil", [][]string{{"checkout", "-q", "feat"}}, putBack},
	{"git checkout -q feat; git checkout -q main; echo evil >.vscode/tasks.json", [][]string{{"checkout", "-q", "feat"}}, putBack},
	{"git checkout -q feat; git checkout -q main; rm -r .vscode; mkdir e; echo evil >e/settings.json; ln -s e .vscode", [][]string{{"checkout", "-q", "feat"}}, putBack},
	{"git checkout -q feat; git checkout -q main; rm .vscode/settings.json; mkdir .vscode/settings.json; echo evil >.vscode/settings.json/x", [][]string{{"checkout", "-q", "feat"}}, putBack},
	{"git checkout -q feat; git checkout -q main; (echo evil >.vscode/settings.json) & wait", [][]string{{"checkout", "-q", "feat"}}, putBack},
	{"git checkout -q feat; git checkout -q main; rm .npmrc; echo evil >.npmrc", [][]string{{"checkout", "-q", "feat"}}, putBack},
	{"printf 'echo evil >.npmrc; echo evil >.vscode/settings.json' >hook; git checkout -q feat; git checkout -q main; sh hook", [][]string{{"checkout", "-q", "feat"}}, putBack},
	{"git checkout -q feat; git checkout -q main; mkfifo .vscode/p", [][]string{{"checkout", "-q", "feat"}}, putBack},
}

// TestGitOpens checks that git commands in the text of a command end as plain git does where
// commits have what they make of protected files, and that nothing else stays there.
func TestGitOpens(t *testing.T) {
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	for _, tt := range testscale.Sample(openCases, testscale.N(12, len(openCases))) {
		t.Run(tt.script, func(t *testing.T) {
			c, here := guardedCommands(t, func(c *Config) { c.Names = plantNames })
			twin := t.TempDir()
			who := "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com GIT_AUTHOR_DATE=2026-01-02T00:00:00Z GIT_COMMITTER_DATE=2026-01-02T00:00:00Z GIT_EDITOR=true; "
			plain := func(dir, script string) string {
				cmd := exec.Command("sh", "-c", who+script)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
				out, _ := cmd.CombinedOutput()
				return string(out)
			}
			for _, dir := range []string{here, twin} {
				if out := plain(dir, openSetup); out != "" {
					t.Fatal(out)
				}
			}
			protected := filepath.Join(here, ".vscode")
			s := Spec{Script: who + tt.script, Dir: here, Names: plantNames, Protect: []string{protected, filepath.Join(here, ".npmrc")}}
			s.Git = c.PlanGit(t.Context(), s, gitCalls(tt.git...))
			said, res := run(t, c, s)
			if refused := strings.Contains(said, "Nothing was changed"); refused != (tt.how == isRefused) {
				t.Errorf("refused: %v", refused)
			}
			if tt.how == asPlain {
				plain(twin, tt.script)
				if got, want := plain(here, openState), plain(twin, openState); got != want {
					t.Errorf("ends as\n%s\nwant\n%s", got, want)
				}
			}
			if back := strings.Contains(strings.Join(res.Restored, "\n"), "put back"); back && tt.how != putBack {
				t.Errorf("%q", res.Restored)
			}
			facts := strings.Join(res.Restored, "\n")
			if tt.how == putBack && !strings.Contains(facts, " is protected and was put back as it was, since no earlier commit has what the command made of it; that is in "+res.Quarantine+". If it is wanted, ask the user to move it back") {
				t.Errorf("says %q", facts)
			}
			if text := protected + " is protected; git made it what an earlier commit has"; tt.script == openCases[0].script && tt.git != nil && !strings.Contains(facts, text) {
				t.Errorf("says %q", facts)
			}
			if tt.how >= putBack {
				got := plain(here, "cat .npmrc; cd .vscode && pwd -P && ls -A && cat settings.json")
				if want := "1\n" + protected + "\nsettings.json\n1\n2\n3\n4\n5\n"; got != want {
					t.Errorf("left %q, want %q", got, want)
				}
			}
			if t.Failed() {
				t.Logf("output: %s\n%+v", said, res)
			}
		})
	}
}

func gitCalls(words ...[]string) (out []GitCall) {
	for _, w := range words {
		out = append(out, GitCall{Words: w})
	}
	return out
}

// TestGitOpensLinks checks that a command leaves no further name of a file that was opened.
func TestGitOpensLinks(t *testing.T) {
	c, root := guardedCommands(t, func(c *Config) { c.Names = plantNames })
	cmd := exec.Command("sh", "-c", openSetup)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	s := Spec{Names: plantNames, Protect: []string{root + "/.vscode", root + "/.npmrc"}, Dir: root}
	s.Git = c.PlanGit(t.Context(), s, gitCalls([]string{"checkout", "-q", "feat"}))
	s.Script = "git checkout -q feat && ln .vscode/settings.json link"
	if said, res := run(t, c, s); res.Code != 0 {
		t.Fatal(said)
	}
	s.Script, s.Git = "echo evil >link", nil
	run(t, c, s)
	if text, err := os.ReadFile(root + "/.vscode/settings.json"); err != nil || string(text) != "x\n2\n3\n4\n5\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestGitOpensKilled checks that the next server puts back what a command of a killed one left.
func TestGitOpensKilled(t *testing.T) {
	root, state := tempRoot(t), t.TempDir()
	killed, _ := newGuard(t, root)
	next, _ := newGuard(t, root)
	killed.journal, next.journal = state, state
	if err := write(root, ".vscode/settings.json", "1\n"); err != nil {
		t.Fatal(err)
	}
	w, _ := killed.begin(nil, []string{root})
	before, ok := openedNow(root, root+"/.vscode")
	if !ok {
		t.Fatal("not read")
	}
	w.openings = []*opening{{Root: root, Path: root + "/.vscode", Before: before}}
	killed.record()
	if err := write(root, ".vscode/settings.json", "evil\n"); err != nil {
		t.Fatal(err)
	}
	_ = killed.lock.Close()
	next.begin(nil, []string{root})
	if text, err := os.ReadFile(root + "/.vscode/settings.json"); err != nil || string(text) != "1\n" {
		t.Errorf("%q, %v", text, err)
	}
}
