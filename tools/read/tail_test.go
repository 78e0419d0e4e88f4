package read

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/toolstest"
	"mcp-toolset/tools/write"
)

// utf16Of returns a text in UTF-16 with its byte order mark.
func utf16Of(text string) string {
	var b bytes.Buffer
	b.WriteString(markUTF16LE)
	for _, u := range utf16.Encode([]rune(text)) {
		b.Write([]byte{byte(u), byte(u >> 8)})
	}
	return b.String()
}

// TestFromEnd checks that a negative offset counts from the end.
func TestFromEnd(t *testing.T) {
	const five = "a\nb\nc\nd\ne\n"
	for name, tc := range map[string]struct{ data, args, want string }{
		"the last lines":         {five, `,"offset":-2`, "4\td\n5\te\n[lines 4 to 5 of 5]"},
		"the last line":          {five, `,"offset":-1`, "5\te\n[line 5 of 5]"},
		"no newline at the end":  {"a\nb\nc", `,"offset":-2`, "2\tb\n3\tc\n[lines 2 to 3 of 3]"},
		"blank lines at the end": {"a\n\n\n", `,"offset":-2`, "2\t\n3\t\n[lines 2 to 3 of 3]"},
		"with a limit":           {five, `,"offset":-4,"limit":2`, "2\tb\n3\tc\n[lines 2 to 3 of 5]"},
		"all of the file":        {five, `,"offset":-5`, "1\ta\n2\tb\n3\tc\n4\td\n5\te"},
		"more than the file":     {five, `,"offset":-1000000000000`, "1\ta\n2\tb\n3\tc\n4\td\n5\te"},
		"CRLF":                   {"a\r\nb\r\nc\r\n", `,"offset":-1`, "3\tc\n[line 3 of 3]"},
		"a byte order mark":      {"\uFEFFa\nb\n", `,"offset":-5`, "1\ta\n2\tb"},
		"UTF-16":                 {utf16Of("a\nb\nc\n"), `,"offset":-2`, "2\tb\n3\tc\n[lines 2 to 3 of 3]\n[the file is encoded as UTF-16 LE]"},
		"an empty file":          {"", `,"offset":-3`, "[the file is empty]"},
		"as a string":            {five, `,"offset":"-1"`, "5\te\n[line 5 of 5]"},
	} {
		got, err := readBytes(t, Options{}, tc.data, tc.args)
		if err != nil || got != tc.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tc.want)
		}
	}
}

// TestFromEndOfLargeFile reads the end of a file larger than countedTo, and of one that is
// paged.
func TestFromEndOfLargeFile(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	path := filepath.Join(w.Root, "f")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("first\n"); err != nil {
		t.Fatal(err)
	}
	const end = countedTo + 1<<20 // NUL bytes before it take no room on the disk
	if _, err := f.WriteAt([]byte("\nlast but one\nlast\n"), end); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte("line\n"), headSize), 6); err != nil {
		t.Fatal(err)
	}
	resp, err := w.Call(t.Context(), New(Options{}), `{"file_path":"f","offset":-2}`)
	lines := 1 + headSize + 1 + 2
	want := fmt.Sprintf("%d\tlast but one\n%d\tlast\n[lines %d to %d of %d]", lines-1, lines, lines-1, lines, lines)
	if err != nil || toolstest.Text(resp) != want {
		t.Errorf("%v, %v; want %q", resp, err, want)
	}
	got, err := readBytes(t, Options{MaxTokens: 1000}, strings.Repeat(strings.Repeat("x", 92)+"\n", 2000), `,"offset":-100`)
	if want := "[lines 1901 to 1934 of 2000; go on with offset 1935]"; err != nil || !strings.HasSuffix(got, want) {
		t.Errorf("%q, %v; want %s", got[max(0, len(got)-100):], err, want)
	}
}

// TestFromEndAgain checks that a repeated read of the end gets a short answer only until
// the file changes, and that it counts as a read of the lines it shows.
func TestFromEndAgain(t *testing.T) {
	c := converse(t, Options{})
	c.want(`,"offset":-1`, "2\ttwo\n[line 2 of 2]")
	c.want(`,"offset":-1`, toldPart)
	c.want(`,"offset":-2`, whole)
	c.want(`,"offset":-2`, told)
	c.write("ONE\ntwo\nthree\n")
	c.want(`,"offset":-1`, "3\tthree\n[line 3 of 3]")
	had, _ := c.w.Session.View().Seen(filepath.Join(c.w.Root, "f"))
	if len(had.Parts) != 1 || had.Parts[0].First != 3 || had.Parts[0].Last != 3 {
		t.Errorf("the session has seen %+v", had.Parts)
	}
	var writer *tools.Tool = write.New(file.Options{Guard: file.GuardStrict, Locks: c.w.Locks})
	if _, err := c.w.Call(t.Context(), writer, `{"file_path":"f","content":"x"}`); err == nil {
		t.Error("a file of which the new end alone was read was replaced")
	}
}

// TestReminderInFullOnce checks that the first answer of a session ends with the full
// reminder, and each further one with the short one.
func TestReminderInFullOnce(t *testing.T) {
	if len(shortReminder) > 40 {
		t.Errorf("the short reminder has %d characters", len(shortReminder))
	}
	c := converse(t, Options{Reminder: true, Repeat: true})
	c.want("", whole+"\n"+reminder)
	c.want("", whole+"\n"+shortReminder)
	c.want(`,"offset":-1`, "2\ttwo\n[line 2 of 2]\n"+shortReminder)
	env := c.w.Env()
	call, err := New(c.o).Parse([]byte(`{"file_path":"f"}`))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := toolstest.Prepare(t, call, env).Run(t.Context(), env); err != nil || !resp.Private {
		t.Errorf("%+v, %v; the short reminder is for this session", resp, err)
	}
}
