package brief

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// maxText is the limit of a summary, in characters.
const maxText = 4000

// maxPlace is the limit of the text on where the session is, in characters.
const maxPlace = 300

// overhead is the room of a section for other than its title and lines, in characters.
const overhead = 40

// summary is a summary of calls, in sections.
type summary struct {
	calls, last int
	first       time.Time
	dir         string // working directory
	place       string // where the session is and its mode
	sections    []section
	state       int // number of the sections on the state of the session, which come first
}

// section holds lines of one kind. If there is no room for all, the first ones are left
// out, because the last ones are the latest.
type section struct {
	title string
	lines []string
	room  int // limit in characters, of maxText
}

// file collects the calls on one file.
type file struct {
	path           string
	created        bool
	changes        int
	added, removed int
	net            string // what has become of it, in place of the rest; "": what the calls say
}

// newSummary returns a summary of calls without sections.
func newSummary(entries []journal.Entry, dir string) *summary {
	s := &summary{calls: len(entries), dir: dir}
	if len(entries) > 0 {
		s.first, s.last = entries[0].Time, entries[len(entries)-1].ID
	}
	return s
}

// now sets the state of the session.
func (s *summary) now(v session.View, mode string) {
	s.place = "Now: in " + plain.Line(v.Dir)
	if w := v.Worktree; w != nil {
		s.place += ", in the worktree " + plain.Line(w.Folder)
		if w.Branch != "" {
			s.place += " on the branch " + plain.Line(w.Branch)
		}
	}
	s.place = plain.Cut(s.place, maxPlace) + "; mode " + mode + ".\n"
}

// addCalls adds sections on calls. net is what they and undos have changed, as far as it is recorded.
func (s *summary) addCalls(entries []journal.Entry, net []undo.Net) {
	s.state = len(s.sections)
	var changed, read []*file
	var commands, asked, agreed, refused, failed []string
	for _, e := range entries {
		line := fmt.Sprintf("%s %s", e.Time.Format("15:04:05"), title(e))
		if e.Agreed {
			agreed = append(agreed, line)
		}
		switch {
		case e.Did.Answer != "":
			asked = append(asked, fmt.Sprintf("%s %s: %s", e.Time.Format("15:04:05"), e.Tool, plain.Line(e.Did.Answer)))
		case e.Outcome == audit.Refused:
			refused = append(refused, line+": "+plain.Line(e.Reason))
		case e.Did.ExitCode != nil:
			commands = append(commands, fmt.Sprintf("%s: exit code %d", line, *e.Did.ExitCode))
		case e.Outcome != audit.OK:
			failed = append(failed, line+reason(e))
		case e.Did.Task != "":
			commands = append(commands, line+": task "+e.Did.Task)
		case e.Path == "":
		case e.ReadOnly:
			if e.Tool == "Read" {
				read = at(read, e.Path)
			}
		default:
			changed = at(changed, e.Path)
			f := changed[len(changed)-1]
			f.changes++
			f.created = f.created || e.Did.Created
			f.added += e.Did.Added
			f.removed += e.Did.Removed
		}
	}
	for _, n := range net {
		switch i := slices.IndexFunc(changed, func(f *file) bool { return f.path == n.Path }); {
		case i < 0 && n.What != "":
			changed = append(changed, &file{path: n.Path, net: fmt.Sprintf(" %s (undo %d)", n.What, n.Number)})
		case i >= 0 && n.What == "":
			changed = slices.Delete(changed, i, i+1)
		case i >= 0 && (n.Undone || n.What == "deleted"):
			changed[i].net = " " + n.What
		}
	}
	s.add("Changed, the latest last", 700, lines(changed, s.dir, (*file).changed))
	s.add("Commands", 600, commands)
	s.add("Failed", 300, failed)
	s.add("Refused", 300, refused)
	s.add("Allowed by the user", 200, agreed)
	s.add("Answers of the user", 250, asked)
	s.add("Read, the latest last", 250, lines(read, s.dir, func(*file) string { return "" }))
}

// title describes a call in one line that begins with a verb.
func title(e journal.Entry) string {
	text := plain.Cut(plain.Line(e.Title), 120)
	if text == "" {
		return e.Tool
	}
	return text
}

func reason(e journal.Entry) string {
	if e.Reason == "" {
		return ""
	}
	return ": " + plain.Line(e.Reason)
}

// at returns the files with that of a path at the end. It adds the file if it is missing.
func at(files []*file, path string) []*file {
	for i, f := range files {
		if f.path == path {
			return append(append(files[:i:i], files[i+1:]...), f)
		}
	}
	return append(files, &file{path: path})
}

// changed describes the changes of a file.
func (f *file) changed() string {
	if f.net != "" {
		return f.net
	}
	text := ""
	if f.created {
		text = " created,"
	}
	text += fmt.Sprintf(" +%d -%d", f.added, f.removed)
	if f.changes > 1 {
		text += fmt.Sprintf(" in %d changes", f.changes)
	}
	return text
}

// lines returns a line for each file, with its path relative to dir if it is below.
func lines(files []*file, dir string, describe func(*file) string) (out []string) {
	for _, f := range files {
		path := f.path
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		out = append(out, plain.Line(path)+describe(f))
	}
	return out
}

func (s *summary) add(title string, room int, lines []string) {
	for i := range lines {
		lines[i] = plain.Cut(lines[i], room-len(title)-overhead)
	}
	if len(lines) > 0 {
		s.sections = append(s.sections, section{title, lines, room})
	}
}

// addTasks adds the background tasks of the session.
func (s *summary) addTasks(tasks []*task.Task) {
	var lines []string
	for _, t := range tasks {
		state := t.Status()
		text := string(state.State)
		if state.Detail != "" && state.State != task.Running {
			text = plain.Line(state.Detail)
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", t.ID, text, plain.Line(t.Title())))
	}
	s.add("Background tasks", 300, lines)
}

// text returns the summary for a model, of at most maxText characters.
func (s *summary) text() string {
	var b strings.Builder
	b.WriteString(s.place)
	for _, sec := range s.sections[:s.state] {
		b.WriteString(sec.text())
	}
	if s.calls == 0 && len(s.sections) == s.state {
		b.WriteString("There were no calls.")
	}
	if s.calls > 0 {
		calls := "calls"
		if s.calls == 1 {
			calls = "call"
		}
		fmt.Fprintf(&b, "%d %s from %s on.\n", s.calls, calls, s.first.Format("2006-01-02 15:04:05"))
	}
	for _, sec := range s.sections[s.state:] {
		b.WriteString(sec.text())
	}
	if s.last > 0 {
		fmt.Fprintf(&b, "[the last call is number %d; since %d summarizes later ones]", s.last, s.last)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (s section) text() string {
	size, from := 0, len(s.lines)
	for from > 0 {
		size += utf8.RuneCountInString(s.lines[from-1]) + 3
		if size > s.room-len(s.title)-overhead && from < len(s.lines) {
			break
		}
		from--
	}
	text := s.title + ":\n"
	if from > 0 {
		text += fmt.Sprintf("  (%d earlier ones left out)\n", from)
	}
	for _, l := range s.lines[from:] {
		text += "- " + l + "\n"
	}
	return text
}
