// Package wordcount provides WordCount, the example of ARCHITECTURE.md, "Add a tool". Only
// its test uses it: it is not in the list of built-in tools.
package wordcount

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"unicode"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Input holds the arguments of a call.
type Input struct {
	FilePath string `json:"file_path" minLength:"1" jsonschema:"The file: absolute, starting with ~, or relative to the working directory"`
}

// Output holds the counts of a file.
type Output struct {
	Lines      int `json:"lines" jsonschema:"Lines; a last one needs no newline"`
	Words      int `json:"words" jsonschema:"Words, between white space"`
	Characters int `json:"characters" jsonschema:"Unicode characters, newlines included"`
}

//go:embed prompt.md
var prompt string

// New returns the tool. A tool that needs a service of the server takes it in Options.
func New() *tools.Tool {
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:              "WordCount",
		Title:             "Count words",
		Prompt:            prompt,
		SearchHint:        "count words lines and characters of a file",
		Description:       func(in Input) string { return "Count the words of " + in.FilePath },
		Loading:           tools.LoadDeferred,
		IsReadOnly:        tools.Always[Input](),
		IsConcurrencySafe: tools.Always[Input](),
		IsIdempotent:      tools.Always[Input](),
		Path:              func(in Input) string { return in.FilePath },
		Prepare:           prepare,
		Call:              run,
		Render:            func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text()}} },
	})
}

func (o Output) text() string {
	return fmt.Sprintf("%d lines, %d words, %d characters", o.Lines, o.Words, o.Characters)
}

func prepare(env *tools.Env, in Input) (Input, error) {
	file.CompletePath(env, &in.FilePath)
	return in, file.CheckPath(in.FilePath)
}

// errBinary reports a file that is not text.
var errBinary = errors.New("binary file")

func run(ctx context.Context, env *tools.Env, in Input) (r tools.Result[Output], err error) {
	f, _, err := env.Files.Open(in.FilePath)
	if err != nil {
		return r, file.OpenError(env, in.FilePath, err) // says what to do about a folder or a missing file
	}
	defer f.Close()
	r.Data, err = count(ctx, f)
	switch {
	case errors.Is(err, errBinary):
		return r, &tools.Fault{Fact: plain.Line(in.FilePath) + " is a binary file", Next: "Name a text file."}
	case ctx.Err() != nil:
		return r, ctx.Err()
	case err != nil:
		return r, file.ReadError(plain.Line(in.FilePath), err)
	}
	return r, nil
}

// count counts until the end of the text. It looks at ctx from time to time, because a large
// file must not outlive its caller.
func count(ctx context.Context, text io.Reader) (o Output, err error) {
	in, inWord, last := bufio.NewReader(text), false, '\n'
	for {
		c, _, err := in.ReadRune()
		switch {
		case err == io.EOF:
			if last != '\n' {
				o.Lines++
			}
			return o, nil
		case err != nil:
			return o, err
		case c == 0:
			return o, errBinary
		}
		if o.Characters++; o.Characters%4096 == 0 && ctx.Err() != nil {
			return o, ctx.Err()
		}
		if c == '\n' {
			o.Lines++
		}
		word := !unicode.IsSpace(c)
		if word && !inWord {
			o.Words++
		}
		inWord, last = word, c
	}
}
