package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// settleTime is the time without new diagnostics after which those without a version
	// count as complete: some servers send those of the syntax first.
	settleTime = 300 * time.Millisecond
	// pushTime is the timeout for diagnostics that a server sends without being asked.
	pushTime = 15 * time.Second
	// maxFound is the limit of diagnostics of a file that are stored.
	maxFound = 1000
	// maxPublished is the limit of files whose diagnostics are stored.
	maxPublished = 20_000
)

// published holds the diagnostics of a file that the server sent without being asked.
type published struct {
	version *int // of the document; nil: unknown
	list    []Diagnostic
	arrival uint64
	at      time.Time
}

func (h handler) publish(params json.RawMessage) {
	var p struct {
		URI         string
		Version     *int
		Diagnostics []Diagnostic
	}
	path := ""
	if json.Unmarshal(params, &p) == nil {
		path = PathOf(p.URI)
	}
	if path == "" {
		return
	}
	c := h.c
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.published[path]
	if !ok && len(c.published) >= maxPublished || p.Version != nil && last.version != nil && *p.Version < *last.version {
		return
	}
	c.arrivals++
	c.published[path] = published{p.Version, p.Diagnostics[:min(len(p.Diagnostics), maxFound)], c.arrivals, time.Now()}
	c.tell()
}

// errPulls is the error for diagnostics that do not come because the server wants to be
// asked, as it said only now.
var errPulls = errors.New("it is asked for diagnostics")

// pulls reports whether the server is asked for diagnostics.
func (c *Client) pulls() bool {
	return c.Server.Pulls || c.Server.TSServer || c.Provides("textDocument/diagnostic")
}

// Diagnostics returns the diagnostics of a file with a content. They are of that content and
// of the present state of the other files: a server that sends them on its own gets the
// content again, unless nothing has changed.
func (c *Client) Diagnostics(ctx context.Context, path string, text *Text, seen os.FileInfo) (list []Diagnostic, note string, err error) {
	c.order.Lock()
	if err = c.announce(ctx, path); err == nil {
		_, err = c.open(path, text, seen)
	}
	c.order.Unlock()
	if err != nil {
		return nil, "", err
	}
	note = c.awaitIdle(ctx, time.Now().Add(warmTime))
	list, err = c.diagnose(ctx, path, text)
	return list, note, err
}

// diagnose returns the diagnostics of a document, which gets the text if it has another one.
func (c *Client) diagnose(ctx context.Context, path string, text *Text) ([]Diagnostic, error) {
	c.order.Lock()
	d, err := c.open(path, text, nil)
	at := c.changes.Load()
	if err != nil || d.foundAt == at+1 {
		defer c.order.Unlock()
		return d.found, err
	}
	c.order.Unlock()
	var list []Diagnostic
	err = errNoMethod
	if c.pulls() {
		list, err = c.pull(ctx, path)
	}
	if Refused(err) { // gopls does for go.mod
		list, err = c.pushed(ctx, d)
	}
	if errors.Is(err, errPulls) {
		list, err = c.pull(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	c.order.Lock()
	defer c.order.Unlock()
	if c.changes.Load() == at && c.docs[path] == d {
		d.found, d.foundAt = list, at+1
	}
	return list, nil
}

// pull asks the server for the diagnostics of a document.
func (c *Client) pull(ctx context.Context, path string) ([]Diagnostic, error) {
	if c.Server.TSServer {
		return c.pullTSServer(ctx, path)
	}
	var report struct{ Items []Diagnostic }
	err := c.send(ctx, "textDocument/diagnostic", map[string]any{"textDocument": map[string]any{"uri": URIOf(path)}}, &report)
	return report.Items[:min(len(report.Items), maxFound)], err
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
			list = append(list, Diagnostic{Range{at(d.Start), at(d.End)}, cmp.Or(severity, 4), d.Code, "typescript", markup(d.Text)})
		}
	}
	return list, nil
}

// pushed waits for the diagnostics that the server sends for a document. The document is sent
// again, so that the server sends them although it did before.
func (c *Client) pushed(ctx context.Context, d *document) ([]Diagnostic, error) {
	c.order.Lock()
	c.mu.Lock()
	before := c.arrivals
	c.mu.Unlock()
	err := c.resend(d)
	version := d.version
	c.order.Unlock()
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
		var quiet <-chan time.Time
		switch {
		case p.version != nil && *p.version >= version:
			return p.list, nil
		case p.version == nil && p.arrival > before:
			rest := settleTime - time.Since(p.at)
			if rest <= 0 {
				return p.list, nil
			}
			quiet = time.After(rest)
		}
		if _, err := waitNews(ctx, news, quiet); err != nil {
			return nil, err
		}
		select {
		case <-c.conn.DisconnectNotify():
			return nil, c.ended()
		default:
		}
	}
}

// Finding is a diagnostic of a file.
type Finding struct {
	Path string
	Diagnostic
}

