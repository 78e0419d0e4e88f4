//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// place is a running server of ours, with folders of its own.
type place struct {
	cmd        *exec.Cmd
	base, root string // root is base/root; other files of the test are in base
	url        string // of an HTTP server
	in         io.WriteCloser
	out        *bufio.Reader
	ended      chan struct{}
	err        error  // the error of its exit
	log        string // the log of an HTTP server
}

// placeOptions configures a place.
type placeOptions struct {
	http     bool
	settings string // content of a settings file; $BASE is the base folder, $UPSTREAM the upstream server's program
	args     []string
	env      []string // in addition to those of the test
	base     string   // "" for a new folder
}

// startPlace starts a server and stops it at the end of the test.
func startPlace(t *testing.T, o placeOptions) *place {
	t.Helper()
	p := &place{base: o.base, ended: make(chan struct{})}
	if p.base == "" {
		p.base = newBase(t)
	}
	p.root = filepath.Join(p.base, "root")
	args := []string{"stdio"}
	if o.http {
		args = []string{"http", "--addr", "127.0.0.1:0"}
	}
	args = append(args, "--log-level", "error", "--sandbox", "off", "--settings", writeSettings(t, p.base, o.settings))
	p.cmd = exec.Command(binary(t), append(append(args, o.args...), p.root)...)
	p.cmd.Dir = p.root
	p.cmd.Env = append(os.Environ(), append([]string{"HOME=" + filepath.Join(p.base, "home"), "MCP_TOOLSET_TOKEN=" + wireToken, rareGC,
		"MCP_TOOLSET_STATE_DIR=" + filepath.Join(p.base, "state")}, o.env...)...)
	var said io.Reader
	var err error
	if o.http {
		said, err = p.cmd.StderrPipe()
	} else {
		p.cmd.Stderr = os.Stderr
		if p.in, err = p.cmd.StdinPipe(); err == nil {
			var out, w *os.File
			if out, w, err = os.Pipe(); err == nil {
				p.cmd.Stdout, p.out = w, bufio.NewReader(out)
				defer w.Close()
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if o.http {
		late := time.AfterFunc(deadline, func() { _ = p.cmd.Process.Kill() })
		lines := bufio.NewReader(said)
		line, err := lines.ReadString('\n')
		late.Stop()
		url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
		if err != nil || !ok {
			t.Fatalf("the server said %q, %v", line, err)
		}
		p.url, said = url, lines
	}
	go func() {
		if said != nil {
			rest, _ := io.ReadAll(said)
			p.log = string(rest)
		}
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { p.stop(t) })
	return p
}

// stop stops the server as its client does. The server must exit without an error.
func (p *place) stop(t *testing.T) {
	if p.in != nil {
		_ = p.in.Close()
	} else {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-p.ended:
		if p.err != nil && p.cmd.ProcessState.ExitCode() >= 0 {
			t.Errorf("the server ended with %v\n%s", p.err, p.log)
		}
	case <-time.After(deadline):
		t.Error("the server does not end")
		_ = p.cmd.Process.Kill()
	}
}

// newBase creates a folder with an empty root and home, and returns its path.
func newBase(t *testing.T) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"root", "home"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

func writeSettings(t *testing.T, base, content string) string {
	t.Helper()
	file := filepath.Join(base, "settings.json")
	put(t, file, strings.NewReplacer("$BASE", base, "$UPSTREAM", upstreamBinary(t)).Replace(content))
	return file
}

var buildUpstream = sync.OnceValues(func() (string, error) {
	file := filepath.Join(filepath.Dir(built), "upstream")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, "mcp-toolset/e2e/upstream").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the server for tests: %w\n%s", err, out)
	}
	return file, nil
})

// upstreamBinary returns the path of the upstream server, e2e/upstream.
func upstreamBinary(t *testing.T) string {
	t.Helper()
	file, err := buildUpstream()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// startUpstreamHTTP starts the upstream server over HTTP and returns its URL.
func startUpstreamHTTP(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(upstreamBinary(t), append([]string{"-http", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	late := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	late.Stop()
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("the other server said %q, %v", line, err)
	}
	return url
}

// host is a client of a place at the level of messages, in either era.
type host struct {
	t      *testing.T
	p      *place
	modern bool
	answer func(question) string // returns the reply to a question, as JSON; nil: the client cannot be asked
	hello  json.RawMessage       // the answer to initialize
	limit  time.Duration         // for an answer; 0: deadline

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	heard   []message // notifications
	session string
	life    context.Context
}

// question is a question for a client's user.
type question struct {
	Message         string
	RequestedSchema json.RawMessage
}

// message is a JSON-RPC message.
type message struct {
	ID             json.RawMessage
	Method         string
	Params, Result json.RawMessage
	Error          *struct {
		Code    int
		Message string
	}
}

// connect initializes a connection to a place. Over stdio a place has one host.
func connect(t *testing.T, p *place, modern bool, answer func(question) string) *host {
	t.Helper()
	h := &host{t: t, p: p, modern: modern, answer: answer, waiting: map[int]chan message{}, life: t.Context()}
	if p.url == "" {
		go h.listen(p.out)
	}
	if modern {
		return h
	}
	capabilities := "{}"
	if answer != nil {
		capabilities = `{"elicitation":{}}`
	}
	h.hello = h.want("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"host","version":"1"}}`)
	h.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", "")
	return h
}

// listen handles the output of a stdio server.
func (h *host) listen(out *bufio.Reader) {
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			break
		}
		h.take(line)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, waits := range h.waiting {
		waits <- gone("the server is gone")
	}
	h.waiting = nil
}

func gone(why string) (m message) {
	_ = json.Unmarshal(fmt.Appendf(nil, `{"error":{"message":%q}}`, why), &m)
	return m
}

// take handles a message: an answer, a question, or a notification.
func (h *host) take(line string) {
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		h.t.Errorf("the server wrote %.500q", line)
		return
	}
	switch {
	case m.Method != "" && m.ID != nil:
		reply := `{"action":"decline"}`
		if h.answer != nil && m.Method == "elicitation/create" {
			var q question
			_ = json.Unmarshal(m.Params, &q)
			reply = h.answer(q)
		}
		go h.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, reply), "", "")
	case m.Method != "":
		h.mu.Lock()
		h.heard = append(h.heard, m)
		h.mu.Unlock()
	default:
		var id int
		_ = json.Unmarshal(m.ID, &id)
		h.mu.Lock()
		defer h.mu.Unlock()
		if waits, ok := h.waiting[id]; ok {
			waits <- m
			delete(h.waiting, id)
		}
	}
}

// write sends a message. Over HTTP it reads the response to its end.
func (h *host) write(line, method, name string) {
	if h.p.url == "" {
		h.mu.Lock()
		defer h.mu.Unlock()
		_, _ = io.WriteString(h.p.in, line+"\n") // on an error the caller learns that the server has ended
		return
	}
	r, err := http.NewRequestWithContext(h.life, http.MethodPost, h.p.url, strings.NewReader(line))
	if err != nil {
		h.t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+wireToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	switch {
	case h.modern:
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		if name != "" {
			r.Header.Set("Mcp-Name", name)
		}
	default:
		h.mu.Lock()
		r.Header.Set("Mcp-Session-Id", h.session)
		h.mu.Unlock()
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return // the caller has a deadline
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		h.mu.Lock()
		h.session = id
		h.mu.Unlock()
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body, _ := io.ReadAll(resp.Body)
		if body = bytes.TrimSpace(body); len(body) > 0 {
			h.take(string(body))
		}
		return
	}
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			h.take(data)
		}
	}
}

