package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a language server in this process. Its script answers requests.
type fake struct {
	in  *bufio.Reader
	out io.WriteCloser
	err io.WriteCloser

	mu      sync.Mutex
	seen    []string // methods, with the URI's name if there is one
	answers map[string]chan json.RawMessage
	next    int
	ended   chan struct{}
	once    sync.Once
	memory  int64
	texts   map[string]string // content of open documents, by name
	sent    []string          // each content that it got
	deaf    bool              // reads nothing after initialize
	fails   string            // the error of each request but initialize; "": none
	changes []fileEvent       // that were announced to it
	script  func(f *fake, method string, params json.RawMessage) any
}

// silence is the answer of a script that does not answer.
type silence struct{}

func (f *fake) Done() <-chan struct{} { return f.ended }
func (f *fake) Exit() string          { return "exited with code 3" }
func (f *fake) Memory() int64         { f.mu.Lock(); defer f.mu.Unlock(); return f.memory }
func (f *fake) End(time.Duration) error {
	f.exit()
	return nil
}

func (f *fake) exit() {
	f.once.Do(func() {
		_, _ = f.out.Close(), f.err.Close()
		close(f.ended)
	})
}

// message is any message.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

func (f *fake) write(v any) {
	data, _ := json.Marshal(v)
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = fmt.Fprintf(f.out, "Content-Length: %d\r\nContent-Type: x\r\n\r\n%s", len(data), data)
}

