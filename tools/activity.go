package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
)

// maxLine is the limit of an activity and of a summary, in characters. Hosts show them in one
// line.
const maxLine = 120

// verbs maps the first word of a Description to the words for a call that runs, and for one that
// has run.
var verbs = map[string][2]string{
	"Add":       {"Adding", "Added"},
	"Apply":     {"Applying", "Applied"},
	"Ask":       {"Asking", "Asked"},
	"Call":      {"Calling", "Called"},
	"Change":    {"Changing", "Changed"},
	"Count":     {"Counting", "Counted"},
	"Delete":    {"Deleting", "Deleted"},
	"Edit":      {"Editing", "Edited"},
	"End":       {"Ending", "Ended"},
	"Enter":     {"Entering", "Entered"},
	"Fetch":     {"Fetching", "Fetched"},
	"Find":      {"Finding", "Found"},
	"Join":      {"Joining", "Joined"},
	"Leave":     {"Leaving", "Left"},
	"Let":       {"Letting", "Let"},
	"List":      {"Listing", "Listed"},
	"Load":      {"Loading", "Loaded"},
	"Make":      {"Making", "Made"},
	"Present":   {"Presenting", "Presented"},
	"Read":      {"Reading", "Read"},
	"Remove":    {"Removing", "Removed"},
	"Replace":   {"Replacing", "Replaced"},
	"Reset":     {"Resetting", "Reset"},
	"Return":    {"Returning", "Returned"},
	"Run":       {"Running", "Ran"},
	"Schedule":  {"Scheduling", "Scheduled"},
	"Search":    {"Searching", "Searched"},
	"Send":      {"Sending", "Sent"},
	"Set":       {"Setting", "Set"},
	"Show":      {"Showing", "Showed"},
	"Start":     {"Starting", "Started"},
	"Stop":      {"Stopping", "Stopped"},
	"Summarize": {"Summarizing", "Summarized"},
	"Type":      {"Typing", "Typed"},
	"Undo":      {"Undoing", "Undid"},
	"Wait":      {"Waiting", "Waited"},
	"Watch":     {"Watching", "Watched"},
	"Write":     {"Writing", "Wrote"},
}

// Activity returns what the call does while it runs, such as "Reading server/http.go": the
// Description in another form, in one line that is safe to show. A Description that does not
// begin with a known verb is unchanged. Paths below dir, which is absolute, are relative to it.
func (r *Prepared) Activity(dir string) string { return r.line(r.inForm(0), dir) }

// Done returns the one-line summary of a response of the call: that of the tool, or the
// Description in the past tense. resp is not a refusal.
func (r *Prepared) Done(resp *Response, dir string) string {
	text := resp.Summary
	if text == "" {
		if text = r.inForm(1); resp.Failed {
			text += ": failed"
		}
	}
	return r.line(text, dir)
}

// inForm returns the description of the call with another form of its verb.
func (r *Prepared) inForm(form int) string {
	text := r.Summary
	if r.Tool.Server != "" { // its own Description is only for questions
		text = fmt.Sprintf("Call %q of the server %s", r.Tool.Title, r.Tool.Server)
	}
	verb := text[:len(text)-len(strings.TrimLeft(text, letters))]
	if forms, ok := verbs[verb]; ok {
		return forms[form] + text[len(verb):]
	}
	return text
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// line makes a text short and safe, with the path of the call relative to dir.
func (r *Prepared) line(text, dir string) string {
	if path := r.Path; path != "" && filepath.IsAbs(path) {
		shown := strings.TrimSuffix(workspace.Shown(dir, path), "/")
		switch {
		case shown == "" && filepath.Clean(path) == dir:
			shown = filepath.Base(dir)
		case shown == "":
			shown = path // the root folder
		}
		if i := strings.LastIndex(text, path); i >= 0 { // a pattern before it may have the same text
			text = text[:i] + shown + text[i+len(path):]
		}
	}
	return Line(text)
}

// Line returns text as an activity or a summary: in one line, safe to show and short.
func Line(text string) string { return plain.Cut(plain.Line(text), maxLine) }

// Count returns a number with its noun, such as "1 line" and "4,213 lines".
func Count(n int, noun string) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n != 1 {
		noun += "s"
		for ending, plural := range map[string]string{"chs": "ches", "ys": "ies"} {
			if s, ok := strings.CutSuffix(noun, ending); ok {
				noun = s + plural
			}
		}
	}
	return digits + " " + noun
}

// Partly returns the summary of a search that is not complete for a reason, or of a complete one if
// why is "".
func Partly(found, why string) string {
	if why != "" {
		found += "; not everything was searched"
	}
	return found
}

// Took returns a duration for a summary, such as "2.3 s".
func Took(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}
