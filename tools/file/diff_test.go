package file

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// apply applies the hunks to before and returns the new text.
func apply(before string, hunks []Hunk) string {
	lines := strings.SplitAfter(before, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out strings.Builder
	at := 0
	for _, h := range hunks {
		for ; at < h.OldStart-1; at++ {
			out.WriteString(lines[at])
		}
		for i, l := range h.Lines {
			end := "\n"
			if i+1 < len(h.Lines) && h.Lines[i+1][0] == '\\' {
				end = ""
			}
			switch l[0] {
			case '+':
				out.WriteString(l[1:] + end)
			case ' ':
				out.WriteString(l[1:] + end)
				at++
			case '-':
				at++
			}
		}
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String()
}

// TestDiffLeadsToTheNewText checks that hunks turn the old text into the new one, and that
// their numbers are right.
func TestDiffLeadsToTheNewText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range rnd.IntN(60) {
			b.WriteString(string("abc"[rnd.IntN(3)]) + "\n")
		}
		if rnd.IntN(2) == 0 {
			b.WriteString("end")
		}
		return b.String()
	}
	for range 2000 {
		before := text()
		after := before
		if rnd.IntN(4) == 0 {
			after = text()
		} else if n := len(before); n > 0 {
			from := rnd.IntN(n)
			to := from + rnd.IntN(min(n-from, 10))
			after = before[:from] + strings.Repeat("x\n", rnd.IntN(3)) + before[to:]
		}
		hunks := Diff(before, after)
		if (hunks == nil) != (before == after) {
			t.Fatalf("%q to %q: %v", before, after, hunks)
		}
		if got := apply(before, hunks); got != after {
			t.Fatalf("%q to %q makes %q:\n%s", before, after, got, Unified(hunks))
		}
		made := strings.Split(after, "\n")
		for _, h := range hunks {
			old, new, at := 0, 0, h.NewStart-1
			for _, l := range h.Lines {
				switch l[0] {
				case ' ', '+':
					if made[at] != l[1:] {
						t.Fatalf("line %d of the new text is %q, not %q", at+1, made[at], l[1:])
					}
					at++
					new++
				}
				if l[0] == ' ' || l[0] == '-' {
					old++
				}
			}
			if old != h.OldLines || new != h.NewLines {
				t.Fatalf("the hunk has %d and %d lines: %+v", old, new, h)
			}
		}
	}
}

// TestDiffOfLargeTexts tests changes near the boundaries of blocks.
func TestDiffOfLargeTexts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var lines []string
	for i := range 3000 {
		lines = append(lines, fmt.Sprint("line ", i, strings.Repeat("x", rnd.IntN(8))))
	}
	before := strings.Join(lines, "\n") + "\n"
	for range 300 {
		from := rnd.IntN(len(before))
		to := min(from+rnd.IntN(30), len(before))
		after := before[:from] + strings.Repeat("y", rnd.IntN(20)) + before[to:]
		hunks := Diff(before, after)
		if got := apply(before, hunks); got != after {
			t.Fatalf("from %d to %d: another text", from, to)
		}
		if n := len(Unified(hunks)); n > 500 {
			t.Fatalf("a diff of a few bytes has %d", n)
		}
	}
}

func TestUnified(t *testing.T) {
	numbers := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", i+1)
		}
		return b.String()
	}
	ten := numbers(10)
	for name, tc := range map[string]struct{ before, after, want string }{
		"nothing":     {ten, ten, ""},
		"one line":    {ten, strings.Replace(ten, "line 5", "LINE 5", 1), "@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+LINE 5\n line 6\n line 7\n line 8\n"},
		"a new file":  {"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		"no newline":  {"a\n", "a", "@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		"too much":    {numbers(40_000), strings.ReplaceAll(numbers(40_000), "line", "LINE"), "@@ -1,40000 +1,40000 @@\n[too much changed to show]\n"},
		"a long line": {"", strings.Repeat("é", 400), "@@ -0,0 +1,1 @@\n+" + strings.Repeat("é", 250) + "…[300 more bytes]\n\\ No newline at end of file\n"},
		"far in a long line": {strings.Repeat("a", 900) + "1" + strings.Repeat("b", 900), strings.Repeat("a", 900) + "2" + strings.Repeat("b", 900),
			"@@ -1,1 +1,1 @@\n-[775 bytes]…" + strings.Repeat("a", 125) + "1" + strings.Repeat("b", 374) + "…[526 more bytes]\n\\ No newline at end of file\n" +
				"+[775 bytes]…" + strings.Repeat("a", 125) + "2" + strings.Repeat("b", 374) + "…[526 more bytes]\n\\ No newline at end of file\n"},
		"what drives a terminal": {"a\n", "\ta\x1b[31m\u2028\u202e\n", "@@ -1,1 +1,1 @@\n-a\n+\ta\\x1b[31m\\u2028\\u202e\n"},
		"two far places":         {ten, strings.NewReplacer("line 1\n", "", "line 10", "X").Replace(ten), "@@ -1,4 +1,3 @@\n-line 1\n line 2\n line 3\n line 4\n@@ -7,4 +6,4 @@\n line 7\n line 8\n line 9\n-line 10\n+X\n"},
	} {
		if got := Unified(Diff(tc.before, tc.after)); got != tc.want {
			t.Errorf("%s: %q\nwant %q", name, got, tc.want)
		}
	}
	long := Unified(Diff(numbers(3000), strings.ReplaceAll(numbers(3000), "line", "LINE")))
	if !strings.HasSuffix(long, " more lines of the diff]\n") || len(long) > maxShown+100 {
		t.Errorf("a long diff has %d bytes and ends with %q", len(long), long[len(long)-60:])
	}
}

// TestLongDiffIsSummarised checks that a long diff is replaced by a count and that the
// notes stay.
func TestLongDiffIsSummarised(t *testing.T) {
	lines := func(from, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", from+i)
		}
		return b.String()
	}
	for _, tc := range []struct {
		changed int
		want    string // beginning of the answer
	}{
		{10, "Wrote f: 10 lines.\n@@ -1,10 +1,10 @@\n"},
		{20, "Wrote f: 20 lines.\n@@ -1,20 +1,20 @@\n"},
		{21, "Wrote f: 21 lines, 21 lines changed.\n[a note]"},
		{600, "Wrote f: 600 lines, 600 lines changed.\n[a note]"},
	} {
		hunks := Diff(lines(0, tc.changed), lines(1000, tc.changed))
		got := Answer(fmt.Sprintf("Wrote f: %d lines.", tc.changed), hunks, []string{"a note"})
		if !strings.HasPrefix(got, tc.want) || !strings.HasSuffix(got, "\n[a note]") {
			t.Errorf("%d lines: %s", tc.changed, got)
		}
	}
}

// TestLongLines checks that a change in a file of one long line is shown.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000)
	for _, tc := range []struct{ before, after, want string }{
		{long + "x" + long, long + "y" + long, "@@ -1,1 +1,1 @@\n-[199875 bytes]…" + long[5:130] + "x" + long[:374] + "…[199626 more bytes]\n"},
		{"a\n" + long + "x\nb\n", "a\n" + long + "y\nb\n", "@@ -2,1 +2,1 @@\n-[199501 bytes]…" + long[1:500] + "x\n"},
		{"a\n" + long + long, "a\n", "@@ -2,1 +1,0 @@\n-" + long[:500] + "…[399500 more bytes]\n"},
	} {
		if got := Unified(Diff(tc.before, tc.after)); !strings.HasPrefix(got, tc.want) {
			t.Errorf("got %q\nwant %q", got, tc.want)
		}
	}
}
