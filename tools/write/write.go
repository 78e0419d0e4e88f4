// Package write provides the Write tool, which creates a file or replaces its whole
// content.
package write

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/file/textfile"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Input holds the arguments of a call.
type Input struct {
	FilePath string `json:"file_path" minLength:"1" jsonschema:"The file: absolute, starting with ~, or relative to the working directory"`
	Content  string `json:"content" jsonschema:"The complete content"`
}

// Output describes the effect of a call on the file.
type Output struct {
	Type     string `json:"type" enum:"create,update,unchanged" jsonschema:"Whether the file was created, replaced, or had this content already"`
	FilePath string `json:"filePath" jsonschema:"The file, absolute"`
	Size     int    `json:"size" jsonschema:"Size of the file in bytes"`

	text string
}

//go:embed prompt.md
var prompt string

// New returns the tool.
func New(o file.Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:        "Write",
		Title:       "Write file",
		Prompt:      prompt,
		SearchHint:  "create save overwrite a file with new content",
		Description: func(in Input) string { return "Write " + in.FilePath },
		Loading:     tools.LoadAlways,
		View:        tools.ViewDiff,
		Summary: func(in Input, r tools.Result[Output]) string {
			if r.Data.Type == "unchanged" {
				return in.FilePath + " is unchanged"
			}
			return r.Did.Summary(in.FilePath)
		},
		IsDestructive: tools.Always[Input](),
		IsIdempotent:  tools.Always[Input](),
		Path:          func(in Input) string { return in.FilePath },
		Prepare:       prepare,
		Preview:       preview,
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			return run(ctx, env, in, o)
		},
		Render: func(o Output) []tools.Content { return file.Shown(o.text) },
	})
}

func prepare(env *tools.Env, in Input) (Input, error) {
	file.CompleteTarget(env, &in.FilePath, true)
	return in, file.CheckTarget(in.FilePath)
}

// preview compares the new content with the present content of the file.
func preview(ctx context.Context, env *tools.Env, in Input) tools.Preview {
	shown, old := plain.Text(in.FilePath), file.Look(ctx, env, in.FilePath)
	if !old.Exists {
		return file.PreviewText(shown+", a new file", in.Content)
	}
	after, err := textfile.Decode([]byte(in.Content))
	if old.Text == nil || err != nil {
		return file.PreviewText(shown+", its new content; the present one cannot be compared", in.Content)
	}
	return file.PreviewChange(in.FilePath, old.Text, after)
}

func run(ctx context.Context, env *tools.Env, in Input, o file.Options) (tools.Result[Output], error) {
	var kept []string
	c, err := o.Change(ctx, env, in.FilePath, func(old file.Old) ([]byte, error) {
		switch {
		case !old.Exists || old.Size == 0 && len(old.Data) == 0 || o.Guard == file.GuardOff || old.Data != nil && string(old.Data) == in.Content:
		case old.Known == file.Unread:
			return nil, file.NotRead(in.FilePath)
		case old.Known == file.Stale:
			return nil, file.StaleFault(in.FilePath, old)
		}
		data, notes, err := form(env, in, old)
		kept = notes
		return data, file.About(in.FilePath, err)
	})
	if err != nil {
		return tools.Result[Output]{}, err
	}
	out := Output{Type: "create", FilePath: in.FilePath, Size: len(c.Data)}
	shown, notes := plain.Line(in.FilePath), append(kept, c.Notes()...)
	var hunks []file.Hunk
	switch {
	case c.Unchanged:
		out.Type, out.text = "unchanged", shown+" has this content already; nothing was written."
	case !c.Old.Exists:
		out.text = file.Answer(fmt.Sprintf("Created %s: %s.", shown, file.Measure(in.Content)), nil, notes)
	default:
		var form []string
		hunks, form = compare(c)
		out.Type = "update"
		out.text = file.Answer(fmt.Sprintf("Wrote %s: %s.", shown, file.Measure(in.Content)), hunks, append(form, notes...))
	}
	r := tools.Result[Output]{Data: out, Effect: c.Effect, Meta: file.Meta(hunks), Did: c.Did(hunks)}
	r.HookFields = func() tools.HookFields {
		f := file.HookChange(c, hunks)
		f.Text("content", in.Content)
		return f
	}
	return r, nil
}

// form returns the content in the encoding and with the line endings of the file, and notes on what
// differs from the input. A new file, or one of ASCII, gets the encoding that it declares.
func form(env *tools.Env, in Input, old file.Old) (data []byte, notes []string, err error) {
	content, enc := in.Content, textfile.UTF8
	before, failed := old.Text()
	if old.Data == nil || failed != nil {
		before = textfile.Encode("", textfile.UTF8)
	}
	if e := before.Endings(); e.CRLF > 0 && e.LF+e.CR == 0 && strings.Contains(content, "\n") && !strings.Contains(content, "\r") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
		notes = append(notes, "line endings are CRLF, as they were")
	}
	switch was := before.Encoding(); {
	case strings.HasPrefix(content, "\ufeff"): // the input decides
	case was != textfile.UTF8:
		enc = was
		if declared := textfile.Declares(content, old.Hint); was.Legacy() && declared.Legacy() {
			enc = declared
		}
	case strings.IndexFunc(before.String(), func(r rune) bool { return r >= utf8.RuneSelf }) < 0:
		hint := textfile.Hint{Path: in.FilePath}
		if !old.Exists {
			hint = file.Hint(env.Files, in.FilePath, nil)
		} else if old.Data != nil {
			hint = old.Hint
		}
		enc = textfile.Declares(content, hint)
	}
	if err := textfile.Misfit("content", content, enc, 1); err != nil {
		return nil, nil, err
	}
	after := textfile.Encode(content, enc)
	if enc != textfile.UTF8 && string(after.Bytes()) != content {
		notes = append(notes, "written as "+enc.String())
	}
	return after.Bytes(), notes, nil
}

// compare returns the changes of the text, and notes on changes of its encoding and line
// endings.
func compare(c file.Changed) (hunks []file.Hunk, form []string) {
	if c.Old.Data == nil {
		return nil, []string{fmt.Sprintf("the old content, %d bytes, was too large to be compared", c.Old.Size)}
	}
	before, err := c.Old.Text()
	if err != nil {
		return nil, []string{"the old content was no text that can be compared"}
	}
	after, err := textfile.DecodeFile(c.Data, c.Old.Hint)
	if err != nil {
		return nil, nil
	}
	return file.Diff(before.String(), after.String()), file.Form(before, after)
}
