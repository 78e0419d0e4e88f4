package read

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"mcp-toolset/internal/file/document"
	"mcp-toolset/session"
	"mcp-toolset/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Run(t, New(Options{}), "testdata") }

// cache is the folder for the compiled PDF engine, shared by all tests.
var cache string

// TestMain makes the test binary act as the process that reads documents.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == document.Arg {
		os.Exit(document.Serve(os.Args[2:], os.Stdin, os.Stdout))
	}
	var err error
	if cache, err = os.MkdirTemp("", "read"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(cache)
	os.Exit(code)
}

// read calls Read on a file with the given bytes.
func readBytes(t *testing.T, o Options, data, args string) (text string, err error) {
	t.Helper()
	w := toolstest.NewWorkspace(t)
	if err := os.WriteFile(filepath.Join(w.Root, "f"), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	resp, err := w.Call(t.Context(), New(o), `{"file_path":"f"`+args+`}`)
	if err != nil {
		return "", errors.New(strings.ReplaceAll(err.Error(), w.Root, "$ROOT"))
	}
	return toolstest.Text(resp), nil
}

// wide returns ASCII text in UTF-16 without a byte order mark.
func wide(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(s[i:i+1] + "\x00")
	}
	return b.String()
}

func TestEncodings(t *testing.T) {
	for name, tc := range map[string]struct{ data, want string }{
		"CRLF is shown as LF":           {"a\r\nb\r\n", "1\ta\n2\tb"},
		"a CR inside a line stays":      {"a\rb\n", "1\ta\rb"},
		"a BOM is left out":             {"\xef\xbb\xbfa\n", "1\ta"},
		"only a BOM is an empty file":   {"\xef\xbb\xbf", "[the file is empty]"},
		"U+2028 does not end a line":    {"a\u2028b\n", "1\ta\u2028b"},
		"invalid UTF-8 is said":         {"a\xffb\nc\n", "1\ta\uFFFDb\n2\tc\n[1 line is not valid UTF-8: the bytes in question are shown as \uFFFD]\n[the file is not UTF-8 and declares no encoding; a guess is windows-1252. Ask the user for its encoding and declare it, as in .editorconfig by \"[f]\" and \"charset = windows-1252\"; Read, Grep and Edit then take the file as text]"},
		"U+FFFD in a file is not wrong": {"\uFFFD\n", "1\t\uFFFD"},
		"a lone newline is a line":      {"\n", "1\t"},
		"no newline at the end":         {"a\nb", "1\ta\n2\tb"},
		"UTF-16 without a mark":         {wide("one = 1\r\ntwo\n"), "1\tone = 1\n2\ttwo\n[the file is encoded as UTF-16 (little endian) without a byte order mark; Edit keeps that]"},
		"ISO-2022-JP":                   {"a\n\x1b$B4A;z\x1b(B\n", "1\ta\n2\t漢字\n[the file is text in an encoding in which each byte depends on those before, such as iso-2022-jp. Ask the user to convert it to UTF-8, or change it with a script]"},
	} {
		got, err := readBytes(t, Options{}, tc.data, "")
		if err != nil || got != tc.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tc.want)
		}
	}
	if got, err := readBytes(t, Options{}, wide("one\ntwo\nthree\n"), `,"offset":-1`); err != nil || !strings.HasPrefix(got, "3\tthree\n") {
		t.Errorf("the end of UTF-16 without a mark: %q, %v", got, err)
	}
}

