package notebook

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/nearest"
	"mcp-toolset/internal/plain"
)

// Limits of looking for what a caller meant.
const (
	// mostCompared bounds the cells whose ids are compared with one that no cell
	// has: some 20 ms at most, and few notebooks have a tenth as many.
	mostCompared = 2000
	// mostNamed is how many near ids an error names.
	mostNamed = 3
	// longestNamed bounds what an error repeats of the input, in bytes: the
	// longest id that the format allows.
	longestNamed = 64
)

// find is the index of the cell that an id names. What is an identity is never
// a place too.
func (d *draft) find(id string) (int, error) {
	if at := slices.IndexFunc(d.Cells, func(c Cell) bool { return c.ID == id }); at >= 0 {
		return at, nil
	}
	number, _ := strings.CutPrefix(id, placeName)
	at, err := strconv.Atoi(number)
	if err == nil && placeName+strconv.Itoa(at) == id && at >= 0 && at < len(d.Cells) {
		return at, nil
	}
	return 0, d.noCell(id)
}

// noCell is the fault of an id that names no cell.
func (d *draft) noCell(id string) error {
	fact := "was not changed: cell_id is missing"
	if id != "" {
		fact = "has no cell " + named(id)
	}
	var ids, near []string
	for _, c := range d.Cells[:min(len(d.Cells), mostCompared)] {
		ids = append(ids, c.ID)
	}
	if len(id) <= longestNamed && !isPlace(id) {
		near = nearest.Names(id, ids, mostNamed)
	}
	switch {
	case len(ids) == 0:
		return fault.New(fact, "The notebook has no cells: add one with edit_mode insert and no cell_id.")
	case len(near) > 0:
		return fault.New(fact, fmt.Sprintf("Did you mean %s?", strings.Join(near, " or ")))
	case len(ids) == 1:
		return fault.New(fact, fmt.Sprintf("Its only cell is %s.", ids[0]))
	}
	return fault.New(fact, fmt.Sprintf("Use an id that Read shows, or a place from %s0 to %[1]s%d.", placeName, len(d.Cells)-1))
}

// named is a name of the input as an error repeats it.
func named(name string) string {
	if len(name) > longestNamed {
		name = strings.ToValidUTF8(name[:longestNamed], "") + "…"
	}
	return `"` + plain.Line(name) + `"`
}

// isPlace reports whether an id is the name of a place, if perhaps of none that
// is there.
func isPlace(id string) bool {
	number, ok := strings.CutPrefix(id, placeName)
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// newID makes an id as nbformat does: eight hexadecimal digits.
func (d *draft) newID(random io.Reader) (string, error) {
	if random == nil {
		random = rand.Reader
	}
	var b [4]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("making the id of a cell: %w", err)
	}
	taken := make(map[string]bool, len(d.Cells))
	for _, c := range d.Cells {
		taken[c.ID] = true
	}
	for n := binary.BigEndian.Uint32(b[:]); ; n++ { // ends: no file has 1<<32 cells
		if id := fmt.Sprintf("%08x", n); !taken[id] {
			return id, nil
		}
	}
}

// ownID is the id that the file gives a cell; "" if it gives none.
func (d *draft) ownID(at int) string {
	f, _ := d.cells[at].fields(place{}, []string{"id"}) // Parse has refused doubled ones
	return f.of("id").unquoted()
}

// doubled reports whether two cells of the file have one id.
func (d *draft) doubled() bool {
	ids := make(map[string]bool, len(d.cells))
	for at := range d.cells {
		if id := d.ownID(at); id != "" {
			if ids[id] {
				return true
			}
			ids[id] = true
		}
	}
	return false
}

// renamed are the identities of the cells when those from..to have gone and
// cells with the given ids are in their place, and whether one that stays has
// got another identity.
func (d *draft) renamed(from, to int, ids ...string) (names []string, changed bool) {
	n := &Notebook{Cells: make([]Cell, 0, len(d.cells)+1)}
	for at := range d.cells {
		n.Cells = append(n.Cells, Cell{ID: d.ownID(at)})
	}
	added := make([]Cell, len(ids))
	for i, id := range ids {
		added[i].ID = id
	}
	n.Cells = slices.Replace(n.Cells, from, to, added...)
	n.identify()
	for _, c := range n.Cells {
		names = append(names, c.ID)
	}
	stays := func(c, with Cell) bool { return c.ID == with.ID }
	changed = !slices.EqualFunc(n.Cells[:from], d.Cells[:from], stays) ||
		!slices.EqualFunc(n.Cells[from+len(ids):], d.Cells[to:], stays)
	return names, changed
}
