package lsp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

const (
	// settleTime is the time without new diagnostics after which those without a version
	// count as complete: some servers send those of the syntax first.
	settleTime = 300 * time.Millisecond
	// pushTime is the timeout for diagnostics that a server sends without being asked.
	pushTime = 15 * time.Second
	// maxFound and maxFoundBytes are the limits of diagnostics of a file that are stored.
	maxFound      = 1000
	maxFoundBytes = 256 << 10
	// maxMessageBytes is the limit of the text of a diagnostic.
	maxMessageBytes = 4 << 10
	// maxPublished and maxPublishedBytes are the limits of files with diagnostics that a
	// server sent by itself, and of these.
	maxPublished      = 20_000
	maxPublishedBytes = 8 << 20
)

// published holds the diagnostics of a file that the server sent without being asked.
type published struct {
	version *int // of the document; nil: unknown
	list    findings
	arrival uint64
	at      time.Time
}

// findings is a list of diagnostics within the limits for a file. Further ones are left out.
type findings []Diagnostic

// UnmarshalJSON decodes a list, or null.
func (f *findings) UnmarshalJSON(raw []byte) error {
	*f = nil
	dec := json.NewDecoder(bytes.NewReader(raw))
	if start, err := dec.Token(); err != nil || start != json.Delim('[') {
		return err
	}
	for size := 0; dec.More() && len(*f) < maxFound; {
		var d Diagnostic
		if err := dec.Decode(&d); err != nil {
			return err
		}
		d.Message, d.Source = markup(cut(string(d.Message), maxMessageBytes)), cut(d.Source, maxTitle)
		if len(d.Code) > maxTitle {
			d.Code = nil
		}
		if size += d.size(); size > maxFoundBytes {
			break
		}
		*f = append(*f, d)
	}
	return nil
}

// size returns the approximate memory of d.
func (d *Diagnostic) size() int { return 120 + len(d.Message) + len(d.Source) + len(d.Code) }

func (f findings) size() (n int) {
	for i := range f {
		n += f[i].size()
	}
	return n
}

func (h handler) publish(params json.RawMessage) {
	var p struct {
		URI         string
		Version     *int
		Diagnostics findings
	}
	path := ""
	if json.Unmarshal(params, &p) == nil && len(p.URI) <= maxMessageBytes {
		path = PathOf(p.URI)
	}
	if path == "" {
		return
	}
	c := h.c
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.published[path]
	if p.Version != nil && last.version != nil && *p.Version < *last.version {
		return
	}
	c.publishedBytes += p.Diagnostics.size() - last.list.size()
	if len(c.published) >= maxPublished || c.publishedBytes > maxPublishedBytes {
		clear(c.published)
		c.publishedBytes, c.forgot = p.Diagnostics.size(), true
	}
	c.arrivals++
	c.published[path] = published{p.Version, p.Diagnostics, c.arrivals, time.Now()}
	c.tell()
}

// errPulls is the error for diagnostics that do not come, since the server has registered
// meanwhile that it answers requests for them.
var errPulls = errors.New("it is asked for diagnostics")

// pulls reports whether the server is asked for diagnostics.
func (c *Client) pulls() bool {
	return c.Server.Pulls || c.Server.TSServer || c.Provides("textDocument/diagnostic")
}

// Diagnostics returns the diagnostics of a file with a content. They are of that content and
// of the present state of the other files: a server that sends them on its own gets the
// content again, unless nothing has changed. The other parameters are those of Open. The list is the
// caller's.
func (c *Client) Diagnostics(ctx context.Context, path, at string, text *Text, seen os.FileInfo) (list []Diagnostic, note string, err error) {
	if err := c.lock(ctx); err != nil {
		return nil, "", err
	}
	d, err := c.present(ctx, path, at, text, seen)
	c.unlock()
	if err != nil {
		return nil, "", err
	}
	note = c.awaitIdle(ctx)
	list, err = c.diagnose(ctx, d)
	return slices.Clone(list), note, err
}

