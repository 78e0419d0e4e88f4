package lsp

import (
	"context"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/sourcegraph/jsonrpc2"

	"mcp-toolset/internal/text/plain"
)

// handler answers the requests of a server. It is called by the goroutine that reads the
// connection, one message at a time, and does not wait.
type handler struct{ c *Client }

const (
	// maxTasks is the limit of tasks of a server that are stored.
	maxTasks = 100
	// maxTitle is the limit of the text of a task or complaint of a server, in bytes.
	maxTitle = 300
	// maxRegistered is the limit of capabilities that a server registers.
	maxRegistered = 1000
	// maxPatterns and maxPatternBytes are the limits of the patterns of watched files that a
	// server registers: each changed file is compared with all of them.
	maxPatterns     = 2000
	maxPatternBytes = 256 << 10
	// maxSections is the limit of sections of settings that a server asks for at once.
	maxSections = 1000
)

// Handle handles a request or notification. Requests that are not known get an error: a
// server that gets no answer waits.
func (h handler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	if req.Notif {
		h.notified(req.Method, params)
		return
	}
	result, ok := h.answer(req.Method, params)
	if !ok {
		_ = conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "not supported"})
		return
	}
	if result == nil {
		result = json.RawMessage("null")
	}
	_ = conn.Reply(ctx, req.ID, result)
}

// answer returns the result of a request. ok is false for one that is not known.
func (h handler) answer(method string, params json.RawMessage) (result any, ok bool) {
	c := h.c
	switch method {
	case "workspace/configuration":
		var p struct{ Items []struct{ Section string } }
		_ = json.Unmarshal(params, &p)
		values := make([]any, min(len(p.Items), maxSections))
		for i := range values {
			values[i] = c.settings(p.Items[i].Section)
		}
		return values, true
	case "workspace/workspaceFolders":
		return []any{map[string]any{"uri": URIOf(c.Root), "name": filepath.Base(c.Root)}}, true
	case "workspace/applyEdit":
		// Files change only by LSPApply.
		return map[string]any{"applied": false, "failureReason": "changes are only previewed here"}, true
	case "client/registerCapability", "client/unregisterCapability":
		h.register(params)
		return nil, true
	case "window/showDocument":
		return map[string]any{"success": false}, true
	case "window/workDoneProgress/create", "window/showMessageRequest",
		"workspace/diagnostic/refresh", "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh", "workspace/foldingRange/refresh", "workspace/inlineValue/refresh":
		return nil, true
	}
	return nil, false
}

func (h handler) notified(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		h.publish(params)
	case "$/progress":
		h.progress(params)
	case "window/showMessage", "window/logMessage":
		var p struct {
			Type    int
			Message string
		}
		if json.Unmarshal(params, &p) == nil && p.Type == Error {
			h.c.mu.Lock()
			h.c.complaint = complaint{short(p.Message), time.Now()}
			h.c.mu.Unlock()
		}
	}
}

// short returns the beginning of a text of the server, in one line.
func short(text string) string {
	return plain.Line(strings.Join(strings.Fields(cut(text, maxTitle)), " "))
}

// complaint is an error that the server reported by itself.
type complaint struct {
	text string
	at   time.Time
}

// task is work of the server, such as indexing.
type task struct {
	title string
	begun time.Time
}

