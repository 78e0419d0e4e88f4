package lsp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"time"
)

// maxOpen is the limit of documents that are open in a server.
const maxOpen = 50

// document is a file whose content the server has from us. It stays open while the file does
// not change, since servers answer about open files faster, and some find errors only in them.
type document struct {
	path    string
	text    *Text
	hash    [32]byte
	version int
	used    uint64
	sentAt  uint64      // Client.changes when it was sent
	seen    os.FileInfo // the file before its content was read; nil: unknown
	found   []Diagnostic
	foundAt uint64 // Client.changes when found was complete; 0: never
}

// announce tells the server which files have changed since the last call, and closes the
// documents among them, so that the server reads them from the disk again. except is a
// document that stays open, since the caller has its new content; "" is none. c.order
// is held.
func (c *Client) announce(ctx context.Context, except string) error {
	events, err := c.files.changes(ctx)
	if err != nil {
		return fmt.Errorf("looking for changed files: %w", err)
	}
	changed := map[string]bool{}
	for _, e := range events {
		changed[e.path] = true
	}
	for _, d := range c.docs { // they need not be in the project
		now, _ := os.Lstat(d.path)
		switch {
		case changed[d.path]:
		case now == nil:
			events = append(events, newEvent(d.path, fileDeleted))
		case d.seen == nil || now.ModTime() != d.seen.ModTime() || now.Size() != d.seen.Size() || !os.SameFile(now, d.seen):
			events = append(events, newEvent(d.path, fileChanged))
		}
	}
	var told []fileEvent
	for _, e := range events {
		if c.docs[e.path] != nil && e.path != except {
			c.close(e.path)
		}
		if c.watched(e.path) {
			told = append(told, e)
		}
	}
	if len(told) == 0 {
		return nil
	}
	c.changes.Add(1)
	if err := c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": told}); err != nil || !c.Server.TSServer {
		return err
	}
	if slices.ContainsFunc(told, func(e fileEvent) bool { return e.path != except || e.Type != fileChanged }) {
		// It sends no answer, which the server reports as an error.
		limited, cancel := context.WithTimeout(ctx, requestTime)
		defer cancel()
		_ = c.tsserver(limited, "reloadProjects", nil, nil, map[string]any{"expectsResult": false})
	}
	return nil
}

// close closes a document. c.order is held.
func (c *Client) close(path string) {
	delete(c.docs, path)
	_ = c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": URIOf(path)}})
}

// open gives the server the content of a file. seen describes the file before its content was
// read; nil if that is unknown. c.order is held.
func (c *Client) open(path string, text *Text, seen os.FileInfo) (*document, error) {
	hash := sha256.Sum256([]byte(text.content))
	c.turn++
	if d := c.docs[path]; d != nil {
		d.used = c.turn
		if d.hash == hash {
			if seen != nil {
				d.seen = seen
			}
			if c.Server.Resends && d.sentAt != c.changes.Load() {
				return d, c.resend(d)
			}
			return d, nil
		}
		d.text, d.hash, d.seen = text, hash, seen
		c.changes.Add(1)
		return d, c.resend(d)
	}
	if len(c.docs) >= maxOpen {
		var oldest *document
		for _, d := range c.docs {
			if oldest == nil || d.used < oldest.used {
				oldest = d
			}
		}
		c.close(oldest.path)
	}
	c.version++
	d := &document{path: path, text: text, hash: hash, version: c.version, used: c.turn, seen: seen, sentAt: c.changes.Load()}
	c.docs[path] = d
	return d, c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": URIOf(path), "languageId": c.Server.Language(path), "version": d.version, "text": text.content,
	}})
}

// resend sends the content of an open document as a new version. c.order is held.
func (c *Client) resend(d *document) error {
	c.version++
	d.version, d.sentAt = c.version, c.changes.Load()
	return c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": URIOf(d.path), "version": d.version},
		"contentChanges": []any{map[string]any{"text": d.text.content}},
		"forceRebuild":   true, // of clangd: otherwise the same text brings no diagnostics
	})
}

// Open tells the server what has changed, and gives it the content of a file. The path is
// canonical. seen describes the file before its content was read.
func (c *Client) Open(ctx context.Context, path string, text *Text, seen os.FileInfo) error {
	c.order.Lock()
	err := c.announce(ctx, path)
	if err == nil {
		_, err = c.open(path, text, seen)
	}
	c.order.Unlock()
	if err == nil && c.Server.Resends {
		_, err = c.diagnose(ctx, path, text) // it answers from its last state until it has sent these
	}
	return err
}

// Announce tells the server what has changed.
func (c *Client) Announce(ctx context.Context) error {
	c.order.Lock()
	defer c.order.Unlock()
	return c.announce(ctx, "")
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

// waitNews waits for news after a look at c's state, or until the timer fires.
func waitNews(ctx context.Context, news <-chan struct{}, timer <-chan time.Time) (ok bool, err error) {
	select {
	case <-news:
		return true, nil
	case <-timer:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