func TestBudget(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 92)+"\n", 2000) // about 96 bytes a line when numbered
	small := Options{MaxTokens: 1000}                          // 4,000 bytes
	for name, tc := range map[string]struct {
		o          Options
		data, args string
		notice     string // how the answer ends, or the error
		lines      int
	}{
		"a file that fits has no notice": {small, long[:93*40], "", "x", 40},
		"a page is 85 % of the budget":   {small, long, "", "[lines 1 to 35 of 2000; go on with offset 36]", 35},
		"going on by offset":             {small, long, `,"offset":1999`, "[lines 1999 to 2000 of 2000]", 2},
		"a further page":                 {small, long, `,"offset":35`, "[lines 35 to 69 of 2000; go on with offset 70]", 35},
		"a range that is too long":       {small, long, `,"offset":11,"limit":500`, "[lines 11 to 510 of 2000]", 35},
		"the default budget":             {Options{}, long, "", "[lines 1 to 877 of 2000; go on with offset 878]", 877},
		"a paged file however large the budget": {Options{MaxTokens: 1e6}, strings.Repeat(long, 2), "",
			"[lines 1 to 2284 of 4000; go on with offset 2285]", 2284},
		"invalid lines on a page": {small, strings.Repeat(strings.Repeat("x", 90)+"\xff\n", 100), "",
			"then take the file as text]", 35},
		"a long line behind the page": {small, "a\n" + strings.Repeat("y", 5000), "", "[line 1 of 2; go on with offset 2]", 1},
	} {
		got, err := readBytes(t, tc.o, tc.data, tc.args)
		if err != nil {
			if err.Error() != tc.notice {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !strings.HasSuffix(got, tc.notice) || strings.Count(got, "\t") != tc.lines || len(got) > tc.o.MaxTokens*4+400 && tc.o.MaxTokens > 0 {
			t.Errorf("%s: %d lines, %d bytes, ends with %q", name, strings.Count(got, "\t"), len(got), got[max(0, len(got)-100):])
		}
	}
}

// TestPagesCoverTheFile checks that the offsets in answers lead to every line once.
func TestPagesCoverTheFile(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	var data strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&data, "line %d %s\n", i+1, strings.Repeat("z", i%300))
	}
	if err := os.WriteFile(filepath.Join(w.Root, "f"), []byte(data.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tool := New(Options{MaxTokens: 5000})
	var shown strings.Builder
	for offset, pages := 1, 0; offset > 0; pages++ {
		if pages > 500 {
			t.Fatal("the pages do not end")
		}
		resp, err := w.Call(t.Context(), tool, fmt.Sprintf(`{"file_path":"f","offset":%d}`, offset))
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for line := range strings.Lines(toolstest.Text(resp) + "\n") {
			if _, text, ok := strings.Cut(line, "\t"); ok {
				shown.WriteString(text)
			} else if _, err := fmt.Sscanf(line[strings.Index(line, ";")+1:], " go on with offset %d]", &next); err != nil {
				next = 0
			}
		}
		offset = next
	}
	if shown.String() != data.String() {
		t.Errorf("the pages show %d bytes of %d", shown.Len(), data.Len())
	}
}

// endless is a reader that never ends. It cancels the context after some reads.
type endless struct {
	cancel func()
	after  int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.after--; e.after == 0 {
		e.cancel()
	}
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestMemoryAndCancel checks that an endless line takes little memory, and that a cancel
// stops the read.
func TestMemoryAndCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readText(ctx, &endless{cancel, 400}, request{path: "f", size: 1, offset: 1, budget: 100_000})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("after a cancel: %v", err)
	}
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 2<<20 { // 100 MB went by
		t.Errorf("reading one endless line allocates %d bytes", allocated)
	}
	cancel()
	if _, err := readText(ctx, strings.NewReader("x"), request{budget: 100}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before it began: %v", err)
	}
}

