package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// hostileRepos maps names to scripts. Each turns the working directory into a repository
// in which git runs a program that the repository names. $EVIL is a program that leaves
// marks; f is a tracked file.
var hostileRepos = map[string]string{
	"fsmonitor":         `git config core.fsmonitor "$EVIL"`,
	"fsmonitor hook":    `git config core.fsmonitor "$EVIL"; git config core.fsmonitorHookVersion 2`,
	"external diff":     `git config diff.external "$EVIL"; echo 2 >f`,
	"diff driver":       `git config diff.x.command "$EVIL"; echo '* diff=x' >.gitattributes; git add .; git commit -qm a; echo 2 >f`,
	"textconv":          `git config diff.x.textconv "$EVIL"; echo '* diff=x' >.gitattributes; git add .; git commit -qm a; echo 2 >f`,
	"cached textconv":   `git config diff.x.textconv "$EVIL"; git config diff.x.cachetextconv true; echo '* diff=x' >.gitattributes; git add .; git commit -qm a; echo 2 >f`,
	"clean filter":      `git config filter.x.clean "$EVIL"; echo '* filter=x' >.gitattributes; touch f; echo 2 >f`,
	"smudge filter":     `git config filter.x.smudge "$EVIL"; git config filter.x.required true; echo '* filter=x' >.gitattributes; rm f`,
	"process filter":    `git config filter.x.process "$EVIL"; mkdir -p .git/info; echo '* filter=x' >.git/info/attributes; echo 2 >f`,
	"dotted filter":     `git config "filter.a.b c.clean" "$EVIL"; echo 2 >f; printf '* filter=a.b\n' >.gitattributes; git config filter.a.b.clean "$EVIL"`,
	"hooks path":        `mkdir h; for n in post-index-change fsmonitor-watchman reference-transaction pre-commit; do cp "$EVIL" h/$n; done; git config core.hooksPath h; touch -d yesterday f`,
	"hooks":             `mkdir -p .git/hooks; for n in post-index-change reference-transaction pre-auto-gc; do cp "$EVIL" .git/hooks/$n; done; touch -d yesterday f`,
	"signatures":        `git config gpg.program "$EVIL"; git config gpg.ssh.program "$EVIL"; git config gpg.x509.program "$EVIL"; git config log.showSignature true; git config pretty.mine %G?%GS; signed`,
	"signatures by ssh": `git config gpg.format ssh; git config gpg.ssh.program "$EVIL"; git config gpg.ssh.allowedSignersFile /dev/null; git config pretty.mine %G?%GS; git config log.showSignature true; signed`,
	"ssh command":       `git config core.sshCommand "$EVIL"; git config remote.origin.url ssh://host/x; promised`,
	"upload pack":       `git config remote.origin.url "$PWD"; git config remote.origin.uploadpack "$EVIL"; promised`,
	"remote helper":     `git config remote.origin.url "ext::$EVIL"; git config protocol.ext.allow always; promised`,
	"git proxy":         `git config core.gitProxy "$EVIL"; git config remote.origin.url git://host/x; promised`,
	"credential helper": `git config credential.helper "!$EVIL"; git config core.askPass "$EVIL"; git config remote.origin.url http://127.0.0.1:9/x; promised`,
	"include":           `git config include.path ../more; printf '[core]\n\tfsmonitor = %s\n' "$EVIL" >more`,
	"include if":        `git config includeIf.gitdir:/.path ../more; printf '[core]\n\tfsmonitor = %s\n' "$EVIL" >more`,
	"worktree config":   `git config extensions.worktreeConfig true; git config --worktree core.fsmonitor "$EVIL"`,
	"git file":          `mv .git g; git -C g config core.fsmonitor "$EVIL"; git -C g config core.bare false; echo gitdir: g >.git`,
	"submodule":         `git init -q s; git -C s commit -q --allow-empty -m s; git add s 2>/dev/null; git commit -qm s; git -C s config core.fsmonitor "$EVIL"; touch s/new; git config submodule.recurse true; git config status.submoduleSummary true; git config diff.submodule log`,
	"bare in folder":    `git init -q --bare sub; git -C sub config core.fsmonitor "$EVIL"; git -C sub config core.worktree "$PWD"; git -C sub config core.bare false`,
	"alias":             `for n in status diff log show blame; do git config alias.$n "!$EVIL"; done`,
	"pagers":            `git config core.pager "$EVIL"; for n in status diff log show blame; do git config pager.$n "$EVIL"; done; git config interactive.diffFilter "$EVIL"; git config core.editor "$EVIL"`,
	"ref command":       `git config core.alternateRefsCommand "$EVIL"; echo "$PWD/.git/objects" >.git/objects/info/alternates`,
	"trailer":           `git config trailer.x.command "$EVIL"; git config trailer.x.cmd "$EVIL"; git config log.mailmap true; git config mailmap.file /dev/null`,
	"ignore and prompt": `git config core.excludesFile "$PWD/f"; git config core.attributesFile "$PWD/attr"; echo '* diff=x filter=x' >attr; git config diff.x.textconv "$EVIL"; git config filter.x.clean "$EVIL"; echo 2 >f`,
}

