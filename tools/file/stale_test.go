package file_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/edit"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/read"
	"mcp-toolset/tools/toolstest"
	"mcp-toolset/tools/write"
)

// desk is a session that reads and changes one file, f, which others change too.
type desk struct {
	*testing.T
	w     *toolstest.Workspace
	tools map[string]*tools.Tool
}

func newDesk(t *testing.T, guard file.Guard, content string) *desk {
	w := toolstest.NewWorkspace(t)
	o := file.Options{Guard: guard, Locks: w.Locks, Snapshots: w.Snapshots}
	d := &desk{t, w, map[string]*tools.Tool{
		"Read": read.New(read.Options{Repeat: true, Snapshots: w.Snapshots}), "Write": write.New(o), "Edit": edit.New(o),
	}}
	d.put(content)
	return d
}

// put changes the file outside of the session.
func (d *desk) put(content string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.w.Root, "f"), []byte(content), 0o600); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) has(want string) {
	d.Helper()
	if got, err := os.ReadFile(filepath.Join(d.w.Root, "f")); err != nil || string(got) != want {
		d.Errorf("the file has %q, %v; want %q", got, err, want)
	}
}

func (d *desk) call(tool string, args map[string]any) string {
	d.Helper()
	all := map[string]any{"file_path": "f"}
	for k, v := range args {
		all[k] = v
	}
	data, err := json.Marshal(all)
	if err != nil {
		d.Fatal(err)
	}
	resp, err := d.w.Call(d.Context(), d.tools[tool], string(data))
	if err != nil {
		return "error: " + d.w.Placed(err.Error())
	}
	return d.w.Placed(toolstest.Text(resp))
}

func (d *desk) read() { d.Helper(); d.call("Read", nil) }
func (d *desk) write(content string) string {
	return d.call("Write", map[string]any{"content": content})
}
func (d *desk) edit(old, new string) string {
	return d.call("Edit", map[string]any{"old_string": old, "new_string": new})
}

func (d *desk) refused(answer, why string) {
	d.Helper()
	if !strings.HasPrefix(answer, "error: $ROOT/f "+why) {
		d.Errorf("%s\nwant it refused: %s", answer, why)
	}
}

func (d *desk) done(answer string) {
	d.Helper()
	if strings.HasPrefix(answer, "error: ") {
		d.Error(answer)
	}
}

const (
	unread  = "was not read in this session; nothing was changed. Read it, then send the call again if it is still right."
	changed = "has changed since it was read; nothing was written. Read it again, then send the call again if it is still right."
	lines   = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
)

func TestWriteOverWhatNobodyRead(t *testing.T) {
	d := newDesk(t, "", lines)
	d.refused(d.write("x"), unread)
	d.has(lines)
	d.read()
	d.done(d.write("x"))
	d.done(d.write("y")) // the session knows the content it has written
	d.has("y")
}

func TestWriteOverWhatChanged(t *testing.T) {
	d := newDesk(t, "", lines)
	d.read()
	other := strings.Replace(lines, "6\n", "six\n", 1)
	d.put(other)
	d.refused(d.write("x"), changed+" What changed:\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9")
	d.has(other)
	d.put(lines) // new times, same content
	d.done(d.write("x"))
}

// TestContentDecides checks that a change is detected although the times are unchanged.
func TestContentDecides(t *testing.T) {
	d := newDesk(t, "", lines)
	long := time.Now().Add(-time.Hour)
	path := filepath.Join(d.w.Root, "f")
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	d.read()
	had, _ := d.w.Session.View().LastRead(path)
	had.At = had.At.Add(time.Hour) // long after the last change
	had.Hash[0]++                  // simulates a file with other content and the same times
	d.w.Session.Apply(session.Effect{Reads: []session.Read{had}})
	d.refused(d.write("x"), changed)
}

func TestEditOfWhatChanged(t *testing.T) {
	d := newDesk(t, "", lines)
	d.read()
	other := strings.Replace(lines, "6\n", "six\n", 1)
	d.put(other)
	d.refused(d.edit("six", "SIX"), changed)
	d.refused(d.edit("5\nsix", "x"), changed)
	d.done(d.edit("1\n2\n", "1\ntwo\n")) // apart from the changes
	d.has(strings.Replace(other, "2\n", "two\n", 1))
	// The session still does not know the other change, but it knows its own.
	d.refused(d.write("x"), changed)
	d.refused(d.edit("six", "SIX"), changed)
	d.done(d.edit("two", "zwei"))
	d.read()
	d.done(d.edit("six", "SIX"))
	d.done(d.write("x"))
}