// diagnose returns the diagnostics of an open document.
func (c *Client) diagnose(ctx context.Context, d *document) ([]Diagnostic, error) {
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	at, open := c.changes, c.docs[d.path] == d
	if !open || d.foundAt == at+1 {
		defer c.unlock()
		if !open {
			return nil, errChanged
		}
		return d.found, nil
	}
	c.unlock()
	var list []Diagnostic
	err := errNoMethod
	if c.pulls() {
		list, err = c.pull(ctx, d.path)
	}
	if Refused(err) { // gopls does for go.mod
		list, err = c.pushed(ctx, d)
	}
	if errors.Is(err, errPulls) {
		list, err = c.pull(ctx, d.path)
	}
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	open = c.docs[d.path] == d
	switch {
	case err != nil && !open && !HasEnded(err): // another caller closed it meanwhile
		return nil, errChanged
	case err != nil:
		return nil, err
	case c.changes == at && open:
		d.found, d.foundAt = list, at+1
	}
	return list, nil
}

// pull asks the server for the diagnostics of a document.
func (c *Client) pull(ctx context.Context, path string) ([]Diagnostic, error) {
	if c.Server.TSServer {
		return c.pullTSServer(ctx, path)
	}
	var report struct{ Items findings }
	err := c.send(ctx, "textDocument/diagnostic", map[string]any{"textDocument": map[string]any{"uri": URIOf(path)}}, &report)
	return report.Items, err
}

// tsserver sends a request to tsserver.
func (c *Client) tsserver(ctx context.Context, command string, arguments, answer, options any) error {
	return c.send(ctx, "workspace/executeCommand", map[string]any{"command": "typescript.tsserverRequest", "arguments": []any{command, arguments, options}}, answer)
}

// pullTSServer asks tsserver for the diagnostics of a document.
func (c *Client) pullTSServer(ctx context.Context, path string) (list []Diagnostic, err error) {
	type place struct{ Line, Offset int } // from 1
	for _, command := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var answer struct {
			Body []struct {
				Start, End     place
				Text, Category string
				Code           json.RawMessage
			}
		}
		if err := c.tsserver(ctx, command, map[string]any{"file": URIOf(path)}, &answer, nil); err != nil {
			return nil, err
		}
		for _, d := range answer.Body[:min(len(answer.Body), maxFound)] {
			at := func(p place) Position { return Position{max(p.Line-1, 0), max(p.Offset-1, 0)} }
			severity := map[string]int{"error": Error, "warning": Warning, "message": 3}[d.Category]
			list = append(list, Diagnostic{Range{at(d.Start), at(d.End)}, cmp.Or(severity, 4), d.Code, "typescript", markup(cut(d.Text, maxMessageBytes))})
		}
	}
	return list, nil
}

// pushed waits for the diagnostics that the server sends for a document. The document is sent
// again, so that the server sends them although it did before.
func (c *Client) pushed(ctx context.Context, d *document) ([]Diagnostic, error) {
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	before := c.arrivals
	c.mu.Unlock()
	err := errChanged
	if c.docs[d.path] == d {
		err = c.resend(d)
	}
	version := d.version
	c.unlock()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pushTime, fmt.Errorf("no diagnostics of the present content came within %v", pushTime))
	defer cancel()
	for {
		c.mu.Lock()
		p, news := c.published[d.path], c.news
		c.mu.Unlock()
		if c.hasRegistered("textDocument/diagnostic") {
			return nil, errPulls
		}
		var quiet time.Duration
		switch {
		case p.version != nil && *p.version >= version:
			return p.list, nil
		case p.version == nil && p.arrival > before:
			if quiet = settleTime - time.Since(p.at); quiet <= 0 {
				return p.list, nil
			}
		}
		if _, err := c.wait(ctx, news, quiet); err != nil {
			return nil, err
		}
	}
}
