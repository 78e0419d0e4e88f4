package brief

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/text/plain"
)

// maxText is the limit of a summary, in characters.
const maxText = 4000

// overhead is the room of a section for other than its title and lines, in characters.
const overhead = 40

// summary is a summary of calls, in sections.
type summary struct {
	calls, last int
	first       time.Time
	sections    []section
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
}

func summarize(entries []journal.Entry, dir string) *summary {
	s := &summary{calls: len(entries)}
	var changed, read []*file
	var commands, asked, agreed, refused, failed []string
	for i, e := range entries {
		if i == 0 {
			s.first = e.Time
		}
		s.last = e.ID
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
	s.add("Changed, the latest last", 800, lines(changed, dir, (*file).changed))
	s.add("Commands", 800, commands)
	s.add("Failed", 350, failed)
	s.add("Refused", 350, refused)
	s.add("Allowed by the user", 250, agreed)
	s.add("Answers of the user", 250, asked)
	s.add("Read, the latest last", 350, lines(read, dir, func(*file) string { return "" }))
	return s
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
	if s.calls == 0 && len(s.sections) == 0 {
		return "There were no calls."
	}
	var b strings.Builder
	if s.calls > 0 {
		calls := "calls"
		if s.calls == 1 {
			calls = "call"
		}
		fmt.Fprintf(&b, "%d %s from %s on.\n", s.calls, calls, s.first.Format("2006-01-02 15:04:05"))
	}
	for _, sec := range s.sections {
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
