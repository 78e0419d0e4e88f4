package edit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/textfile"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

const (
	// patience is how often the same edit of the same content may fail before
	// the answer changes: a model that sends it once more does not read it.
	patience = 2
	// fewLines is how many lines of a file are shown to a model that repeats
	// itself.
	fewLines = 10
)

// failure words why an edit could not be applied, and remembers it.
func failure(env *tools.Env, in Input, old file.Old, err error) error {
	var miss *textfile.Miss
	var several *textfile.Ambiguous
	var f *fault.Fault
	if !errors.As(file.About(in.FilePath, err), &f) {
		return err
	}
	told := *f
	place := errors.As(err, &miss) || errors.As(err, &several)
	if what := old.WhatChanged(); place && what != "" {
		told.Next += "\nThe file has changed since it was read:\n" + what
	}
	key := fmt.Sprintf("Edit %x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q %v %x",
		in.FilePath, in.OldString, in.NewString, in.ReplaceAll, sha256.Sum256(old.Data))))
	if failed := env.Session.Failures(key); failed >= patience {
		told.Fact += fmt.Sprintf("; the same edit has failed %d times before", failed)
		told.Next = "Stop repeating it. " + told.Next
		switch {
		case several != nil:
			told.Next += "\nThese are the lines:\n" + lines(old, several.Lines)
		case miss != nil && miss.Excerpt == "" && len(old.Data) > 0:
			told.Next += "\nThe file begins:\n" + lines(old, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
		}
	}
	return &tools.Recorded{Err: &told, Effect: session.Effect{Failed: []string{key}}}
}

// lines shows lines of the file, numbered, and those around them: fewLines in
// all, or a line each if there are more of them.
func lines(old file.Old, which []int) string {
	t, err := textfile.Decode(old.Data)
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
			fmt.Fprintf(&b, "%6d\t%s\n", n, shown(line))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// shown is a line with its tabs, for a model to copy.
func shown(line string) string {
	parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	for i, p := range parts {
		parts[i] = plain.Line(p)
	}
	return file.Shorten(strings.Join(parts, "\t"))
}
