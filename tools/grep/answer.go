package grep

import (
	"fmt"
	"strings"

	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/search"
)

// output words what was found.
func (r *searching) output() Output {
	a := r.answer
	out := Output{
		Mode: r.in.OutputMode, Files: []string{}, Content: string(a.Text), Total: a.Total, More: a.More,
		Searched: a.Picked, Incomplete: a.Incomplete,
	}
	if out.Mode == "" {
		out.Mode = "files_with_matches"
	}
	var b strings.Builder
	b.Write(a.Text)
	for _, f := range a.Files {
		path := shownPath(r.prefix, f.Path)
		if r.named {
			path = shownPath("", strings.TrimSuffix(f.Path, "/"))
		}
		out.Files = append(out.Files, path)
		b.WriteString(path)
		if r.q.Mode == search.Counts {
			out.Counts = append(out.Counts, f.Lines)
			fmt.Fprintf(&b, ":%d", f.Lines)
		}
		b.WriteByte('\n')
	}
	for _, n := range r.notes() {
		b.WriteString("[" + n + "]\n")
	}
	out.text = strings.TrimSuffix(b.String(), "\n")
	return out
}

// notes are what must be known beside what was found.
func (r *searching) notes() (notes []string) {
	a := r.answer
	switch {
	case a.Matched == 0 && a.Incomplete == "":
		notes = append(notes, r.nothing())
	case r.q.Mode == search.Counts:
		notes = append(notes, fmt.Sprintf("%s in %s", counted(a.Hits, "matching line", "matching lines"), counted(a.Matched, "file", "files")))
	}
	if n := r.paged(); n != "" {
		notes = append(notes, n)
	}
	if a.Ignored != "" {
		notes = append(notes, fmt.Sprintf("%s is left out by a .gitignore or .ignore file; it was searched because path names it", plain.Line(a.Ignored)))
	}
	if a.Unreadable > 0 {
		notes = append(notes, counted(a.Unreadable, "file or folder", "files and folders")+" could not be read")
	}
	if a.Incomplete != "" {
		notes = append(notes, "incomplete: "+a.Incomplete+"; narrow the search by path, glob or type")
	}
	return notes
}

// paged says which page this is and how to go on; "" if it is all.
func (r *searching) paged() string {
	a, one, many := r.answer, "file", "files"
	if r.q.Mode == search.Lines {
		one, many = "line", "lines"
	}
	first, last := r.q.Offset+1, a.Total
	if r.q.Limit > 0 {
		last = min(last, r.q.Offset+r.q.Limit)
	}
	span := fmt.Sprintf("%s %d to %d", many, first, last)
	if first == last {
		span = fmt.Sprintf("%s %d", one, first)
	}
	switch {
	case a.Total == 0 || first == 1 && last == a.Total && !a.More:
		return ""
	case first > a.Total:
		return fmt.Sprintf("offset %d is past the end: there are %s in all", r.q.Offset, counted(a.Total, one, many))
	case a.More:
		return fmt.Sprintf("%s of more than %d; go on with offset %d", span, a.Total, last)
	case last < a.Total:
		return fmt.Sprintf("%s of %d; go on with offset %d", span, a.Total, last)
	}
	return fmt.Sprintf("%s of %d", span, a.Total)
}

// nothing says why there is no match.
func (r *searching) nothing() string {
	a := r.answer
	where := plain.Line(r.in.Path)
	switch {
	case r.named:
		return "no match in " + where
	case a.Picked > 0:
		return "no match in " + counted(a.Picked, "file", "files")
	case a.Listed == 0 && a.Left > 0:
		return fmt.Sprintf("no file was searched: the %s in %s are left out by .gitignore or .ignore files; to search one, name it as path",
			counted(a.Left, "entry", "entries"), where)
	case a.Listed == 0:
		return "no file was searched: there is none in " + where
	}
	var by []string
	if r.in.Glob != "" {
		by = append(by, "matches glob "+plain.Line(r.in.Glob))
	}
	if r.in.Type != "" {
		by = append(by, "is of type "+plain.Line(r.in.Type))
	}
	s := fmt.Sprintf("no file was searched: none of the %s in %s %s", counted(a.Listed, "file", "files"), where, strings.Join(by, " and "))
	if a.Left > 0 {
		s += fmt.Sprintf("; %s left out by .gitignore or .ignore files were not looked at", counted(a.Left, "entry", "entries"))
	}
	return s
}
