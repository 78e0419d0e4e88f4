// Package notebook reads Jupyter notebooks, nbformat 3 and 4, says what of one
// an answer shows, and edits cells of nbformat 4 in the bytes of the file.
//
// What a notebook says is kept, except where other programs would show
// something else: a key that matters and stands twice is refused. What only a
// terminal understands is removed from outputs; sources are as in the file.
//
// Memory goes with the size of the file, pictures are decoded in View: for a
// process that may end.
package notebook

import (
	"bytes"
	"strconv"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
)

// Notebook is a notebook as it is in the file.
type Notebook struct {
	Format, Minor int    // nbformat (3 or 4) and nbformat_minor
	Language      string // of the code, as its kernel calls it; "": not said
	Cells         []Cell // of all worksheets, which nbformat 3 has
}

// Cell is one cell.
type Cell struct {
	ID      string // unique in the notebook, and safe to show
	Type    string // code, markdown, raw, or what the file says
	Source  string // valid UTF-8, like all text here
	Count   int    // execution count; 0: not run
	Outputs []Output
}

// Output is one output of a cell: a text or a picture. Consecutive pieces of
// one stream are one output.
type Output struct {
	Text        string // as shown, but for its length
	Picture     []byte // encoded as in the file; nil: none
	PictureType string // its MIME type as the file says
}

// topKeys are the keys of a notebook that are read; worksheets are of nbformat 3.
var topKeys = []string{"nbformat", "nbformat_minor", "metadata", "cells", "worksheets"}

// Parse reads a notebook. Its errors are *fault.Fault whose fact goes on after
// the file's name.
func Parse(data []byte) (*Notebook, error) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, &fault.Fault{Fact: "is a notebook in UTF-16", Next: "Notebooks are UTF-8: convert a copy of it."}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	root, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	if root.kind() != isObject {
		return nil, notNotebook("it is " + root.kind())
	}
	top, err := root.fields(place{}, topKeys)
	if err != nil {
		return nil, err
	}
	n := &Notebook{Minor: top.of("nbformat_minor").integer(), Language: language(top.of("metadata"))}
	if n.Format, err = format(top.of("nbformat")); err != nil {
		return nil, err
	}
	if n.Format == 3 {
		err = n.readWorksheets(top.of("worksheets"))
	} else {
		err = n.readCells(top.of("cells"), "its cells")
	}
	if err != nil {
		return nil, err
	}
	n.identify()
	return n, nil
}

// longestNumber bounds the number that an error names, in bytes.
const longestNumber = 20

// format is the major number of the format, 3 or 4.
func format(v value) (int, error) {
	n := v.integer()
	switch {
	case !v.exists():
		return 0, notNotebook("it has no nbformat")
	case v.kind() != isNumber:
		return 0, notNotebook("its nbformat is " + v.kind() + ", not a number")
	case n != 3 && n != 4:
		number := v.bytes()
		return 0, &fault.Fault{
			Fact: "is a notebook of nbformat " + string(number[:min(len(number), longestNumber)]),
			Next: "Formats 3 and 4 can be read; Jupyter can convert others.",
		}
	}
	return n, nil
}

func notNotebook(why string) error {
	return &fault.Fault{Fact: "is not a notebook: " + why, Next: "A notebook is a JSON object with nbformat and cells."}
}

// longestLanguage bounds the name of a language, in bytes: real ones have less
// than 20.
const longestLanguage = 40

// language is the language of the code. Metadata is only a hint, so whatever is
// wrong with it is no error.
func language(metadata value) string {
	top, _ := metadata.fields(place{}, []string{"language_info", "kernelspec"})
	info, _ := top.of("language_info").fields(place{}, []string{"name"})
	kernel, _ := top.of("kernelspec").fields(place{}, []string{"language"})
	if name := languageName(info.of("name")); name != "" {
		return name
	}
	return languageName(kernel.of("language"))
}

// languageName is a language as a file names it, if it can be shown.
func languageName(v value) string {
	name := v.unquoted()
	if len(name) > longestLanguage || plain.Line(name) != name {
		return ""
	}
	return name
}

// placeName is what the name of a place in the notebook begins with.
const placeName = "cell-"

// identify gives every cell an identity of its own: the format's id, or cell-N
// counting from 0 where there is none, where it is not what the format allows,
// and where an earlier cell has it.
func (n *Notebook) identify() {
	taken := make(map[string]bool, len(n.Cells))
	for i := range n.Cells {
		if id := &n.Cells[i].ID; taken[*id] || !validID(*id) {
			*id = ""
		} else {
			taken[*id] = true
		}
	}
	for i := range n.Cells {
		if n.Cells[i].ID != "" {
			continue
		}
		id := placeName + strconv.Itoa(i)
		for taken[id] { // another cell calls itself that
			id += "-"
		}
		taken[id] = true
		n.Cells[i].ID = id
	}
}

// validID reports whether the format allows an id: 1 to 64 letters, digits,
// hyphens and underscores of ASCII.
func validID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return len(id) >= 1 && len(id) <= 64
}
