package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// The limits of documents that are open in a server: their number, and the bytes of all but
// the last one.
const (
	maxOpen      = 50
	maxOpenBytes = 4 << 20
)

// document is a file whose content the server has from us. It stays open while the file does
// not change, since servers answer about open files faster, and some find errors only in them.
type document struct {
	path    string
	at      string // where this process finds the file
	text    *Text
	version int
	used    uint64
	sentAt  uint64      // Client.changes when it was sent
	seen    os.FileInfo // the file before its content was read; nil: unknown
	found   []Diagnostic
	foundAt uint64 // Client.changes when found was complete; 0: never
}

// announce sends the server the files that have changed since the last call, and closes the
// documents among them, so that the server reads them from the disk again. except is a
// document that stays open, since the caller has its new content; "" is none. It reports
// whether others than except have changed. c.order is held.
func (c *Client) announce(ctx context.Context, except string) (others bool, err error) {
	events, err := c.files.changes(ctx, c.watched)
	if errors.Is(err, errEnded) {
		return false, c.ended()
	}
	if err != nil {
		return false, fmt.Errorf("looking for changed files: %w", err)
	}
	changed := map[string]bool{}
	for _, e := range events {
		changed[e.path] = true
	}
	for _, d := range c.docs { // they need not be in the project
		now, _ := os.Lstat(d.at)
		switch {
		case changed[d.path]:
		case now == nil:
			events = append(events, newEvent(d.path, fileDeleted))
		case !same(now, d.seen):
			events = append(events, newEvent(d.path, fileChanged))
		}
	}
	reload := false
	for _, e := range events {
		if c.docs[e.path] != nil && e.path != except {
			c.close(e.path)
		}
		others = others || e.path != except
		reload = reload || e.path != except || e.Type != fileChanged
	}
	if len(events) == 0 {
		return false, nil
	}
	c.changed()
	if err := c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": events}); err != nil {
		return others, err
	}
	if c.Server.TSServer && reload {
		// It sends no answer, which the server reports as an error.
		_ = c.tsserver(ctx, "reloadProjects", nil, nil, map[string]any{"expectsResult": false})
	}
	return others, ctx.Err()
}

// changed records the announcement of a change. c.order is held.
func (c *Client) changed() {
	c.changes++
	c.changedAt = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.complaint = complaint{} // of the state before
}

// same reports whether a file is as it was seen.
func same(now, seen os.FileInfo) bool {
	return now != nil && seen != nil && now.ModTime() == seen.ModTime() && now.Size() == seen.Size() && os.SameFile(now, seen)
}

// errChanged is the error for a content that is not that of the file any more. The server
// must not get it, since others may ask about the present one.
var errChanged = errors.New("the file has changed since it was read")

// HasChanged reports whether a request failed because the file has changed since it was read.
func HasChanged(err error) bool { return errors.Is(err, errChanged) }

// close closes a document. c.order is held.
func (c *Client) close(path string) {
	delete(c.docs, path)
	_ = c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": URIOf(path)}})
}

// open gives the server the content of a file, unless it is not that of the file any more.
// at and seen are those of Open; nil if seen is unknown. c.order is held.
func (c *Client) open(path, at string, text *Text, seen os.FileInfo) (*document, error) {
	c.turn++
	d := c.docs[path]
	if d != nil && d.text.content == text.content {
		d.used = c.turn
		if seen != nil {
			d.at, d.seen = at, seen
		}
		if c.Server.Resends && d.sentAt != c.changes {
			return d, c.resend(d)
		}
		return d, nil
	}
	if now, _ := os.Lstat(at); !same(now, seen) {
		if d != nil {
			c.close(path)
		}
		return nil, errChanged
	}
	if d != nil {
		d.at, d.text, d.seen, d.used = at, text, seen, c.turn
		c.changed()
		return d, c.resend(d)
	}
	c.makeRoom()
	c.version++
	d = &document{path: path, at: at, text: text, version: c.version, used: c.turn, seen: seen, sentAt: c.changes}
	c.docs[path] = d
	return d, c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": URIOf(path), "languageId": c.Server.Language(path), "version": d.version, "text": text.content,
	}})
}

// makeRoom closes the least recently used documents until another one fits. c.order is held.
func (c *Client) makeRoom() {
	for {
		var oldest *document
		size := 0
		for _, d := range c.docs {
			if size += len(d.text.content); oldest == nil || d.used < oldest.used {
				oldest = d
			}
		}
		if len(c.docs) < maxOpen && size <= maxOpenBytes {
			return
		}
		c.close(oldest.path)
	}
}

// resend sends the content of an open document as a new version. c.order is held.
func (c *Client) resend(d *document) error {
	c.version++
	d.version, d.sentAt = c.version, c.changes
	return c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": URIOf(d.path), "version": d.version},
		"contentChanges": []any{map[string]any{"text": d.text.content}},
		"forceRebuild":   true, // of clangd: otherwise the same text brings no diagnostics
	})
}

// Open announces changed files to the server, and gives it the content of one. path is the canonical
// path that the server knows, and at where this process finds the file: in a layer over a cache, for
// example. seen describes the file before its content was read.
func (c *Client) Open(ctx context.Context, path, at string, text *Text, seen os.FileInfo) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	d, err := c.present(ctx, path, at, text, seen)
	c.unlock()
	if err == nil && c.Server.Resends {
		_, err = c.diagnose(ctx, d) // it answers from its last state until it has sent these
	}
	return err
}

// present announces changed files to the server, and gives it the content of one. c.order is
// held.
func (c *Client) present(ctx context.Context, path, at string, text *Text, seen os.FileInfo) (*document, error) {
	if _, err := c.announce(ctx, path); err != nil {
		return nil, err
	}
	return c.open(path, at, text, seen)
}

// Position returns the position of an offset in the content of a text, for a request.
func (c *Client) Position(t *Text, offset int) Position {
	line, column := t.Position(offset)
	return Position{line, unitsOf(t.Line(line), column, c.utf8)}
}

// Offset returns the offset in the content of a text at a position of the server, or of the
// nearest one in the text. ok reports whether its line exists.
func (c *Client) Offset(t *Text, p Position) (offset int, ok bool) { return t.offset(p, c.utf8) }

// Column returns the column that an editor shows for a position in a line: characters from 1.
func (c *Client) Column(line string, p Position) int {
	n := 1
	for range line[:bytesOf(line, p.Character, c.utf8)] {
		n++
	}
	return n
}

// Apply returns the content of a file with edits of the server applied.
func (c *Client) Apply(t *Text, edits []TextEdit) (string, error) { return t.Apply(edits, c.utf8) }

// At returns the parameters of a request about a position.
func At(path string, p Position) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": URIOf(path)}, "position": p}
}

// lock waits for the turn to announce changes and to open documents.
func (c *Client) lock(ctx context.Context) error {
	select {
	case c.order <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.conn.DisconnectNotify():
		return c.ended()
	}
}

func (c *Client) unlock() { <-c.order }

// wait waits for news after a look at c's state, or for some time, which is without end if it
// is 0. It returns an error if ctx or the connection ends.
func (c *Client) wait(ctx context.Context, news <-chan struct{}, limit time.Duration) (ok bool, err error) {
	var timer <-chan time.Time
	if limit > 0 {
		timer = time.After(limit)
	}
	select {
	case <-news:
		return true, nil
	case <-timer:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-c.conn.DisconnectNotify():
		return false, c.ended()
	}
}
