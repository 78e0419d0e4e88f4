package edit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"mcp-toolset/internal/file/textfile"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

const (
	// maxRepeats is the number of times that the same edit of the same content may fail
	// before the answer changes. A model that sends it again does not read the answer.
	maxRepeats = 2
	// fewLines is the number of lines of a file that a model sees when it repeats a failed
	// edit.
	fewLines = 10
)

// notFound returns the error for a text that could not be replaced. Its next step is one
// that the edit guard permits.
func notFound(in Input, old file.Old, guard file.Guard, err error) error {
	var miss *textfile.NoMatch
	var several *textfile.Ambiguous
	about := file.About(in.FilePath, err)
	if guard == file.GuardOff || !errors.As(err, &miss) && !errors.As(err, &several) {
		return about
	}
	var f *fault.Fault
	errors.As(about, &f)
	told := *f
	switch what := old.ChangesSinceRead(); {
	case old.Known == file.Stale && what != "":
		told.Next = "The file has changed since it was read: read it again, then make old_string from what is there. What changed:\n" + what
	case old.Known == file.Stale:
		told.Next = "The file has changed since it was read: read it again, then make old_string from what is there."
	case old.Known == file.Unread && several != nil && strings.Contains(told.Next, "replace_all"):
		told.Next = "Put more of the lines around the one you mean into old_string, or read the file first to replace all of them with replace_all."
	}
	return &worded{told, err}
}

// worded is an error with a different text. It wraps the original error.
type worded struct {
	fault.Fault
	of error
}

func (w *worded) Unwrap() []error { return []error{&w.Fault, w.of} }

// failure records in the session that an edit failed. It changes the answer if the same
// edit has failed before.
func failure(env *tools.Env, in Input, old file.Old, err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return err
	}
	key := fmt.Sprintf("Edit %x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q %v %x",
		in.FilePath, in.OldString, in.NewString, in.ReplaceAll, sha256.Sum256(old.Data))))
	if failed := env.Session.Failures(key); failed >= maxRepeats {
		err = repeated(*f, failed, old, err)
	}
	return &tools.Recorded{Err: err, Effect: session.Effect{Failed: []string{key}}}
}

// repeated returns the error for an edit that has failed before. It shows the lines for
// which the edit may be meant.
func repeated(f fault.Fault, failed int, old file.Old, err error) error {
	f.Fact += fmt.Sprintf("; the same edit has failed %d times before", failed)
	f.Next = "Stop repeating it. " + f.Next
	var miss *textfile.NoMatch
	var several *textfile.Ambiguous
	switch {
	case errors.As(err, &several):
		f.Next += "\nThese are the lines:\n" + lines(old, several.Lines)
	case errors.As(err, &miss) && miss.Excerpt == "" && len(old.Data) > 0:
		f.Next += "\nThe file begins:\n" + lines(old, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	}
	return &f
}

// lines returns the given lines of the file, numbered, with lines around them. It shows
// about fewLines in all, or one line each if there are more places.
func lines(old file.Old, which []int) string {
	t, err := old.Text()
	if err != nil {
		return ""
	}
	around := max(0, (fewLines/len(which)-1)/2)
	var b strings.Builder
	n := 0
	for line := range strings.Lines(t.String()) {
		n++
		for len(which) > 0 && n > which[0]+around {
			which = which[1:]
		}
		if len(which) == 0 {
			break
		}
		if n >= which[0]-around {
			fmt.Fprintf(&b, "%d\t%s\n", n, file.Shorten(file.Plain(strings.TrimSuffix(line, "\n"))))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
