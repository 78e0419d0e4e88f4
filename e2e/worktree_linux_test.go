package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// newCheckout makes a repository with a file and a script that builds it.
func newCheckout(t *testing.T, root string) func(args ...string) string {
	t.Helper()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	put(t, filepath.Join(root, "src.txt"), "start\n")
	put(t, filepath.Join(root, "build.sh"), "sort src.txt >built.txt\n")
	git("init", "-q", "-b", "main")
	git("config", "user.name", "a")
	git("config", "user.email", "a@b")
	git("add", ".")
	git("commit", "-qm", "first")
	return git
}

// TestWorktreesApart lets two sessions in worktrees and one in the checkout edit, build and commit
// at once. Each tree and each branch has its own changes, and no session in a worktree changes the
// checkout.
func TestWorktreesApart(t *testing.T) {
	t.Parallel()
	server := startShellHTTP(t)
	git := newCheckout(t, server.root)
	put(t, filepath.Join(server.root, ".git/hooks/post-checkout"), "#!/bin/sh\ntouch "+server.root+"/hooked\n")
	if err := os.Chmod(filepath.Join(server.root, ".git/hooks/post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	// A request without a session is refused.
	text, err := server.call(t.Context(), "EnterWorktree", nil)
	const stateless = "EnterWorktree: failed: a worktree needs a session, and the requests of this client have none. Use git worktree in a command, and name the files by their full paths."
	if err != nil || !strings.Contains(text, stateless) {
		t.Fatalf("%v: %s", err, text)
	}
	names := []string{"one", "feature/two", "main"}
	folders := make([]string, len(names))
	var group, committed sync.WaitGroup
	committed.Add(len(names))
	for i, name := range names {
		s := *server
		s.open(t)
		call := func(tool string, arguments map[string]any) (text string, failed bool) {
			text, err := s.call(t.Context(), tool, arguments)
			var m struct {
				Result struct {
					IsError bool
					Content []struct{ Text string }
				}
			}
			if i := strings.Index(text, "data: "); i >= 0 && !strings.HasPrefix(text, "{") {
				text = text[i+len("data: "):]
			}
			if err != nil || json.Unmarshal([]byte(text), &m) != nil || len(m.Result.Content) == 0 {
				t.Errorf("%s: %v: %s", tool, err, text)
				return "", true
			}
			return m.Result.Content[0].Text, m.Result.IsError
		}
		must := func(tool string, arguments map[string]any) string {
			text, failed := call(tool, arguments)
			if failed {
				t.Errorf("%s: %s: %s", name, tool, text)
			}
			return text
		}
		group.Go(func() {
			must("Read", map[string]any{"file_path": "src.txt"})
			folders[i] = server.root
			if name != "main" {
				text := must("EnterWorktree", map[string]any{"name": name})
				_, rest, _ := strings.Cut(text, "new worktree ")
				folders[i], _, _ = strings.Cut(rest, ", on")
				if want := fmt.Sprintf("The session is in the new worktree %s, on the new branch %s.\nThe main checkout, %s, is read-only until ExitWorktree.", folders[i], name, server.root); text != want {
					t.Errorf("have %s\nwant %s", text, want)
				}
			}
			// The record of the read holds in the worktree, too.
			must("Edit", map[string]any{"file_path": filepath.Join(folders[i], "src.txt"), "old_string": "start", "new_string": "of " + name})
			for n := range 3 {
				must("Bash", map[string]any{"command": fmt.Sprintf("echo %d >>src.txt && sh build.sh && git add -A && git commit -qm '%s %d'", n, name, n)})
			}
			// A mount over .git/index ends when git replaces the file from outside.
			committed.Done()
			committed.Wait()
			if name == "main" {
				return
			}
			const denied = "is in the main checkout, which is read-only until ExitWorktree. Use the file in the worktree, "
			for tool, arguments := range map[string]map[string]any{
				"Edit":  {"file_path": server.root + "/build.sh", "old_string": "sort", "new_string": "cat"},
				"Write": {"file_path": server.root + "/crossed.txt", "content": "x"},
				"Bash":  {"command": "echo x >" + server.root + "/crossed.txt"},
			} {
				if text, failed := call(tool, arguments); !failed || !strings.Contains(text, denied) {
					t.Errorf("%s: %s of the checkout: %s", name, tool, text)
				}
			}
			// The analysis does not see these names; the kernel refuses.
			must("Write", map[string]any{"file_path": "try.sh", "content": `for f in crossed.txt build.sh .git/HEAD .git/refs/heads/main .git/logs/refs/heads/main .git/index .git/config .git/hooks/x; do (echo x >>` + server.root + `/$f) 2>/dev/null && echo "changed $f"; done; (echo x >>.git) 2>/dev/null && echo changed .git; rm try.sh`})
			if text, _ := call("Bash", map[string]any{"command": "sh try.sh"}); strings.Contains(text, "changed") || strings.Contains(text, "cannot") {
				t.Errorf("%s: %s", name, text)
			}
		})
	}
	group.Wait()
	if _, err := os.Lstat(filepath.Join(server.root, "hooked")); err == nil {
		t.Error("a hook of the repository has run")
	}
	for i, name := range names {
		want := fmt.Sprintf("%s 2\n%s 1\n%s 0\nfirst", name, name, name)
		if log := git("log", "--format=%s", name); log != want {
			t.Errorf("the branch %s has %q", name, log)
		}
		if status := git("-C", folders[i], "status", "--porcelain"); status != "" {
			t.Errorf("%s: %s", name, status)
		}
		src, err := os.ReadFile(filepath.Join(folders[i], "src.txt"))
		if err != nil || string(src) != "of "+name+"\n0\n1\n2\n" {
			t.Errorf("%s: src.txt is %q, %v", name, src, err)
		}
		built, err := os.ReadFile(filepath.Join(folders[i], "built.txt"))
		if err != nil || string(built) != "0\n1\n2\nof "+name+"\n" {
			t.Errorf("%s: built.txt is %q, %v", name, built, err)
		}
	}
}

// TestWorktreeKilled kills a server whose session is in a worktree, in the folder of the settings.
// The worktree is listed with its work, is not cleaned, and another session enters it by its path.
func TestWorktreeKilled(t *testing.T) {
	t.Parallel()
	base := newBase(t)
	env := []string{"MCP_TOOLSET_STATE_DIR=" + filepath.Join(base, "state")}
	s := startShell(t, shellOptions{env: env, settings: `{"worktreeFolder":".trees"}`, bare: true})
	git := newCheckout(t, s.root)
	worktrees := func(args ...string) string {
		cmd := exec.Command(binary(t), append([]string{"worktrees"}, args...)...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("worktrees %v: %v", args, err)
		}
		return string(out)
	}
	s.call("EnterWorktree", map[string]any{"name": "kept"})
	s.call("Write", map[string]any{"file_path": "new.txt", "content": "x"})
	if list := worktrees(); !strings.Contains(list, " in use ") || !strings.Contains(list, "not committed: new.txt") {
		t.Error(list)
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	list := worktrees("--clean")
	if !strings.Contains(list, " left ") || !strings.Contains(list, "not committed: new.txt\nTo remove it all the same: git -C "+s.root+" worktree remove --force --force "+s.root+"/.trees/") {
		t.Error(list)
	}
	var all struct{ Worktrees []struct{ Folder string } }
	if err := json.Unmarshal([]byte(worktrees("--json")), &all); err != nil || len(all.Worktrees) != 1 {
		t.Fatal(err, all)
	}
	folder := all.Worktrees[0].Folder
	if !strings.HasPrefix(folder, s.root+"/.trees/") {
		t.Errorf("the worktree is %s", folder)
	}
	cmd := exec.Command(binary(t), "stdio", "--log-level", "error", s.root)
	cmd.Env = append(os.Environ(), append(env, "HOME="+s.home)...)
	c := startRootsClient(t, cmd, `{}`)
	if text := c.call("EnterWorktree", map[string]any{"path": folder}); !strings.HasPrefix(text, "The session is in the worktree "+folder+", on the branch kept.\n") {
		t.Fatal(text)
	}
	if text := c.call("ExitWorktree", map[string]any{"action": "remove"}); text != "ExitWorktree: failed: removing the worktree would lose work: not committed: new.txt. Commit and push or merge it, leave with the action keep, or set discard_changes if the user wants to lose it." {
		t.Error(text)
	}
	if text := c.call("Bash", map[string]any{"command": "rm new.txt"}); strings.Contains(text, "refused") {
		t.Error(text)
	}
	if text := c.call("ExitWorktree", map[string]any{"action": "remove"}); text != "The worktree "+folder+" is removed, with the branch kept. The working directory is "+s.root+"." {
		t.Error(text)
	}
	if list := worktrees(); list != "there is no worktree; EnterWorktree makes them\n" {
		t.Error(list)
	}
	// The user removes one whose branch has a commit, then the branch.
	text := c.call("EnterWorktree", map[string]any{"name": "gone"})
	_, rest, _ := strings.Cut(text, "new worktree ")
	folder, _, _ = strings.Cut(rest, ", on")
	git("-C", folder, "commit", "-q", "--allow-empty", "-m", "more")
	c.call("ExitWorktree", map[string]any{"action": "keep"})
	git("worktree", "remove", "--force", "--force", folder)
	if list := worktrees("--clean"); !strings.Contains(list, " gone ") || !strings.Contains(list, " more\nTo remove its branch all the same: git -C "+s.root+" branch -D gone\n") {
		t.Error(list)
	}
	git("branch", "-D", "gone")
	if list := worktrees("--clean"); !strings.Contains(list, " removed ") {
		t.Error(list)
	}
}

// TestWorktreeClientRoots changes the roots of a client whose session is in a worktree. The session
// stays there, the new root is added, and outside of the worktree the session has the client's
// roots.
func TestWorktreeClientRoots(t *testing.T) {
	t.Parallel()
	base := newBase(t)
	root, other := filepath.Join(base, "root"), filepath.Join(base, "other")
	newCheckout(t, root)
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary(t), "stdio", "--log-level", "error")
	cmd.Dir = base
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(base, "home"), "MCP_TOOLSET_STATE_DIR="+filepath.Join(base, "state"), "CLAUDE_PROJECT_DIR=")
	c := startRootsClient(t, cmd, `{"roots":{"listChanged":true}}`)
	c.roots(root)
	text := c.call("EnterWorktree", map[string]any{"name": "w"})
	_, rest, _ := strings.Cut(text, "new worktree ")
	folder, _, _ := strings.Cut(rest, ", on")
	c.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	c.roots(root, other)
	if text := c.call("Write", map[string]any{"file_path": "in.txt", "content": "x"}); !strings.HasPrefix(text, "Created "+folder+"/in.txt") {
		t.Fatalf("the worktree is %s: %s", folder, text)
	}
	if text := c.call("Write", map[string]any{"file_path": root + "/in.txt", "content": "x"}); !strings.Contains(text, "is in the main checkout") {
		t.Error(text)
	}
	if text := c.call("Write", map[string]any{"file_path": other + "/new.txt", "content": "x"}); !strings.HasPrefix(text, "Created") {
		t.Error(text)
	}
	if text := c.call("ExitWorktree", map[string]any{"action": "keep"}); !strings.HasSuffix(text, " The working directory is "+root+".") || !strings.Contains(text, " stays. EnterWorktree with its path enters it again") {
		t.Error(text)
	}
	if text := c.call("Write", map[string]any{"file_path": "out.txt", "content": "x"}); !strings.HasPrefix(text, "Created "+root+"/out.txt") {
		t.Error(text)
	}
}

// rootsClient is a client on standard input and output that answers requests for its roots.
type rootsClient struct {
	t     *testing.T
	in    *bufio.Writer
	lines *bufio.Scanner
	last  int
}

func startRootsClient(t *testing.T, cmd *exec.Cmd, capabilities string) *rootsClient {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	c := &rootsClient{t: t, in: bufio.NewWriter(in), lines: bufio.NewScanner(out)}
	c.lines.Buffer(nil, 1<<20)
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":` + capabilities + `,"clientInfo":{"name":"x","version":"1"}}}`)
	c.until(func(m rootsMessage) bool { return string(m.ID) == "0" })
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

type rootsMessage struct {
	ID     json.RawMessage
	Method string
	Result struct{ Content []struct{ Text string } }
}

func (c *rootsClient) send(line string) {
	_, _ = c.in.WriteString(line + "\n")
	if err := c.in.Flush(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rootsClient) until(wanted func(rootsMessage) bool) rootsMessage {
	c.t.Helper()
	for c.lines.Scan() {
		var m rootsMessage
		if err := json.Unmarshal(c.lines.Bytes(), &m); err == nil && wanted(m) {
			return m
		}
	}
	c.t.Fatal("the server has ended")
	return rootsMessage{}
}

// roots answers the next request for the roots.
func (c *rootsClient) roots(folders ...string) {
	m := c.until(func(m rootsMessage) bool { return m.Method == "roots/list" })
	var list []string
	for _, folder := range folders {
		list = append(list, fmt.Sprintf(`{"uri":"file://%s"}`, folder))
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[%s]}}`, m.ID, strings.Join(list, ",")))
}

func (c *rootsClient) call(tool string, arguments map[string]any) string {
	c.t.Helper()
	c.last++
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(data))
	m := c.until(func(m rootsMessage) bool { return m.Method == "" && string(m.ID) == fmt.Sprint(c.last) })
	if len(m.Result.Content) == 0 {
		return ""
	}
	return m.Result.Content[0].Text
}
