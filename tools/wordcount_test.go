package tools_test

// This is the example of ARCHITECTURE.md, "Add a tool": a whole tool and its
// three tests. A real one has a package of its own, tools/wordcount.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

type wordCountInput struct {
	FilePath string `json:"file_path" minLength:"1" jsonschema:"The text file to count"`
}

type wordCountOutput struct {
	Lines      int `json:"lines" jsonschema:"Lines; a last one needs no newline"`
	Words      int `json:"words" jsonschema:"Words, between white space"`
	Characters int `json:"characters" jsonschema:"Unicode characters, newlines included"`
}

func newWordCount() *tools.Tool {
	return tools.MustBuild(tools.Def[wordCountInput, wordCountInput, wordCountOutput]{
		Name:              "WordCount",
		Prompt:            "Counts the lines, words and characters of a text file.",
		SearchHint:        "count words lines and characters of a file",
		IsReadOnly:        tools.Always[wordCountInput](),
		IsConcurrencySafe: tools.Always[wordCountInput](),
		IsIdempotent:      tools.Always[wordCountInput](),
		Path:              func(in wordCountInput) string { return in.FilePath },
		Prepare:           prepareWordCount,
		Call:              countWords,
		Render: func(o wordCountOutput) []tools.Content {
			return []tools.Content{tools.Text{Text: fmt.Sprintf("%d lines, %d words, %d characters", o.Lines, o.Words, o.Characters)}}
		},
	})
}

func prepareWordCount(env *tools.Env, in wordCountInput) (wordCountInput, error) {
	in.FilePath = env.Abs(in.FilePath)
	return in, nil
}

func countWords(ctx context.Context, env *tools.Env, in wordCountInput) (tools.Result[wordCountOutput], error) {
	var r tools.Result[wordCountOutput]
	f, _, err := env.Files.Open(in.FilePath)
	if errors.Is(err, fs.ErrNotExist) {
		return r, &tools.Fault{Fact: in.FilePath + " does not exist", Next: "Check the path."}
	} else if err != nil {
		return r, err // a refusal of the policy, or words of the system's own
	}
	defer f.Close()
	text, inWord, last := bufio.NewReader(f), false, '\n'
	for {
		c, _, err := text.ReadRune()
		if err == io.EOF {
			break
		}
		if err != nil {
			return r, fmt.Errorf("reading %s: %w", in.FilePath, err)
		}
		if r.Data.Characters++; r.Data.Characters%4096 == 0 && ctx.Err() != nil {
			return r, ctx.Err() // a large file must not outlive its caller
		}
		if c == '\n' {
			r.Data.Lines++
		}
		word := !unicode.IsSpace(c)
		if word && !inWord {
			r.Data.Words++
		}
		inWord, last = word, c
	}
	if last != '\n' {
		r.Data.Lines++
	}
	return r, nil
}

func TestWordCountRefusesUnknownKeys(t *testing.T) {
	_, err := toolstest.NewWorkspace(t).Call(t.Context(), newWordCount(), `{"file":"a.txt"}`)
	if err == nil || err.Error() != `unknown property "file". Did you mean "file_path"? Known properties: file_path.` {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestWordCountCounts(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `{"lines":0,"words":0,"characters":0}`,
		"one two\nthree":       `{"lines":2,"words":3,"characters":13}`,
		" é  漢字\t\n\n":         `{"lines":2,"words":2,"characters":9}`,
		strings.Repeat("a", 9): `{"lines":1,"words":1,"characters":9}`,
	} {
		w := toolstest.NewWorkspace(t)
		if err := os.WriteFile(filepath.Join(w.Root, "a.txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		resp, err := w.Call(t.Context(), newWordCount(), `{"file_path":"a.txt"}`)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := resp.Structured(); string(got) != want || err != nil {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestWordCountResultText(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	if err := os.WriteFile(filepath.Join(w.Root, "a.txt"), []byte("to be or\nnot to be\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	resp, err := w.Call(t.Context(), newWordCount(), `{"file_path":"a.txt"}`)
	if err != nil || toolstest.Text(resp) != "2 lines, 6 words, 19 characters" {
		t.Errorf("%+v, %v", resp, err)
	}
}
