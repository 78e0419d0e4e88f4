// Package output provides the tool SyntheticOutput, with which a model returns its final result
// in the form of a schema of the user.
package output

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// Options holds the schema of the result and the places where results go.
type Options struct {
	Schema *tools.ObjectSchema // nil: the tool is not offered
	File   string              // file that the last result is written to, absolute; "": none
	Locks  *filelock.Locks
}

// Input holds the arguments of SyntheticOutput, which are any object that meets the schema.
type Input struct{ value json.RawMessage }

// UnmarshalJSON implements json.Unmarshaler.
func (i *Input) UnmarshalJSON(data []byte) error {
	i.value = bytes.Clone(data)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (i Input) MarshalJSON() ([]byte, error) {
	if i.value == nil {
		return []byte("{}"), nil
	}
	return i.value, nil
}

// Output describes what has become of the result.
type Output struct {
	Stored  string `json:"stored" jsonschema:"Folder with the result in its only file"`
	Written bool   `json:"written" jsonschema:"Whether the result was written to the file of the user"`
}

//go:embed prompt.md
var prompt string

// New returns the tool SyntheticOutput.
func New(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:         "SyntheticOutput",
		Aliases:      []string{"StructuredOutput"},
		Title:        "Return the final result",
		Prompt:       prompt,
		Object:       o.Schema,
		Loading:      tools.LoadDeferred,
		SearchHint:   "structured output return final result by JSON schema",
		Description:  func(Input) string { return "Return the final result" },
		IsReadOnly:   tools.Always[Input](), // the file of the user is no file of the workspace
		IsIdempotent: tools.Always[Input](),
		IsEnabled: func() error {
			if o.Schema == nil {
				return errors.New("the server was started without --output-schema")
			}
			return nil
		},
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			out, err := o.put(ctx, env, in.value)
			return tools.Result[Output]{Data: out, Private: true}, err
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text()}} },
	})
}

// put stores a result for the session and writes it to the file.
func (o Options) put(ctx context.Context, env *tools.Env, value json.RawMessage) (Output, error) {
	out := Output{Written: o.File != ""}
	text, done := string(value)+"\n", false
	var err error
	out.Stored, _, err = env.Results.SaveParts("final", fmt.Sprintf("final-%x", sha256.Sum256(value)), func() (string, error) {
		if done {
			return "", io.EOF
		}
		done = true
		return text, nil
	})
	if err != nil {
		return out, fault.New("the result could not be stored: "+plain.Line(err.Error()), "Ask the user to make room in the state folder of the server, then call again.")
	}
	if out.Written {
		if err := o.write(ctx, text); err != nil {
			return out, fault.New("the result could not be written to the file of the user: "+plain.Line(err.Error()), "Ask the user to correct that, then call again.")
		}
	}
	return out, nil
}

// write replaces the file. The permissions of an existing one stay.
func (o Options) write(ctx context.Context, text string) error {
	release, err := o.Locks.Lock(ctx, o.File)
	if err != nil {
		return err
	}
	defer release()
	mode := os.FileMode(0o600)
	if info, err := os.Stat(o.File); err == nil {
		mode = info.Mode().Perm()
	}
	return state.ReplaceAs(o.File, []byte(text), mode)
}

// text describes an output for the model.
func (o Output) text() string {
	if o.Written {
		return "The final result fits the schema and is written to the file of the user. A later call replaces it."
	}
	return "The final result fits the schema and is stored. A later call replaces it."
}
