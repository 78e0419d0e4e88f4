//go:build unix

package tools

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestActivity checks the texts of a call that runs and of one that has run.
func TestActivity(t *testing.T) {
	own, other := &Tool{Name: "X", Title: "X"}, &Tool{Name: "s__make", Title: "Make\n\"it\u202e", Server: "s"}
	for _, c := range []struct {
		name        string
		p           Prepared
		resp        Response
		doing, done string
	}{
		{"a path below the folder", Prepared{Tool: own, Summary: "Read /w/a/b.go", Path: "/w/a/b.go"}, Response{}, "Reading a/b.go", "Read a/b.go"},
		{"the folder", Prepared{Tool: own, Summary: "Find x in /w", Path: "/w"}, Response{}, "Finding x in w", "Found x in w"},
		{"a pattern with the folder", Prepared{Tool: own, Summary: "Search for /w/a in /w", Path: "/w"}, Response{}, "Searching for /w/a in w", "Searched for /w/a in w"},
		{"a path beside it", Prepared{Tool: own, Summary: "Read /wide/a", Path: "/wide/a"}, Response{}, "Reading /wide/a", "Read /wide/a"},
		{"the root", Prepared{Tool: own, Summary: "Find x in /", Path: "/"}, Response{}, "Finding x in /", "Found x in /"},
		{"a verb alone, failed", Prepared{Tool: own, Summary: "Stop"}, Response{Failed: true}, "Stopping", "Stopped: failed"},
		{"a verb before a colon", Prepared{Tool: own, Summary: "Find: colour"}, Response{}, "Finding: colour", "Found: colour"},
		{"no verb", Prepared{Tool: own, Summary: "Reads the thing"}, Response{}, "Reads the thing", "Reads the thing"},
		{"nothing", Prepared{Tool: own}, Response{}, "", ""},
		{"a summary of the tool", Prepared{Tool: own, Summary: "Read /w/a", Path: "/w/a"}, Response{Summary: "Read 2 lines of /w/a", Failed: true}, "Reading a", "Read 2 lines of a"},
		{"hidden characters", Prepared{Tool: own, Summary: "Run a\x1b[31m\nb\u202e"}, Response{}, `Running a\x1b[31m\nb\u202e`, `Ran a\x1b[31m\nb\u202e`},
		{"of another server", Prepared{Tool: other, Summary: "what the server s calls"}, Response{}, `Calling "Make\n\"it\u202e" of the server s`, `Called "Make\n\"it\u202e" of the server s`},
	} {
		if got := c.p.Activity("/w"); got != c.doing {
			t.Errorf("%s: %q, want %q", c.name, got, c.doing)
		}
		if got := c.p.Done(&c.resp, "/w"); got != c.done {
			t.Errorf("%s: done %q, want %q", c.name, got, c.done)
		}
	}
	long := (&Prepared{Tool: own, Summary: "Run " + strings.Repeat("ä", 1000)}).Activity("/w")
	if n := utf8.RuneCountInString(long); n != maxLine || !utf8.ValidString(long) {
		t.Errorf("%d characters: %q", n, long)
	}
}

// TestPartly checks that the summary of an incomplete search has a note.
func TestPartly(t *testing.T) {
	if got := Partly("2 files", "time was up") + "|" + Partly("2 files", ""); got != "2 files; not everything was searched|2 files" {
		t.Error(got)
	}
}

// TestCount checks numbers with nouns, and durations.
func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 lines": Count(0, "line"), "1 match": Count(1, "match"), "2 matches": Count(2, "match"), "999 files": Count(999, "file"),
		"1,000 files": Count(1000, "file"), "12,345,678 entries": Count(12345678, "entry"),
		"0.0 s": Took(time.Millisecond), "2.3 s": Took(2345 * time.Millisecond), "59 s": Took(59 * time.Second), "2 min 5 s": Took(125 * time.Second),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
