package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/terminal"
	"mcp-toolset/tools"
)

// isDiff reports whether the text of a result has the diff of a file.
func isDiff(result json.RawMessage) bool {
	var r struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	return json.Unmarshal(result, &r) == nil && r.Meta[tools.MetaHunks] != nil
}

// printContent prints a result for the user: text as reads returns it, other content as a
// description.
func printContent(c screen, content []tools.Content, diff, failed bool) error {
	for i, block := range content {
		var err error
		switch b := block.(type) {
		case tools.Text:
			_, err = fmt.Fprintln(c.out, c.reads(b.Text, diff && i == 0, failed && i == 0))
		case tools.Image:
			_, err = fmt.Fprintf(c.out, "[image %s, %d bytes; --json shows it]\n", b.MIMEType, len(b.Data))
		case tools.Audio:
			_, err = fmt.Fprintf(c.out, "[sound %s, %d bytes; --json shows it]\n", b.MIMEType, len(b.Data))
		case tools.ResourceLink:
			_, err = fmt.Fprintf(c.out, "[link %s %s]\n", c.reads(b.Name, false, false), c.reads(b.URI, false, false))
		case tools.Resource:
			if _, err = fmt.Fprintf(c.out, "[resource %s %s, %d bytes]\n", c.reads(b.URI, false, false), b.MIMEType, len(b.Text)+len(b.Blob)); b.Text != "" {
				_, err2 := fmt.Fprintln(c.out, c.reads(b.Text, false, false))
				err = errors.Join(err, err2)
			}
		}
		if err != nil {
			return fmt.Errorf("printing the result: %w", err)
		}
	}
	return nil
}

// printJSON prints a JSON text with indents. On a terminal, characters that control it or are
// invisible are JSON escapes.
func (c screen) printJSON(raw []byte) error {
	if c.terminal {
		safe, err := plain.JSON(raw)
		if err != nil {
			return fmt.Errorf("printing the result: %w", err)
		}
		raw = []byte(safe)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return say(c.out, b.String()+"\n")
}

// reads returns a text of a result as people read it. On a terminal, characters that control the
// terminal or are invisible are escapes, the lines of a diff have colours, and so has the first
// line of an error. For a file or a pipe it returns the text.
func (c screen) reads(text string, diff, failed bool) string {
	if !c.terminal {
		return text
	}
	if text = plain.Lines(text); !c.colour || !diff && !failed {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		style := ""
		switch {
		case failed && i == 0:
			style = red
		case !diff || i == 0:
		case strings.HasPrefix(line, "@@ "):
			style = cyan
		case strings.HasPrefix(line, "+"):
			style = green
		case strings.HasPrefix(line, "-"):
			style = red
		}
		b.WriteString(c.styled(line, style))
	}
	return b.String()
}

// statusLine is a line of a terminal that is replaced and at last erased. nil is none. It is safe
// for concurrent use.
type statusLine struct {
	c      screen
	mu     sync.Mutex
	shown  bool
	closed bool
}

// statusLine returns the line, or nil unless the terminal supports escape sequences.
func (c screen) statusLine() *statusLine {
	if !c.escapes {
		return nil
	}
	return &statusLine{c: c}
}

// show replaces the line by text, as far as it fits.
func (s *statusLine) show(text string) {
	if text = plain.Line(text); s.c.width > 0 {
		text = terminal.CutColumns(text, s.c.width-1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.shown = true
	fmt.Fprint(s.c.out, "\r\x1b[K"+text)
}

// close erases the line. Nothing is shown after that.
func (s *statusLine) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed = true; s.shown {
		fmt.Fprint(s.c.out, "\r\x1b[K")
	}
}
