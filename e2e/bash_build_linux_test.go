package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// TestBuilds checks that build tools work in a root without any settings.
func TestBuilds(t *testing.T) {
	testscale.NeedFull(t)
	for _, user := range users(t) {
		t.Run(user.name, func(t *testing.T) {
			s := startShell(t, shellOptions{user: user.id, env: []string{"GOTOOLCHAIN=local", "GOFLAGS=-buildvcs=false", "GOPROXY=off", "CGO_ENABLED=0"}})
			user.needs(t, s)
			for _, c := range []struct {
				name    string
				needs   []string // programs that must all run for this user
				files   map[string]string
				command string
				want    string // expected in the answer
			}{
				{"go", []string{"go version"}, map[string]string{
					"go/go.mod": "module example\n", "go/main.go": "package main\nfunc main() { println(\"built\") }\n",
					"go/main_test.go": "package main\nimport \"testing\"\nfunc TestX(t *testing.T) { t.TempDir() }\n",
				}, "cd go && go build -o out . && ./out && go test ./... && go vet ./... && cd ..", "built"},
				{"git", []string{"git --version"}, map[string]string{"repo/f": "1\n"},
					`mkdir -p repo && cd repo && git init -q && git add f && git -c user.name=A -c user.email=a@b.c commit -qm one && git checkout -qb other && echo 2 >f &&
git -c user.name=A -c user.email=a@b.c commit -qam two && git merge-base main other 2>/dev/null; git log --format=%s && git stash list && git gc -q && git status --short && cd ..`, "two\none"},
				{"npm", []string{"node --version", "npm --version"}, map[string]string{
					"npm/package.json": `{"name": "a", "version": "1.0.0", "scripts": {"test": "node test.js"}}`,
					"npm/test.js":      `require("fs").writeFileSync(require("os").tmpdir() + "/x", ""); require("fs").writeFileSync("made", ""); console.log("tested")`,
				}, "cd npm && npm test && npm pack --silent && cd ..", "tested"},
				{"pip", []string{"python3 -m pip --version", "python3 -c 'import setuptools, wheel'"}, map[string]string{
					"pip/setup.py": "from setuptools import setup\nsetup(name='example', version='1', py_modules=['example'])\n", "pip/example.py": "print('installed')\n",
				}, "python3 -m pip install --quiet --no-index --no-build-isolation --no-deps --target target ./pip 2>&1 && PYTHONPATH=target python3 -c 'import example'", "installed"},
				{"cargo", []string{"cargo --version", "cc --version"}, map[string]string{
					"cargo/Cargo.toml": "[package]\nname = \"example\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "cargo/src/main.rs": "fn main() { println!(\"compiled\") }\n",
				}, "cd cargo && cargo run --offline --quiet && cd ..", "compiled"},
				{"make", []string{"make --version", "cc --version"}, map[string]string{
					"make/Makefile": "all: prog\n\t./prog\nprog: prog.c\n\tcc -o prog prog.c\n", "make/prog.c": "#include <stdio.h>\nint main() { puts(\"linked\"); }\n",
				}, "cd make && make && cd ..", "linked"},
			} {
				t.Run(c.name, func(t *testing.T) {
					for _, need := range c.needs {
						cmd := exec.Command("sh", "-c", need)
						cmd.SysProcAttr, cmd.Env, cmd.Dir = s.cmd.SysProcAttr, s.cmd.Env, s.root
						if out, err := cmd.CombinedOutput(); err != nil {
							t.Skipf("%s: %v %.200s", need, err, out)
						}
					}
					for name, content := range c.files {
						s.file(name, content)
					}
					if a := s.bash(c.command); a.failed || !strings.Contains(a.text, c.want) {
						t.Errorf("%s", a.text)
					}
				})
			}
		})
	}
}

// TestProtected checks that no command can change or create the files that git obeys, and
// that git still works.
func TestProtected(t *testing.T) {
	t.Parallel()
	const commit = "git -c user.name=A -c user.email=a@b.c commit -q --allow-empty -m x"
	for _, user := range users(t) {
		t.Run(user.name, func(t *testing.T) {
			t.Run("present", func(t *testing.T) {
				s := startShell(t, shellOptions{user: user.id})
				user.needs(t, s)
				s.works("git init -q .")
				s.file(".git/info/attributes", "")
				config := filepath.Join(s.root, ".git/config")
				before, err := os.ReadFile(config)
				must(t, err)
				for _, command := range []string{"git config core.fsmonitor ./x", "cat f >>.git/config", "cp f .git/config", "git config --local alias.a b", "echo [ >>.git/config"} {
					s.file("f", "[core]\n\tfsmonitor = ./x\n")
					a := s.bash(unnamed(command))
					if after, err := os.ReadFile(config); err != nil || string(after) != string(before) || a.failed || !strings.Contains(a.text, ".git/config stays as it was") {
						t.Errorf("%s: %s, %v: %s", command, after, err, a.text)
					}
				}
				for _, command := range []string{
					"mv .git/config x", "rm -f .git/config", "ln -sf x .git/config",
					"echo x >.git/hooks/pre-commit", "mkdir -p .git/hooks/x && false", "rm -rf .git/hooks", "mv .git/hooks x", "echo x >.git/info/attributes",
				} {
					s.file("f", "[core]\n\tfsmonitor = ./x\n")
					if a := s.bash(unnamed(command)); !a.failed || strings.Contains(a.text, "refused by policy") {
						t.Errorf("%s: %s", command, a.text)
					}
				}
				if after, err := os.ReadFile(config); err != nil || string(after) != string(before) {
					t.Errorf("it was changed: %s, %v", after, err)
				}
				if left, _ := filepath.Glob(filepath.Join(s.root, ".git/hooks/pre-commit")); len(left) > 0 {
					t.Error("a hook was made")
				}
				s.works(commit)
				for _, command := range []string{"mv .git g && mkdir .git && echo '[core]' >.git/config && mkdir .git/hooks && echo x >.git/hooks/pre-commit", "rm -rf .git", "cp -r .git g2; rm -rf .git; mv g2 .git"} {
					s.bash(unnamed(command))
					if after, err := os.ReadFile(config); err != nil || string(after) != string(before) {
						t.Errorf("%s: it was changed: %q, %v", command, after, err)
					}
				}
			})
			t.Run("absent", func(t *testing.T) {
				s := startShell(t, shellOptions{user: user.id})
				user.needs(t, s)
				if a := s.bash("git init -q . && " + commit + " && git remote add origin https://example.com/x.git"); a.failed || strings.Contains(a.text, "was moved to") {
					t.Errorf("git init: %s", a.text)
				}
				s.works(commit)
				other := startShell(t, shellOptions{user: user.id})
				for name, command := range map[string]string{
					".git/hooks":           "mkdir -p .git/hooks && echo x >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
					".git/config":          "mkdir -p .git && printf '[core]\\n\\tfsmonitor = ./x\\n' >.git/config",
					".git/info/attributes": "mkdir -p .git/info && echo '* filter=x' >.git/info/attributes",
					".git/config.worktree": "mkdir -p .git && printf '[core]\\n\\tfsmonitor = ./x\\n' >.git/config.worktree",
					".mcp-toolset":         "mkdir .mcp-toolset && echo {} >.mcp-toolset/settings.json",
					".git/config by git":   "git init -q .; git config core.hooksPath ./x",
				} {
					a := other.bash(unnamed(command))
					name, _, _ = strings.Cut(name, " ")
					if strings.HasPrefix(name, ".git/config") {
						now, err := os.ReadFile(filepath.Join(other.root, name))
						if !strings.Contains(a.text, " of "+filepath.Join(other.root, name)+" stays as it was") || strings.Contains(string(now), "./x") || err != nil {
							t.Errorf("%s: %s, %v: %s", name, now, err, a.text)
						}
						must(t, os.RemoveAll(filepath.Join(other.root, ".git")))
						continue
					}
					if !strings.Contains(a.text, "sandbox: "+filepath.Join(other.root, name)+" is protected; what the command made there was moved to") {
						t.Errorf("%s is not said: %s", name, a.text)
					}
					if _, err := os.Lstat(filepath.Join(other.root, name)); err == nil {
						t.Errorf("%s is there", name)
					}
					must(t, os.RemoveAll(filepath.Join(other.root, ".git")))
				}
			})
		})
	}
}

// unnamed returns a command whose protected names are known only when it runs, so that
// the policy cannot refuse it and the sandbox must.
func unnamed(command string) string {
	return "g=$(echo .git) m=$(echo .mcp-toolset); " + strings.NewReplacer(".mcp-toolset", "$m", ".git", "$g").Replace(command)
}
