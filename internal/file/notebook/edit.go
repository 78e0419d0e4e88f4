package notebook

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
)

// Mode is the operation of an edit on a cell. The zero Mode is Replace.
type Mode string

// The modes, named as in the tool's input.
const (
	Replace Mode = "replace" // replaces the source, and the type if one is given
	Insert  Mode = "insert"  // adds a new cell after the named one
	Delete  Mode = "delete"
)

// Edit describes a change of one cell.
type Edit struct {
	Mode Mode
	// CellID names the cell: its identity as returned by Parse, or cell-N for its place, counted
	// from 0, even if the cell has an id. With Insert, "" is the place before the first cell.
	CellID   string
	CellType string    // code or markdown; "" leaves the type unchanged; required by Insert
	Source   string    // valid UTF-8, stored unchanged; ignored by Delete
	Random   io.Reader // source of the ids of new cells; nil means crypto/rand
}

// Change describes the effect of an edit.
type Change struct {
	ID                   string // of the cell; for a deleted one, before the edit
	Number               int    // place of the cell, from 1; for a deleted one, before the edit
	Total                int    // number of cells after the edit
	OldType, Type        string // "" if there was, or is, no cell
	OldSource, NewSource string
	Cleared              bool // whether outputs or an execution count were removed
	Placed               bool // whether the edit named the cell by its place
	Doubled              bool // whether two cells had the same id before the edit: an id may now refer to another cell
	Renamed              bool // whether the identities of other cells have changed, since cell-N is a place
}

// Apply edits the bytes of a notebook and returns the new bytes. It does not modify data. Only the
// cell concerned and the commas around it change; all other bytes are copied, whatever their order,
// form and escapes. A replaced code cell loses its outputs and execution count.
//
// Only nbformat 4 can be edited. Errors are *fault.Fault, as those of Parse are, except errors of
// Random.
func Apply(data []byte, e Edit) ([]byte, Change, error) {
	e.Mode = cmp.Or(e.Mode, Replace)
	if err := e.check(); err != nil {
		return nil, Change{}, err
	}
	d, err := open(data)
	if err != nil {
		return nil, Change{}, err
	}
	at := -1
	if e.CellID != "" || e.Mode != Insert {
		if at, err = d.find(e.CellID); err != nil {
			return nil, Change{}, err
		}
	}
	out, c, err := d.edit(at, e)
	if err != nil {
		return nil, Change{}, err
	}
	c.Placed = at >= 0 && d.ownID(at) != e.CellID
	c.Doubled = d.doubled()
	return out, c, nil
}

func (d *draft) edit(at int, e Edit) ([]byte, Change, error) {
	switch e.Mode {
	case Insert:
		return d.insert(at+1, e)
	case Delete:
		out, c := d.delete(at)
		return out, c, nil
	}
	return d.replace(at, e)
}

// check rejects edits that are invalid for any notebook.
func (e Edit) check() error {
	switch {
	case e.Mode != Replace && e.Mode != Insert && e.Mode != Delete:
		return fault.New("was not changed: there is no edit_mode "+named(string(e.Mode)), "Use replace, insert or delete.")
	case e.Mode == Delete:
		return nil
	case e.CellType == "" && e.Mode == Insert:
		return fault.New("was not changed: a new cell needs a type", "Set cell_type to code or markdown.")
	case e.CellType != "" && e.CellType != "code" && e.CellType != "markdown":
		return fault.New("was not changed: a cell cannot get the type "+named(e.CellType), "Set cell_type to code or markdown.")
	case !utf8.ValidString(e.Source):
		return fault.New("was not changed: the new source is not valid UTF-8", "Send it as UTF-8.")
	}
	return nil
}

// draft is a notebook of nbformat 4 during an edit.
type draft struct {
	*Notebook
	data  []byte  // the whole file
	mark  int     // length of the byte order mark; offsets of values count from its end
	root  value   // the notebook
	list  value   // the list of cells
	cells []value // the items of list
}