// send sends a request and returns the channel of its answer.
func (h *host) send(method, params string) (id int, answer <-chan message) {
	if h.modern {
		capabilities := "{}"
		if h.answer != nil {
			capabilities = `{"elicitation":{}}`
		}
		params = h.meta(params, `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+capabilities)
	}
	waits := make(chan message, 1)
	h.mu.Lock()
	h.next++
	id = h.next
	dead := h.waiting == nil
	if !dead {
		h.waiting[id] = waits
	}
	h.mu.Unlock()
	if dead {
		waits <- gone("the server is gone")
		return id, waits
	}
	var named struct{ Name string }
	_ = json.Unmarshal([]byte(params), &named)
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
	if h.p.url == "" {
		h.write(line, method, named.Name)
	} else {
		go h.write(line, method, named.Name)
	}
	return id, waits
}

// meta adds to the _meta of params, which either lack it or begin with it.
func (h *host) meta(params, more string) string {
	if rest, ok := strings.CutPrefix(params, `{"_meta":{`); ok {
		return `{"_meta":{` + more + "," + rest
	}
	rest := strings.TrimPrefix(params, "{")
	if rest != "}" {
		rest = "," + rest
	}
	return `{"_meta":{` + more + `}` + rest
}

// await returns the answer to a request.
func (h *host) await(answer <-chan message) message {
	select {
	case m := <-answer:
		return m
	case <-time.After(cmp.Or(h.limit, deadline)):
		return gone(fmt.Sprintf("no answer within %v", cmp.Or(h.limit, deadline)))
	}
}

// want sends a request that must be answered without an error.
func (h *host) want(method, params string) json.RawMessage {
	h.t.Helper()
	_, answer := h.send(method, params)
	m := h.await(answer)
	if m.Error != nil {
		h.t.Fatalf("%s %.300s: %s", method, params, m.Error.Message)
	}
	return m.Result
}

// notified returns the received notifications of a method.
func (h *host) notified(method string) (all []message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.heard {
		if m.Method == method {
			all = append(all, m)
		}
	}
	return all
}