// TestEditBesideWhatIsGone checks that lines removed between two lines change a text that
// spans both.
func TestEditBesideWhatIsGone(t *testing.T) {
	d := newDesk(t, "", lines)
	d.read()
	d.put(strings.Replace(lines, "6\n", "", 1))
	d.refused(d.edit("5\n7", "x"), changed)
	d.done(d.edit("5\n", "five\n"))
	d.done(d.edit("8\n9", "8\nnine"))
	d.has("1\n2\n3\n4\nfive\n7\n8\nnine\n10\n11\n12\n")
}

// TestEditOfWhatNobodyRead checks that an exact and unique edit is allowed on an unread
// file, and leaves the rest unread.
func TestEditOfWhatNobodyRead(t *testing.T) {
	d := newDesk(t, "", lines)
	d.done(d.edit("6\n", "six\n"))
	d.refused(d.write("x"), unread)
	d.refused(d.call("Edit", map[string]any{"old_string": "1", "new_string": "x", "replace_all": true}), unread)
	d.has(strings.Replace(lines, "6\n", "six\n", 1))
}

func TestStrictGuard(t *testing.T) {
	d := newDesk(t, file.GuardStrict, lines)
	d.refused(d.edit("6\n", "six\n"), unread)
	d.read()
	d.done(d.edit("6\n", "six\n"))
	d.put("0\n" + lines)
	d.refused(d.edit("12\n", "twelve\n"), changed)
	d.refused(d.write("x"), changed)
}

func TestGuardOff(t *testing.T) {
	d := newDesk(t, file.GuardOff, lines)
	d.done(d.call("Edit", map[string]any{"old_string": "1", "new_string": "x", "replace_all": true}))
	d.put(lines)
	d.done(d.edit("6\n", "six\n"))
	d.put(lines)
	d.done(d.write("x"))
	d.has("x")
}

// TestEditsAtOnce checks that no edit is lost if edits of one file run at the same time.
func TestEditsAtOnce(t *testing.T) {
	var content strings.Builder
	for i := range 100 {
		content.WriteString("<" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + ">\n")
	}
	d := newDesk(t, "", content.String())
	var all sync.WaitGroup
	for line := range strings.Lines(content.String()) {
		all.Go(func() { d.done(d.edit(line, "done "+line)) })
	}
	all.Wait()
	d.has("done " + strings.ReplaceAll(strings.TrimSuffix(content.String(), "\n"), "\n", "\ndone ") + "\n")
}

// TestPartOfWhatChanged checks that a session that reads a part of a changed file knows
// only that part.
func TestPartOfWhatChanged(t *testing.T) {
	other := strings.Replace(lines, "9\n", "nine precious\n", 1)
	part := func(d *desk, offset, limit int) {
		d.Helper()
		d.call("Read", map[string]any{"offset": offset, "limit": limit})
	}
	d := newDesk(t, "", lines)
	d.read()
	d.put(other)
	part(d, 1, 1)
	d.refused(d.write("x"), changed)
	d.refused(d.edit("nine precious", "9"), changed)
	part(d, 8, 2)
	d.done(d.edit("nine precious", "NINE"))
	d.done(d.write("x"))

	d = newDesk(t, "", lines)
	d.read()
	d.put(strings.Replace(other, "2\n", "", 1))
	part(d, 7, 3)
	d.refused(d.write("x"), changed) // the session has not seen that a line was removed
	part(d, 1, 1)
	d.done(d.write("x"))

	d = newDesk(t, "", lines)
	d.read()
	d.put(other)
	part(d, 1, 6)
	d.refused(d.write("x"), changed)
	part(d, 7, 9)
	d.done(d.write("x"))

	d = newDesk(t, "", strings.ReplaceAll(lines, "\n", "\r\n"))
	d.read()
	d.put(lines)
	part(d, 3, 1)
	d.refused(d.write("x"), changed) // the session has not seen the line endings of the rest
	d.read()
	d.done(d.write("x"))
}

