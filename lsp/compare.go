package lsp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

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

// maxOthers is the limit of other open documents that a server is asked about. refreshTime is the timeout
// for their diagnostics before a change.
const (
	maxOthers   = 10
	refreshTime = 500 * time.Millisecond
)

// state holds the known diagnostics before a change.
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
	d, err := c.open(path, path, after, seen)
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
		_, _, _ = c.Diagnostics(ctx, path, path, text, seen)
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

// before announces changed files to the server, without the new content of one, and returns
// the known diagnostics before the change of that one.
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
