package file

import (
	"fmt"
	"strings"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/textfile"
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
	next := "Read it again, then send the call again if it is still right."
	if hunks := SinceRead(old); len(hunks) > 0 {
		next += " What changed:\n" + strings.TrimSuffix(Unified(hunks), "\n")
	}
	return fault.New(plain.Line(path)+" has changed since it was read; nothing was written", next)
}

// SinceRead is what has changed in a file since the session read it; nil if
// nothing did, or if that is not known.
func SinceRead(old Old) []Hunk {
	if old.Known != Stale || old.Seen == nil || old.Data == nil {
		return nil
	}
	before, err := textfile.Decode(old.Seen)
	if err != nil {
		return nil
	}
	after, err := textfile.Decode(old.Data)
	if err != nil {
		return nil
	}
	hunks := Diff(before.String(), after.String())
	if hunks == nil { // the encoding, or line endings
		return []Hunk{}
	}
	return hunks
}

// Touches reports whether the lines from first to last of the new text are
// among those that changed, or beside lines that are gone.
func Touches(hunks []Hunk, first, last int) bool {
	for _, h := range hunks {
		if h.Lines == nil && first <= h.NewStart+h.NewLines && last >= h.NewStart {
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
		notes = append(notes, "made "+plural(n, "folder")+": "+plain.Line(strings.Join(c.Written.MadeDirs, ", ")))
	}
	if c.Written.BrokeLink {
		notes = append(notes, "the file had other hard links; they keep the old content")
	}
	if c.Written.DroppedBits {
		notes = append(notes, "setuid and setgid are not set any more")
	}
	return notes
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