// TestEditOfWhatWasReadAgain checks that lines of a changed file that were read again can be
// edited, also if other lines changed that were not.
func TestEditOfWhatWasReadAgain(t *testing.T) {
	var all strings.Builder
	for i := 1; i <= 100; i++ {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	for _, tc := range []struct {
		name           string
		change         []string // from the formatter
		offset, limit  int
		old, new       string
		more           bool // replace_all
		guard          file.Guard
		refused        bool
		then           string // a text that a second edit replaces
		refusedThen    bool
		crlf, lateCRLF bool
	}{
		{name: "two places, one read again", change: []string{"line 5\n", "line five\n", "line 55\n", "line fiftyfive\n"}, offset: 50, limit: 20,
			old: "line fiftyfive\n", new: "line 55\nline 55b\n", then: "line 55b"},
		{name: "the other place", change: []string{"line 5\n", "line five\n", "line 55\n", "line fiftyfive\n"}, offset: 50, limit: 20,
			old: "line five\n", new: "x\n", refused: true},
		{name: "then the other place", change: []string{"line 5\n", "line five\n", "line 55\n", "line fiftyfive\n"}, offset: 50, limit: 20,
			old: "line fiftyfive\n", new: "x\n", then: "line five", refusedThen: true},
		{name: "then a line that did not change", change: []string{"line 5\n", "line five\n", "line 55\n", "line fiftyfive\n"}, offset: 50, limit: 20,
			old: "line fiftyfive\n", new: "x\n", then: "line 81"},
		{name: "lines added before", change: []string{"line 5\n", "line 5\na\nb\nc\n", "line 55\n", "  line 55\n"}, offset: 50, limit: 20,
			old: "  line 55\n", new: "\tline 55\n", then: "\tline 55"},
		{name: "a part of a long change", change: []string{"line 50\nline 51\nline 52\nline 53\nline 54\nline 55\nline 56\n", "p\nq\nr\ns\nt\nu\nv\n"}, offset: 51, limit: 2,
			old: "q\nr\n", new: "Q\nR\n", then: "R"},
		{name: "beyond that part", change: []string{"line 50\nline 51\nline 52\nline 53\n", "p\nq\nr\ns\n"}, offset: 51, limit: 2,
			old: "r\ns\n", new: "R\nS\n", refused: true},
		{name: "the text was elsewhere then", change: []string{"line 5\n", "five\n", "line 55\n", "line 55\nline 5\n"}, offset: 50, limit: 20,
			old: "line 5\n", new: "line 5!\n", then: "line 5!"},
		{name: "all places of many, read again", change: []string{"line 2\n", "x\n", "line 51\n", "k\n", "line 53\n", "k\n"}, offset: 50, limit: 20,
			old: "k\n", new: "K\n", more: true},
		{name: "not all places of many", change: []string{"line 2\n", "k\n", "line 51\n", "k\n", "line 53\n", "k\n"}, offset: 50, limit: 20,
			old: "k\n", new: "K\n", more: true, refused: true},
		{name: "the last line", change: []string{"line 5\n", "five\n", "line 100\n", "hundred"}, offset: 90, limit: 50, old: "hundred", new: "HUNDRED\n", then: "HUNDRED\n"},
		{name: "CRLF", change: []string{"line 5\r\n", "five\r\n", "line 55\r\n", "fiftyfive\r\n"}, offset: 50, limit: 20, old: "fiftyfive\n", new: "x\ny\n", then: "y", crlf: true},
		{name: "line endings changed, too", change: []string{"line 5\n", "five\n", "line 55\n", "fiftyfive\n"}, offset: 50, limit: 20, old: "fiftyfive\n", new: "x\ny\n", lateCRLF: true},
		{name: "strict", change: []string{"line 5\n", "five\n", "line 55\n", "fiftyfive\n"}, offset: 50, limit: 20, old: "fiftyfive\n", new: "x\n", guard: file.GuardStrict, refused: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := all.String()
			if tc.crlf {
				text = strings.ReplaceAll(text, "\n", "\r\n")
			}
			d := newDesk(t, tc.guard, text)
			d.read()
			text = strings.NewReplacer(tc.change...).Replace(text)
			if tc.lateCRLF {
				text = strings.ReplaceAll(text, "\n", "\r\n")
			}
			d.put(text)
			d.call("Read", map[string]any{"offset": tc.offset, "limit": tc.limit})
			answer := d.call("Edit", map[string]any{"old_string": tc.old, "new_string": tc.new, "replace_all": tc.more})
			if tc.refused {
				d.refused(answer, "has changed since")
				d.has(text)
				return
			}
			d.done(answer)
			if tc.then == "" {
				return
			}
			answer = d.edit(tc.then, "THEN")
			if tc.refusedThen {
				d.refused(answer, "has changed since")
				return
			}
			d.done(answer)
			d.refused(d.write("x"), "has changed since") // the rest is not known
		})
	}
}

// TestLinesOfAnAnswer checks that lines of a changed file which the answer of an edit showed can be
// edited, but no others.
func TestLinesOfAnAnswer(t *testing.T) {
	d := newDesk(t, "", lines)
	d.read()
	d.put(strings.NewReplacer("\n2\n", "\ntwo\n", "\n7\n", "\nseven\n").Replace(lines))
	d.done(d.edit("5", "five"))
	d.done(d.edit("two", "TWO"))
	d.done(d.edit("seven", "SEVEN"))
	d = newDesk(t, "", lines)
	d.read()
	d.put(strings.NewReplacer("1\n2\n", "one\n2\n", "\n7\n", "\nseven\n").Replace(lines))
	d.done(d.edit("5", "five"))
	d.refused(d.edit("one", "ONE"), changed)
	d.done(d.edit("seven", "SEVEN"))
}

