package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"mcp-toolset/internal/text/plain"
)

// Process is a server that runs. Its streams are closed by the client.
type Process struct {
	Stdin          io.WriteCloser
	Stdout, Stderr io.ReadCloser
	Control
	Hidden    []string        // paths that it cannot read although they may exist
	Unreached func() []string // facts on hosts that it tried in vain; nil: unknown
}

// Control ends and describes a process.
type Control interface {
	Done() <-chan struct{} // closed when it and all that it started have ended
	Exit() string          // how it ended, after Done
	End(grace time.Duration) error
	Memory() int64 // resident bytes, 0 if unknown
}

const (
	// initializeTime is the timeout for the handshake: servers of large languages take
	// seconds to start.
	initializeTime = 45 * time.Second
	// requestTime is the timeout of one request. The first search for references in a large
	// module takes half of it.
	requestTime = time.Minute
	// warmTime is the timeout for a server to read a project, from when it began.
	warmTime = 60 * time.Second
	// questionTime is the timeout of a question, which may be several requests.
	questionTime = warmTime + requestTime
	// silentTime is the time after which a server that was asked and has sent nothing is
	// ended.
	silentTime = time.Minute
	// complaintTime is the age up to which what a server reports counts as a reason for a
	// failure.
	complaintTime = time.Minute
	// endTime is the timeout for the process of a server whose connection has ended.
	endTime = 3 * time.Second
	// quietTime is the time without progress after which a server has nothing left to do.
	quietTime = 100 * time.Millisecond
	// maxRepeats is the limit of requests that are repeated since the server was busy.
	maxRepeats = 4
	// maxRetries is the limit of requests that are sent again because the server asks for
	// that.
	maxRetries = 5
)

// Client is a connection to a server that runs for one project. It is safe for concurrent
// use.
type Client struct {
	Server *Server
	Root   string // folder of the project
	key    string // of its instance

	process Process
	conn    *jsonrpc2.Conn
	stream  *stream
	ids     atomic.Uint64
	caps    capabilities
	utf8    bool // columns are bytes; otherwise they are units of UTF-16
	files   *files
	stderr  words

	// order is held while changes are announced and documents opened, so that the server
	// gets them in the order of their versions.
	order chan struct{} // has room for one; see lock
	docs  map[string]*document
	turn  uint64 // for the last use of documents
	// version is the last version of a document. No two contents have the same, even of a
	// document that was closed and opened again.
	version int
	// changes counts the announced changes of files; changedAt is the time of the last one.
	changes   uint64
	changedAt time.Time
	comparing chan struct{} // has room for one: a Compare that runs
	learning  atomic.Int64  // number of calls of Learn

	mu        sync.Mutex
	published map[string]published
	arrivals  uint64 // number of published diagnostics
	// publishedBytes is the size of published. forgot reports that some was left out.
	publishedBytes int
	forgot         bool
	news           chan struct{}       // closed and replaced when anything below mu changes
	tasks          map[string]task     // what the server does now, by token
	broken         map[string]string   // why it cannot read the project, by token
	complaint      complaint           // the last one
	begun          uint64              // number of tasks that have begun
	busyUntil      time.Time           // end of quietTime after the last task
	registered     map[string]register // capabilities, by id
	// patterns and patternBytes are the number and size of the patterns in registered.
	patterns, patternBytes int
}

// capabilities holds the members of ServerCapabilities by name.
type capabilities map[string]json.RawMessage

// provides reports whether the server announced that it answers a request.
func (c capabilities) provides(method string) bool {
	_, name, _ := strings.Cut(method, "/")
	switch method {
	case "workspace/symbol":
		name = "workspaceSymbol"
	case "textDocument/prepareCallHierarchy":
		name = "callHierarchy"
	}
	value := string(c[name+"Provider"])
	return value != "" && value != "null" && value != "false"
}

// HidesSources reports whether files of the project, which the server would read, are hidden from
// it.
func (c *Client) HidesSources() bool {
	return slices.ContainsFunc(c.process.Hidden, func(path string) bool {
		if rel, err := filepath.Rel(c.Root, path); err != nil || !filepath.IsLocal(rel) {
			return false
		}
		info, err := os.Lstat(path)
		return err == nil && (info.IsDir() || c.Server.Language(path) != "")
	})
}

// Unreached returns facts on the hosts that the server tried in vain.
func (c *Client) Unreached() []string {
	if c.process.Unreached == nil {
		return nil
	}
	return c.process.Unreached()
}

// Provides reports whether the server answers a request.
func (c *Client) Provides(method string) bool {
	return c.caps.provides(method) || c.hasRegistered(method)
}

