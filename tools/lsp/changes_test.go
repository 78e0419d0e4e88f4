package lsp

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/tools/edit"
)

// TestNotes checks what follows an edit: the problems that it caused, in this file and in
// others that are known, and how many it fixed, if a server runs. Late ones are an event.
func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalls(t, map[string]string{"a.toy": "def Alpha\nold BAD\n", "b.txt": "x\n", "c.toy": "é😀😀 needs Gamma\n"})
		defer c.o.Servers.Close()
		events := event.New()
		o := c.o.Change
		o.Notify = Notifier(c.o.Servers, events)
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

// TestManyNotes checks that at most ten problems are listed.
func TestManyNotes(t *testing.T) {
	c := newCalls(t, map[string]string{"a.toy": "x\n"})
	o := c.o.Change
	o.Notify = Notifier(c.o.Servers, event.New())
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