// TestOnlyOnePlace checks that an edit is refused if its text has several places, either
// now or in the snapshot.
func TestOnlyOnePlace(t *testing.T) {
	d := newDesk(t, "", "k\na\nb\nc\nd\ne\n")
	d.read()
	d.put("k\na\nb\nc\nd\ne\nk\n")
	d.refused(d.call("Edit", map[string]any{"old_string": "k", "new_string": "x", "replace_all": true}), changed)
	d = newDesk(t, "", "5\n6\n7\nx\n5\n7\n")
	d.read()
	d.put("5\n7\nx\n5\n8\n")
	d.refused(d.edit("5\n7", "y"), changed) // it was another place then
}

// TestTooMuchChanged checks that lines which a change too large to compare may have are not
// edited.
func TestTooMuchChanged(t *testing.T) {
	var b strings.Builder
	for i := range 8000 {
		b.WriteString(strings.Repeat("x", 60) + fmt.Sprintf("%05d\n", i))
	}
	d := newDesk(t, "", b.String())
	d.read()
	d.put(strings.NewReplacer("00010\n", "AAAAA\n", "07990\n", "BBBBB\n").Replace(b.String()))
	d.refused(d.edit("04000\n", "CCCCC\n"), changed)
	d.done(d.edit("00001\n", "CCCCC\n"))
}

// TestRepeatedRefusals checks that the answer to a repeated failure counts the failures.
func TestRepeatedRefusals(t *testing.T) {
	d := newDesk(t, "", lines)
	d.read()
	d.put(strings.Replace(lines, "6\n", "six\n", 1))
	for range 2 {
		d.refused(d.edit("six", "SIX"), changed)
	}
	d.refused(d.edit("six", "SIX"), "has changed since it was read; nothing was written; the same edit has failed 2 times before. Stop repeating it. Read it again")
	d.put(strings.Replace(lines, "6\n", "Six\n", 1)) // other content, so another failure
	d.refused(d.edit("six", "SIX"), "does not contain old_string; line 6 differs from it only in upper and lower case. ")
}

// TestWriteOverWhatCannotBeShown checks that an attempt to read the file is enough.
func TestWriteOverWhatCannotBeShown(t *testing.T) {
	d := newDesk(t, "", "\x00\x01\x02")
	d.refused(d.write("x"), unread)
	if answer := d.call("Read", nil); !strings.Contains(answer, "is a binary file") {
		t.Error(answer)
	}
	d.done(d.write("x"))
	d = newDesk(t, "", "")
	d.done(d.write("x")) // nothing is lost
}

// TestLargeFiles checks that a file too large to edit can be replaced if it was read, but
// not if it may have changed since.
func TestLargeFiles(t *testing.T) {
	d := newDesk(t, "", "")
	path := filepath.Join(d.w.Root, "f")
	grow := func(size int64) {
		t.Helper()
		old := time.Now().Add(-time.Hour)
		if err := errors.Join(os.Truncate(path, size), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	d.put("line\n")
	grow(file.MaxEdit + 1)
	d.refused(d.edit("line", "x"), "has 67108865 bytes, and files over 67108864 are not edited. Change it with a program such as sed or perl.")
	d.refused(d.write(""), unread)
	grow(file.MaxEdit)
	if answer := d.edit("line", "LINE"); strings.Contains(answer, "are not edited") {
		t.Error(answer) // the file has NULs, which is a different error
	}
	d = newDesk(t, file.GuardOff, "")
	path = filepath.Join(d.w.Root, "f")
	grow(file.MaxEdit + 1)
	if answer := d.write(""); !strings.Contains(answer, "the old content, 67108865 bytes, was too large to be compared") {
		t.Error(answer)
	}
	d.has("")
}

// TestThroughALink checks that a read record applies to all names of a file.
func TestThroughALink(t *testing.T) {
	d := newDesk(t, "", lines)
	link := filepath.Join(d.w.Root, "link")
	if err := os.Symlink("f", link); err != nil {
		t.Skip(err)
	}
	if _, err := os.Readlink(link); err != nil {
		t.Skip("no links here (Wine makes a file of one):", err)
	}
	d.call("Read", map[string]any{"file_path": "link"})
	d.done(d.write("one\n"))
	d.done(d.call("Write", map[string]any{"file_path": "link", "content": "two\n"}))
	d.done(d.write("three\n"))
	d.has("three\n")
	d.put("else\n")
	if answer := d.call("Write", map[string]any{"file_path": "link", "content": "two\n"}); !strings.HasPrefix(answer, "error: $ROOT/link has changed since") {
		t.Error(answer)
	}
}
