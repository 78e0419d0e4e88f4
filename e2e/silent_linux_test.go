package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcp-toolset/internal/exec/mounttest"
	"mcp-toolset/internal/file/silentfs"
)

// TestSilentFileSystem serves a root that contains a file system that does not respond. A
// search finds the rest. A cancelled search gives its slot to the call sent after it. The
// server ends at the end of its input and on a signal while a search waits.
func TestSilentFileSystem(t *testing.T) {
	t.Parallel()
	if !mounttest.Own(t) {
		return
	}
	root := t.TempDir()
	put(t, filepath.Join(root, "a.txt"), "needle\n")
	slow := filepath.Join(root, "slow")
	if err := os.Mkdir(slow, 0o755); err != nil {
		t.Fatal(err)
	}
	silentfs.Mount(t, slow)
	for _, how := range []string{"found", "cancelled, end of input", "signal"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			silentServer(t, root, how)
		})
	}
}

// silentServer drives one server on a root with a silent folder.
func silentServer(t *testing.T, root, how string) {
	cmd, in, out, stderr := stdioProcess(t, "--root", root)
	call := func(id int, tool, args string) {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, args)
	}
	path := fmt.Sprintf(`,"path":%q}`, root)
	r := bufio.NewReader(out)
	next := func() (id int, text string) {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v, %s", how, err, stderr)
		}
		var answer struct {
			ID     int
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil || len(answer.Result.Content) == 0 {
			t.Fatalf("%s: %s, %v", how, line, err)
		}
		return answer.ID, answer.Result.Content[0].Text
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":0,"method":"ping"}`)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	call(1, "Grep", `{"pattern":"needle"`+path)
	write := fmt.Sprintf(`{"file_path":%q,"content":"b\n"}`, filepath.Join(root, strings.ReplaceAll(how, " ", "_")))
	switch how {
	case "found":
		note := "the file system of slow does not answer"
		if _, text := next(); !strings.Contains(text, "a.txt") || !strings.Contains(text, note) {
			t.Errorf("Grep: %s", text)
		}
		call(2, "Glob", `{"pattern":"*.txt"`+path)
		if _, text := next(); !strings.Contains(text, "a.txt") || !strings.Contains(text, note) {
			t.Errorf("Glob: %s", text)
		}
		call(3, "Write", write)
		if _, text := next(); !strings.Contains(text, "found") {
			t.Errorf("Write: %s", text)
		}
	case "signal":
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	default:
		call(2, "Write", write)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		if id, text := next(); id != 2 {
			t.Errorf("after a cancelled search: call %d is answered first: %s", id, text)
		}
		call(3, "Grep", `{"pattern":"other"`+path)
	}
	if how != "signal" {
		_ = in.Close()
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if err := wait(t, cmd); err != nil {
		t.Errorf("%s: the server ended with %v: %s", how, err, stderr)
	}
}
