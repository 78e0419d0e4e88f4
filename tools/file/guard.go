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
	before, err := textfile.Decode(old.Snapshot)
	if err != nil {
		return nil, nil, false
	}
	after, err := textfile.Decode(old.Data)
	if err != nil {
		return nil, nil, false
	}
	return Diff(before.String(), after.String()), Form(before, after), true
}

// shownIn reports whether all changes of a stale text are in parts of it that were shown
// since.
func shownIn(old Old) bool {
	if strings.EqualFold(filepath.Ext(old.path), ".ipynb") {
		return false // its parts are cells, not lines
	}
	hunks, form, ok := SinceRead(old)
	if !ok || len(form) > 0 {
		return false
	}
	shown := func(line int) bool {
		return slices.ContainsFunc(old.parts, func(p session.Part) bool { return p.First <= line && line <= p.Last })
	}
	for _, h := range hunks {
		at := h.NewStart // line of the new text
		for _, l := range h.Lines {
			switch {
			case l[0] == '+' && !shown(at), l[0] == '-' && !shown(at) && !shown(at-1):
				return false
			case l[0] == '+' || l[0] == ' ':
				at++
			}
		}
		if h.Omitted {
			return false
		}
	}
	return true
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
