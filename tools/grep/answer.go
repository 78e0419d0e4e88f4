package grep

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/search"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// output formats the matches and the notes.
func (r *searching) output() Output {
	a := r.answer
	out := Output{Mode: r.in.OutputMode, Files: []string{}, Total: a.Total, More: a.More, Incomplete: a.Incomplete}
	if silent := file.Silent(a.Silent, r.in.prefix); out.Incomplete == "" && len(silent) > 0 {
		out.Incomplete = silent[0]
	}
	text := a.Text
	for _, f := range a.Files {
		path := shownPath(r.in.prefix, f.Path)
		if r.named {
			path = shownPath("", strings.TrimSuffix(f.Path, "/"))
		}
		out.Files = append(out.Files, path)
		text = append(text, path...)
		if r.q.Mode == search.Counts {
			out.Counts = append(out.Counts, f.Lines)
			text = fmt.Appendf(text, ":%d", f.Lines)
		}
		text = append(text, '\n')
	}
	limit := r.q.Limit
	if limit > 0 {
		fits, n := firstEntries(text, longest-notesReserve, r.q.Before+r.q.After > 0)
		if len(fits) < len(text) {
			text, limit = fits, n
			out.Files, out.Counts = out.Files[:min(n, len(out.Files))], out.Counts[:min(n, len(out.Counts))]
		}
	}
	text = bytes.ReplaceAll(text, []byte{noGap}, nil)
	if r.q.Mode == search.Lines {
		out.Content = string(text)
	}
	for _, n := range slices.Concat(notes(a, r.q.Mode, r.q.Offset, limit, r.noMatchReason()), file.Silent(a.Silent, r.in.prefix), r.secretsNote(), r.hints()) {
		text = append(append(append(text, '['), n...), "]\n"...)
	}
	if r.long != nil {
		_, _ = r.long.Write(text)
		whole := r.long.Text()
		out.text, out.Content = strings.TrimSuffix(whole, "\n"), strings.TrimSuffix(whole, string(text))
		return out
	}
	out.text = string(bytes.TrimSuffix(text, []byte{'\n'}))
	return out
}

// summary returns what was found, in one line.
func (o Output) summary(in Input) string { return tools.Partly(o.found(in), o.Incomplete) }

func (o Output) found(in Input) string {
	least := ""
	if o.More {
		least = "at least "
	}
	switch {
	case o.Total == 0 && o.Incomplete == "":
		return "No matches"
	case in.OnlyMatches && o.Mode == "content":
		return least + tools.Count(o.Total, "match")
	case o.Mode == "content" && in.Before == nil && in.After == nil && max(in.Around, in.Context) == 0:
		return least + tools.Count(o.Total, "matching line")
	case o.Mode == "content":
		return least + tools.Count(o.Total, "line")
	case o.Mode == "count" && len(o.Counts) == o.Total:
		lines := 0
		for _, n := range o.Counts {
			lines += n
		}
		return tools.Count(lines, "matching line") + " in " + tools.Count(o.Total, "file")
	}
	return least + tools.Count(o.Total, "matching file")
}

// ungapped removes the marks of lines that look like a gap.
type ungapped struct{ tools.Long }

func (u ungapped) Write(p []byte) (int, error) {
	if bytes.IndexByte(p, noGap) < 0 {
		return u.Long.Write(p)
	}
	_, err := u.Long.Write(bytes.ReplaceAll(p, []byte{noGap}, nil))
	return len(p), err
}

// notesReserve is the room reserved for the notes after a page, in characters.
const notesReserve = 4000

// firstEntries returns the first entries of a page, one line each, that together have at most room
// characters, and their number. Gaps between entries do not count as entries.
func firstEntries(text []byte, room int, gaps bool) (fits []byte, n int) {
	end, at := 0, 0 // offsets after the last entry, and after the last line seen
	for line := range bytes.Lines(text) {
		if room -= utf8.RuneCount(line); room < 0 {
			break
		}
		at += len(line)
		if !gaps || string(line) != search.Gap {
			end, n = at, n+1
		}
	}
	return text[:end], n
}

