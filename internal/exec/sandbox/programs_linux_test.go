package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// TestPrograms runs programs that need more of the system than a shell does.
func TestPrograms(t *testing.T) {
	testscale.NeedFull(t)
	t.Parallel()
	programs := map[string]string{
		"python3": `import os, socket, multiprocessing, pty, tempfile, threading
l = multiprocessing.Lock()
q = multiprocessing.Queue()
p = multiprocessing.Process(target=lambda q: q.put(7), args=(q,)); p.start(); assert q.get() == 7; p.join()
s = socket.socket(socket.AF_UNIX); path = tempfile.gettempdir() + '/s'; s.bind(path); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect(path); c.send(b'x'); assert s.accept()[0].recv(1) == b'x'
m, f = pty.openpty(); os.write(f, b'hello\n'); assert os.read(m, 5) == b'hello'; assert os.isatty(f)
os.chmod('.', 0o755); os.utime('.')
print('done')`,
		"node": `const fs = require('fs'), cp = require('child_process'), net = require('net'), os = require('os')
os.networkInterfaces()
fs.writeFileSync('a', 'x'); fs.chmodSync('a', 0o600); fs.renameSync('a', 'b'); fs.utimesSync('b', 1, 1)
const p = process.env.TMPDIR + '/n'
net.createServer(c => c.end('x')).listen(p, () => net.connect(p).on('data', () => {
  console.log(cp.execSync('echo done').toString()); process.exit(0) }))`,
	}
	for _, at := range tiers(t) {
		for program, script := range programs {
			path, err := exec.LookPath(program)
			if err != nil {
				t.Logf("no %s here", program)
				continue
			}
			s := newScratch(t)
			if path, err = filepath.EvalSymlinks(path); err != nil {
				t.Fatal(err)
			}
			if program == "python3" {
				out, err := exec.Command("python3", "-c", "import sys; print(sys.base_prefix); print(sys.executable)").Output()
				if err != nil {
					t.Logf("python3: %v", err)
					continue
				}
				prefix, executable, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
				s.policy.Read = append(s.policy.Read, prefix)
				path = executable
				if at == plain {
					script = strings.ReplaceAll(script, "m, f =", "pass #")
					script = strings.ReplaceAll(script, "multiprocessing.Lock()", "0")
					script = strings.ReplaceAll(script, "q =", "pass #")
					script = strings.ReplaceAll(script, "p = multi", "pass #")
				}
			}
			s.policy.Read = append(s.policy.Read, path)
			file := filepath.Join(s.root, "program")
			write(t, file, script)
			res := job{Policy: s.policy, Args: []string{path, file}}.run(t, at, s.root, "HOME="+s.home)
			if !strings.Contains(res.out, "done") {
				t.Errorf("%s, %s: exit %d\n%s", at.name, program, res.code, res.out)
			}
		}
	}
}

// TestBuilds runs a Go build, a commit and make in a root without configuration.
func TestBuilds(t *testing.T) {
	testscale.NeedFull(t)
	t.Parallel()
	gocache, err := exec.Command("go", "env", "GOCACHE", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("no go here")
	}
	dirs := strings.Split(strings.TrimSpace(string(gocache)), "\n")
	if err := os.MkdirAll(dirs[0], 0o700); err != nil {
		t.Fatal(err)
	}
	for _, at := range tiers(t) {
		s := newScratch(t)
		s.policy.Write = append(s.policy.Write, dirs[0])
		s.policy.Read = append(s.policy.Read, dirs[1], dirs[2])
		write(t, s.root+"/main.go", "package main\n\nfunc main() { println(`built`) }\n")
		write(t, s.root+"/go.mod", "module x\n")
		write(t, s.root+"/Makefile", "all: ; @cp main.go copy.go.txt && chmod +x copy.go.txt && rm copy.go.txt\n")
		s.policy.Protect = []string{s.root + "/.git/config", s.root + "/.git/hooks"}
		run := func(name, script string) {
			t.Helper()
			p := s.policy
			res := job{Policy: p, Args: []string{"bash", "-p", "-c", script}}.run(t, at, s.root, "HOME="+s.home,
				"GOCACHE="+dirs[0], "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local", "GOPROXY=off")
			if res.code != 0 {
				t.Errorf("%s: %s: exit %d\n%s", at.name, name, res.code, res.out)
			}
		}
		run("go build", "go build -o prog . && ./prog && rm prog")
		if _, err := exec.LookPath("make"); err == nil {
			run("make", "make")
		}
		if npm, err := exec.LookPath("npm"); err == nil {
			real, err := filepath.EvalSymlinks(npm)
			if err != nil {
				t.Fatal(err)
			}
			s.policy.Read = append(s.policy.Read, filepath.Dir(filepath.Dir(real)))
			s.policy.Write = append(s.policy.Write, s.home+"/.npm")
			write(t, s.home+"/.npm/x", "x")
			write(t, s.home+"/.npmrc", "//registry.npmjs.org/:_authToken=x\n")
			write(t, s.root+"/dep/package.json", `{"name": "dep", "version": "1.0.0"}`)
			write(t, s.root+"/dep/index.js", "module.exports = 'ok'\n")
			write(t, s.root+"/package.json", `{"name": "x", "version": "1.0.0", "dependencies": {"dep": "file:./dep-1.0.0.tgz"}, "scripts": {"test": "node -e 'require(\"dep\")'"}}`)
			run("npm install", "npm pack ./dep && npm install --offline --no-audit --no-fund && npm test && rm -rf node_modules dep *.tgz")
		}
		if python, err := exec.Command("python3", "-c", "import pip, setuptools, sys; print(sys.base_prefix); print(sys.executable)").Output(); err == nil {
			prefix, executable, _ := strings.Cut(strings.TrimSpace(string(python)), "\n")
			s.policy.Read = append(s.policy.Read, prefix)
			write(t, s.root+"/py/pyproject.toml", "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n[project]\nname = 'dep'\nversion = '1'\n[tool.setuptools]\npy-modules = ['dep']\n")
			write(t, s.root+"/py/dep.py", "x = 1\n")
			run("pip install", executable+" -m pip install -q --disable-pip-version-check --no-index --no-build-isolation --target lib ./py && PYTHONPATH=lib "+executable+" -c 'import dep' && rm -rf lib py")
		}
		if _, err := exec.LookPath("git"); err == nil {
			run("git init", "git init -q . && git config user.email a@b && git config user.name x")
			run("git commit", "git add . && git commit -qm one && git checkout -qb two && echo x >> main.go && git commit -qam two && git gc -q && git status --short && git stash list && git checkout -q - && git merge -q two")
		}
	}
}
