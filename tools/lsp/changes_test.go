package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/tools/edit"
)

const noticeTime = 2 * time.Second

// TestNotes checks what follows an edit: the problems that it caused, in this file and in
// others that are known, and how many it fixed, if a server runs. Late ones are an event.
func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalls(t, map[string]string{"a.toy": "def Alpha\nold BAD\n", "b.txt": "x\n", "c.toy": "é😀😀 needs Gamma\n"})
		defer c.o.Servers.Close()
		events := event.New()
		o := c.o.Change
		o.Notify = Notifier(c.o.Servers, events, noticeTime)
		change := func(path, from, to string) string {
			t.Helper()
			r, err := c.w.Call(t.Context(), edit.New(o), `{"file_path": "`+path+`", "old_string": "`+from+`", "new_string": "`+to+`"}`)
			if err != nil {
				t.Fatal(err)
			}
			_, notes, _ := strings.Cut(c.w.Placed(text(r)), "\n[")
			return notes
		}
		if notes := change("a.toy", "Alpha", "Beta"); notes != "" || len(c.o.Servers.Running()) != 0 {
			t.Errorf("without a server: %q", notes)
		}
		if _, err := c.call("LSP", map[string]any{"operation": "diagnostics", "filePath": "a.toy"}); err != nil {
			t.Fatal(err)
		}
		if notes := change("a.toy", "Beta", "Beta BAD and BAD"); notes != "toy-ls: this caused 1 problem:\n  a.toy:1:10: error: this is bad [toy 7]]" {
			t.Errorf("a problem: %q", notes)
		}
		if notes := change("a.toy", "Beta", "Gamma"); notes != "" {
			t.Errorf("again: %q", notes)
		}
		if notes := change("a.toy", " BAD and BAD\\nold BAD", ""); notes != "toy-ls: this fixed 2 problems]" {
			t.Errorf("fixed: %q", notes)
		}
		if _, err := c.call("LSP", map[string]any{"operation": "diagnostics", "filePath": "c.toy"}); err != nil {
			t.Fatal(err)
		}
		if notes := change("a.toy", "Gamma", "Delta"); notes != "toy-ls: this caused 1 problem:\n  c.toy:1:5: error: there is no Gamma]" {
			t.Errorf("in another file: %q", notes)
		}
		if notes := change("a.toy", "Delta", "Gamma"); notes != "toy-ls: this fixed 1 problem]" {
			t.Errorf("fixed in another file: %q", notes)
		}
		if notes := change("b.txt", "x", "BAD"); notes != "" {
			t.Errorf("no file of the server: %q", notes)
		}
		if notes := change("a.toy", "Gamma", "Gamma END BAD"); notes != "" {
			t.Errorf("the server ends: %q", notes)
		}
		if notes := change("a.toy", "Gamma END BAD", "Gamma"); notes != "" {
			t.Errorf("no server: %q", notes)
		}
		if _, err := c.call("LSP", map[string]any{"operation": "diagnostics", "filePath": "a.toy"}); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if notes := change("a.toy", "Gamma", "Gamma SLOW BAD"); notes != "" || time.Since(begin) != noticeTime {
			t.Errorf("slow: %q after %v", notes, time.Since(begin))
		}
		if events.Pending(c.w.Env().Session.Owner()) {
			t.Error("an event before its time")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		list, _ := events.Take(c.w.Env().Session.Owner())
		if len(list) != 1 || !list[0].Data || list[0].Text != "After the change of a.toy: toy-ls: this caused 1 problem:\n  a.toy:1:16: error: this is bad [toy 7]" {
			t.Errorf("%+v", list)
		}
	})
}

