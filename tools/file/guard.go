package file

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/file/textfile"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// Guard selects what a session must have read of a file before it changes it. It is the
// setting editGuard.
type Guard string

// The edit guards. The zero Guard is GuardDefault.
const (
	// GuardStrict requires that every file was read and has not changed since.
	GuardStrict Guard = "strict"
	// GuardDefault requires this where a change could destroy content that was not seen:
	// when a whole file is replaced, and for an edit that may change another place than the
	// intended one.
	GuardDefault Guard = "default"
	// GuardOff requires nothing.
	GuardOff Guard = "off"
)

// NotRead returns the error for a change of a file that the session has not read.
func NotRead(path string) error {
	return fault.New(plain.Line(path)+" was not read in this session; nothing was changed", "Read it, then send the call again if it is still right.")
}

// StaleFault returns the error for a change of a file that has changed since it was read.
// It shows the changes as far as they are known.
func StaleFault(path string, old Old) error {
	fact := plain.Line(path) + " has changed since it was read; nothing was written"
	if old.Data == nil {
		fact = plain.Line(path) + " is too large to check whether it has changed since it was read; nothing was written"
	}
	next := "Read it again, then send the call again if it is still right."
	if what := old.ChangesSinceRead(); what != "" {
		next += " What changed:\n" + what
	}
	return fault.New(fact, next)
}