func (f *fake) notify(method string, params any) {
	f.write(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// request asks the client and waits for the answer.
func (f *fake) request(method string, params any) json.RawMessage {
	f.mu.Lock()
	f.next++
	id, answer := fmt.Sprintf("s%d", f.next), make(chan json.RawMessage, 1)
	f.answers[id] = answer
	f.mu.Unlock()
	f.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	select {
	case a := <-answer:
		return a
	case <-f.ended:
		return nil
	}
}

// told returns the changes that were announced to it since the last call, relative to roots.
func (f *fake) told(roots ...string) (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.changes {
		path := PathOf(e.URI)
		for _, root := range roots {
			path = strings.TrimPrefix(path, root+string(filepath.Separator))
		}
		out = append(out, fmt.Sprint(filepath.ToSlash(path), " ", e.Type))
	}
	f.changes = nil
	return out
}

func (f *fake) methods() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

func (f *fake) count(what string) (n int) {
	for _, s := range f.methods() {
		if s == what {
			n++
		}
	}
	return n
}

func (f *fake) serve() {
	for {
		length := 0
		for {
			line, err := f.in.ReadString('\n')
			if err != nil {
				f.exit()
				return
			}
			if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				length, _ = strconv.Atoi(strings.TrimSpace(value))
			}
			if line == "\r\n" {
				break
			}
		}
		data := make([]byte, length)
		if _, err := io.ReadFull(f.in, data); err != nil {
			f.exit()
			return
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			panic(err)
		}
		if m.Method == "" {
			var id string
			_ = json.Unmarshal(m.ID, &id)
			f.mu.Lock()
			if answer := f.answers[id]; answer != nil {
				answer <- cmpOr(m.Result, m.Error)
			}
			f.mu.Unlock()
			continue
		}
		var about struct {
			TextDocument   struct{ URI, Text string }
			ContentChanges []struct{ Text string }
			Changes        []fileEvent
		}
		_ = json.Unmarshal(m.Params, &about)
		f.mu.Lock()
		if name := filepath.Base(PathOf(about.TextDocument.URI)); m.Method == "textDocument/didOpen" {
			f.texts[name] = about.TextDocument.Text
			f.sent = append(f.sent, name+": "+about.TextDocument.Text)
		} else if len(about.ContentChanges) > 0 {
			f.texts[name] = about.ContentChanges[0].Text
			f.sent = append(f.sent, name+": "+about.ContentChanges[0].Text)
		}
		f.changes = append(f.changes, about.Changes...)
		f.seen = append(f.seen, strings.TrimSpace(m.Method+" "+strings.TrimPrefix(filepath.Base(PathOf(about.TextDocument.URI)), ".")))
		f.mu.Unlock()
		answer := func() {
			result := f.script(f, m.Method, m.Params)
			f.mu.Lock()
			fails := f.fails
			f.mu.Unlock()
			if fails != "" && m.ID != nil && m.Method != "initialize" {
				f.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": 1, "message": fails}})
				return
			}
			if _, ok := result.(silence); !ok && m.ID != nil {
				f.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
			}
		}
		if m.ID == nil || m.Method == "initialize" {
			answer() // in order
			if m.Method == "initialized" && f.deaf {
				<-f.ended
				return
			}
		} else {
			go answer()
		}
	}
}

func cmpOr(a, b json.RawMessage) json.RawMessage {
	if a != nil {
		return a
	}
	return b
}

// script returns a script with the usual answer to initialize.
func script(capabilities string, more func(f *fake, method string, params json.RawMessage) any) func(*fake, string, json.RawMessage) any {
	return func(f *fake, method string, params json.RawMessage) any {
		if method == "initialize" {
			return map[string]any{"capabilities": json.RawMessage(capabilities)}
		}
		if method == "shutdown" {
			return nil
		}
		return more(f, method, params)
	}
}

// world is a project with fake servers.
type world struct {
	t       *testing.T
	root    string
	manager *Manager
	mu      sync.Mutex
	fakes   []*fake
}

var fakeServer = Server{Name: "fake", Command: []string{"fake-ls"}, Files: map[string]string{"*.x": "x"}, Markers: []string{"x.toml"}, Install: "install fake"}

// newWorld returns a project whose files x.toml and a.x exist, with a server of the script.
func newWorld(t *testing.T, script func(*fake, string, json.RawMessage) any, change ...func(*Config, *fake)) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root}
	w.write("x.toml", "")
	w.write("a.x", "one\ntwo\n")
	config := Config{settled: true, Servers: []Server{fakeServer}, Roots: []string{root}, Find: func(name string) (string, error) { return "/bin/" + name, nil }}
	for _, c := range change {
		c(&config, &fake{})
	}
	config.Start = func(_ context.Context, l Launch) (Process, error) {
		fromClient, toServer := io.Pipe()
		fromServer, toClient := io.Pipe()
		words, stderr := io.Pipe()
		f := &fake{in: bufio.NewReader(fromClient), out: toClient, err: stderr, answers: map[string]chan json.RawMessage{}, texts: map[string]string{}, ended: make(chan struct{}), script: script}
		for _, c := range change {
			c(&Config{}, f)
		}
		w.mu.Lock()
		w.fakes = append(w.fakes, f)
		w.mu.Unlock()
		go f.serve()
		go func() { <-f.ended; _ = fromClient.Close() }()
		return Process{Stdin: toServer, Stdout: fromServer, Stderr: words, Control: f}, nil
	}
	w.manager = New(config)
	t.Cleanup(func() { _ = w.manager.Close() })
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.root, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) last() *fake {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fakes[len(w.fakes)-1]
}

func (w *world) started() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.fakes)
}

// open opens a file in the server and returns the client.
func (w *world) open(name string) (*Client, *Text, error) {
	w.t.Helper()
	c, done, err := w.manager.For(w.t.Context(), Workspace{}, w.path(name))
	if err != nil {
		return nil, nil, err
	}
	defer done()
	text, info := w.text(name)
	return c, text, c.Open(w.t.Context(), w.path(name), w.path(name), text, info)
}

func (w *world) text(name string) (*Text, os.FileInfo) {
	w.t.Helper()
	info, err := os.Lstat(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := NewText(data)
	if err != nil {
		w.t.Fatal(err)
	}
	return text, info
}

// define asks for a definition in a.x.
func (w *world) define() ([]Location, string, error) {
	c, _, err := w.open("a.x")
	if err != nil {
		return nil, "", err
	}
	var raw json.RawMessage
	note, err := c.Ask(w.t.Context(), "textDocument/definition", At(w.path("a.x"), Position{}), &raw)
	if err != nil {
		return nil, note, w.manager.Why(c, err)
	}
	list, err := Locations(raw)
	return list, note, err
}
