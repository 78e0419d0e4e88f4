package textfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
)

// mostReplacements is the limit of replacements by one edit. Each takes many times its size in
// memory; an edit that needs more should be a script.
const mostReplacements = 1 << 20

// MaxSize is the limit of a text that an edit lengthens, in bytes. A text that is replaced in many
// places could otherwise exceed any memory.
const MaxSize = 64 << 20

// Edit replaces a text by another. Both must be valid UTF-8.
//
// "\n" in Old matches "\n" and "\r\n". "\r\n" in Old matches "\r\n" only. In a text whose line
// endings are all CRLF it is the same as "\n". In a text without "\r" it is "\n", in Old and
// in New. In a text with mixed endings, an Old that contains
// "\r\n" is matched exactly, so its "\n" matches only "\n". The "\r" of a "\r\n" is never matched
// alone, and a byte order mark is never matched.
//
// "\r\n" in New is always written unchanged. "\n" takes the line ending that it replaces: the i-th
// "\n" of the changed part takes the ending of the i-th line that ends there. Any further "\n"
// takes the ending of the line in which the change ends, otherwise of the nearest line before,
// otherwise "\n".
//
// If New is empty and Old is one or more whole lines without the last line ending, that ending is
// removed too. It is not removed if Old begins or ends with a line ending itself; then exactly Old
// is removed. At the end of a file without a final line ending there is none to remove; the ending
// before the last line remains.
type Edit struct {
	Old string // "" only for an empty text, whose content becomes New
	New string
	// All replaces every match from the start, without overlap. Otherwise Old must match exactly
	// once; overlapping matches ("aa" in "aaa") count separately.
	All bool
}

// Place is where an edit replaced a match of Old.
type Place struct {
	Old Lines // in the text before the edit
	New Lines // in the text after the edit; if New is empty, the line where the match was
}

// Lines is a range of lines, numbered from 1. A line ending belongs to the line it ends.
type Lines struct{ First, Last int }

// Apply returns an edited copy and the lines that changed, in order. An error is a *Miss, an
// *Ambiguous or a *fault.Fault.
func (t *Text) Apply(e Edit) (*Text, []Place, error) {
	if err := e.check(); err != nil {
		return nil, nil, err
	}
	d := t.decoded()
	if strings.Contains(e.Old, "\r\n") && bytes.IndexByte(d, '\r') < 0 {
		e.Old, e.New = strings.ReplaceAll(e.Old, "\r\n", "\n"), strings.ReplaceAll(e.New, "\r\n", "\n")
		if e.Old == e.New {
			return nil, nil, sameExceptEndings()
		}
	}
	if e.Old == "" {
		if len(d) > 0 {
			return nil, nil, notEmpty()
		}
		if err := Misfit("new_string", e.New, t.enc, 1); err != nil {
			return nil, nil, err
		}
		return Encode(e.New, t.enc), []Place{{Lines{1, 1}, Lines{1, 1 + inner(e.New)}}}, nil
	}
	spans, err := find(d, e)
	if err != nil {
		return nil, nil, err
	}
	if grown := int64(len(d)) + int64(len(spans))*int64(len(e.New)-len(e.Old)); grown > MaxSize && len(e.New) > len(e.Old) {
		return nil, nil, tooLong(grown)
	}
	changes, done := make([]change, len(spans)), false
	ends := endings{d: d, next: -1, last: -2}
	for i, s := range spans {
		changes[i] = e.change(s, &ends)
		done = done || changes[i] != change{span: span{changes[i].from, changes[i].from}}
	}
	if !done {
		return nil, nil, sameExceptEndings()
	}
	places := e.places(d, spans, changes)
	if t.enc.Legacy() {
		after, err := t.applyOlder(d, spans, changes, places)
		return after, places, err
	}
	return &Text{data: t.splice(d, changes), enc: t.enc, hint: t.hint}, places, nil
}

// applyOlder applies changes to a text in an older encoding. It converts the text if it then declares
// another one.
func (t *Text) applyOlder(d []byte, spans []span, changes []change, places []Place) (*Text, error) {
	text := (&Text{data: d}).splice(d, changes)
	enc, known := lookup(declared(text, t.hint))
	if was, _ := lookup(declared(d, t.hint)); known && enc != was && enc != t.enc {
		if err := Misfit("the file", string(text), enc, 1); err != nil {
			return nil, err
		}
		after := Encode(string(text), enc)
		after.hint = t.hint
		return after, nil
	}
	for i, c := range changes {
		before := d[spans[i].from:max(spans[i].from, c.from)] // what old_string and new_string have in common
		if err := Misfit("new_string", c.text, t.enc, places[i].New.First+bytes.Count(before, []byte{'\n'})); err != nil {
			return nil, err
		}
	}
	return &Text{data: t.splice(d, changes), enc: t.enc, text: text, hint: t.hint}, nil
}

// check rejects edits that are invalid for any file.
func (e Edit) check() error {
	switch {
	case !utf8.ValidString(e.Old):
		return notUTF8("old_string")
	case !utf8.ValidString(e.New):
		return notUTF8("new_string")
	case e.Old == e.New:
		return same()
	}
	return nil
}

func notUTF8(name string) error {
	return &fault.Fault{Fact: "stays as it is: " + name + " is not valid UTF-8", Next: "Send the text in UTF-8."}
}

func same() error {
	return &fault.Fault{
		Fact: "stays as it is: new_string is the same as old_string",
		Next: "Put the changed text into new_string.",
	}
}

func sameExceptEndings() error {
	return &fault.Fault{
		Fact: "stays as it is: old_string and new_string differ only in line endings, and an edit keeps those of the file",
		Next: "To change line endings, use a program such as dos2unix or unix2dos.",
	}
}

func notEmpty() error {
	return &fault.Fault{
		Fact: "is not empty, so old_string must not be",
		Next: "Put the text to replace into old_string; to add a line, put the line beside it there and both into new_string.",
	}
}

func tooLong(size int64) error {
	return &fault.Fault{
		Fact: fmt.Sprintf("would become %d bytes long, more than the %d that are edited", size, MaxSize),
		Next: "Replace fewer places, or use a script.",
	}
}

func tooMany() error {
	return &fault.Fault{
		Fact: fmt.Sprintf("contains old_string more than %d times", mostReplacements),
		Next: "Make old_string longer, or replace it with a script.",
	}
}

// places returns the lines that were replaced.
func (e Edit) places(d []byte, spans []span, changes []change) []Place {
	places := make([]Place, len(spans))
	added := strings.Count(e.New, "\n")
	line, at, moved := 1, 0, 0 // line is the line of d[at]; moved is the number of lines it has moved down
	for i, s := range spans {
		line += bytes.Count(d[at:s.from], []byte{'\n'})
		places[i].Old = Lines{line, line + bytes.Count(d[s.from:s.to-1], []byte{'\n'})}
		places[i].New = Lines{line + moved, line + moved + inner(e.New)}
		at = max(s.to, changes[i].to) // a removed line ending after the match
		gone := bytes.Count(d[s.from:at], []byte{'\n'})
		line += gone
		moved += added - gone
	}
	return places
}

// inner counts the line endings of s, except one at its end.
func inner(s string) int {
	if s == "" {
		return 0
	}
	return strings.Count(s[:len(s)-1], "\n")
}
