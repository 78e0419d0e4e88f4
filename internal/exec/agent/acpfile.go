package agent

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/coder/acp-go-sdk"
)

const (
	// maxRead is the limit of a file that a program reads through the protocol, in bytes.
	maxRead = 1 << 20
	// readLines is the number of lines of a call of Read.
	readLines = 1000
)

// ReadTextFile reads a file with calls of Read.
func (h *host) ReadTextFile(ctx context.Context, p acp.ReadTextFileRequest) (out acp.ReadTextFileResponse, err error) {
	ctx, done, err := h.enter(ctx)
	if err != nil {
		return out, err
	}
	defer done(&err)
	line, left := 1, -1
	if p.Line != nil {
		line = max(1, *p.Line)
	}
	if p.Limit != nil {
		left = max(0, *p.Limit)
	}
	var b strings.Builder
	for most := readLines; left != 0; {
		n := most
		if left > 0 {
			n = min(n, left)
		}
		page, err := h.page(ctx, p.Path, line, n)
		switch {
		case err != nil:
			return out, err
		case page.Type != "text":
			return out, problem("it is no text file")
		case page.LeftOut != nil && n > 1:
			most = max(1, n/4)
			continue
		case page.LeftOut != nil || b.Len()+len(page.Content) > maxRead:
			return out, problem("the text is too long; ask for less with line and limit")
		}
		if b.Len() > 0 && page.NumLines > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(page.Content)
		line += page.NumLines
		if left > 0 {
			left -= page.NumLines
		}
		if page.NumLines == 0 {
			break
		}
		if page.TotalLines >= 0 && line > page.TotalLines {
			b.WriteByte('\n') // Read leaves it out; nearly all files have it
			break
		}
	}
	out.Content = b.String()
	return out, nil
}

// page is the output of Read.
type page struct {
	Type       string          `json:"type"`
	Content    string          `json:"content"`
	NumLines   int             `json:"numLines"`
	TotalLines int             `json:"totalLines"`
	LeftOut    json.RawMessage `json:"leftOut"`
}

// page reads lines of a file. Read answers without them if it has returned them before, and they
// are the same.
func (h *host) page(ctx context.Context, path string, line, lines int) (p page, err error) {
	input := struct {
		Path   string `json:"file_path"`
		Offset int    `json:"offset"`
		Limit  int    `json:"limit"`
	}{path, line, lines}
	resp, err := h.call(ctx, "Read", input, false)
	if err != nil {
		return p, err
	}
	if resp.Structured == nil {
		return p, problem("Read has no output")
	}
	data, err := resp.Structured()
	if err != nil {
		return p, problem(oneLine(err))
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, problem(oneLine(err))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	key := string(raw(input))
	if p.Type == "file_unchanged" {
		had, ok := h.pages[key]
		if !ok {
			return p, problem("the file is unchanged since it was read")
		}
		data = []byte(had)
		return p, json.Unmarshal(data, &p)
	}
	if h.held += len(data); h.held > 8*maxRead {
		clear(h.pages)
		h.held = len(data)
	}
	h.pages[key] = string(data)
	return p, nil
}

// WriteTextFile writes a file with a call of Write.
func (h *host) WriteTextFile(ctx context.Context, p acp.WriteTextFileRequest) (out acp.WriteTextFileResponse, err error) {
	ctx, done, err := h.enter(ctx)
	if err != nil {
		return out, err
	}
	defer done(&err)
	_, err = h.call(ctx, "Write", map[string]string{"file_path": p.Path, "content": p.Content}, false)
	return out, err
}
