package e2e

import (
	"fmt"
	"mcp-toolset/internal/testscale"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolder checks that the working directory persists after a successful command inside
// the root, and that nothing else persists.
func TestFolder(t *testing.T) {
	s := startShell(t, shellOptions{})
	s.file("sub/deep/f.txt", "f")
	pwd := func() string {
		t.Helper()
		folder, _, _ := strings.Cut(s.works("pwd"), "[the working directory is ")
		return folder
	}
	sub := filepath.Join(s.root, "sub")

	s.works("cd sub")
	if got := pwd(); got != sub {
		t.Fatalf("after cd: %s", got)
	}
	a := s.bash("cd deep && false")
	if !strings.HasPrefix(a.text, "Exit code 1\n") || !strings.Contains(a.text, "the working directory is still "+sub+", since the command failed") || pwd() != sub {
		t.Errorf("after a failure: %s; %s", a.text, pwd())
	}
	a = s.bash("cd /usr && pwd")
	if a.failed || !strings.HasPrefix(a.text, "/usr\n") || !strings.Contains(a.text, "the working directory is still "+sub+": /usr is outside of the workspace") || pwd() != sub {
		t.Errorf("outside: %s; %s", a.text, pwd())
	}
	if err := os.Symlink("/usr", filepath.Join(s.root, "sub/out")); err != nil {
		t.Fatal(err)
	}
	if a = s.bash("cd out"); a.failed || !strings.Contains(a.text, "/usr is outside") || pwd() != sub {
		t.Errorf("outside by a link: %s; %s", a.text, pwd())
	}
	s.readOnly("cd deep")
	s.background("cd deep")
	if got := pwd(); got != sub {
		t.Errorf("after a command in the background: %s", got)
	}
	s.works("pushd deep; exit 0")
	if got := pwd(); got != filepath.Join(sub, "deep") {
		t.Errorf("after pushd and exit: %s", got)
	}
	s.works("(cd .. && pwd) && cd $'../a b\\'\"$ \\n' 2>/dev/null || mkdir -p $'../a b\\'\"$ x' && cd $'../a b\\'\"$ x'")
	if got, want := pwd(), filepath.Join(sub, "a b'\"$ x"); got != want {
		t.Errorf("an odd name: %q, want %q", got, want)
	}

	s.works("export A=1; B=2; f() { echo 3; }; alias g=echo; set -f; umask 077; shopt -s extglob")
	if got := s.works(`echo "[$A$B]" $-; type f g 2>&1 | grep -c 'not found'; umask; shopt extglob | cut -c9-`); !strings.HasPrefix(got, "[] ") || strings.Contains(got, "f\n") || !strings.Contains(got, "\n2\n0022\n") {
		t.Errorf("something was carried over: %s", got)
	}
}

// TestFolderGone checks that the answer reports a removed working directory, and that the
// session continues.
func TestFolderGone(t *testing.T) {
	s := startShell(t, shellOptions{})
	for name, remove := range map[string]func(s *shellServer){
		"by the command":  func(s *shellServer) { s.bash(`rm -r "$PWD"`) },
		"by somebody":     func(s *shellServer) { must(t, os.Remove(filepath.Join(s.root, "sub"))) },
		"now it's a file": func(s *shellServer) { must(t, os.Remove(filepath.Join(s.root, "sub"))); s.file("sub", "") },
	} {
		t.Run(name, func(t *testing.T) {
			must(t, os.RemoveAll(filepath.Join(s.root, "sub")))
			s.works("mkdir sub; cd sub")
			remove(s)
			a := s.bash("pwd")
			if !a.failed || !strings.Contains(a.text, filepath.Join(s.root, "sub")+", the working directory, ") || !strings.Contains(a.text, "any more") || !strings.Contains(a.text, "is "+s.root+" now") {
				t.Errorf("the first: %s", a.text)
			}
			if got := s.works("pwd"); got != s.root {
				t.Errorf("then: %s", got)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestBurst checks that a call sent after a change of the working directory sees it.
func TestBurst(t *testing.T) {
	t.Parallel()
	s := startShell(t, shellOptions{args: []string{"--read-dedup", "off"}})
	var calls, reads []sent
	pairs := testscale.N(20, 50)
	for i := range pairs {
		s.file(fmt.Sprintf("sub%d/f.txt", i), fmt.Sprintf("this is %d.", i))
	}
	for i := range pairs {
		calls = append(calls, s.begin("Bash", map[string]any{"command": fmt.Sprintf("cd %s/sub%d", s.root, i)}))
		reads = append(reads, s.begin("Read", map[string]any{"file_path": "f.txt"}))
	}
	right := 0
	for i := range pairs {
		cd, read := s.wait(calls[i]), s.wait(reads[i])
		if strings.Contains(read.text, fmt.Sprintf("this is %d.", i)) {
			right++
		} else {
			t.Errorf("%d: cd: %s; Read: %.200s %s", i, cd.text, read.text, read.fault)
		}
	}
	t.Logf("%d of %d", right, pairs)
}

// TestBeside checks that read-only commands run concurrently and others alone.
func TestBeside(t *testing.T) {
	t.Parallel()
	s := startShell(t, shellOptions{})
	s.file("file", "content")
	s.works("true")
	open := gate(t, filepath.Join(s.root, "gate"))
	var calls []sent
	var marks []string
	for i := range 10 { // as many as run at once
		tool, mark := []string{"BashReadOnly", "Bash"}[i%2], newMark()
		marks = append(marks, mark)
		calls = append(calls, s.begin(tool, map[string]any{"command": "head -c 1 gate; ls file; echo " + mark}))
	}
	for _, mark := range marks {
		atLeast(t, mark, 1)
	}
	open(len(calls))
	for i, c := range calls {
		if a := s.wait(c); a.failed || a.text != "xfile\n"+marks[i] {
			t.Errorf("%s %s", a.text, a.fault)
		}
	}
	must(t, os.Remove(filepath.Join(s.root, "gate")))
	calls = nil
	var looks []sent
	for range 5 {
		calls = append(calls, s.begin("Bash", map[string]any{"command": "mkdir busy && sleep 0.2 && rmdir busy"}))
		looks = append(looks, s.begin("Bash", map[string]any{"command": "ls"}))
	}
	for i := range calls {
		if a := s.wait(calls[i]); a.failed {
			t.Errorf("not alone: %s", a.text)
		}
		if a := s.wait(looks[i]); a.text != "file" {
			t.Errorf("seen in between: %s", a.text)
		}
	}
}
