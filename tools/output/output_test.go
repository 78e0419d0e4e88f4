package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

func schema(t *testing.T) *tools.ObjectSchema {
	t.Helper()
	s, err := tools.NewObjectSchema([]byte(`{"type":"object","required":["title"],"additionalProperties":false,
		"properties":{"title":{"type":"string"},"sizes":{"type":"array","items":{"$ref":"#/$defs/size"}}},"$defs":{"size":{"type":"integer","minimum":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOutput(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	dir := t.TempDir()
	o := Options{Schema: schema(t), File: filepath.Join(dir, "result.json"), Locks: filelock.New(filepath.Join(t.TempDir(), "locks"))}
	call := func(o Options, arguments, want, file string) (stored string) {
		t.Helper()
		resp, err := w.Call(t.Context(), New(o), arguments)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = toolstest.Text(resp)
			raw, err := resp.Structured()
			if err != nil {
				t.Fatal(err)
			}
			var out Output
			if err := json.Unmarshal(raw, &out); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(out.Stored, "part-0001.txt"))
			if err != nil {
				t.Fatal(err)
			}
			stored = string(data)
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", arguments, got, want)
		}
		if data, err := os.ReadFile(o.File); o.File != "" && (string(data) != file || err != nil && file != "") {
			t.Errorf("%s: the file is %q (%v), want %q", arguments, data, err, file)
		}
		return stored
	}
	const written = "The final result fits the schema and is written to the file of the user. A later call replaces it."
	call(o, `{"title":1}`, `property "title" is 1. Send a string.`, "")
	call(o, `{"title":"a","sizes":[1,0]}`, `property "sizes[1]" is 0. The least is 1.`, "")
	call(o, `{}`, `required property "title" is missing. Add it. Known properties: sizes, title.`, "")
	// The value is stored as it was sent.
	if got := call(o, `{"title":"a",  "sizes":[12345678901234567890]}`, written, `{"title":"a",  "sizes":[12345678901234567890]}`+"\n"); got != `{"title":"a",  "sizes":[12345678901234567890]}`+"\n" {
		t.Errorf("stored: %q", got)
	}
	call(o, `{"title":2}`, `property "title" is 2. Send a string.`, `{"title":"a",  "sizes":[12345678901234567890]}`+"\n")
	if got := call(o, `{"title":"b"}`, written, "{\"title\":\"b\"}\n"); got != "{\"title\":\"b\"}\n" {
		t.Errorf("stored: %q", got)
	}
	call(o, `{"title":"b"}`, written, "{\"title\":\"b\"}\n")
	call(Options{Schema: o.Schema}, `{"title":"c"}`, "The final result fits the schema and is stored. A later call replaces it.", "")
	free, err := tools.NewObjectSchema([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := call(Options{Schema: free}, ``, "The final result fits the schema and is stored. A later call replaces it.", ""); got != "{}\n" {
		t.Errorf("a call without arguments stored %q", got)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	gone := o
	gone.File = filepath.Join(dir, "none", "result.json")
	_, err = w.Call(t.Context(), New(gone), `{"title":"d"}`)
	if err == nil || !strings.HasPrefix(err.Error(), "the result could not be written to the file of the user: open ") || !strings.HasSuffix(err.Error(), " Ask the user to correct that, then call again.") {
		t.Error(err)
	}
}

// TestOutputTogether checks that the file holds one whole result of many that are written together.
func TestOutputTogether(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	o := Options{Schema: schema(t), File: filepath.Join(t.TempDir(), "result.json"), Locks: filelock.New(filepath.Join(t.TempDir(), "locks"))}
	tool := New(o)
	const calls = 30
	failed := make(chan error, calls)
	for i := range calls {
		go func() {
			_, err := w.Call(t.Context(), tool, fmt.Sprintf(`{"title":%q}`, strings.Repeat(string(rune('a'+i%26)), 10_000)))
			failed <- err
		}()
	}
	for range calls {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	data, err := os.ReadFile(o.File)
	if err != nil || len(data) != 10_000+len(`{"title":""}`)+1 || strings.Count(string(data), string(data[20])) < 10_000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// TestOutputMode checks that the permissions of the file stay, and that a new one is private.
func TestOutputMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no permissions of this kind")
	}
	w := toolstest.NewWorkspace(t)
	for _, mode := range []os.FileMode{0o666, 0o640, 0o600, 0} {
		o := Options{Schema: schema(t), File: filepath.Join(t.TempDir(), "result.json"), Locks: filelock.New(filepath.Join(t.TempDir(), "locks"))}
		want := os.FileMode(0o600)
		if mode != 0 {
			want = mode
			if err := errors.Join(os.WriteFile(o.File, nil, mode), os.Chmod(o.File, mode)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Call(t.Context(), New(o), `{"title":"a"}`); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(o.File); err != nil || info.Mode().Perm() != want {
			t.Errorf("%v, %v, want %v", info, err, want)
		}
	}
}

func TestNotOffered(t *testing.T) {
	tool := New(Options{})
	registry, err := tools.NewRegistry([]*tools.Tool{tool}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	if list := registry.Listed(tools.DeferOff, nil); len(list) != 0 {
		t.Error("the tool is listed without a schema")
	}
	if _, err := tool.Parse(json.RawMessage(`{"a":1}`)); err == nil || err.Error() != `unknown property "a". Known properties: none.` {
		t.Error(err)
	}
}
