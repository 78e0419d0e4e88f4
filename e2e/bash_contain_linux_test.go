package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContained checks that a command writes only in the root and the permitted folders.
// When it fails, the answer states why and how the user can permit it.
func TestContained(t *testing.T) {
	t.Parallel()
	for _, user := range users(t) {
		t.Run(user.name, func(t *testing.T) {
			s := startShell(t, shellOptions{user: user.id})
			user.needs(t, s)
			base := filepath.Dir(s.root)
			outside := writeAt(t, filepath.Join(base, "outside/file"), "kept")
			must(t, os.Chmod(filepath.Dir(outside), 0o777))
			must(t, os.Chmod(outside, 0o666))
			for _, command := range []string{
				"echo x >%s", "echo x >>%s", "rm %s", "mv %s .", "truncate -s 0 %s", "ln -f file %s", "ln -s file %s.new",
				"mkdir %s.d", "cp file %s", "chmod 600 %s", "touch -d yesterday %s", "python3 -c 'open(\"%s\", \"w\")'", "ln -s %s way && echo x >way",
			} {
				s.file("file", "mine")
				command = fmt.Sprintf(command, outside)
				a := s.bash(command)
				if !a.failed || !strings.Contains(a.text, "\n[sandbox: ") || !strings.Contains(a.text, "ask the user to add it to sandbox.allowWrite in the settings") {
					t.Errorf("%s: %s", command, a.text)
				}
			}
			text, err := os.ReadFile(outside)
			if entries, _ := os.ReadDir(filepath.Dir(outside)); err != nil || string(text) != "kept" || len(entries) != 1 {
				t.Errorf("it was changed: %q %v", text, err)
			}
			if got := s.works(`echo 1 >a && mkdir -p b/c && echo 2 >"$TMPDIR/t" && cat a "$TMPDIR/t" && mv a b/c && rm -r b && cd / && pwd`); !strings.HasPrefix(got, "1\n2\n/\n") {
				t.Error(got)
			}
			if got := s.works(`cat "$TMPDIR/t"`); got != "2" {
				t.Errorf("the temporary folder is another: %s", got)
			}
		})
	}
}

// TestReadOnlyContained checks that BashReadOnly writes nowhere, reaches no network and
// signals no process.
func TestReadOnlyContained(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	connected := make(chan struct{}, 100)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connected <- struct{}{}
			_ = c.Close()
		}
	}()
	for _, user := range users(t) {
		t.Run(user.name, func(t *testing.T) {
			s := startShell(t, shellOptions{user: user.id, settings: `{"sandbox":{"network":"allow"}}`})
			user.needs(t, s)
			s.file("f", "kept")
			port := strings.TrimPrefix(listener.Addr().String(), "127.0.0.1:")
			connect := fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%s; node -e 'require(\"net\").connect(%[1]s, \"127.0.0.1\").on(\"error\", e => { throw e })'", port)
			for _, command := range []string{
				"echo x >f", "rm f", "echo x >new", "mkdir new", "ln -s a new", "mv f g", "chmod 777 f", "touch f", "mkfifo new",
				"echo x >$HOME/new", "mkdir -p $HOME/.cache/new", "mkdir -p $HOME/go/new",
				"echo x >/dev/shm/mcp-toolset-test-new", "git init .",
				connect, "echo x >/dev/udp/127.0.0.1/" + port,
				fmt.Sprintf("kill -KILL %d", s.cmd.Process.Pid), fmt.Sprintf("kill -0 %d", os.Getpid()), "kill -KILL $PPID && false", "kill -KILL -1; false",
			} {
				if a := s.readOnly(command); !a.failed {
					t.Errorf("%s: %s", command, a.text)
				}
			}
			if text, err := os.ReadFile(filepath.Join(s.root, "f")); err != nil || string(text) != "kept" {
				t.Errorf("it was changed: %q %v", text, err)
			}
			for _, dir := range []string{s.root, s.home} {
				entries, err := os.ReadDir(dir)
				for _, e := range entries {
					if err != nil || strings.Contains(e.Name(), "new") || e.Name() == ".git" || e.Name() == "g" {
						t.Errorf("in %s there is %s, %v", dir, e.Name(), err)
					}
				}
			}
			if left, _ := filepath.Glob("/[tdv]*/*/mcp-toolset-test-new"); len(left) > 0 {
				t.Errorf("there is %v", left)
			}
			if left, _ := filepath.Glob("/tmp/mcp-toolset-test-new"); len(left) > 0 {
				t.Errorf("there is %v", left)
			}
			if a := s.readOnly(`echo x >$TMPDIR/mine && cat $TMPDIR/mine f`); a.text != "x\nkept" {
				t.Errorf("its own folder: %s", a.text)
			}
			select {
			case <-connected:
				t.Error("it reached the network")
			default:
			}
			// Bash with the network of the machine reaches it with the same command, so the
			// test can fail.
			if a := s.bash("exec 3<>/dev/tcp/127.0.0.1/" + port); a.failed {
				t.Fatalf("Bash has no network: %s", a.text)
			}
			<-connected
		})
	}
}

