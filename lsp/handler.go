package lsp

import (
	"context"
	"encoding/json"
	"path"
	"path/filepath"
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
	// maxRegistered is the limit of capabilities that a server registers.
	maxRegistered = 1000
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
		values := make([]any, len(p.Items))
		for i, item := range p.Items {
			values[i] = c.settings(item.Section)
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
	}
}

// progress records the beginning and the end of tasks, such as indexing.
func (h handler) progress(params json.RawMessage) {
	var p struct {
		Token json.RawMessage
		Value struct {
			Kind, Title, Message string
			Percentage           *float64
		}
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c, token := h.c, string(p.Token)
	if strings.Contains(token, "flycheck") { // checks of rust-analyzer that answers do not need
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	title := plain.Line(strings.TrimSpace(p.Value.Title + " " + p.Value.Message))
	switch p.Value.Kind {
	case "begin":
		if len(c.tasks) < maxTasks {
			c.tasks[token] = title
		}
		c.begun++
	case "report":
		if _, ok := c.tasks[token]; ok && title != "" {
			c.tasks[token] = title
		}
	case "end":
		delete(c.tasks, token)
		c.busyUntil = time.Now().Add(quietTime)
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
		if len(c.registered) < maxRegistered {
			c.registered[r.ID] = newRegister(c.Root, r.Method, r.RegisterOptions)
		}
	}
	for _, r := range p.Unregisterations {
		delete(c.registered, r.ID)
	}
	c.tell()
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

// watched reports whether the server is told of changes of a file: it is one of its language
// or a marker of a project, or the server registered for it.
func (c *Client) watched(file string) bool {
	if c.Server.Language(file) != "" {
		return true
	}
	for _, marker := range c.Server.Markers {
		if ok, _ := filepath.Match(marker, filepath.Base(file)); ok {
			return true
		}
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
