//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLiveView checks that on SIGUSR1 the server prints its running and waiting calls on
// standard error and continues.
func TestLiveView(t *testing.T) {
	cmd := exec.Command(binary(t), "stdio", t.TempDir(), "--log-level", "error", "--sandbox", "off", "--settings", freely(t))
	cmd.Env = append(os.Environ(), "MCP_TOOLSET_STATE_DIR="+filepath.Join(t.TempDir(), "state"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
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
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}` + "\n"
	fmt.Fprintf(in, line, 1, "Bash", `{"command":"sleep 100; touch x"}`)
	fmt.Fprintf(in, line, 2, "Read", `{"file_path":"a.txt"}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	if answer, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(answer, `"id":3`) {
		t.Fatalf("%q, %v", answer, err)
	}
	shown := bufio.NewReader(stderr)
	late := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	// The command may not have its turn yet, so the test repeats the signal until it has.
	seen := make(chan struct{})
	go func() {
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-seen:
				tick.Stop()
				return
			case <-tick.C:
				_ = cmd.Process.Signal(syscall.SIGUSR1)
			}
		}
	}()
	var view strings.Builder
	for !strings.Contains(view.String(), "  Bash runs for ") {
		line, err := shown.ReadString('\n')
		if err != nil {
			t.Fatalf("shown: %s, %v", &view, err)
		}
		if strings.HasPrefix(line, "calls: ") {
			view.Reset()
		}
		view.WriteString(line)
	}
	close(seen)
	if s := view.String(); !strings.Contains(s, "calls: 1 running, 0 being decided on, 1 queued; since the start 2 arrived, 0 ran") ||
		!strings.Contains(s, "lane stdio-1 (1): 1 queued, the first waits for an earlier call: Run sleep 100; touch x (") {
		t.Errorf("shown: %s", s)
	}
	go func() { _, _ = io.Copy(io.Discard, shown) }()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := wait(t, cmd); err != nil {
		t.Error(err)
	}
}

// TestMetrics checks that the metrics require the token, and count a repeated read.
func TestMetrics(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, "a.txt"), "text\n")
	server := serveWith(t, root)
	client := server.another(t)
	for range 2 {
		client.httpCall(t, "Read", map[string]any{"file_path": "a.txt"})
	}
	if ran, shared := server.figures(t); ran != 2 || shared != 0 {
		t.Errorf("%d ran, %d shared", ran, shared)
	}
	url := strings.TrimSuffix(server.url, "/mcp") + "/metrics"
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %s", resp.Status)
	}
	if text := server.metrics(t); !strings.Contains(text, "\nmcp_toolset_reads_repeated_total 1\n") {
		t.Errorf("figures:\n%s", text)
	}
}

// TestTrace checks that the trace has every call, and that tools cannot change it. The
// trace of a killed server lacks at most its end.
func TestTrace(t *testing.T) {
	for _, killed := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "trace.json")
		cmd, in, out, stderr := stdioProcess(t, "--trace", file, "--root", filepath.Dir(file))
		lines := bufio.NewReader(out)
		for i := range 100 {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":%q}}}`+"\n", i, file)
		}
		for range 100 {
			answer, err := lines.ReadString('\n')
			if err != nil || !strings.Contains(answer, "refused by policy") {
				t.Fatalf("%q, %v, %s", answer, err, stderr)
			}
		}
		if killed {
			_ = cmd.Process.Kill()
		} else {
			_ = in.Close()
		}
		if err := wait(t, cmd); (err != nil) != killed {
			t.Error(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if killed {
			text = append(text, ']')
		}
		var events []struct{ Name, Ph string }
		if err := json.Unmarshal(text, &events); err != nil {
			t.Fatalf("killed: %v: %v", killed, err)
		}
		calls := 0
		for _, e := range events {
			if e.Name == "Read" && e.Ph == "b" {
				calls++
			}
		}
		if !killed && calls != 100 || calls == 0 {
			t.Errorf("killed: %v: %d calls", killed, calls)
		}
	}
}

// TestTraceOfARunningCall checks that the trace of a killed server has a running call and
// one that waits for it.
func TestTraceOfARunningCall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace.json")
	cmd, in, _, stderr := stdioProcess(t, "--trace", file, "--settings", freely(t), "--sandbox", "off")
	line := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}` + "\n"
	fmt.Fprintf(in, line, 1, "Bash", `{"command":"sleep 100; touch x"}`)
	fmt.Fprintf(in, line, 2, "Read", `{"file_path":"a.txt"}`)
	var text []byte
	for late := time.After(deadline); !bytes.Contains(text, []byte(`"name":"running"`)) || !bytes.Contains(text, []byte(`"name":"Read"`)); {
		select {
		case <-late:
			t.Fatalf("the trace is %s, %s", text, stderr)
		case <-time.After(20 * time.Millisecond):
		}
		text, _ = os.ReadFile(file)
	}
	_ = cmd.Process.Kill()
	if err := wait(t, cmd); err == nil {
		t.Error("the server ended by itself")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []struct{ Name, Ph, ID string }
	if err := json.Unmarshal(append(text, ']'), &events); err != nil {
		t.Fatal(err)
	}
	open := map[string]string{}
	for _, e := range events {
		switch e.Ph {
		case "b":
			open[e.ID] += e.Name + " "
		case "e":
			open[e.ID] = strings.Replace(open[e.ID], e.Name+" ", "", 1)
		}
	}
	if diff := cmp.Diff(map[string]string{"1": "Bash running ", "2": "Read queued "}, open); diff != "" {
		t.Errorf("what is not done in the trace (-want +got):\n%s", diff)
	}
}