// Change describes what a change of a file did to the diagnostics of the project.
type Change struct {
	New   []Finding // errors and warnings, those of the file first
	Fixed int
}

// The time that a server gets for the diagnostics of other files after it has sent those of
// the changed one. gopls begins with other packages a second after the last change. With a
// shorter diagnosticsDelay, it forgets to load new files now and then.
const (
	settleOthers = 250 * time.Millisecond
	settleGopls  = 1400 * time.Millisecond
)

// maxOthers is the limit of other open documents that a server is asked about.
const maxOthers = 10

// Compare returns what the change of a file from before to after did. The file has the new
// content already; seen is as in Open. before is nil for a new file.
func (c *Client) Compare(ctx context.Context, path string, before, after *Text, seen os.FileInfo) (*Change, error) {
	c.order.Lock()
	err := c.announce(ctx, path)
	d := c.docs[path]
	known := d != nil && before != nil && d.text.content == before.content && d.foundAt != 0
	var was []Diagnostic
	if known {
		was = d.found
	}
	others := c.known(path)
	c.order.Unlock()
	if err != nil {
		return nil, err
	}
	if !known && before != nil {
		if was, err = c.diagnose(ctx, path, before); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	arrivals, sent := c.arrivals, map[string][]Diagnostic{}
	for file, p := range c.published {
		if file != path && len(p.list) > 0 {
			sent[file] = p.list
		}
	}
	c.mu.Unlock()
	is, err := c.diagnose(ctx, path, after)
	if err != nil {
		return nil, err
	}
	c.order.Lock()
	if d := c.docs[path]; d != nil && d.text.content == after.content {
		d.seen = seen
	}
	c.order.Unlock()
	change := new(Change)
	change.add(path, was, is, before, after)
	if c.pulls() && !c.Server.Pulls { // it sends nothing by itself
		for file, list := range others {
			c.order.Lock()
			d := c.docs[file]
			c.order.Unlock()
			if d == nil {
				continue
			}
			if now, err := c.diagnose(ctx, file, d.text); err == nil {
				change.add(file, list, now, nil, nil)
			}
		}
		return change, nil
	}
	c.settleOthers(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	for file, p := range c.published {
		if file != path && p.arrival > arrivals {
			change.add(file, sent[file], p.list, nil, nil)
		}
	}
	slices.SortStableFunc(change.New, func(a, b Finding) int {
		switch {
		case a.Path == b.Path:
			return a.Range.Start.Line - b.Range.Start.Line
		case a.Path == path || b.Path != path && a.Path < b.Path:
			return -1
		}
		return 1
	})
	return change, nil
}

// known returns the diagnostics of other open documents, as far as they are known. c.order is
// held.
func (c *Client) known(path string) map[string][]Diagnostic {
	out := map[string][]Diagnostic{}
	for file, d := range c.docs {
		if file != path && d.foundAt != 0 && len(out) < maxOthers {
			out[file] = d.found
		}
	}
	return out
}

// settleOthers waits until no diagnostics have come for a while.
func (c *Client) settleOthers(ctx context.Context) {
	wait := settleOthers
	if c.Server.Pulls {
		wait = settleGopls
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		c.mu.Lock()
		news := c.news
		c.mu.Unlock()
		ok, err := waitNews(ctx, news, timer.C)
		if !ok || err != nil {
			return
		}
		if !c.Server.Pulls { // the whole must fit into the time that an edit waits
			timer.Reset(wait)
		}
	}
}

// add adds the differences between the errors and warnings of a file before and after. Their
// places may have moved, so the messages are compared, with their number; of several with one
// message, those on lines that are as before count as the old ones. The texts are nil if they
// are not known.
func (g *Change) add(path string, before, after []Diagnostic, was, is *Text) {
	type key struct {
		severity     int
		code, source string
		message      string
		line         string
	}
	keyOf := func(d *Diagnostic, t *Text) key {
		k := key{d.Severity, string(d.Code), d.Source, string(d.Message), ""}
		if t != nil {
			k.line = strings.TrimSpace(t.Line(d.Range.Start.Line))
		}
		return k
	}
	had, fresh := map[key]int{}, []*Diagnostic(nil)
	for i := range before {
		if before[i].Severity <= Warning {
			had[keyOf(&before[i], was)]++
		}
	}
	for i := range after {
		if after[i].Severity > Warning {
			continue
		}
		if k := keyOf(&after[i], is); had[k] > 0 {
			had[k]--
		} else {
			fresh = append(fresh, &after[i])
		}
	}
	moved := map[key]int{} // of the rest, without the lines
	for k, n := range had {
		k.line = ""
		moved[k] += n
	}
	for _, d := range fresh {
		if k := keyOf(d, nil); moved[k] > 0 {
			moved[k]--
		} else {
			g.New = append(g.New, Finding{path, *d})
		}
	}
	for _, n := range moved {
		g.Fixed += n
	}
}
