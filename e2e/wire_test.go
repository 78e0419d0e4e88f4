package e2e

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite wanted output with what the binary does")

// deadline is the timeout for each wait for the binary. Only a failing test waits this long.
const deadline = time.Minute

// TestWire plays every transcript in testdata/wire over stdio and over HTTP. It sends the
// client's lines one by one, each request after the answer to the one before. The
// server's lines must be those of the transcript over both transports.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts (%v)", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name+"/stdio", func(t *testing.T) { playTranscript(t, file, startStdio) })
		t.Run(name+"/http", func(t *testing.T) { playTranscript(t, file, startHTTP) })
	}
}

// wire is a connection at the level of messages.
type wire interface {
	// exchange sends a message and returns the server's lines up to its answer, or none
	// for a notification.
	exchange(t *testing.T, line string) []string
}

func playTranscript(t *testing.T, file string, start func(t *testing.T, root string) wire) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var client []string
	var want *txtar.File
	for i := range archive.Files {
		f := &archive.Files[i]
		switch name, isFile := strings.CutPrefix(f.Name, "files/"); {
		case isFile:
			path := filepath.Join(root, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		case f.Name == "client":
			client = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		case f.Name == "server":
			want = f
		}
	}
	w := start(t, root)
	var got strings.Builder
	for _, line := range client {
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		for _, answer := range w.exchange(t, strings.ReplaceAll(line, "$ROOT", root)) {
			got.WriteString(normalise(answer, root) + "\n")
		}
	}
	if *update {
		want.Data = []byte(got.String())
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want.Data), got.String()); diff != "" {
		t.Errorf("the server's lines (-want +got):\n%s", diff)
	}
}

var versionField = regexp.MustCompile(`("name":"mcp-toolset","version":)"[^"]*"`)

// handleField matches the handle of a session, which is random, and only in answers over
// HTTP to requests without a session.
var handleField = regexp.MustCompile(`,"mcp-toolset/session":"[A-Z2-7]{26}"`)

// tookPart matches the duration of a command in the summary of its result.
var tookPart = regexp.MustCompile(`("mcp-toolset/summary":"[^"]*) after [0-9][0-9a-z. ]*s`)

// cutPart matches the end of a summary that was cut after a path, whose length decides where.
var cutPart = regexp.MustCompile(`("mcp-toolset/summary":"[^"]*\$ROOT)[^"]*…"`)

// orderPart matches the sentence of the instructions on the order of calls, which depends on the transport.
var orderPart = regexp.MustCompile(`Calls (sent together run as one batch|have no order): [^.]*\.`)

// normalise replaces the parts that differ between machines, removes handles, and replaces
// the definitions in a list of tools by their digest.
func normalise(line, root string) string {
	line = tookPart.ReplaceAllString(handleField.ReplaceAllString(line, ""), "$1 after $$TIME")
	line = versionField.ReplaceAllString(strings.ReplaceAll(line, root, "$ROOT"), `$1"$$VERSION"`)
	line = cutPart.ReplaceAllString(line, `$1…"`)
	line = orderPart.ReplaceAllString(line, "$$ORDER")
	var answer struct {
		Result struct{ Tools json.RawMessage }
	}
	var list []struct{ Name string }
	if json.Unmarshal([]byte(line), &answer) != nil || json.Unmarshal(answer.Result.Tools, &list) != nil {
		return line
	}
	digest := fmt.Sprintf("sha256 %x:", sha256.Sum256(answer.Result.Tools))
	for _, tool := range list {
		digest += " " + tool.Name
	}
	return strings.Replace(line, string(answer.Result.Tools), strconv.Quote(digest), 1)
}

// isRequest reports whether a line gets an answer.
func isRequest(line string) bool {
	var m map[string]any
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return true // the answer is an error
	}
	_, hasID := m["id"]
	return hasID || m["method"] == nil
}

type stdioWire struct {
	in    io.WriteCloser
	lines chan string
}

