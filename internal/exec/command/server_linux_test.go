package command

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startServer starts a script of bash as a server.
func startServer(t *testing.T, c *Commands, script string, edit func(*ServerSpec)) (*Server, *bufio.Reader) {
	t.Helper()
	spec := ServerSpec{Args: []string{FindShell(""), "-c", script}, Dir: c.config.Roots[0], Owner: rand.Text()}
	if edit != nil {
		edit(&spec)
	}
	s, err := c.StartServer(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.End(0)
		for _, f := range []*os.File{s.Stdin, s.Stdout, s.Stderr} {
			_ = f.Close()
		}
	})
	return s, bufio.NewReader(s.Stdout)
}

// TestServer checks the streams of a server, and how its end is described.
func TestServer(t *testing.T) {
	c, _ := newCommands(t, nil)
	s, out := startServer(t, c, `read line; echo "got $line"; exit 3`, nil)
	if _, err := io.WriteString(s.Stdin, "ping\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := out.ReadString('\n'); err != nil || line != "got ping\n" {
		t.Fatal(line, err)
	}
	<-s.Done()
	if got := s.Exit(); got != "exited with code 3" {
		t.Error(got)
	}
}

// TestServerConfined checks that a server has the write rules of a command, reads no secrets and
// has no network outside of its proxy, and that its variables and folders are those of the spec.
func TestServerConfined(t *testing.T) {
	c, root := newCommands(t, func(c *Config) { c.Network = Ask })
	if !c.Report(t.Context()).Write.InForce() {
		t.Skip("commands are not confined here")
	}
	tool := filepath.Join(t.TempDir(), "tool")
	secret := filepath.Join(c.config.Home, ".ssh", "id_rsa")
	hidden, unchanged := filepath.Join(root, "hidden"), filepath.Join(root, "unchanged")
	for _, path := range []string{filepath.Join(tool, "file"), secret, hidden, unchanged, filepath.Join(root, ".git", "hooks", "x.sample"), filepath.Join(root, ".git", "HEAD"), filepath.Join(root, ".git", "config"), filepath.Join(root, ".mcp-toolset", "settings.json")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ script, want string }{
		{`echo x >made && cat made`, "x"},
		{`echo x >unchanged || echo refused`, "refused"},
		{`echo x >.git/hooks/pre-commit || echo refused`, "refused"},
		{`echo x >>.git/config || echo refused`, "refused"},
		{`echo x >.mcp-toolset/settings.json || echo refused`, "refused"},
		{`mv .git other || echo refused`, "refused"},
		{`rm -r .mcp-toolset || echo refused`, "refused"},
		{`echo x >$HOME/made || echo refused`, "refused"},
		{`cat hidden || echo refused`, "refused"},
		{`cat ` + secret + ` || echo refused`, "refused"},
		{`cat "$TOOL/file"`, "content"},
		{`echo x >"$TMPDIR/x" && cat "$TMPDIR/x"`, "x"},
		{`echo "$VAR $PWD"`, "1 " + root},
		{`exec 3<>/dev/udp/127.0.0.1/9 && echo reached || echo refused`, "refused"},
	} {
		_, out := startServer(t, c, "{ "+step.script+"; } 2>/dev/null", func(s *ServerSpec) {
			s.Env, s.Read, s.Hide = []string{"VAR=1", "TOOL=" + tool}, []string{tool}, []string{hidden}
			s.Protect = []string{unchanged}
		})
		if line, err := out.ReadString('\n'); strings.TrimSpace(line) != step.want {
			t.Errorf("%s: %q, %v", step.script, line, err)
		}
	}
}

// TestServerWorktree checks that the server of a git worktree changes files there, and reads
// the checkout only.
func TestServerWorktree(t *testing.T) {
	folder := tempRoot(t)
	c, root := newCommands(t, func(c *Config) { c.Worktrees = filepath.Dir(folder) })
	if !c.Report(t.Context()).Write.InForce() {
		t.Skip("commands are not confined here")
	}
	if err := write(root, "f", "content\n", ".git/HEAD", "x"); err != nil {
		t.Fatal(err)
	}
	_, out := startServer(t, c, "{ cat "+root+"/f; echo x >"+root+"/f || echo refused; echo x >"+root+"/.git/HEAD || echo refused; echo x >made && cat made; } 2>/dev/null | tr '\\n' ' '; echo", func(s *ServerSpec) {
		s.Dir, s.Workspace = folder, &Workspace{Roots: []string{folder}, Folder: folder, Main: root}
	})
	if line, err := out.ReadString('\n'); line != "content refused refused x \n" {
		t.Errorf("%q, %v", line, err)
	}
}