// cut returns the first n bytes of a text, for what a server sent.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// progress records the beginning and the end of tasks, such as indexing. Those without a
// title are no such work: pyright begins one for each check of an open file, and does not end
// all of them. Nor are errors, which gopls shows in this form until they are gone.
func (h handler) progress(params json.RawMessage) {
	var p struct {
		Token json.RawMessage
		Value struct{ Kind, Title, Message string }
	}
	if json.Unmarshal(params, &p) != nil || len(p.Token) > maxTitle {
		return
	}
	c, token := h.c, string(p.Token)
	if strings.Contains(token, "flycheck") { // checks of rust-analyzer that answers do not need
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	title := short(p.Value.Title + " " + p.Value.Message)
	switch _, known := c.tasks[token]; {
	case p.Value.Kind == "end":
		delete(c.broken, token)
		if known {
			delete(c.tasks, token)
			c.busyUntil = time.Now().Add(quietTime)
		}
	case p.Value.Kind == "begin" && strings.HasPrefix(strings.ToLower(p.Value.Title), "error"):
		if len(c.broken) < maxTasks {
			c.broken[token] = title
		}
	case p.Value.Kind == "begin" && p.Value.Title != "":
		if len(c.tasks) < maxTasks {
			c.tasks[token] = task{title, time.Now()}
		}
		c.begun++
	case p.Value.Kind == "report" && known && title != "":
		c.tasks[token] = task{title, c.tasks[token].begun}
	}
	c.tell()
}

// register stores or removes capabilities.
func (h handler) register(params json.RawMessage) {
	var p struct {
		Registrations []struct {
			ID, Method      string
			RegisterOptions json.RawMessage
		}
		Unregisterations []struct{ ID string } // as the protocol spells it
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c := h.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range p.Registrations {
		if len(c.registered) < maxRegistered && len(r.ID)+len(r.Method) <= 2*maxTitle {
			c.unregister(r.ID)
			n := newRegister(c.Root, r.Method, r.RegisterOptions)
			n.limit(maxPatterns-c.patterns, maxPatternBytes-c.patternBytes)
			c.registered[r.ID] = n
			c.patterns, c.patternBytes = c.patterns+len(n.patterns), c.patternBytes+n.size()
		}
	}
	for _, r := range p.Unregisterations {
		c.unregister(r.ID)
	}
	c.tell()
}

// unregister removes a capability. c.mu is held.
func (c *Client) unregister(id string) {
	r := c.registered[id]
	c.patterns, c.patternBytes = c.patterns-len(r.patterns), c.patternBytes-r.size()
	delete(c.registered, id)
}

// size returns the bytes of the patterns.
func (r *register) size() (n int) {
	for _, p := range r.patterns {
		n += len(p)
	}
	return n
}

// limit leaves out the patterns beyond a number or size.
func (r *register) limit(count, bytes int) {
	for i, p := range r.patterns {
		if bytes -= len(p); i == count || bytes < 0 {
			r.patterns = slices.Clone(r.patterns[:i])
			return
		}
	}
}

// register is a capability that a server registered while it ran.
type register struct {
	method   string
	patterns []string // of watched files, absolute and with slashes
}

// newRegister returns a registration. Patterns that are not absolute apply to the root.
func newRegister(root, method string, options json.RawMessage) register {
	r := register{method: method}
	var o struct {
		Watchers []struct {
			GlobPattern json.RawMessage
		}
	}
	if method != "workspace/didChangeWatchedFiles" || json.Unmarshal(options, &o) != nil {
		return r
	}
	for _, w := range o.Watchers {
		var pattern string
		base := root
		if json.Unmarshal(w.GlobPattern, &pattern) != nil {
			var relative struct {
				BaseURI json.RawMessage
				Pattern string
			}
			if json.Unmarshal(w.GlobPattern, &relative) != nil {
				continue
			}
			var folder struct{ URI string }
			if json.Unmarshal(relative.BaseURI, &folder.URI) != nil {
				_ = json.Unmarshal(relative.BaseURI, &folder)
			}
			pattern, base = relative.Pattern, PathOf(folder.URI)
		}
		if !path.IsAbs(pattern) && !filepath.IsAbs(pattern) && !strings.HasPrefix(pattern, "**") {
			pattern = escaped(filepath.ToSlash(base)) + "/" + pattern
		}
		r.patterns = append(r.patterns, pattern)
	}
	return r
}

// escaped returns a pattern that matches only the text.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(text)
}

// watched reports whether changes of a file are announced: it is one of the server's language
// or a marker of a project, or the server registered for it.
func (c *Client) watched(file string) bool {
	if c.Server.knows(file) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slashed := filepath.ToSlash(file)
	for _, r := range c.registered {
		for _, pattern := range r.patterns {
			if ok, _ := doublestar.Match(pattern, slashed); ok {
				return true
			}
		}
	}
	return false
}

// hasRegistered reports whether the server registered for a method while it ran.
func (c *Client) hasRegistered(method string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.registered {
		if r.method == method {
			return true
		}
	}
	return false
}