// ChangesSinceRead returns the changes of a stale file since it was read, without a newline at
// the end. It returns "" if they are not known.
func (old Old) ChangesSinceRead() string {
	hunks, form, ok := SinceRead(old)
	if !ok {
		return ""
	}
	var b strings.Builder
	b.WriteString(Unified(hunks))
	for _, f := range form {
		b.WriteString("[" + f + "]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// SinceRead returns the changes of a stale file since the session read it: those of its
// text, and notes on its encoding and line endings. ok is false if they are not known.
func SinceRead(old Old) (hunks []Hunk, form []string, ok bool) {
	if old.Known != Stale || old.Snapshot == nil || old.Data == nil {
		return nil, nil, false
	}
	before, err := old.Before()
	if err != nil {
		return nil, nil, false
	}
	after, err := old.Text()
	if err != nil {
		return nil, nil, false
	}
	return Diff(before.String(), after.String()), Form(before, after), true
}

// Shown reports whether the lines from first to last of a stale text were shown in their
// present state.
func (old Old) Shown(first, last int) bool {
	return slices.ContainsFunc(old.parts, func(p session.Part) bool { return p.First <= first && last <= p.Last })
}

// catchUp returns the snapshot of a stale text with those changes since that were shown. all
// reports whether these are all changes. The result is nil if it is not known.
func (old Old) catchUp() (snapshot []byte, all bool) {
	if strings.EqualFold(filepath.Ext(old.path), ".ipynb") {
		return nil, false // its parts are cells, not lines
	}
	return old.merge(old.Data, func(line int) bool { return old.Shown(line, line) })
}

// CatchUp is catchUp after an edit that made after of before, and whose answer shows the lines around
// it.
func (old Old) CatchUp(before, after *textfile.Text) []byte {
	edited := map[int]bool{} // lines of the new text that the session knows
	line, at := 1, 1         // of the text before, and of the new one
	upTo := func(end int) {
		for ; line < end; line, at = line+1, at+1 {
			edited[at] = old.Shown(line, line)
		}
	}
	hunks := Diff(before.String(), after.String())
	_, long := summary(hunks)
	for _, h := range hunks {
		if h.Omitted {
			return nil
		}
		if upTo(h.OldStart); h.OldLines == 0 {
			upTo(h.OldStart + 1)
		}
		for _, l := range h.Lines {
			switch l[0] {
			case '+':
				edited[at] = true
				at++
			case '-':
				line++
			case ' ':
				upTo(line + 1)
				edited[at-1] = edited[at-1] || !long
			}
		}
	}
	snapshot, _ := old.merge(after.Bytes(), func(n int) bool {
		if known, ok := edited[n]; ok {
			return known
		}
		return old.Shown(n-at+line, n-at+line)
	})
	return snapshot
}

// merge returns the snapshot with those changes to the text after whose lines were shown. The
// result is nil if it is not known.
func (old Old) merge(after []byte, shown func(line int) bool) (merged []byte, all bool) {
	was, err := old.Before()
	if err != nil || old.Snapshot == nil {
		return nil, false
	}
	is, err := old.decode(after)
	if err != nil || len(Form(was, is)) > 0 {
		return nil, false
	}
	lines, now := strings.SplitAfter(was.Raw(), "\n"), strings.SplitAfter(is.Raw(), "\n")
	var out strings.Builder
	line, at := 0, 0 // numbers of lines before those that come next, in lines and now
	upTo := func(end int) {
		for ; line < end; line, at = line+1, at+1 {
			out.WriteString(lines[line])
		}
	}
	all = true
	for _, h := range Diff(was.String(), is.String()) {
		if h.Omitted {
			return nil, false
		}
		if upTo(h.OldStart - 1); h.OldLines == 0 {
			upTo(h.OldStart)
		}
		for i := 0; i < len(h.Lines); {
			if h.Lines[i][0] == ' ' {
				upTo(line + 1)
				i++
				continue
			}
			gone, added := 0, 0
			for ; i < len(h.Lines) && h.Lines[i][0] != ' '; i++ {
				switch h.Lines[i][0] {
				case '-':
					gone++
				case '+':
					added++
				}
			}
			removed := strings.Join(lines[line:line+gone], "")
			if gone > 0 && added == 0 && !shown(at+1) && !shown(at) {
				out.WriteString(removed)
				all = false
			}
			for n := at; n < at+added; n++ {
				switch {
				case shown(n + 1):
					out.WriteString(now[n])
				default:
					out.WriteString(removed)
					removed, all = "", false
				}
			}
			line, at = line+gone, at+added
		}
	}
	upTo(len(lines))
	return textfile.Encode(out.String(), was.Encoding()).Bytes(), all
}

// Form returns notes on changes of a text's encoding and line endings.
func Form(before, after *textfile.Text) (form []string) {
	if a, b := before.Encoding(), after.Encoding(); a != b {
		form = append(form, fmt.Sprintf("the file was %s and is %s now", a, b))
	}
	if a, b := endings(before), endings(after); a != b && a != "" && b != "" {
		form = append(form, fmt.Sprintf("line endings were %s and are %s now", a, b))
	}
	return form
}

// endings returns the name of a text's line endings, or "" if it has none.
func endings(t *textfile.Text) string {
	e := t.Endings()
	switch {
	case e.LF > 0 && e.CRLF > 0, e.CR > 0 && e.LF+e.CRLF > 0:
		return "mixed"
	case e.CRLF > 0:
		return "CRLF"
	case e.LF > 0:
		return "LF"
	case e.CR > 0:
		return "CR"
	}
	return ""
}

// Touches reports whether one of the lines from first to last of the new text has changed,
// or whether lines between two of them were removed.
func Touches(hunks []Hunk, first, last int) bool {
	for _, h := range hunks {
		if h.Omitted && first <= h.NewStart+h.NewLines && last >= h.NewStart {
			return true
		}
		at := h.NewStart // line of the new text
		for _, l := range h.Lines {
			switch l[0] {
			case '+':
				if first <= at && at <= last {
					return true
				}
				at++
			case '-':
				if first < at && at <= last { // the removed line was between two of them
					return true
				}
			case ' ':
				at++
			}
		}
	}
	return false
}

// Notes returns notes on side effects of the change.
func (c Changed) Notes() []string {
	var notes []string
	if n := len(c.Written.MadeDirs); n > 0 {
		notes = append(notes, "made "+Plural(n, "folder")+": "+plain.Line(strings.Join(c.Written.MadeDirs, ", ")))
	}
	if c.Written.InPlace {
		notes = append(notes, "written in place: the file is a mount of its own, which cannot be replaced")
	}
	if c.Written.Writer {
		notes = append(notes, "another program has the file open for writing; what it writes from now on goes to the old file and is lost, so end or restart it")
	}
	if c.Written.BrokeLink {
		notes = append(notes, "the file had other hard links; they keep the old content")
	}
	switch {
	case c.Written.NewOwner:
		notes = append(notes, "the file belongs to the user the server runs as now: its owner could not be kept")
	case c.Written.NewGroup:
		notes = append(notes, "the file's group could not be kept")
	}
	if c.Written.DroppedBits {
		notes = append(notes, "setuid and setgid are not set any more")
	}
	return append(notes, c.notes...)
}

// Plural returns a number with its noun.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