// makeHostile creates a repository in dir with a script of hostileRepos.
func makeHostile(t *testing.T, dir, evil, script string) {
	t.Helper()
	const prelude = `set -e
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor= "$@"; }
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b.c GIT_CONFIG_GLOBAL=/dev/null
signed() { c=$(git cat-file commit HEAD | awk '!x && /^$/ { print "gpgsig -----BEGIN SSH SIGNATURE-----\n U1NIU0lHAAAAAQ==\n -----END SSH SIGNATURE-----"; x=1 } { print }' | command git hash-object -t commit -w --stdin); git update-ref HEAD $c; }
promised() { git config remote.origin.promisor true; git config extensions.partialClone origin; git config core.repositoryFormatVersion 1; b=$(git rev-parse HEAD:f); rm -f .git/objects/${b:0:2}/${b:2}; }
git init -q .; echo 1 >f; git add f; git commit -qm one; mkdir -p sub; set +e
`
	cmd := exec.Command("bash", "-c", prelude+script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "EVIL="+evil)
	if out, err := cmd.CombinedOutput(); err != nil && len(out) > 0 {
		t.Logf("making the repository: %v %s", err, out)
	}
}

// TestHostileRepositories checks that git commands judged read-only run no program that a
// repository names, even without a sandbox that would prevent harm.
func TestHostileRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	testscale.NeedFull(t)
	calls := []string{
		"git status", "git diff", "git log -p", "git show", "git blame f", "git -C sub status", "git ls-files -m", "git grep x", "git describe --always",
		"git log --pretty=mine", "git reflog --format=%GG", "git stash list --format=%G?", "git diff --stat HEAD", "git cat-file -p HEAD:f",
	}
	for _, command := range calls {
		if !onlyReads(t, command) {
			t.Errorf("%s is not judged to only read", command)
		}
	}
	for _, command := range []string{"git log -p --show-signature", "git log --format=%G?", "git diff --ext-diff", "git show --textconv"} {
		if onlyReads(t, command) {
			t.Errorf("%s is judged to only read", command)
		}
	}
	plainCalls := "git status; git diff; git log -p --show-signature; git show; git blame f; git -C sub status"
	for _, sandbox := range []string{"off", "auto"} {
		t.Run(sandbox, func(t *testing.T) {
			s := startShell(t, shellOptions{args: []string{"--sandbox", sandbox}})
			base := filepath.Dir(s.root)
			marks := filepath.Join(base, "marks")
			must(t, os.Mkdir(marks, 0o777))
			evil := filepath.Join(base, "evil")
			script := fmt.Sprintf("#!/bin/sh\nfor d in %s %s/marks \"$TMPDIR\" .; do echo \"$0 $*\" >>\"$d/pwned\"; done 2>/dev/null\n", marks, s.root)
			must(t, os.WriteFile(evil, []byte(script), 0o755))
			must(t, os.Mkdir(filepath.Join(s.root, "marks"), 0o777))
			// The test can fail: git itself runs the program.
			ran := 0
			for name, make := range hostileRepos {
				dir := filepath.Join(s.root, strings.ReplaceAll(name, " ", "-"))
				must(t, os.Mkdir(dir, 0o755))
				makeHostile(t, dir, evil, make)
				for _, pwned := range pwnedFiles(base) {
					must(t, os.Remove(pwned)) // left by the program in this repository
				}
				s.works("cd " + dir)
				for _, command := range calls {
					a := s.bash(command)
					if strings.Contains(a.text, "git would run programs that this repository names") {
						continue // so the command did not run
					}
					if sandboxed, ok := a.meta["mcp-toolset/sandboxed"].(bool); !ok || sandboxed != (sandbox == "auto") {
						t.Errorf("%s, %s: %s", name, command, a.text)
					}
					for _, pwned := range pwnedFiles(base) {
						text, _ := os.ReadFile(pwned)
						t.Errorf("%s, %s: %s was made: %s", name, command, pwned, text)
						must(t, os.Remove(pwned))
					}
				}
				if sandbox == "auto" {
					s.bash(plainCalls)
					if left := pwnedFiles(marks); len(left) > 0 {
						t.Errorf("%s: the containment let %v be made", name, left)
					}
				}
				cmd := exec.Command("bash", "-c", plainCalls)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+s.home, "GIT_TERMINAL_PROMPT=0", "TMPDIR="+marks)
				_ = cmd.Run()
				for i, pwned := range pwnedFiles(base) {
					must(t, os.Remove(pwned))
					if i == 0 {
						ran++
					}
				}
			}
			if ran < 8 {
				t.Errorf("plain git ran the programs of %d repositories only", ran)
			}
			t.Logf("plain git ran the programs of %d of %d repositories", ran, len(hostileRepos))
		})
	}
}

// onlyReads reports whether the policy judges a command read-only.
func onlyReads(t *testing.T, command string) bool {
	t.Helper()
	cmd := exec.Command(binary(t), "policy", "explain", "--json", "--batch")
	line, err := json.Marshal(map[string]any{"tool": "Bash", "input": map[string]any{"command": command}})
	must(t, err)
	cmd.Stdin, cmd.Dir = bytes.NewReader(append(line, '\n')), t.TempDir()
	out, err := cmd.Output()
	must(t, err)
	return bytes.Contains(out, []byte(`"read_only":true`))
}

// pwnedFiles returns all marks below base.
func pwnedFiles(base string) (found []string) {
	_ = filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "pwned" {
			found = append(found, path)
		}
		return nil
	})
	return found
}