// TestServerNames checks that protected names which the user makes while a server runs stay where
// they are, during commands and after the end of the server.
func TestServerNames(t *testing.T) {
	c, root := guardedCommands(t, nil)
	s, out := startServer(t, c, `echo ready; read x`, nil)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatal(line, err)
	}
	own := filepath.Join(root, ".git", "hooks", "pre-commit")
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("of the user\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if text, result := run(t, c, Spec{Script: "cat .git/hooks/pre-commit", Dir: root}); text != "of the user\n" {
		t.Errorf("%q, %+v", text, result)
	}
	if err := s.End(0); err != nil {
		t.Error(err)
	}
	<-s.Done()
	c.active.Wait() // for the work after its end
	if data, err := os.ReadFile(own); string(data) != "of the user\n" {
		t.Error(string(data), err)
	}
}

// TestServerNetwork checks that a server in the mode Ask reaches its own proxy and nothing else,
// and that nothing of its network is left after its end.
func TestServerNetwork(t *testing.T) {
	c, _ := networkCommands(t)
	out := listenOutside(t)
	stopped := make(chan struct{})
	s, from := startServer(t, c, `at=${http_proxy#http://}; (echo x >/dev/tcp/127.0.0.1/`+out.tcp4+`) 2>/dev/null || echo refused; exec 3<>/dev/tcp/${at%:*}/${at#*:}; read -u3 line; echo "$line"; read x`, func(s *ServerSpec) {
		s.Proxy = func(l net.Listener, local Local) func() []string {
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = io.WriteString(conn, "from the proxy\n")
					_ = conn.Close()
				}
			}()
			return func() []string { close(stopped); return nil }
		}
	})
	for _, want := range []string{"refused\n", "from the proxy\n"} {
		if line, err := from.ReadString('\n'); err != nil || line != want {
			t.Error(line, err)
		}
	}
	if got := out.all(); len(got) > 0 {
		t.Error("it reached", got)
	}
	if err := s.End(0); err != nil {
		t.Error(err)
	}
	<-stopped
	c.active.Wait() // for the work after its end
	c.networks.mu.Lock()
	defer c.networks.mu.Unlock()
	if n := len(c.networks.owners); n > 0 {
		t.Error(n, "networks are left")
	}
}

// TestServerTree checks that the processes that a server started end with it and with Close,
// and that their memory counts.
func TestServerTree(t *testing.T) {
	c, root := newCommands(t, nil)
	s, out := startServer(t, c, `x=$(head -c 60000000 /dev/zero | tr '\0' x); (trap '' TERM; exec sleep 1000) & setsid sleep 1000 & echo ready; wait`, nil)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatal(line, err)
	}
	if got := s.Memory(); got < 60_000_000 || got > 1<<30 {
		t.Error("its memory is", got)
	}
	begin := time.Now()
	if err := s.End(100 * time.Millisecond); err != nil || time.Since(begin) > 10*time.Second {
		t.Error(err, time.Since(begin))
	}
	if got := s.Memory(); got != 0 {
		t.Error("its memory is", got, "after its end")
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Error("a process has its output open:", rest, err)
	}
	again, _ := startServer(t, c, "sleep 1000", nil)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	<-again.Done()
	if got := again.Exit(); !strings.HasPrefix(got, "ended by signal") {
		t.Error(got)
	}
	if _, err := c.StartServer(t.Context(), ServerSpec{Args: []string{"/bin/true"}, Dir: root, Owner: "late"}); err == nil {
		t.Error("a server starts after Close")
	}
}

// TestFindProgram checks that a program in a folder that commands may write to is not found.
func TestFindProgram(t *testing.T) {
	own := t.TempDir()
	c, root := newCommands(t, func(c *Config) {
		c.Environ = append(c.Environ, "PATH="+strings.Join([]string{filepath.Join(c.Roots[0], "bin"), "relative", own}, ":"))
	})
	for _, dir := range []string{filepath.Join(root, "bin"), own} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a-server"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := c.FindProgram("a-server"); err != nil || got != filepath.Join(own, "a-server") {
		t.Error(got, err)
	}
	if got, err := c.FindProgram("missing"); fmt.Sprint(err) != "it is not on PATH" {
		t.Error(got, err)
	}
}
