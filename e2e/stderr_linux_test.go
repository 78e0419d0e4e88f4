package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestStandardErrorUnread checks a server whose standard error is a full pipe without a
// reader. It answers every call and ends at the end of its input, however much it logs.
func TestStandardErrorUnread(t *testing.T) {
	t.Parallel()
	unread, full, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	fillPipe(t, full)
	base := newBase(t)
	put(t, base+"/root/a.txt", "one\n")
	cmd := exec.Command(binary(t), "stdio", "--log-level", "debug", "--sandbox", "off", "--drain", deadline.String(), base+"/root")
	cmd.Env = append(os.Environ(), "HOME="+base+"/home", "MCP_TOOLSET_STATE_DIR="+base+"/state")
	cmd.Stderr = full
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
	full.Close()
	late := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	const calls = 200
	go func() {
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
		for i := range calls {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":"none-%d"}}}`+"\n", i, i)
		}
		in.Close()
	}()
	answers := 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct{ ID any }
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.ID != nil {
			answers++
		}
	}
	if err := cmd.Wait(); err != nil || answers != calls+1 {
		t.Errorf("%d answers to %d requests, and it ended by: %v", answers, calls+1, err)
	}
}

// fillPipe fills a pipe, so that the next write blocks.
func fillPipe(t *testing.T, w *os.File) {
	t.Helper()
	if err := w.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 16, 1} {
		for err := error(nil); err == nil; {
			if _, err = w.Write(make([]byte, size)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
		}
		_ = w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	}
	_ = syscall.SetNonblock(int(w.Fd()), false)
}
