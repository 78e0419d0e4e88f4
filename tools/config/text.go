package config

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/plain"
)

// Limits in characters. Those of sections leave room for the notes of what they leave out.
const (
	maxText  = 4000
	maxLine  = 240
	maxFiles = 500
	maxSet   = 1500
	maxNames = 700
)

const hidden = "(not shown, it may be secret)"

// list is a text of at most a number of characters that counts the lines it leaves out.
type list struct {
	b    strings.Builder
	room int
	left int
}

func (l *list) add(text string) {
	n := utf8.RuneCountInString(text)
	if l.left > 0 || n > l.room {
		l.left++
		return
	}
	l.room -= n
	l.b.WriteString(text)
}

func (l *list) String() string {
	if l.left == 0 {
		return l.b.String()
	}
	return l.b.String() + fmt.Sprintf("(%d more)\n", l.left)
}

// cut returns a text in one line of at most n characters.
func cut(text string, n int) string {
	return plain.Cut(plain.Line(text), n)
}

// overview lists settings in a few words each.
func (o Options) overview() string {
	files, set := &list{room: maxFiles}, &list{room: maxSet}
	defaults, unset := &list{room: maxNames}, &list{room: maxNames}
	for _, f := range o.Files {
		files.add(cut("- "+f.Label+": "+f.Path, maxLine) + " (" + f.State + ")\n")
	}
	for _, s := range o.Settings {
		switch {
		case len(s.Values)+len(s.Unused) > 0:
			set.add("- " + cut(s.line(o.short), maxLine) + "\n")
		case s.Default != "":
			defaults.add(cut(s.Name+" "+s.Default, 60) + "\n")
		default:
			unset.add(cut(s.Name, 60) + "\n")
		}
	}
	text := section("Settings files, the most authoritative first:\n", files.String()) + section("Set:\n", set.String()) +
		section("Defaults: ", inLine(defaults.String(), "; ")) + section("Not set: ", inLine(unset.String(), ", "))
	return text + "[Config with setting shows one with its source, and how the user changes it]"
}

// short returns a source with the label of the file in place of its path.
func (o Options) short(source string) string {
	for _, f := range o.Files {
		if line, ok := strings.CutPrefix(source, f.Path+":"); ok {
			return f.Label + ":" + line
		}
	}
	return source
}

// section returns a title with a text, or "" if there is no text.
func section(title, text string) string {
	if text == "" {
		return ""
	}
	return title + text
}

// inLine joins lines.
func inLine(lines, separator string) string {
	if lines == "" {
		return ""
	}
	return strings.Join(strings.Split(strings.TrimSuffix(lines, "\n"), "\n"), separator) + "\n"
}

// line describes a setting with a value in one line. short shortens sources.
func (s Setting) line(short func(string) string) string {
	switch n := len(s.Values); {
	case n == 1:
		return fmt.Sprintf("%s: %s [%s]", s.Name, cut(s.Values[0].text(), 80), short(s.Values[0].Source))
	case n > 1:
		first := s.Values[0]
		from := short(first.Source)
		for _, v := range s.Values {
			if short(v.Source) != from {
				from += " and other places"
				break
			}
		}
		return fmt.Sprintf("%s: %d values, first %s [%s]", s.Name, n, cut(first.text(), 60), from)
	}
	return fmt.Sprintf("%s: without effect, %s [%s]", s.Name, s.Unused[0].Why, short(s.Unused[0].Source))
}

func (v Value) text() string {
	if v.Text == "" {
		return hidden
	}
	return v.Text
}

// details describes a setting with all values and sources.
func (s Setting) details(room int) string {
	head := cut(s.Name, 120) + ": " + cut(s.Meaning, 400) + "\n"
	tail := cut(s.Change, 700)
	l := &list{room: room - utf8.RuneCountInString(head+tail) - 30}
	value := func(v Value, why string) {
		l.add("- " + cut(v.text(), 700) + " [" + cut(v.Source, 300) + why + "]\n")
	}
	switch {
	case len(s.Values) > 0:
		l.add("In effect:\n")
	case s.Default != "":
		l.add("In effect: " + cut(s.Default, 200) + " [default]\n")
	default:
		l.add("It is not set.\n")
	}
	for _, v := range s.Values {
		value(v, "")
	}
	if len(s.Unused) > 0 {
		l.add("Without effect:\n")
	}
	for _, v := range s.Unused {
		value(v, "; "+cut(v.Why, 120))
	}
	return head + l.String() + tail
}