// TestLearned checks that a file that was read, or asked about, is compared with what it had
// before a change: the first change of a file shows what it causes in lines and files that did not change.
func TestLearned(t *testing.T) {
	for _, look := range []string{"", "Read", "LSP", "Read before another change"} {
		synctest.Test(t, func(t *testing.T) {
			c := newCalls(t, map[string]string{"a.toy": "def Gamma\nneeds Gamma\n", "b.toy": "needs Gamma\n", "x.toy": "x\n"})
			defer c.o.Servers.Close()
			change, learn := c.o.Change, Learner(c.o.Servers)
			change.Notify = Notifier(c.o.Servers, event.New(), noticeTime)
			if learn(c.w.Env(), filepath.Join(c.w.Root, "a.toy")); len(c.o.Servers.Running()) > 0 {
				t.Error("a read starts a server")
			}
			if look == "LSP" {
				c.o.Learn = learn
			}
			for _, name := range []string{"x.toy", "a.toy", "b.toy"} {
				if _, err := c.call("LSP", map[string]any{"operation": "documentSymbol", "filePath": name}); err != nil {
					t.Fatal(err)
				}
				if look != "LSP" {
					break
				}
			}
			if strings.HasPrefix(look, "Read") {
				learn(c.w.Env(), filepath.Join(c.w.Root, "a.toy"))
				learn(c.w.Env(), filepath.Join(c.w.Root, "b.toy"))
			}
			synctest.Wait()
			if look == "Read before another change" {
				if err := os.WriteFile(filepath.Join(c.w.Root, "x.toy"), []byte("another\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := c.call("LSP", map[string]any{"operation": "documentSymbol", "filePath": "x.toy"}); err != nil {
					t.Fatal(err)
				}
			}
			r, err := c.w.Call(t.Context(), edit.New(change), `{"file_path": "a.toy", "old_string": "def Gamma", "new_string": "def Delta"}`)
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if look != "" {
				want = "toy-ls: this caused 2 problems:\n  a.toy:2:1: error: there is no Gamma\n  b.toy:1:1: error: there is no Gamma]"
			}
			if _, notes, _ := strings.Cut(c.w.Placed(text(r)), "\n["); notes != want {
				t.Errorf("after %q: %q", look, notes)
			}
		})
	}
}

// TestChangedMeanwhile checks that a question about a file that changes after it was read is asked
// again, about the present content, and once.
func TestChangedMeanwhile(t *testing.T) {
	c := newCalls(t, map[string]string{"a.toy": "x\n"})
	t.Cleanup(func() { whileStarting = func() {} })
	whileStarting = func() {
		if err := os.WriteFile(filepath.Join(c.w.Root, "a.toy"), []byte("xx\nBAD\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
	got, err := c.call("LSP", map[string]any{"operation": "diagnostics", "filePath": "a.toy"})
	if err != nil || got != "a.toy:2:1: error: this is bad [toy 7]" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLacks checks that an answer names what the server could not read or reach, where that may
// be the reason for it, and only then.
func TestLacks(t *testing.T) {
	c := newCalls(t, map[string]string{"a.toy": "def Alpha\nBAD\n", "b.toy": "x\n", "c.toy": "x\n", "other.txt": "x\n"})
	t.Cleanup(func() { lacking.hidden, lacking.unreached = nil, nil })
	ask := func(operation, file string) string {
		t.Helper()
		args := map[string]any{"operation": operation, "filePath": file}
		if operation == "goToDefinition" {
			args["line"], args["character"] = 1, 1
		}
		got, err := c.call("LSP", args)
		if err != nil {
			t.Fatal(err)
		}
		_, notes, _ := strings.Cut(got, "\n[")
		return notes
	}
	const hides = "the rules hide files of the project from toy-ls, so that names or imports may seem to be missing]"
	for _, step := range []struct {
		hidden                  string
		unreached               []string
		problems, none, nothing string
	}{
		{"", nil, "", "", ""},
		{"other.txt", nil, "", "", ""},
		{"gone.toy", nil, "", "", ""},
		{"c.toy", nil, hides, "", hides},
		{"c.toy", []string{"no rule"}, hides + "\n[toy-ls did not connect: no rule]", "", hides + "\n[toy-ls did not connect: no rule]"},
	} {
		lacking.hidden, lacking.unreached = nil, step.unreached
		if step.hidden != "" {
			lacking.hidden = []string{filepath.Join(c.w.Root, step.hidden)}
		}
		_ = c.o.Servers.Close()
		c.o = newOptions(t, c.w)
		if got := ask("diagnostics", "a.toy"); got != step.problems {
			t.Errorf("%+v: problems: %q", step, got)
		}
		if got := ask("diagnostics", "b.toy"); got != step.none {
			t.Errorf("%+v: no problems: %q", step, got)
		}
		if got := ask("goToDefinition", "b.toy"); got != step.nothing {
			t.Errorf("%+v: nothing found: %q", step, got)
		}
	}
}

// TestManyNotes checks that at most ten problems are listed.
func TestManyNotes(t *testing.T) {
	c := newCalls(t, map[string]string{"a.toy": "x\n"})
	o := c.o.Change
	o.Notify = Notifier(c.o.Servers, event.New(), noticeTime)
	if _, err := c.call("LSP", map[string]any{"operation": "documentSymbol", "filePath": "a.toy"}); err != nil {
		t.Fatal(err)
	}
	r, err := c.w.Call(t.Context(), edit.New(o), `{"file_path": "a.toy", "old_string": "x", "new_string": "`+strings.Repeat(`BAD\n`, 30)+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(r); strings.Count(got, "this is bad") != maxNew || !strings.Contains(got, "caused 30 problems") || !strings.HasSuffix(got, "\n  and 20 more]") {
		t.Error(got)
	}
}
