package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/file/textfile"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// Limits of a preview.
const (
	previewLines = 40
	previewRead  = 1 << 20 // limit of a file that is compared, in bytes
	previewTime  = 2 * time.Second
)

// Present describes a file before a call that would change it.
type Present struct {
	Exists bool
	Text   *textfile.Text // nil: the content cannot be shown
}

// Look reads the file at a path for a preview. Text is nil for a file that the policy
// denies, that is large or slow to read, or that is not text.
func Look(ctx context.Context, env *tools.Env, path string) Present {
	data, err := bounded.Do(ctx, previewTime, func(context.Context) ([]byte, error) {
		f, _, err := env.Files.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, previewRead+1))
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Present{}
	case err != nil || len(data) > previewRead:
		return Present{Exists: true}
	}
	text, err := textfile.DecodeFile(data, Hint(env.Files, path, data))
	if err != nil {
		return Present{Exists: true}
	}
	return Present{Exists: true, Text: text}
}

// PreviewChange returns a preview of the changes of a text.
func PreviewChange(path string, before, after *textfile.Text) tools.Preview {
	hunks := Diff(before.String(), after.String())
	notes := Form(before, after)
	switch {
	case slices.ContainsFunc(hunks, func(h Hunk) bool { return h.Omitted }):
		return PreviewText(plain.Text(path)+", its new content, since too much changes to compare", after.String(), notes...)
	case len(hunks) == 0 && bytes.Equal(before.Bytes(), after.Bytes()):
		return tools.Preview{Text: plain.Text(path) + " has this content already.\n"}
	case len(hunks) == 0 && len(notes) == 0:
		notes = []string{"only characters that end lines change"}
	}
	v := newExcerpt(plain.Text(path)+", what changes", notes)
	v.hunks(hunks)
	return v.preview()
}

// PreviewText returns a preview of a text that is added. The heading must be safe to show.
func PreviewText(heading, text string, notes ...string) tools.Preview {
	v := newExcerpt(heading, notes)
	v.text("+", text)
	return v.preview()
}

// PreviewReplacement returns a preview of a text that replaces another, for a file that
// cannot be compared.
func PreviewReplacement(heading, before, after string, notes ...string) tools.Preview {
	v := newExcerpt(heading, notes)
	hunks := Diff(ended(before), ended(after))
	if slices.ContainsFunc(hunks, func(h Hunk) bool { return h.Omitted }) {
		v.text("+", after)
	}
	v.hunks(hunks)
	return v.preview()
}

// ended returns a text with a newline at its end.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// excerpt collects the beginning of a preview, and counts the lines that do not fit.
type excerpt struct {
	b       strings.Builder
	lines   int
	omitted map[string]int // lines that do not fit, by sign
	cut     bool
}

func newExcerpt(heading string, notes []string) *excerpt {
	v := &excerpt{omitted: map[string]int{}}
	v.b.WriteString(heading + ":\n")
	for _, n := range notes {
		v.b.WriteString("[" + plain.Text(n) + "]\n")
	}
	return v
}

func (v *excerpt) full() bool { return v.lines >= previewLines || v.b.Len() > maxShown }

// line adds a line. A line that is too long is truncated to the part around an offset.
func (v *excerpt) line(sign, l string, around int) {
	if v.full() {
		v.omitted[sign]++
		return
	}
	shown := Plain(l)
	short := cut(shown, around)
	v.cut = v.cut || short != shown
	v.b.WriteString(sign + short + "\n")
	v.lines++
}

func (v *excerpt) text(sign, text string) {
	for text != "" && !v.full() {
		l, rest, _ := strings.Cut(text, "\n")
		v.line(sign, l, 0)
		text = rest
	}
	v.omitted[sign] += count(text)
}

func (v *excerpt) hunks(hunks []Hunk) {
	for _, h := range hunks {
		if !v.full() {
			v.line("", fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines), 0)
		}
		pairs := h.pairs()
		for i, l := range h.Lines {
			at := 0
			if other, ok := pairs[i]; ok && len(l) > maxLine && !v.full() {
				at = differs(l[1:], h.Lines[other][1:])
			}
			v.line(l[:1], l[1:], at)
		}
	}
}

func (v *excerpt) preview() tools.Preview {
	added, gone := v.omitted["+"], v.omitted["-"]
	left := added + gone + v.omitted[" "]
	if left > 0 {
		fmt.Fprintf(&v.b, "[%s not shown: %d added, %d removed]\n", Plural(left, "more line"), added, gone)
	}
	return tools.Preview{Text: v.b.String(), Partial: left > 0 || v.cut}
}