// TestStructured checks that the output for programs has the same lines.
func TestStructured(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	if err := os.WriteFile(filepath.Join(w.Root, "f"), []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	resp, err := w.Call(t.Context(), New(Options{}), `{"file_path":"f","offset":2,"limit":1}`)
	if err != nil {
		t.Fatal(err)
	}
	data, err := resp.Structured()
	want := `{"type":"text","filePath":"` + w.Root + `/f","content":"b","numLines":1,"startLine":2,"totalLines":3}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
	if r, ok := w.Session.View().LastRead(filepath.Join(w.Root, "f")); !ok || r.Range != (session.Range{Offset: 2, Limit: 1}) || r.File.Size != 6 || r.Hash != sha256.Sum256([]byte("a\nb\nc\n")) || !r.Shown {
		t.Errorf("the session's record: %+v, %v", r, ok)
	}
}

// slow pages in the simplest way, with all lines in memory.
func slow(data string, offset, limit int) []string {
	if data == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(data, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.ToValidUTF8(strings.TrimSuffix(l, "\r"), "\uFFFD")
	}
	lines = lines[min(offset-1, len(lines)):]
	if limit > 0 {
		lines = lines[:min(limit, len(lines))]
	}
	return lines
}

// FuzzPaging compares paging with slow, for a file that arrives in pieces of any size.
func FuzzPaging(f *testing.F) {
	f.Add([]byte("a\nb\r\nc"), 1, 0, 3)
	f.Add([]byte(strings.Repeat("line\n", 40)), 3, 30, 7)
	f.Add([]byte("\n\n\xff"), 2, 1, 1)
	f.Add([]byte(""), 1, 1, 1)
	f.Fuzz(func(t *testing.T, data []byte, offset, limit, step int) {
		offset, limit, step = max(1, offset%100), max(0, limit%100), max(4, step%50)
		var pieces []io.Reader
		for rest := data; len(rest) > 0; {
			n := min(step, len(rest))
			pieces = append(pieces, bytes.NewReader(rest[:n]))
			rest = rest[n:]
		}
		p, err := readText(t.Context(), io.MultiReader(pieces...), request{
			path: "f", size: int64(len(data)), offset: offset, limit: limit, budget: 1 << 20,
		})
		want := slow(string(data), offset, limit)
		if len(want) == 0 {
			if err == nil && p.lines != 0 {
				t.Fatalf("lines of nothing: %q", p.content)
			}
			return
		}
		if err != nil || p.content != strings.Join(want, "\n") || p.lines != len(want) || p.total != len(slow(string(data), 1, 0)) {
			t.Fatalf("%q from %d, %d lines: %q (%d of %d), %v; want %q", data, offset, limit, p.content, p.lines, p.total, err, want)
		}
		tight := 40 + step*20
		p, err = readText(t.Context(), bytes.NewReader(data), request{path: "f", size: int64(len(data)), offset: offset, limit: limit, budget: tight})
		if err != nil || p.lines == 0 {
			t.Fatalf("%q from %d in %d bytes: %v", data, offset, tight, err)
		}
		got := strings.Split(p.content, "\n")
		switch l := p.leftOut; {
		case p.long > 0:
			if !strings.HasPrefix(want[0], p.content) {
				t.Fatalf("%q is no beginning of %q", p.content, want[0])
			}
		case l != nil:
			head := l.Offset - offset
			rest := append(slices.Clone(got[:head]), want[head:head+l.Limit]...)
			if p.lines > head {
				rest = append(rest, got[head:]...)
			}
			if !slices.Equal(rest, want) {
				t.Fatalf("%q with %+v left out is not %q", got, l, want)
			}
		case !slices.Equal(got, want[:len(got)]) || limit > 0 && len(got) < len(want):
			t.Fatalf("%q is no page of %q", got, want)
		}
	})
}

// TestNumbers checks the width of numbers from the millionth line on.
func TestNumbers(t *testing.T) {
	text, err := readBytes(t, Options{}, strings.Repeat("x\n", 1_000_001), `,"offset":999999`)
	want := "999999\tx\n1000000\tx\n1000001\tx\n[lines 999999 to 1000001 of 1000001]"
	if err != nil || text != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
}

// TestBudgetsHold checks that an answer stays within the budget for any bytes, and that the
// offsets in answers lead to every line.
func TestBudgetsHold(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		data := make([]byte, rnd.IntN(3000))
		for i := range data {
			data[i] = "ab\xff\xc3\xa9\r\n\n"[rnd.IntN(8)]
		}
		budget := 40 + rnd.IntN(400)
		lines := slow(string(data), 1, 0)
		seen := 0
		for offset := 1; offset <= len(lines); {
			p, err := readText(t.Context(), bytes.NewReader(data), request{path: "f", size: int64(len(data)), offset: offset, budget: budget})
			if err != nil || p.lines == 0 {
				t.Fatalf("%q from %d with %d bytes: %v", data, offset, budget, err)
			}
			body, _, _ := strings.Cut(p.text, "\n[")
			if len(body) > budget {
				t.Fatalf("%d bytes of %d", len(body), budget)
			}
			for i, got := range strings.Split(p.content, "\n") {
				if want := lines[offset-1+i]; got != want && !(p.long > 0 && strings.HasPrefix(want, got)) {
					t.Fatalf("line %d is %q, want %q", offset+i, got, want)
				}
				seen++
			}
			offset += p.lines
		}
		if seen != len(lines) {
			t.Fatalf("%d lines of %d", seen, len(lines))
		}
	}
}

// TestRangesKeepBothEnds checks that a range that does not fit is shown with its first and
// last lines, and that the note names exactly the missing lines.
func TestRangesKeepBothEnds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	cuts := 0
	for range 500 {
		var lines []string
		for range 1 + rnd.IntN(200) {
			length := rnd.IntN(40)
			if rnd.IntN(40) == 0 {
				length = rnd.IntN(600)
			}
			lines = append(lines, strings.Repeat(string(rune('a'+rnd.IntN(26))), length))
		}
		offset, limit, budget := 1+rnd.IntN(len(lines)), 1+rnd.IntN(220), 100+rnd.IntN(2000)
		data := strings.Join(lines, "\n") + "\n"
		p, err := readText(t.Context(), strings.NewReader(data), request{path: "f", size: int64(len(data)), offset: offset, limit: limit, budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		if p.long > 0 {
			continue // one line, which parts shows
		}
		want := lines[offset-1 : min(offset-1+limit, len(lines))]
		var shown []string // the range with the lines left out as they are
		left := 0
		content := strings.Split(p.content, "\n")
		if l := p.leftOut; l != nil {
			shown = append(shown, content[:l.Offset-offset]...)
			shown = append(shown, lines[l.Offset-1:l.Offset-1+l.Limit]...)
			content, left = content[l.Offset-offset:], l.Limit
			cuts++
			if !strings.Contains(p.text, fmt.Sprintf(" left out; go on with offset %d and limit %d]", l.Offset, l.Limit)) {
				t.Fatalf("the answer does not say what is left out: %s", p.text)
			}
			if last := want[len(want)-1]; p.lines == l.Offset-offset && cost(offset+len(want)-1, len(last)) < budget*4/10 {
				t.Fatalf("the end of the range is not there, though its last line has %d bytes only", len(last))
			}
		}
		if p.lines > 0 && (left == 0 || p.lines > p.leftOut.Offset-offset) {
			shown = append(shown, content...)
		}
		if strings.Join(shown, "\n") != strings.Join(want, "\n") || p.lines+left != len(want) {
			t.Fatalf("lines %d to %d in %d bytes: %q", offset, offset+limit-1, budget, p.text)
		}
		if numbered := len(p.text) - left; left > 0 && numbered > budget+200 {
			t.Fatalf("%d bytes of a budget of %d", numbered, budget)
		}
		whole := 0
		for i, l := range want {
			whole += cost(offset+i, len(l))
		}
		if (whole <= budget) != (left == 0) {
			t.Fatalf("a range of %d bytes in %d: %d lines left out", whole, budget, left)
		}
	}
	if cuts < 50 {
		t.Errorf("only %d ranges were cut", cuts)
	}
}

// TestFailingDisk checks that an error of the system is reported without its path.
func TestFailingDisk(t *testing.T) {
	broken := &fs.PathError{Op: "read", Path: "/dev/secret", Err: syscall.EIO}
	_, err := readText(t.Context(), io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), request{path: "f", size: 5, offset: 1, budget: 1000})
	if want := "f cannot be read: input/output error. Try once more; if that fails too, ask the user to check the disk."; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
