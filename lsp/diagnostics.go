package lsp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// errPulls is the error for diagnostics that do not come because the server wants to be
// asked, as it said only now.
var errPulls = errors.New("it is asked for diagnostics")

// pulls reports whether the server is asked for diagnostics.
func (c *Client) pulls() bool {
	return c.Server.Pulls || c.Server.TSServer || c.Provides("textDocument/diagnostic")
}

// Diagnostics returns the diagnostics of a file with a content. They are of that content and
// of the present state of the other files: a server that sends them on its own gets the
// content again, unless nothing has changed. The list is the caller's.
func (c *Client) Diagnostics(ctx context.Context, path string, text *Text, seen os.FileInfo) (list []Diagnostic, note string, err error) {
	if err := c.lock(ctx); err != nil {
		return nil, "", err
	}
	d, err := c.present(ctx, path, text, seen)
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

// maxOthers is the limit of other open documents that a server is asked about, and refreshTime the
// timeout for what it found in them before a change.
const (
	maxOthers   = 10
	refreshTime = 500 * time.Millisecond
)

// state is what is known of the diagnostics before a change.
type state struct {
	file   []Diagnostic
	known  int                     // file has all diagnostics of the file up to this severity; 0: none
	others map[string][]Diagnostic // nil: nothing is known of other files
}

// Compare returns what the change of a file from before to after did. The file has the new
// content already; seen is as in Open. before is nil for a new file.
//
// The server never gets the content of before, since others may ask it meanwhile. What it
// found before the change counts if it has answered all earlier changes. If it has not, or if
// other files change at the same time, only problems in new lines of the file are reported:
// others may have another cause.
func (c *Client) Compare(ctx context.Context, path string, before, after *Text, seen os.FileInfo) (*Change, error) {
	select {
	case c.comparing <- struct{}{}:
		defer func() { <-c.comparing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	was, err := c.before(ctx, path, before)
	if err != nil {
		return nil, err
	}
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	d, err := c.open(path, after, seen)
	at := c.changes
	c.unlock()
	if err != nil {
		return nil, err
	}
	is, err := c.diagnose(ctx, d)
	if err != nil {
		return nil, err
	}
	change := new(Change)
	if was.others != nil {
		if err := c.compareOthers(ctx, change, was.others, path); err != nil {
			return nil, err
		}
	}
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	if c.changes != at {
		was, change = state{}, new(Change)
	}
	c.unlock()
	old := map[string]bool{}
	if before != nil {
		for i := range before.Lines() {
			old[strings.TrimSpace(before.Line(i))] = true
		}
	}
	is = slices.DeleteFunc(slices.Clone(is), func(d Diagnostic) bool {
		return max(d.Severity, Error) > was.known && old[strings.TrimSpace(after.Line(d.Range.Start.Line))]
	})
	change.add(path, was.file, is, before, after)
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

// Learn asks the server for the diagnostics of a file, so that a later change of it or of
// another file can be compared with them. gopls is not asked, since it sends those of all files
// by itself, nor is a server that is Alone or has enough to do with others.
func (c *Client) Learn(ctx context.Context, path string, text *Text, seen os.FileInfo) {
	if c.Server.Pulls || c.Server.Alone {
		return
	}
	defer c.learning.Add(-1)
	if c.learning.Add(1) <= maxOthers {
		_, _, _ = c.Diagnostics(ctx, path, text, seen)
	}
}

// latest returns the open documents that were used last, except one, at most maxOthers.
// c.order is held.
func (c *Client) latest(except string) []*document {
	docs := slices.SortedFunc(maps.Values(c.docs), func(a, b *document) int { return cmp.Compare(b.used, a.used) })
	docs = slices.DeleteFunc(docs, func(d *document) bool { return d.path == except })
	return docs[:min(len(docs), maxOthers)]
}

// refresh asks a server that sends nothing by itself for the diagnostics of the open documents
// before a change of one, unless they are known. It asks tsserver only if that one is open, since that
// sees changes of other files on the disk by itself, and for a short time, since the diagnostics of
// the changed file wait for it.
func (c *Client) refresh(ctx context.Context, changed string) error {
	if c.pushes() {
		return nil
	}
	if err := c.lock(ctx); err != nil {
		return err
	}
	var docs []*document
	if c.docs[changed] != nil || !c.Server.TSServer {
		docs = c.latest(changed)
	}
	c.unlock()
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	for _, d := range docs {
		if _, err := c.diagnose(ctx, d); err != nil && !errors.Is(err, errChanged) {
			break
		}
	}
	return nil
}

// before tells the server which files have changed, except the content of one, and returns
// what is known of the diagnostics before the change of that one.
func (c *Client) before(ctx context.Context, path string, before *Text) (was state, err error) {
	if err := c.refresh(ctx, path); err != nil {
		return was, err
	}
	if err := c.lock(ctx); err != nil {
		return was, err
	}
	at, settled := c.changes, time.Since(c.changedAt) >= c.othersTime()
	c.mu.Lock()
	settled = settled && !c.forgot && len(c.tasks) == 0
	sent := make(map[string][]Diagnostic, len(c.published))
	version := c.published[path].version
	for file, p := range c.published {
		sent[file] = p.list
	}
	c.mu.Unlock()
	d := c.docs[path]
	open := d != nil && before != nil && d.text.content == before.content
	var fresh bool
	var found []Diagnostic
	if open {
		fresh, found = d.foundAt == at+1, d.found
	}
	others, err := c.announce(ctx, path)
	now := c.changes
	if !others && c.pushes() && settled {
		was.others = sent
	} else if !others && !c.pushes() {
		was.others = map[string][]Diagnostic{}
		for _, d := range c.latest(path) {
			if d.foundAt == at+1 {
				was.others[d.path] = d.found
			}
		}
	}
	sentOf := open && version != nil && *version == d.version || !open && c.Server.Pulls
	c.unlock()
	switch {
	case err != nil:
		return was, err
	case before == nil:
		was.known = Warning
	case open && fresh && !others:
		was.file, was.known = found, Warning
	case open && c.pulls(): // the server still has the content before the change
		list, err := c.pull(ctx, path)
		if err := c.lock(ctx); err != nil {
			return was, err
		}
		// Another caller may have closed it meanwhile.
		if err == nil && c.docs[path] == d && d.text.content == before.content && c.changes == now {
			was.file, was.known = list, Warning
		}
		c.unlock()
	case sentOf && settled && !others:
		was.file, was.known = sent[path], Warning
		if !open { // gopls analyzes only packages with open files
			was.known = Error
		}
	}
	return was, nil
}

// pushes reports whether the server sends diagnostics of files that it was not asked about.
func (c *Client) pushes() bool { return !c.pulls() || c.Server.Pulls }

// compareOthers adds what the change of a file did to the diagnostics of other files.
func (c *Client) compareOthers(ctx context.Context, change *Change, was map[string][]Diagnostic, path string) error {
	if c.pushes() {
		c.settleOthers(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.forgot {
			return nil
		}
		for file, p := range c.published {
			if file != path {
				change.add(file, was[file], p.list, nil, nil)
			}
		}
		return nil
	}
	for file, list := range was {
		if err := c.lock(ctx); err != nil {
			return err
		}
		d := c.docs[file]
		c.unlock()
		if d == nil {
			continue
		}
		if now, err := c.diagnose(ctx, d); err == nil {
			change.add(file, list, now, nil, nil)
		}
	}
	return nil
}

// othersTime is the time that the server gets for the diagnostics of other files.
func (c *Client) othersTime() time.Duration {
	if c.Server.Pulls {
		return settleGopls
	}
	return settleOthers
}

// settleOthers waits until no diagnostics have come for a while. For gopls, the whole must fit
// into the time that an edit waits.
func (c *Client) settleOthers(ctx context.Context) {
	end := time.Now().Add(c.othersTime())
	for {
		c.mu.Lock()
		news := c.news
		c.mu.Unlock()
		ok, err := c.wait(ctx, news, max(time.Until(end), 1))
		if !ok || err != nil {
			return
		}
		if !c.Server.Pulls {
			end = time.Now().Add(settleOthers)
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
