package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mcp-toolset/internal/file/workspace"
)

// Workspace folders that the client names (MCP roots). A client that has them declares it in
// its initialize request. Its folders replace those of the server, which is then built again:
// every part of it, from the settings to the sandbox, depends on the folders.

const (
	// rootsTime is the timeout for the client to name its folders.
	rootsTime = 10 * time.Second
	// maxHeldLines is the limit of messages that wait for the folders.
	maxHeldLines = 1000
	// maxClientLine is the limit of a message, in bytes, as in package server.
	maxClientLine = 64 << 20
	// rootsID begins the ids of our requests for the folders.
	rootsID = "mcp-toolset-roots-"
)

// envelope holds the parts of a message that the relay reads.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// parseEnvelope returns the parts of a line, or the zero value if it is no message. The
// server reports that.
func parseEnvelope(line []byte) (m envelope) {
	if json.Unmarshal(line, &m) != nil {
		return envelope{}
	}
	return m
}

// hasRoots reports whether a line is the initialize request of a client that has roots.
func hasRoots(line []byte) bool {
	m := parseEnvelope(line)
	var params struct {
		Capabilities struct {
			Roots *struct{} `json:"roots"`
		} `json:"capabilities"`
	}
	return m.Method == "initialize" && json.Unmarshal(m.Params, &params) == nil && params.Capabilities.Roots != nil
}

// folders returns the folders in the answer of a client.
func (m envelope) folders() (out []string) {
	var result struct {
		Roots []struct {
			URI string `json:"uri"`
		} `json:"roots"`
	}
	_ = json.Unmarshal(m.Result, &result) // an error of the client has no result
	for _, root := range result.Roots {
		if folder, ok := folderOf(root.URI); ok {
			out = append(out, folder)
		}
	}
	return out
}

// relay passes messages between a client that has roots and the server for them.
type relay struct {
	// serve serves the input until it ends, on a server for roots.
	serve func(ctx context.Context, roots []string, in io.Reader, out io.Writer) error
	// choose returns the roots for the folders that the client has named, or an error with
	// the remedy if there are none to use.
	choose func(client []string) ([]string, error)
	asks   bool // the client has roots
	log    *slog.Logger
	limit  time.Duration // rootsTime, except in tests

	out lockedWriter

	roots       []string // of the present server
	remedy      error    // why there are no roots; nil: there are
	initialize  []byte   // the client's request
	initialized []byte   // its notification
	now         *served
	asked       int              // number of requests for the folders
	waits       <-chan time.Time // the timeout of the first request; nil: nothing waits
	held        [][]byte         // messages that wait for the folders
}

// served is a server that runs.
type served struct {
	in   *os.File
	done chan error
}

// lockedWriter writes whole messages.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

// run relays until the input of the client ends, which ends the server.
func (r *relay) run(ctx context.Context, in *bufio.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines := make(chan []byte)
	var readErr error
	go func() {
		defer close(lines)
		for {
			line, err := messageLine(in)
			if err != nil {
				if err != io.EOF {
					readErr = err
				}
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := r.start(ctx, r.roots, nil); err != nil {
		return err
	}
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				r.release()
				return errors.Join(r.end(), readErr, r.remedy)
			}
			if err := r.accept(ctx, line); err != nil {
				return errors.Join(err, r.end())
			}
		case <-r.waits:
			r.log.Warn("the client did not name its workspace folders in time", "seconds", r.limit.Seconds())
			if err := r.use(ctx, nil); err != nil {
				return errors.Join(err, r.end())
			}
		case err := <-r.now.done:
			r.now.in.Close()
			return err
		}
	}
}

// messageLine reads a line with its newline. The last line may have none.
func messageLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > maxClientLine:
			return nil, fmt.Errorf("a message of the client is longer than %d bytes", maxClientLine)
		case err == io.EOF && len(line) > 0:
			return append(line, '\n'), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// start starts a server. It gets the messages by which the client has connected, and its
// answer to the first is not sent again.
func (r *relay) start(ctx context.Context, roots []string, messages [][]byte) error {
	in, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting the server for the client's folders: %w", err)
	}
	s := &served{in: w, done: make(chan error, 1)}
	out := io.Writer(&r.out)
	if messages != nil {
		out = &once{w: &r.out, id: parseEnvelope(r.initialize).ID}
	}
	go func() {
		defer in.Close()
		s.done <- r.serve(ctx, roots, in, out)
	}()
	r.now, r.roots = s, roots
	for _, m := range messages {
		if err := r.pass(m); err != nil {
			return err
		}
	}
	return nil
}

// once drops the first answer to a request.
type once struct {
	w       io.Writer
	id      json.RawMessage
	dropped bool
}

func (o *once) Write(p []byte) (int, error) {
	if !o.dropped {
		if m := parseEnvelope(p); m.Method == "" && bytes.Equal(m.ID, o.id) {
			o.dropped = true
			return len(p), nil
		}
	}
	return o.w.Write(p)
}

