//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stdioProcess starts a stdio server. The caller reads its standard output.
func stdioProcess(t *testing.T, args ...string) (cmd *exec.Cmd, in io.WriteCloser, out *os.File, stderr *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command(binary(t), append([]string{"stdio", t.TempDir()}, args...)...)
	cmd.Env = append(os.Environ(), "MCP_TOOLSET_STATE_DIR="+filepath.Join(t.TempDir(), "state"))
	stderr = &bytes.Buffer{}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = out.Close(); _ = in.Close() })
	return cmd, in, out, stderr
}

// wait waits until a process ends, within the deadline.
func wait(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(deadline):
		t.Fatal("the server does not end")
		return nil
	}
}

// TestSignals checks that a server shuts down on either signal, or on both in short
// succession as clients send them, while its input is open.
func TestSignals(t *testing.T) {
	for _, signals := range [][]os.Signal{{syscall.SIGINT}, {syscall.SIGTERM}, {syscall.SIGINT, syscall.SIGTERM}} {
		cmd, in, out, _ := stdioProcess(t)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		for _, s := range signals {
			_ = cmd.Process.Signal(s)
		}
		if err := wait(t, cmd); err != nil {
			t.Errorf("after %v: %v", signals, err)
		}
	}
}

// TestClientGone checks that a server whose output is closed exits with an error that
// states the reason, and is not killed by a signal.
func TestClientGone(t *testing.T) {
	cmd, in, out, stderr := stdioProcess(t)
	_ = out.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	err := wait(t, cmd)
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.ExitCode() != 1 || !strings.Contains(stderr.String(), "writing standard output: ") {
		t.Errorf("%v: %s", err, stderr)
	}
}

// TestOwnToken checks that a server without a token creates one and accepts it, and that
// the tools cannot read its file. The server prints a configuration, with the token only
// when it creates the token and otherwise with the path of its file.
func TestOwnToken(t *testing.T) {
	state, root := filepath.Join(t.TempDir(), "state"), t.TempDir()
	given := filepath.Join(root, "token")
	if err := os.WriteFile(given, []byte("a-token-in-the-workspace\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n, args := range [][]string{nil, nil, {"--token-file", given}} {
		cmd := exec.Command(binary(t), append([]string{"http", "--addr", "127.0.0.1:0", "--root", root, "--root", filepath.Dir(state), "--log-level", "error"}, args...)...)
		cmd.Env = append(os.Environ(), "MCP_TOOLSET_STATE_DIR="+state)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		r := bufio.NewReader(stderr)
		line, err := r.ReadString('\n')
		url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
		if err != nil || !ok {
			t.Fatalf("the server said %q, %v", line, err)
		}
		file := given
		if args == nil {
			file = filepath.Join(state, "token")
		}
		if line, err := r.ReadString('\n'); err != nil || line != "the token is in "+file+"\n" {
			t.Fatalf("the server said %q, %v", line, err)
		}
		var shown strings.Builder
		for !strings.HasSuffix(shown.String(), "\n}\n") {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			shown.WriteString(line)
		}
		token, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		value, about := strings.TrimSpace(string(token)), " with the token, shown only this once"
		if n > 0 {
			value, about = "TOKEN", "; TOKEN is the content of "+file
		}
		want := fmt.Sprintf(`for Claude Code: claude mcp add --transport http toolset %s --header "Authorization: Bearer $(cat %s)"
for the configuration of another client%s:
{
  "mcpServers": {
    "toolset": {
      "headers": {
        "Authorization": "Bearer %s"
      },
      "type": "http",
      "url": "%s"
    }
  }
}
`, url, file, about, value, url)
		if diff := cmp.Diff(want, shown.String()); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":%q},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, file)
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Authorization": "Bearer " + strings.TrimSpace(string(token)), "Content-Type": "application/json",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "Read",
		} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(answer), "closed to all tools") || strings.Contains(string(answer), strings.TrimSpace(string(token))) {
			t.Errorf("reading the token: %d %s %v", resp.StatusCode, answer, err)
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		more, err := io.ReadAll(r)
		if !regexp.MustCompile(`^console for a browser: http://127\.0\.0\.1:\d+/console/login\?key=\w+ \(works once, .*\)\n$`).Match(more) || err != nil {
			t.Errorf("the server went on with %q, %v", more, err)
		}
		if err := wait(t, cmd); err != nil {
			t.Errorf("the end: %v", err)
		}
	}
}