// clientCapabilities is what the client can do, in the form of the protocol.
var clientCapabilities = raw(`{
	"general": {"positionEncodings": ["utf-8", "utf-16"]},
	"offsetEncoding": ["utf-8", "utf-16"],
	"window": {"workDoneProgress": true, "showMessage": {}},
	"workspace": {
		"applyEdit": true, "configuration": true, "workspaceFolders": true,
		"workspaceEdit": {"documentChanges": true, "failureHandling": "abort"},
		"didChangeConfiguration": {"dynamicRegistration": true},
		"didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true},
		"symbol": {}, "diagnostics": {"refreshSupport": true}
	},
	"textDocument": {
		"synchronization": {"didSave": true},
		"definition": {"linkSupport": true}, "typeDefinition": {"linkSupport": true}, "implementation": {"linkSupport": true},
		"references": {}, "callHierarchy": {}, "rename": {"prepareSupport": false},
		"hover": {"contentFormat": ["markdown", "plaintext"]},
		"documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
		"publishDiagnostics": {"versionSupport": true, "relatedInformation": false},
		"diagnostic": {"dynamicRegistration": true, "relatedDocumentSupport": false},
		"codeAction": {
			"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source", "source.organizeImports", "source.fixAll"]}},
			"isPreferredSupport": true, "disabledSupport": true, "dataSupport": true, "resolveSupport": {"properties": ["edit"]}
		}
	}
}`)

// newClient returns a client for a process that was started. Its caller must call initialize.
func newClient(s *Server, root string, p Process, f *files) *Client {
	c := &Client{
		Server: s, Root: root, process: p, stderr: words{done: make(chan struct{})}, files: f, order: make(chan struct{}, 1), comparing: make(chan struct{}, 1), docs: map[string]*document{},
		published: map[string]published{}, news: make(chan struct{}), tasks: map[string]task{}, broken: map[string]string{}, registered: map[string]register{},
	}
	go c.stderr.read(p.Stderr)
	c.stream = newStream(p.Stdout, p.Stdin)
	c.conn = jsonrpc2.NewConn(context.Background(), c.stream, handler{c}, jsonrpc2.SetLogger(silent{}))
	return c
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// initialize does the handshake.
func (c *Client) initialize(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, initializeTime, fmt.Errorf("it did not answer initialize within %v", initializeTime))
	defer cancel()
	folder := map[string]any{"uri": URIOf(c.Root), "name": filepath.Base(c.Root)}
	params := map[string]any{
		"processId":  nil, // it runs in a namespace where our number is another process's
		"clientInfo": map[string]any{"name": "mcp-toolset"}, "rootPath": c.Root, "rootUri": URIOf(c.Root), "workspaceFolders": []any{folder},
		"capabilities": clientCapabilities, "initializationOptions": c.Server.Options,
	}
	if runtime.GOOS == "windows" {
		params["processId"] = os.Getpid()
	}
	var result struct {
		Capabilities   capabilities `json:"capabilities"`
		OffsetEncoding string       `json:"offsetEncoding"` // clangd's own
	}
	if err := c.send(ctx, "initialize", params, &result); err != nil {
		return err
	}
	c.caps = result.Capabilities
	var encoding string
	_ = json.Unmarshal(c.caps["positionEncoding"], &encoding)
	switch encoding += result.OffsetEncoding; encoding {
	case "", "utf-16":
	case "utf-8", "utf-8utf-8":
		c.utf8 = true
	case "utf-16utf-16":
	default:
		return fmt.Errorf("it counts columns in %s, which is not supported", plain.Quote(encoding))
	}
	if err := c.notify("initialized", struct{}{}); err != nil {
		return err
	}
	c.mu.Lock()
	c.busyUntil = time.Now().Add(quietTime) // for tasks and capabilities that it announces now
	c.mu.Unlock()
	return c.notify("workspace/didChangeConfiguration", map[string]any{"settings": c.settings("")})
}

// settings returns the value of a section of the server's settings; "" is all.
func (c *Client) settings(section string) any {
	var v any
	if json.Unmarshal(c.Server.Settings, &v) != nil {
		v = map[string]any{}
	}
	for _, name := range strings.Split(section, ".") {
		if name == "" {
			break
		}
		m, _ := v.(map[string]any)
		v = m[name]
	}
	if v == nil && section == c.Server.Name && c.Server.Options != nil { // gopls asks for its options again
		return c.Server.Options
	}
	return v
}

// serverError is an error that the server answered a request with.
type serverError struct{ text string }

func (e *serverError) Error() string { return e.text }

