package grep

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

func itoa(n int) string { return strconv.Itoa(n) }

// pageOf searches a text for lines with x, with context, and returns the offset of the next
// page from the answer.
func pageOf(t *testing.T, text string, numbers bool, offset int) (o Output, next int) {
	t.Helper()
	w := toolstest.NewWorkspace(t)
	if err := os.WriteFile(filepath.Join(w.Root, "f"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(map[string]any{"pattern": "x", "path": "f", "output_mode": "content", "-C": 1, "-n": numbers, "head_limit": 1000, "offset": offset})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.Call(t.Context(), New(Options{}), string(args))
	if err != nil {
		t.Fatal(err)
	}
	data, err := resp.Structured()
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.text = toolstest.Text(resp)
	if m := regexp.MustCompile(`go on with offset (\d+)\]$`).FindStringSubmatch(o.text); m != nil {
		next, _ = strconv.Atoi(m[1])
	} else if strings.HasSuffix(o.text, "of 301]") {
		next = 301
	} else {
		t.Fatalf("the end is %q", o.text[max(0, len(o.text)-200):])
	}
	return o, next
}

// TestRoomForFiles checks that lists of files are limited by room.
func TestRoomForFiles(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	dir := filepath.Join(w.Root, strings.Repeat("d", 200), strings.Repeat("e", 200))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 120 {
		if err := os.WriteFile(filepath.Join(dir, strings.Repeat("f", 50)+itoa(i)), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for mode, n := range map[string]int{"files_with_matches": 79, "count": 78} {
		resp, err := w.Call(t.Context(), New(Options{}), `{"pattern": "x", "output_mode": "`+mode+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		text := toolstest.Text(resp)
		if want := "[files 1 to " + itoa(n) + " of 120; go on with offset " + itoa(n) + "]"; len(text) > longest || !strings.HasSuffix(text, want) {
			t.Errorf("%s: %d characters, the end is %q", mode, len(text), text[len(text)-200:])
		}
		data, err := resp.Structured()
		var o Output
		if err != nil || json.Unmarshal(data, &o) != nil || len(o.Files) != n || mode == "count" && len(o.Counts) != n {
			t.Errorf("%s: %d files, %d counts, %v", mode, len(o.Files), len(o.Counts), err)
		}
		// If all entries are requested, the result is complete, to be stored.
		resp, err = w.Call(t.Context(), New(Options{}), `{"pattern": "x", "head_limit": 0, "output_mode": "`+mode+`"}`)
		if err != nil || strings.Count(toolstest.Text(resp), "ffff0") != strings.Count(toolstest.Text(resp), "ffff119") || len(toolstest.Text(resp)) < longest {
			t.Errorf("%s: all of it has %d characters, %v", mode, len(toolstest.Text(resp)), err)
		}
	}
}

// TestContentOfAll checks that all lines have the same form as a page of them, with and
// without notes after them.
func TestContentOfAll(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	if err := os.WriteFile(filepath.Join(w.Root, "f"), []byte("x\ny\nx\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ offset, want string }{{"0", "f:1:x\nf:3:x\n"}, {"1", "f:3:x\n"}} {
		for _, limit := range []string{"0", "9"} {
			resp, err := w.Call(t.Context(), New(Options{}), `{"pattern":"x","output_mode":"content","head_limit":`+limit+`,"offset":`+c.offset+`}`)
			if err != nil {
				t.Fatal(err)
			}
			var out Output
			data, err := resp.Structured()
			if err == nil {
				err = json.Unmarshal(data, &out)
			}
			if err != nil || out.Content != c.want {
				t.Errorf("head_limit %s, offset %s: %q, %v", limit, c.offset, out.Content, err)
			}
		}
	}
}

// TestGapOfAll checks that a line that looks like a gap is unchanged if all lines are
// requested.
func TestGapOfAll(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	if err := os.WriteFile(filepath.Join(w.Root, "f"), []byte("--\nx\n\n\n\nx\n--\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	resp, err := w.Call(t.Context(), New(Options{}), `{"pattern":"x","path":"f","output_mode":"content","head_limit":0,"-n":false,"-C":1}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := toolstest.Text(resp); got != "--\nx\n\n--\n\nx\n--" {
		t.Errorf("%q", got)
	}
}

// discarding records that a text was discarded.
type discarding struct {
	tools.Long
	done bool
}

// storage stores one text.
type storage struct {
	tools.Results
	text tools.Long
}

func (s storage) Long() tools.Long { return s.text }

func (d *discarding) Discard() { d.done = true }

// TestDiscard checks that a failed search discards the text that it began.
func TestDiscard(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	env, text := w.Env(), new(discarding)
	env.Results = storage{text: text}
	call, err := New(Options{}).Parse(json.RawMessage(`{"pattern":"x","path":"none","output_mode":"content","head_limit":0}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := toolstest.Prepare(t, call, env).Run(t.Context(), env); err == nil || !text.done {
		t.Errorf("%v, discarded: %t", err, text.done)
	}
}
