package shellsafe

import (
	"math/rand/v2"
	"mcp-toolset/internal/testscale"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fixture makes the workspace that the corpus assumes, with traps: programs and
// file names that do harm if they are executed or taken for flags.
const fixture = `set -e
seq 1 40 > a.txt; printf 'banana\napple\ncherry\n' > b.txt; printf 'x,y\n1,2\n' > c.csv; echo '{"a":1,"b":[1,2]}' > d.json
printf '#!/bin/sh\ntouch "$0.RAN"\nexec cat\n' > pwn; chmod +x pwn; mkdir bin; cp pwn bin/ls; cp pwn bin/cat; cp pwn bin/git
echo 'w RAN' > s.sed; printf -- '--pre=./pwn\n' > .ripgreprc; printf '#!/bin/sh\ntouch RAN\n' > .bashrc; cp .bashrc .profile
gzip -c a.txt > a.txt.gz; mkdir -p sub/deep src; echo 'package main // TODO' > sub/m.go; cp sub/m.go src/main.go; echo hello > sub/deep/t.txt; echo hello > sub/t.txt; ln -s a.txt link
tar cf t.tar a.txt b.txt; tar czf t.tgz a.txt
git init -q -b main .; git config user.email a@b; git config user.name n; echo one > f.txt; git add f.txt; git commit -qm c1; echo two >> f.txt; git commit -qam c2; git branch feature; git tag v1; git stash -q 2>/dev/null || true; echo three >> f.txt; git remote add origin ./nosuch
touch -- sub/-delete sub/-oRAN '-n' './--files0-from=x'
`

// TestOracle runs every script in a workspace and checks that nothing has changed.
func TestOracle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the corpus means GNU programs")
	}
	bash := needBash(t)
	root := t.TempDir()
	dir, home := filepath.Join(root, "ws"), filepath.Join(root, "home")
	for _, d := range []string{dir, home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The fixture must not use the user's settings.
	if out, err := runScript(bash, dir, fixture, "PATH="+os.Getenv("PATH"), "HOME="+home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"); err != nil {
		t.Skipf("no workspace: %v %s", err, out)
	}
	o := Options{Dir: dir, Roots: []string{dir}, Home: home}
	var all []string
	for _, name := range []string{"bash_readonly.txt", "more_readonly.txt"} {
		for _, s := range corpus(t, name) {
			all = append(all, strings.ReplaceAll(s, "/ws", dir))
		}
	}
	r := rand.New(rand.NewPCG(9, 10))
	joined := joinable(t, "bash_readonly.txt")
	for range randomPairs / 10 {
		all = append(all, joined[r.IntN(len(joined))]+[]string{" && ", "; ", " || ", " | "}[r.IntN(4)]+joined[r.IntN(len(joined))])
	}
	before := listing(t, root)
	ran := 0
	for _, s := range testscale.Sample(all, 150) {
		// The duration of these depends on the machine: df waits for every mount,
		// even for one that does not answer.
		if strings.Contains(s, "find /usr") || strings.Contains(s, "ls /etc") || strings.Contains(s, "sleep") || strings.Contains(s, "df -h") {
			continue
		}
		a := Analyse(s, o)
		if !a.ReadOnly {
			if !strings.Contains(s, "|") {
				t.Errorf("%q is not read-only: %s", s, a.Reason)
			}
			continue
		}
		env := append([]string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + home, "LANG=C.UTF-8"}, a.Env...)
		runScript(bash, dir, a.Script, env...)
		ran++
		after := listing(t, root)
		if d := differs(before, after); d != nil {
			t.Errorf("%q changed files, run as %s\n%s", s, a.Script, strings.Join(d, "\n"))
			before = after
		}
	}
	t.Logf("%d scripts", ran)
	if _, err := exec.LookPath("git"); err == nil && ran < testscale.N(100, 400) {
		t.Errorf("only %d scripts ran", ran)
	}
}
