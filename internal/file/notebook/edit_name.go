package notebook

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
)

// Limits of the search for a cell that the caller may have meant.
const (
	// mostCompared is the limit of cells whose ids are compared with an unknown id. It takes at
	// most some 20 ms, and few notebooks have a tenth as many cells.
	mostCompared = 2000
	// mostNamed is the limit of similar ids that an error names.
	mostNamed = 3
	// longestNamed is the limit of input that an error repeats, in bytes: the longest id that the
	// format allows.
	longestNamed = 64
)

// find returns the index of the cell that an id names. The identity of a cell has precedence over a
// place.
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

// noCell returns the fault for an id that names no cell.
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

// named returns a name of the input for use in an error.
func named(name string) string {
	if len(name) > longestNamed {
		name = strings.ToValidUTF8(name[:longestNamed], "") + "…"
	}
	return `"` + plain.Line(name) + `"`
}

// isPlace reports whether an id has the form of a place, which need not exist.
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
	for n := binary.BigEndian.Uint32(b[:]); ; n++ { // it ends, since no file has 1<<32 cells
		if id := fmt.Sprintf("%08x", n); !taken[id] {
			return id, nil
		}
	}
}

// ownID returns the id of a cell in the file, or "" if it has none.
func (d *draft) ownID(at int) string {
	f, _ := d.cells[at].fields(place{}, []string{"id"}) // Parse has rejected duplicate keys
	return f.of("id").unquoted()
}

// doubled reports whether two cells of the file have the same id.
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

// renamed returns the identities of the cells after those from from to before to are replaced by
// cells with the given ids. changed reports whether the identity of a remaining cell changes.
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
