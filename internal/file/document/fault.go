package document

import (
	"errors"
	"fmt"
	"time"

	"mcp-toolset/internal/text/fault"
)

// kind is the kind of a file. Tests add kinds of their own.
type kind string

const (
	kindPicture  kind = "picture"
	kindNotebook kind = "notebook"
	kindPDF      kind = "pdf"
	kindPage     kind = "page"
	kindOffice   kind = "office"
)

// Reasons for a process to end without an answer.
var (
	errMemory  = errors.New("over its limit of memory")
	errStarved = errors.New("killed by the system, which is out of memory")
	errTime    = errors.New("over its deadline")
	errLong    = errors.New("over the limit of an answer")
	errCrash   = errors.New("no answer")
	errBusy    = errors.New("no room in time")
)

// words holds the parts of messages that differ between kinds.
type words struct {
	noun    string // after "is a"
	plural  string
	smaller string // the next step when the file is too large
	less    string // the next step when the call asked for too much at once
	repair  string // the next step when it is damaged; "" for that of files
}

var wordsOf = map[kind]words{
	kindPicture: {"picture", "pictures",
		"Make a smaller copy of it and read that.",
		"Make a smaller copy of it and read that.", ""},
	kindNotebook: {"notebook", "notebooks",
		"Remove outputs from a copy of it and read that.",
		"Ask for fewer cells, or remove outputs from a copy of it and read that.", ""},
	kindPDF: {"PDF file", "PDF files",
		"Split it into smaller files and read those.",
		"Ask for fewer pages at a time, or leave out the one that is too complex.", ""},
	kindOffice: {"office file", "office files",
		"Ask the user for a smaller file with the same content.",
		"Ask for fewer sheets or slides at a time with pages, or for fewer rows with limit.", ""},
	kindPage: {"page", "pages",
		"Fetch a smaller page with the same content.",
		"Fetch a smaller page with the same content.",
		"Fetch another page with the same content."},
}

func (k kind) words() words {
	if w, ok := wordsOf[k]; ok {
		return w
	}
	return words{noun: string(k), plural: string(k)}
}

func (k kind) noun() string { return k.words().noun }

// explain returns the error for a process that ended for the reason end.
func explain(k kind, end error, memory int64, deadline time.Duration) error {
	w := k.words()
	switch end {
	case errMemory:
		return &fault.Fault{Fact: fmt.Sprintf("needs more than %d MB of memory to read", memory/1e6), Next: w.smaller}
	case errStarved:
		return &fault.Fault{Fact: "needs more memory to read than the system has left", Next: "Read it again later, or a smaller copy of it."}
	case errBusy:
		return &fault.Fault{Fact: "was not read: other files that are being read take all the memory there is for it", Next: "Read it again a little later."}
	case errTime:
		return &fault.Fault{Fact: fmt.Sprintf("took longer than %g s to read", deadline.Seconds()), Next: w.less}
	case errLong:
		return &fault.Fault{Fact: fmt.Sprintf("has more than %d MiB to show at once", maxAnswer>>20), Next: w.less}
	}
	repair := w.repair
	if repair == "" {
		repair = "Repair it or use another copy of it."
	}
	return &fault.Fault{
		Fact: fmt.Sprintf("made the reader of %s stop; it is probably damaged", w.plural),
		Next: repair,
	}
}
