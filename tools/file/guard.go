package file

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/textfile"
	"mcp-toolset/session"
)

// Guard is how much a session must know of a file before it changes it: the
// setting editGuard.
type Guard string

// The guards. The zero Guard is GuardDefault.
const (
	// GuardStrict wants every file read first, and unchanged since.
	GuardStrict Guard = "strict"
	// GuardDefault wants that where a change could destroy what nobody has
	// seen: for replacing a whole file, and for an edit that may hit another
	// place than the one that is meant.
	GuardDefault Guard = "default"
	// GuardOff wants nothing.
	GuardOff Guard = "off"
)

// NotRead refuses to change a file that the session has not read.
func NotRead(path string) error {
	return fault.New(plain.Line(path)+" was not read in this session; nothing was changed", "Read it, then send the call again if it is still right.")
}

// HasChanged refuses to change a file that is not what the session has read, and
// shows what has changed as far as that is known.
func HasChanged(path string, old Old) error {
	fact := plain.Line(path) + " has changed since it was read; nothing was written"
	if old.Data == nil {
		fact = plain.Line(path) + " may have changed since it was read, which cannot be told of so large a file; nothing was written"
	}
	next := "Read it again, then send the call again if it is still right."
	if what := old.WhatChanged(); what != "" {
		next += " What changed:\n" + what
	}
	return fault.New(fact, next)
}

// WhatChanged shows what has changed in a stale file since it was read, without
// a newline at its end; "" if that is not known.
func (old Old) WhatChanged() string {
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

// SinceRead is what has changed in a stale file since the session read it: of
// its text, and of its form. ok is false if that is not known.
func SinceRead(old Old) (hunks []Hunk, form []string, ok bool) {
	if old.Known != Stale || old.Seen == nil || old.Data == nil {
		return nil, nil, false
	}
	before, err := textfile.Decode(old.Seen)
	if err != nil {
		return nil, nil, false
	}
	after, err := textfile.Decode(old.Data)
	if err != nil {
		return nil, nil, false
	}
	return Diff(before.String(), after.String()), Form(before, after), true
}

// shownIn reports whether all that has changed in a stale text is among the
// parts of it that were shown since.
func shownIn(old Old) bool {
	if strings.EqualFold(filepath.Ext(old.path), ".ipynb") {
		return false // its parts are cells
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

// Form says how the form of a text changed: its encoding, its line endings.
func Form(before, after *textfile.Text) (form []string) {
	if a, b := before.Encoding(), after.Encoding(); a != b {
		form = append(form, fmt.Sprintf("the file was %s and is %s now", a, b))
	}
	if a, b := endings(before), endings(after); a != b && a != "" && b != "" {
		form = append(form, fmt.Sprintf("line endings were %s and are %s now", a, b))
	}
	return form
}

// endings names the line endings of a text; "" if it has none.
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

// Touches reports whether one of the lines from first to last of the new text
// has changed, or whether lines are gone between two of them.
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
				if first < at && at <= last { // it was between two of them
					return true
				}
			case ' ':
				at++
			}
		}
	}
	return false
}

// Tell says what was done besides: what a model or a person may have to know.
func (c Changed) Tell() []string {
	var notes []string
	if n := len(c.Written.MadeDirs); n > 0 {
		notes = append(notes, "made "+Plural(n, "folder")+": "+plain.Line(strings.Join(c.Written.MadeDirs, ", ")))
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
	return notes
}

// Plural is a number with the noun it counts.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
