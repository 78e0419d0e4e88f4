package grep

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/search"
)

func TestPaged(t *testing.T) {
	for _, tc := range []struct {
		total         int
		more          bool
		mode          search.Mode
		offset, limit int
		want          string
	}{
		{0, false, search.Lines, 0, 250, ""},
		{0, false, search.Lines, 7, 250, ""},
		{5, false, search.Lines, 0, 250, ""},
		{5, false, search.Lines, 0, 5, ""},
		{5, false, search.Lines, 0, 0, ""},
		{5, false, search.Lines, 0, 2, "lines 1 to 2 of 5; go on with offset 2"},
		{5, false, search.Lines, 2, 2, "lines 3 to 4 of 5; go on with offset 4"},
		{5, false, search.Lines, 4, 2, "line 5 of 5"},
		{5, false, search.Lines, 3, 2, "lines 4 to 5 of 5"},
		{5, false, search.Lines, 3, 0, "lines 4 to 5 of 5"},
		{5, false, search.Lines, 5, 2, "offset 5 is past the end: 5 lines in all"},
		{5, false, search.Lines, math.MaxInt, math.MaxInt, "offset 9223372036854775807 is past the end: 5 lines in all"},
		{5, false, search.Lines, 1, math.MaxInt, "lines 2 to 5 of 5"},
		{1, false, search.Counts, 1, 2, "offset 1 is past the end: 1 file in all"},
		{5, true, search.Lines, 0, 5, "lines 1 to 5 of more than 5; go on with offset 5"},
		{9, true, search.Lines, 2, 3, "lines 3 to 5 of more than 9; go on with offset 5"},
		{5, false, search.Names, 0, 1, "file 1 of 5; go on with offset 1"},
		{5, false, search.Counts, 1, 3, "files 2 to 4 of 5; go on with offset 4"},
	} {
		a := &search.Answer{Total: tc.total, More: tc.more}
		if got := paged(a, tc.mode, tc.offset, tc.limit); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

// TestSummaryOfParts checks that the summary of an incomplete search does not look like that of a
// complete one.
func TestSummaryOfParts(t *testing.T) {
	for want, out := range map[string]Output{
		"No matches": {}, "0 matching files; not everything was searched": {Incomplete: "time was up"},
		"at least 2 matching files; not everything was searched": {Total: 2, More: true, Incomplete: "time was up"},
	} {
		if got := out.summary(Input{}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNotes(t *testing.T) {
	const (
		nothing    = "no match in 3 files"
		incomplete = "incomplete: time was up; narrow the search by path, glob or type"
	)
	for _, tc := range []struct {
		name string
		a    search.Answer
		mode search.Mode
		want []string
	}{
		{"nothing", search.Answer{}, search.Lines, []string{nothing}},
		{"no counts", search.Answer{}, search.Counts, []string{nothing}},
		{"all", search.Answer{Matched: 1, Total: 2}, search.Lines, nil},
		{"counts", search.Answer{Matched: 2, Hits: 1, Total: 2}, search.Counts, []string{"1 matching line in 2 files"}},
		{"counts of a page", search.Answer{Matched: 9, Hits: 12, Total: 9}, search.Counts, []string{"12 matching lines in 9 files", "files 1 to 3 of 9; go on with offset 3"}},
		{"late", search.Answer{Incomplete: "time was up"}, search.Names, []string{incomplete}},
		{"late, no counts", search.Answer{Incomplete: "time was up"}, search.Counts, []string{incomplete}},
		{"late, with some", search.Answer{Matched: 1, Hits: 4, Total: 1, Incomplete: "time was up"}, search.Counts, []string{"4 matching lines in 1 file", incomplete}},
		{"unreadable", search.Answer{Matched: 1, Total: 1, Unreadable: 1}, search.Names, []string{"1 file or folder could not be read"}},
		{"several unreadable", search.Answer{Unreadable: 2}, search.Names, []string{nothing, "2 files and folders could not be read"}},
		{"ignored", search.Answer{Matched: 1, Total: 1, Ignored: "/w/build"}, search.Names,
			[]string{"/w/build is left out by a .gitignore or .ignore file; it was searched because path names it"}},
		{"more", search.Answer{Matched: 3, Total: 4, More: true, Unreadable: 1, Ignored: "/w", Incomplete: "time was up"}, search.Lines, []string{
			"lines 1 to 3 of more than 4; go on with offset 3",
			"/w is left out by a .gitignore or .ignore file; it was searched because path names it",
			"1 file or folder could not be read", incomplete}},
	} {
		if diff := cmp.Diff(tc.want, notes(&tc.a, tc.mode, 0, 3, nothing)); diff != "" {
			t.Errorf("%s:\n%s", tc.name, diff)
		}
	}
}

func TestNothing(t *testing.T) {
	for _, tc := range []struct {
		in   Input
		a    search.Answer
		c    chooser
		want string
	}{
		{Input{}, search.Answer{Matched: 1}, chooser{chosen: 1, any: true}, ""},
		{Input{}, search.Answer{}, chooser{chosen: 1, any: true}, "no match in 1 file"},
		{Input{}, search.Answer{}, chooser{chosen: 100, any: true}, "no match in 100 files"},
		{Input{}, search.Answer{}, chooser{chosen: 101, any: true}, "no match in more than 100 files"},
		{Input{}, search.Answer{Unreadable: 1}, chooser{chosen: 3, any: true}, "no match in 2 of 3 files"},
		{Input{}, search.Answer{Unreadable: 4, Closed: 3}, chooser{chosen: 3, any: true}, "no match in 2 of 3 files"},
		{Input{}, search.Answer{Unreadable: 3, Closed: 3}, chooser{chosen: 3, any: true}, "no match in 3 files"},
		{Input{}, search.Answer{Unreadable: 4, Closed: 1}, chooser{chosen: 3, any: true}, "no file was searched: none could be read"},
		{Input{}, search.Answer{}, chooser{}, "no file was searched: there is none in /w"},
		// Files that may not be shown are treated as absent.
		{Input{}, search.Answer{Listed: 2, Picked: 2}, chooser{}, "no file was searched: there is none in /w"},
		{Input{}, search.Answer{IgnoredCount: 1}, chooser{}, "no file was searched: what is in /w is left out by .gitignore or .ignore files (1 entry); to search some of it, name that as path"},
		{Input{Glob: "*.x"}, search.Answer{}, chooser{any: true}, "no file was searched: none in /w matches glob *.x"},
		{Input{Glob: "*.x", Type: "go"}, search.Answer{IgnoredCount: 2}, chooser{any: true},
			"no file was searched: none in /w matches glob *.x and is of type go; not looked at, since .gitignore or .ignore files leave them out: 2 entries"},
	} {
		tc.in.Path = "/w"
		r := searching{in: prepared{Input: tc.in}, answer: &tc.a, c: &tc.c}
		if got := r.noMatchReason(); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
	r := searching{in: prepared{Input: Input{Path: "/w/a"}}, answer: &search.Answer{}, named: true}
	if got := r.noMatchReason(); got != "no match in /w/a" {
		t.Error(got)
	}
}

func TestFit(t *testing.T) {
	for _, tc := range []struct {
		text string
		room int
		gaps bool
		want string
		n    int
	}{
		{"", 5, true, "", 0},
		{"aa\nbb\n", 6, false, "aa\nbb\n", 2},
		{"aa\nbb\n", 5, false, "aa\n", 1},
		{"aa\n--\nbb\n", 8, true, "aa\n", 1}, // no gap at the end
		{"aa\n--\nbb\n", 9, true, "aa\n--\nbb\n", 2},
		{"aa\n--\nbb\n", 8, false, "aa\n--\n", 2}, // a line of a file
		{"aa\n\xFF--\nbb\n", 8, true, "aa\n\xFF--\n", 2},
		{"éé\nbb\n", 6, false, "éé\nbb\n", 2}, // characters, not bytes
	} {
		if got, n := firstEntries([]byte(tc.text), tc.room, tc.gaps); string(got) != tc.want || n != tc.n {
			t.Errorf("%q, %d: %q, %d", tc.text, tc.room, got, n)
		}
	}
}

// TestPagesOfRoom checks that pages limited by room together hold the whole result, and
// that each has its notes.
func TestPagesOfRoom(t *testing.T) {
	text := "--\n" + strings.Repeat(strings.Repeat("x", 400)+"\n--\n", 150)
	for _, numbers := range []bool{true, false} {
		var got string
		offset, pages := 0, 0
		for offset < 301 {
			a, entries := pageOf(t, text, numbers, offset)
			if len(a.text) > longest {
				t.Fatalf("%d characters", len(a.text))
			}
			if n := strings.Count(a.Content, "\n"); offset+n != entries {
				t.Fatalf("numbers %t: %d lines from offset %d on, and the next is %d", numbers, n, offset, entries)
			}
			got, offset, pages = got+a.Content, entries, pages+1
		}
		want := text
		if numbers {
			want = ""
			for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
				sep := ":"
				if line == "--" {
					sep = "-"
				}
				want += itoa(i+1) + sep + line + "\n"
			}
		}
		if got != want || pages < 2 {
			t.Errorf("numbers %t: %d pages are not the whole", numbers, pages)
		}
	}
}
