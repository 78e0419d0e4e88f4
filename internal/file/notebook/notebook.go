// Package notebook reads Jupyter notebooks of nbformat 3 and 4, selects what an answer shows of
// one, and edits cells of nbformat 4 in the bytes of the file.
//
// The content of a notebook is not changed, except where other programs would show something
// different: duplicates of keys that matter are rejected. Sequences that only a terminal
// understands are removed from outputs; sources are as in the file.
//
// The memory used grows with the size of the file, and View decodes pictures. The package is meant
// for a process of its own.
package notebook

import (
	"bytes"
	"strconv"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// Notebook is a notebook as read from the file.
type Notebook struct {
	Format, Minor int    // nbformat (3 or 4) and nbformat_minor
	Language      string // of the code, as named by its kernel; "" if unknown
	Cells         []Cell // of all worksheets in nbformat 3
}

// Cell is one cell.
type Cell struct {
	ID      string // unique in the notebook, and safe to show
	Type    string // code, markdown, raw, or another type from the file
	Source  string // valid UTF-8, like all text here
	Count   int    // execution count; 0 if not run
	Outputs []Output
}

// Output holds one output of a cell: a text or a picture. Consecutive pieces of
// one stream are one output.
type Output struct {
	Text        string // the text to show, except that View truncates it
	Picture     []byte // encoded as in the file; nil if there is none
	PictureType string // its MIME type from the file
}

// topKeys lists the keys of a notebook that are read. Only nbformat 3 has worksheets.
var topKeys = []string{"nbformat", "nbformat_minor", "metadata", "cells", "worksheets"}

// Parse reads a notebook. Its errors are *fault.Fault whose fact continues the file's name.
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

// longestNumber is the limit of a number that an error names, in bytes.
const longestNumber = 20

// format returns the major version of the format, 3 or 4.
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

// longestLanguage is the limit of the name of a language, in bytes. Real names have less than 20.
const longestLanguage = 40

// language returns the language of the code. Metadata is only a hint, so errors in it are ignored.
func language(metadata value) string {
	top, _ := metadata.fields(place{}, []string{"language_info", "kernelspec"})
	info, _ := top.of("language_info").fields(place{}, []string{"name"})
	kernel, _ := top.of("kernelspec").fields(place{}, []string{"language"})
	if name := languageName(info.of("name")); name != "" {
		return name
	}
	return languageName(kernel.of("language"))
}

// languageName returns a language from a file, or "" if it cannot be shown.
func languageName(v value) string {
	name := v.unquoted()
	if len(name) > longestLanguage || plain.Line(name) != name {
		return ""
	}
	return name
}

// placeName is the prefix of the names of places in the notebook.
const placeName = "cell-"

// identify gives every cell a unique identity: the format's id, or cell-N, counted from 0. It uses
// cell-N if there is no id, if the id is invalid, and if an earlier cell has the same id.
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
		for taken[id] { // another cell has this id
			id += "-"
		}
		taken[id] = true
		n.Cells[i].ID = id
	}
}

// validID reports whether the format allows an id: 1 to 64 ASCII letters, digits, hyphens and
// underscores.
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