func startStdio(t *testing.T, root string) wire {
	return stdioWith(t, root, append(allowsBash(t), skillsOf(root)...)...)
}

// skillsOf returns the arguments for the skills of a transcript.
func skillsOf(root string) []string {
	if dir := filepath.Join(root, "skills"); exists(dir) {
		return []string{"--skills", dir}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// stdioWith starts a stdio server with further arguments.
func stdioWith(t *testing.T, root string, args ...string) *stdioWire {
	// Without a sandbox, so that the list of tools is the same on every machine. With hints,
	// so that it is the same over both transports: requests without a session get hints.
	cmd := exec.Command(binary(t), append([]string{"stdio", "--log-level", "error", "--deferral", "hints", "--sandbox", "off", root}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "MCP_TOOLSET_STATE_DIR="+filepath.Join(t.TempDir(), "state"), rareGC)
	cmd.Stderr = os.Stderr
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
	w := &stdioWire{in: in, lines: make(chan string, 100)}
	go func() {
		defer close(w.lines)
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, 10<<20)
		for scan.Scan() {
			w.lines <- scan.Text()
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		for line := range w.lines {
			t.Errorf("an answer too many: %s", line)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return w
}

func (w *stdioWire) exchange(t *testing.T, line string) (got []string) {
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
	if !isRequest(line) {
		return nil
	}
	for {
		select {
		case answer, ok := <-w.lines:
			if !ok {
				t.Fatal("the server is gone")
			}
			got = append(got, answer)
			if !strings.Contains(answer, `"method":`) {
				return got
			}
		case <-time.After(deadline):
			t.Fatalf("no answer to %s", line)
		}
	}
}

type httpWire struct {
	url     string
	session string
	status  int // of the last response
}

const wireToken = "a-token-for-tests-only"

func startHTTP(t *testing.T, root string) wire {
	return serveWith(t, root, slices.Concat(allowsBash(t), skillsOf(root), []string{"--deferral", "hints"})...)
}

// allowsBash returns the arguments of a server that lists all tools and asks as by default,
// except about commands, which have no sandbox here.
func allowsBash(t *testing.T) []string {
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(settings, []byte(`{"permissions": {"allow": ["Bash"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	// The list of all tools has the size at which auto decides by the transport.
	return []string{"--mode", "default", "--settings", settings, "--deferral", "hints"}
}

// serveWith starts an HTTP server with further arguments.
func serveWith(t *testing.T, root string, args ...string) *httpWire {
	return serveIn(t, filepath.Join(t.TempDir(), "state"), root, args...)
}

// serveIn is like serveWith, with a state folder.
func serveIn(t *testing.T, state, root string, args ...string) *httpWire {
	cmd := exec.Command(binary(t), append([]string{"http", "--addr", "127.0.0.1:0", "--log-level", "error", "--sandbox", "off", "--mode", "bypassPermissions", root}, args...)...)
	cmd.Env = append(os.Environ(), "MCP_TOOLSET_TOKEN="+wireToken, "HOME="+t.TempDir(), "MCP_TOOLSET_STATE_DIR="+state, rareGC)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("the server said %q, %v", line, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return &httpWire{url: url}
}

func (w *httpWire) exchange(t *testing.T, line string) (got []string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, strings.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+wireToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	var m struct {
		Method string
		Params struct {
			Name string
			URI  string
			Meta map[string]any `json:"_meta"`
		}
	}
	_ = json.Unmarshal([]byte(line), &m) // a line that is not JSON has no headers
	if version, ok := m.Params.Meta["io.modelcontextprotocol/protocolVersion"].(string); ok {
		r.Header.Set("Mcp-Protocol-Version", version)
		r.Header.Set("Mcp-Method", m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" {
			r.Header.Set("Mcp-Name", name)
		}
	} else if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	w.status = resp.StatusCode
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		w.session = id
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.Lines(string(body)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				got = append(got, strings.TrimSpace(data))
			}
		}
		return got
	}
	if body = bytes.TrimSpace(body); len(body) > 0 {
		got = append(got, string(body))
	}
	return got
}