// notes returns the notes for the page of limit entries that begins at offset. If limit is
// 0, the page holds all entries. nothing is the reason why there is no match.
func notes(a *search.Answer, mode search.Mode, offset, limit int, nothing string) (notes []string) {
	switch {
	case a.Matched == 0 && a.Incomplete == "":
		notes = append(notes, nothing)
	case a.Matched > 0 && mode == search.Counts:
		notes = append(notes, fmt.Sprintf("%s in %s", counted(a.Hits, "matching line", "matching lines"), counted(a.Matched, "file", "files")))
	}
	if n := paged(a, mode, offset, limit); n != "" {
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

// paged returns a note with the range of the page and the offset of the next page, or "" if
// the page holds all entries.
func paged(a *search.Answer, mode search.Mode, offset, limit int) string {
	one, many := "file", "files"
	if mode == search.Lines {
		one, many = "line", "lines"
	}
	if a.Total > 0 && offset >= a.Total {
		return fmt.Sprintf("offset %d is past the end: %s in all", offset, counted(a.Total, one, many))
	}
	first, last := offset+1, a.Total
	if limit > 0 && limit < last-offset {
		last = offset + limit
	}
	span := fmt.Sprintf("%s %d to %d", many, first, last)
	if first == last {
		span = fmt.Sprintf("%s %d", one, first)
	}
	switch {
	case a.Total == 0 || first == 1 && last == a.Total && !a.More:
		return ""
	case a.More:
		return fmt.Sprintf("%s of more than %d; go on with offset %d", span, a.Total, last)
	case last < a.Total:
		return fmt.Sprintf("%s of %d; go on with offset %d", span, a.Total, last)
	}
	return fmt.Sprintf("%s of %d", span, a.Total)
}

// secretsNote returns a note on the files that were left out because they may hold credentials.
func (r *searching) secretsNote() []string {
	if r.c == nil || r.c.secrets.Note() == "" {
		return nil
	}
	return []string{r.c.secrets.Note()}
}

// noMatchReason returns the reason why there is no match, or "" if there is one.
func (r *searching) noMatchReason() string {
	a, where := r.answer, plain.Line(r.in.Path)
	switch {
	case a.Matched > 0:
		return ""
	case r.named:
		return "no match in " + where
	case r.c.chosen > 0:
		return noMatch(r.c.chosen, a.Unreadable-a.Closed)
	case !r.c.any && a.IgnoredCount > 0:
		return fmt.Sprintf("no file was searched: what is in %s is left out by .gitignore or .ignore files (%s); to search some of it, name that as path",
			where, counted(a.IgnoredCount, "entry", "entries"))
	case !r.c.any:
		return "no file was searched: there is none in " + where
	}
	var by []string
	if r.in.Glob != "" {
		by = append(by, "matches glob "+plain.Line(r.in.Glob))
	}
	if r.in.Type != "" {
		by = append(by, "is of type "+plain.Line(r.in.Type))
	}
	s := fmt.Sprintf("no file was searched: none in %s %s", where, strings.Join(by, " and "))
	if a.IgnoredCount > 0 {
		s += "; not looked at, since .gitignore or .ignore files leave them out: " + counted(a.IgnoredCount, "entry", "entries")
	}
	return s
}

// noMatch returns a note that none of the chosen files has a match. It gives their number,
// up to mostCounted.
func noMatch(chosen, unreadable int) string {
	switch {
	case chosen > mostCounted:
		return fmt.Sprintf("no match in more than %d files", mostCounted)
	case unreadable >= chosen:
		return "no file was searched: none could be read"
	case unreadable > 0:
		return fmt.Sprintf("no match in %d of %s", chosen-unreadable, counted(chosen, "file", "files"))
	}
	return "no match in " + counted(chosen, "file", "files")
}
