//go:build unix

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// freely returns a settings file that allows everything without a question.
func freely(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(file, []byte(`{"permissions":{"allow":["Bash","BashReadOnly"]},"editGuard":"off"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// tool sends a call over stdio.
func (s *corpusServer) tool(name string, arguments map[string]any) <-chan reply {
	params, _ := json.Marshal(map[string]any{"name": name, "arguments": arguments})
	return s.send("tools/call", string(params))
}

// got returns the answer to a call that was sent.
func got(t *testing.T, answer <-chan reply) reply {
	t.Helper()
	select {
	case r := <-answer:
		if r.fault != "" {
			t.Fatal(r.fault)
		}
		return r
	case <-time.After(deadline):
		t.Fatal("no answer")
		return reply{}
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// gate makes a named pipe, and returns a function that lets n commands read a byte of it.
func gate(t *testing.T, path string) (open func(n int)) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pipe.Close() })
	return func(n int) {
		if _, err := pipe.WriteString(strings.Repeat("x", n)); err != nil {
			t.Error(err)
		}
	}
}

// TestWriteThenRead checks that of 200 pairs sent without waiting, each read sees the
// write before it.
func TestWriteThenRead(t *testing.T) {
	root := t.TempDir()
	s := startCorpus(t, root, "--read-dedup", "off", "--settings", freely(t))
	var reads []<-chan reply
	for i := range 200 {
		file := filepath.Join(root, fmt.Sprintf("%d.txt", i%3))
		s.tool("Write", map[string]any{"file_path": file, "content": fmt.Sprintf("content %d.\n", i)})
		reads = append(reads, s.tool("Read", map[string]any{"file_path": file}))
	}
	for i, answer := range reads {
		if r := got(t, answer); !strings.Contains(r.text, fmt.Sprintf("content %d.", i)) {
			t.Fatalf("read %d does not see the write before it: %s", i, r.text)
		}
	}
	s.stop()
}

// TestBatches checks that reads before a command do not see its effects and reads after
// it do. A failed command cancels those after and beside it, but no read. It fails once the
// server has taken all of its batch.
func TestBatches(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "a.txt")
	put(t, file, "before\n")
	s := startCorpus(t, root, "--read-dedup", "off", "--settings", freely(t))
	read := func() <-chan reply { return s.tool("Read", map[string]any{"file_path": file}) }
	bash := func(command string) <-chan reply { return s.tool("Bash", map[string]any{"command": command}) }
	first, second, command, behind := read(), read(), bash("echo after > a.txt"), read()
	for i, answer := range []<-chan reply{first, second, command, behind} {
		want := []string{"before", "before", "", "after"}[i]
		if r := got(t, answer); r.failed || !strings.Contains(r.text, want) {
			t.Errorf("call %d of [Read, Read, Bash, Read]: %s", i, r.text)
		}
	}
	open := gate(t, filepath.Join(root, "gate"))
	const held = "head -c 1 gate; "
	for name, commands := range map[string][]string{
		"behind": {held + "echo ran > no.txt; exit 3", "echo ran > no.txt.2", "cat a.txt"},
		"beside": {held + "cat nowhere.txt", "sleep 100", "echo ran > no.txt.2"},
	} {
		var answers []<-chan reply
		for _, c := range commands {
			answers = append(answers, bash(c))
		}
		answers = append(answers, read())
		got(t, s.send("ping", "{}")) // the lines before it have been taken
		open(1)
		for i, answer := range answers {
			r := got(t, answer)
			switch {
			case i == 0 && (!r.failed || strings.Contains(r.text, "cancelled")):
				t.Errorf("%s: the command that fails: %s", name, r.text)
			case i == len(commands) && (r.failed || !strings.Contains(r.text, "after")):
				t.Errorf("%s: the read: %s", name, r.text)
			case i > 0 && i < len(commands) && (!r.failed || !strings.Contains(r.text, "cancelled: an earlier command of this batch failed: Run "+commands[0])):
				t.Errorf("%s: %s: %s", name, commands[i], r.text)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(root, "no.txt.2")); err == nil {
		t.Error("a cancelled command ran")
	}
	s.stop()
}

// TestAnsweredBeforeTheNextLine checks that a call is answered while the next line is
// only half written.
func TestAnsweredBeforeTheNextLine(t *testing.T) {
	_, in, out, _ := stdioProcess(t)
	lines := bufio.NewReader(out)
	line := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":"a.txt"}}}`
	second := fmt.Sprintf(line, 2)
	fmt.Fprintf(in, line+"\n%s", 1, second[:40])
	for i, rest := range []string{second[40:] + "\n", ""} {
		answer, err := lines.ReadString('\n')
		if err != nil || !strings.HasPrefix(answer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, i+1)) {
			t.Fatalf("%q, %v", answer, err)
		}
		_, _ = io.WriteString(in, rest)
	}
}

// httpCall calls a tool over HTTP.
func (w *httpWire) httpCall(t *testing.T, name string, arguments map[string]any) (r reply) {
	line, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": arguments}})
	answers := w.exchange(t, string(line))
	var m struct {
		Error  *struct{ Message string }
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(answers[len(answers)-1]), &m); err != nil {
		return reply{fault: err.Error()}
	}
	if m.Error != nil {
		return reply{fault: m.Error.Message}
	}
	return reply{text: m.Result.Content[0].Text, failed: m.Result.IsError}
}

// another returns another client of the server, with a session of its own.
func (w *httpWire) another(t *testing.T) *httpWire {
	c := &httpWire{url: w.url}
	c.exchange(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	return c
}

var figure = regexp.MustCompile(`(?m)^mcp_toolset_calls_(ran|shared)_total (\d+)$`)

// figures returns the number of calls that ran and of those that shared another's result.
func (w *httpWire) figures(t *testing.T) (ran, shared int) {
	t.Helper()
	for _, m := range figure.FindAllStringSubmatch(w.metrics(t), -1) {
		n := 0
		fmt.Sscan(m[2], &n)
		if m[1] == "ran" {
			ran = n
		} else {
			shared = n
		}
	}
	return ran, shared
}

// metrics returns the response of /metrics.
func (w *httpWire) metrics(t *testing.T) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(w.url, "/mcp")+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+wireToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestIdenticalGreps checks that of 20 identical searches at once, from five clients, one
// is executed. The search must take longer than 20 requests, so the file grows until it
// does.
func TestIdenticalGreps(t *testing.T) {
	root := t.TempDir()
	server := serveWith(t, root)
	var clients []*httpWire
	for range 5 {
		clients = append(clients, server.another(t))
	}
	line := strings.Repeat("some words and a few more of them ", 30) + "\n"
	for size := 4 << 20; ; size *= 2 {
		put(t, filepath.Join(root, "a.txt"), strings.Repeat(line, size/len(line)))
		ranBefore, sharedBefore := server.figures(t)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				<-start
				r := clients[i%5].httpCall(t, "Grep", map[string]any{"pattern": `(?:[a-z]+\s){9}(word|them)[^q]*q`, "path": root, "multiline": true, "output_mode": "count"})
				if r.fault != "" || r.failed || !strings.Contains(r.text, "[no match in ") {
					t.Errorf("call %d: %+v", i, r)
				}
			})
		}
		close(start)
		wg.Wait()
		ran, shared := server.figures(t)
		ran, shared = ran-ranBefore, shared-sharedBefore
		if ran != 20 {
			t.Fatalf("%d calls ran", ran)
		}
		if shared == 19 || t.Failed() {
			t.Logf("with %d MiB", size>>20)
			return
		}
		if size >= 128<<20 {
			t.Fatalf("20 calls were %d executions", ran-shared)
		}
	}
}