// Refused reports whether the server answered a request with an error, such as that there is
// nothing at a place.
func Refused(err error) bool {
	var answer *serverError
	return errors.As(err, &answer) || errors.Is(err, errNoMethod)
}

// errEnded is the error for a server that ended during a request.
var errEnded = errors.New("it ended")

// HasEnded reports whether a request failed because its server ended.
func HasEnded(err error) bool { return errors.Is(err, errEnded) }

// The codes of errors after which a request may be sent again.
const (
	codeCancelled = -32802 // by the server
	codeModified  = -32801
	codeNoMethod  = -32601
)

// errNoMethod is the error for a request that the server does not know.
var errNoMethod = errors.New("it does not answer such requests")

// Limit returns a context with the timeout of one question, for the start of a server and all
// requests.
func Limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, questionTime, fmt.Errorf("it did not answer within %v", questionTime))
}

// send sends a request and decodes the result. If ctx ends, or the server does not answer in
// time, it cancels the request and returns the cause.
func (c *Client) send(ctx context.Context, method string, params, result any) error {
	outer := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, requestTime, fmt.Errorf("it did not answer %s within %v", method, requestTime))
	defer cancel()
	for try := 1; ; try++ {
		c.stream.ask()
		id := jsonrpc2.ID{Num: c.ids.Add(1)}
		w, err := c.conn.DispatchCall(ctx, method, params, jsonrpc2.PickID(id))
		if err == nil {
			err = w.Wait(ctx, result)
		}
		var answer *jsonrpc2.Error
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			_ = c.conn.Notify(context.Background(), "$/cancelRequest", map[string]any{"id": id})
			return c.complained(context.Cause(ctx), outer)
		case isClosed(err):
			return c.ended()
		case !errors.As(err, &answer):
			return fmt.Errorf("its answer to %s cannot be read: %w", method, err)
		case (answer.Code == codeModified || answer.Code == codeCancelled) && try <= maxRetries:
			select {
			case <-time.After(time.Duration(try) * 50 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case answer.Code == codeNoMethod:
			return errNoMethod
		default:
			return c.complained(&serverError{plain.Line(answer.Message)}, outer)
		}
	}
}

// complained adds to the error of a request what the server last reported as an error by
// itself, unless the caller gave up.
func (c *Client) complained(err error, ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := ""
	if time.Since(c.complaint.at) < complaintTime {
		text = c.complaint.text
	}
	for _, broken := range c.broken {
		text = broken
	}
	if text == "" || ctx.Err() != nil || strings.Contains(err.Error(), text) {
		return err
	}
	return fmt.Errorf("%w; it reports: %s", err, text)
}

// ended returns the error for a connection that is closed, with what the server wrote last.
func (c *Client) ended() error {
	if err := c.stream.reason(); err != nil {
		return fmt.Errorf("%w: %w%s", errEnded, err, c.lastWords())
	}
	limit := time.After(endTime)
	select {
	case <-c.process.Done():
	case <-limit: // it closed its output and goes on
		return fmt.Errorf("%w: it closed the connection%s", errEnded, c.lastWords())
	}
	select { // its last words may be in the pipe still
	case <-c.stderr.done:
	case <-limit:
	}
	return fmt.Errorf("%w: it %s%s", errEnded, c.process.Exit(), c.lastWords())
}

// lastWords returns what the server wrote to its standard error, for an error.
func (c *Client) lastWords() string {
	if text := c.stderr.last(); text != "" {
		return "; its last words were " + plain.Quote(text)
	}
	return ""
}

func (c *Client) notify(method string, params any) error {
	err := c.conn.Notify(context.Background(), method, params)
	if isClosed(err) {
		return c.ended()
	}
	return err
}

// isClosed reports whether a message could not be sent since the connection is closed.
func isClosed(err error) bool {
	return errors.Is(err, jsonrpc2.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// tell wakes those who wait for news. c.mu is held.
func (c *Client) tell() {
	close(c.news)
	c.news = make(chan struct{})
}

// end ends the server: politely if polite, and its process tree in any case.
func (c *Client) end(polite bool) error {
	if polite {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if c.send(ctx, "shutdown", nil, nil) == nil {
			_ = c.notify("exit", nil)
			select {
			case <-c.process.Done():
			case <-time.After(time.Second):
			}
		}
		cancel()
	}
	_ = c.conn.Close()
	err := c.process.End(endGrace)
	_ = c.process.Stdout.Close()
	_ = c.process.Stderr.Close()
	c.files.close()
	return err
}

// endGrace is the time that a server has to end by itself.
const endGrace = 100 * time.Millisecond