// open parses a notebook for Apply.
func open(data []byte) (*draft, error) {
	n, err := Parse(data)
	if err != nil {
		return nil, err
	}
	if n.Format != 4 {
		return nil, fault.New(fmt.Sprintf("is a notebook of nbformat %d, which can be read but not edited", n.Format),
			"Convert a copy with `jupyter nbconvert --to notebook --nbformat 4` and edit that.")
	}
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	root := value{text, len(text) - len(bytes.TrimLeft(text, space)), len(bytes.TrimRight(text, space))}
	d := &draft{Notebook: n, data: data, mark: len(data) - len(text), root: root}
	top, err := d.root.fields(place{}, topKeys)
	if err != nil {
		return nil, err
	}
	d.list = top.of("cells")
	d.cells = slices.AppendSeq(make([]value, 0, len(n.Cells)), d.list.items())
	return d, nil
}

// splice returns the file with some of its bytes replaced by text.
func (d *draft) splice(from, to int, text ...[]byte) []byte {
	text = append([][]byte{d.data[:d.mark+from]}, text...)
	return bytes.Join(append(text, d.data[d.mark+to:]), nil)
}

func (d *draft) replace(at int, e Edit) ([]byte, Change, error) {
	old, v := d.Cells[at], d.cells[at]
	kind := cmp.Or(e.CellType, old.Type)
	if kind == old.Type && e.Source == old.Source {
		return nil, Change{}, fault.New("has this source in cell "+named(old.ID)+" already", "Nothing needs to be changed there.")
	}
	list, cell := d.layouts(at)
	o := objectOf(v, cell)
	c := Change{ID: old.ID, Number: at + 1, Total: len(d.cells), OldType: old.Type, Type: kind, OldSource: old.Source, NewSource: e.Source}
	if kind == "code" || kind != old.Type {
		c.Cleared = o.ran()
	}
	if kind != old.Type {
		o.retype(kind)
	} else if kind == "code" {
		o.reset()
	}
	o.set("source", d.source(e.Source, at, list, cell, sourceOf(v)))
	return d.splice(v.from, v.to, o.bytes()), c, nil
}

func (d *draft) insert(at int, e Edit) ([]byte, Change, error) {
	near := max(at-1, 0) // the cell whose layout the new one copies
	list, cell := d.layouts(near)
	o := object{open: cell.open, close: cell.close, layout: cell}
	o.set("cell_type", quoted(e.CellType))
	var id string // nbformat before 4.5 has no ids
	if d.Minor >= 5 {
		var err error
		if id, err = d.newID(e.Random); err != nil {
			return nil, Change{}, err
		}
		o.set("id", quoted(id))
	}
	o.set("metadata", []byte("{}"))
	if e.CellType == "code" {
		o.reset()
	}
	o.set("source", d.source(e.Source, near, list, cell, value{}))

	names, renamed := d.renamed(at, at, id)
	c := Change{ID: names[at], Number: at + 1, Total: len(names), Type: e.CellType, NewSource: e.Source, Renamed: renamed}
	between := []byte(list.between)
	switch {
	case len(d.cells) == 0:
		return d.splice(d.list.from, d.list.to, []byte("["+list.open), o.bytes(), []byte(list.close+"]")), c, nil
	case at == 0:
		return d.splice(d.cells[0].from, d.cells[0].from, o.bytes(), between), c, nil
	}
	return d.splice(d.cells[near].to, d.cells[near].to, between, o.bytes()), c, nil
}

// delete removes a cell, with one comma and its lines.
func (d *draft) delete(at int) ([]byte, Change) {
	old := d.Cells[at]
	o := objectOf(d.cells[at], layout{})
	names, renamed := d.renamed(at, at+1)
	c := Change{ID: old.ID, Number: at + 1, Total: len(names), OldType: old.Type, OldSource: old.Source, Cleared: o.ran(), Renamed: renamed}
	switch {
	case len(d.cells) == 1:
		return d.splice(d.list.from, d.list.to, []byte("[]")), c
	case at == 0:
		return d.splice(d.cells[0].from, d.cells[1].from), c
	}
	return d.splice(d.cells[at-1].to, d.cells[at].to), c
}