// end ends the input of the server and waits for its end.
func (r *relay) end() error {
	r.now.in.Close()
	return <-r.now.done
}

// pass passes a message to the server. A server that has ended is noticed by run.
func (r *relay) pass(line []byte) error {
	if _, err := r.now.in.Write(line); err != nil && !errors.Is(err, os.ErrClosed) && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	return nil
}

// accept handles a message of the client.
func (r *relay) accept(ctx context.Context, line []byte) error {
	m := parseEnvelope(line)
	var id string
	_ = json.Unmarshal(m.ID, &id)
	switch {
	case m.Method == "initialize":
		r.initialize = line
	case m.Method == "notifications/initialized" && r.initialized == nil:
		r.initialized = line
		if err := r.pass(line); err != nil {
			return err
		}
		return r.ask()
	case m.Method == "notifications/roots/list_changed":
		return r.ask()
	case m.Method == "" && strings.HasPrefix(id, rootsID):
		if id != fmt.Sprintf("%s%d", rootsID, r.asked) {
			return nil // an earlier list
		}
		return r.use(ctx, m.folders())
	}
	if r.waits != nil {
		if r.held = append(r.held, line); len(r.held) > maxHeldLines {
			return r.use(ctx, nil)
		}
		return nil
	}
	return r.deliver(line, m)
}

// deliver passes a message to the server, unless it is a call and there is no workspace.
func (r *relay) deliver(line []byte, m envelope) error {
	if r.remedy == nil || m.Method != "tools/call" {
		return r.pass(line)
	}
	return r.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{
		"isError": true, "content": []any{map[string]string{"type": "text", "text": r.remedy.Error()}},
	}})
}

// send sends a message to the client.
func (r *relay) send(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = r.out.Write(append(data, '\n'))
	return err
}

// ask asks the client for its folders, if it has some. Messages wait for the first answer.
func (r *relay) ask() error {
	if !r.asks {
		return nil
	}
	if r.asked++; r.asked == 1 {
		r.waits = time.After(r.limit)
	}
	return r.send(map[string]any{"jsonrpc": "2.0", "id": fmt.Sprintf("%s%d", rootsID, r.asked), "method": "roots/list"})
}

// use makes the folders of the client the workspace.
func (r *relay) use(ctx context.Context, folders []string) error {
	roots, remedy := r.choose(folders)
	r.remedy = remedy
	if !slices.Equal(roots, r.roots) {
		if err := r.end(); err != nil {
			return err
		}
		r.log.Info("the workspace is that of the client", "roots", roots)
		if err := r.start(ctx, roots, [][]byte{r.initialize, r.initialized}); err != nil {
			return err
		}
	}
	r.waits = nil
	return r.release()
}

// release delivers the messages that have waited.
func (r *relay) release() error {
	held := r.held
	r.held = nil
	for _, line := range held {
		if err := r.deliver(line, parseEnvelope(line)); err != nil {
			return err
		}
	}
	return nil
}

// folderOf returns the folder that a file URI names.
func folderOf(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(u.Scheme, "file") || u.Host != "" && u.Host != "localhost" {
		return "", false
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = filepath.FromSlash(strings.TrimPrefix(path, "/"))
	}
	return path, filepath.IsAbs(path)
}

// chooser returns the function that chooses the workspace among the folders of a client.
// bounds are the folders of the command line, within which those of the client have to be;
// implied are the roots without a client's folders; remedy is the error if there are none.
func chooser(bounds, implied []string, home string, remedy error) func([]string) ([]string, error) {
	return func(client []string) ([]string, error) {
		var roots []string
		for _, folder := range client {
			canonical, err := workspace.Canonical(folder)
			if info, statErr := os.Stat(folder); err != nil || statErr != nil || !info.IsDir() {
				continue
			}
			for _, root := range within(canonical, bounds) {
				if len(bounds) == 0 && tooWide(root, home) != "" || slices.Contains(roots, root) {
					continue
				}
				roots = append(roots, root)
			}
		}
		switch {
		case len(roots) > 0:
			return roots, nil
		case len(implied) > 0:
			return implied, nil
		}
		return nil, remedy
	}
}

// within returns what a folder and the bounds have in common: the folder if it is in one, or
// the bounds in it.
func within(folder string, bounds []string) (out []string) {
	if len(bounds) == 0 {
		return []string{folder}
	}
	for _, bound := range bounds {
		switch {
		case workspace.Within(bound, folder):
			return []string{folder}
		case workspace.Within(folder, bound):
			out = append(out, bound)
		}
	}
	return out
}

// noWorkspace is the answer to each call while there is no workspace.
func noWorkspace(e *wideError) error {
	return fmt.Errorf("there is no workspace folder: the client names none, and %s is %s, which is too much. Ask the user to open a folder in the client, or to name one in its configuration: mcp-toolset stdio DIR", e.from, e.what)
}