// TestSandboxSettings checks that the settings of the sandbox apply to both tools.
func TestSandboxSettings(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	for _, user := range users(t) {
		t.Run(user.name, func(t *testing.T) {
			s := startShell(t, shellOptions{user: user.id, settings: `{
				"permissions": {"allow": ["Bash"], "deny": ["Read(.env)", "Read(**/*.pem)", "Read(~/private/**)"]},
				"sandbox": {"network": "deny", "allowWrite": ["$BASE/more"], "caches": false}}`})
			base := filepath.Dir(s.root)
			writeAt(t, filepath.Join(base, "more/file"), "")
			must(t, os.Chmod(filepath.Join(base, "more"), 0o777))
			user.needs(t, s)
			s.works("echo x >" + base + "/more/new")
			if a := s.readOnly("echo x >" + base + "/more/other"); !a.failed {
				t.Errorf("BashReadOnly may write: %s", a.text)
			}
			port := strings.TrimPrefix(listener.Addr().String(), "127.0.0.1:")
			if a := s.bash("exec 3<>/dev/tcp/127.0.0.1/" + port); !a.failed || !strings.Contains(a.text, "sandbox.network") {
				t.Errorf("the network: %s", a.text)
			}
			writeAt(t, filepath.Join(s.home, ".cache/tool/file"), "")
			if a := s.bash("echo x >~/.cache/tool/file"); !a.failed {
				t.Errorf("a cache can be written: %s", a.text)
			}
			denied := []string{s.file(".env", "a-secret"), s.file("certs/deep/key.pem", "a-secret"), s.file("top.pem", "a-secret"), writeAt(t, filepath.Join(s.home, "private/notes"), "a-secret")}
			s.file("other.txt", "open")
			for _, tool := range []string{"Bash", "BashReadOnly"} {
				for _, path := range denied {
					a := s.call(tool, map[string]any{"command": strings.ReplaceAll(`cat %; cat <%; cp % $TMPDIR/x; cat $TMPDIR/x; ln % $TMPDIR/y; cat $TMPDIR/y
cp -r . $TMPDIR/all; cat $TMPDIR/all/.env $TMPDIR/all/*.pem $TMPDIR/all/certs/deep/*; grep -r a-secr . ; cat /proc/self/root%; mv % $TMPDIR/z; cat $TMPDIR/z; mv certs c2; cat c2/deep/*; mv c2 certs; true`, "%", path)})
					if strings.Contains(a.text, "a-secret") {
						t.Errorf("%s %s: %s", tool, path, a.text)
					}
					// This command is classified as read-only.
					if a := s.call(tool, map[string]any{"command": "cat " + path}); strings.Contains(a.text, "a-secret") {
						t.Errorf("%s cat %s: %s", tool, path, a.text)
					}
				}
				if a := s.call(tool, map[string]any{"command": "cat other.txt"}); a.text != "open" {
					t.Errorf("%s: %s", tool, a.text)
				}
			}
			for _, path := range denied {
				if text, err := os.ReadFile(path); err != nil || string(text) != "a-secret" {
					t.Errorf("it was changed: %q %v", text, err)
				}
			}
		})
	}
}
