package walk

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
)

// kind is the type of an entry.
type kind uint8

const (
	kindUnknown kind = iota
	kindFile
	kindDir
	kindLink
	kindSpecial
)

// entry is a name in a folder.
type entry struct {
	head uint64 // the first 8 bytes of the name, which decide most comparisons
	ino  uint64
	off  uint32 // of the name in entries.names
	size uint16
	kind kind
}

// entries holds the names read from one folder. A worker reuses it for each folder.
type entries struct {
	buf   []byte // for the system call
	names []byte
	list  []entry
	spare []entry // for sorting
	dots  bool    // whether any name begins with a dot, and so may matter to the rules
	post  *Post
	at    *place // of the folder
}

func (e *entries) reset() {
	e.names, e.list, e.dots = e.names[:0], e.list[:0], false
}

// add adds a name, except "." and "..".
func (e *entries) add(name []byte, ino uint64, k kind) {
	if len(name) == 0 || string(name) == "." || string(name) == ".." {
		return
	}
	if name[0] == '.' {
		e.dots = true
	}
	var head [8]byte
	copy(head[:], name)
	e.list = append(e.list, entry{
		head: binary.BigEndian.Uint64(head[:]),
		ino:  ino,
		off:  uint32(len(e.names)),
		size: uint16(len(name)),
		kind: k,
	})
	e.names = append(e.names, name...)
}

func (e *entries) name(i int) []byte {
	return e.names[e.list[i].off:][:e.list[i].size]
}

// settle looks up the kinds that the system did not report.
func (e *entries) settle(f folder) {
	for i := range e.list {
		if e.list[i].kind == kindUnknown {
			e.post.enter(e.at)
			_, k, err := f.stat("", string(e.name(i)))
			if err != nil {
				k = kindSpecial // gone or inaccessible
			}
			e.list[i].kind = k
		}
	}
}

// sortRun is the number of entries sorted between checks of the context: about 2 ms.
const sortRun = 16 << 10

// sort sorts the entries by name. A large folder is sorted in runs that are then
// merged, so that ctx can end it.
func (e *entries) sort(ctx context.Context) error {
	compare := func(a, b entry) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return cmp.Compare(string(e.names[a.off:][:a.size]), string(e.names[b.off:][:b.size]))
	}
	for run := range slices.Chunk(e.list, sortRun) {
		slices.SortFunc(run, compare)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for width := sortRun; width < len(e.list); width *= 2 {
		e.spare = e.spare[:0]
		for pair := range slices.Chunk(e.list, 2*width) {
			a, b := pair[:min(width, len(pair))], pair[min(width, len(pair)):]
			for len(a) > 0 && len(b) > 0 {
				from := &a
				if compare(b[0], a[0]) < 0 {
					from = &b
				}
				e.spare = append(e.spare, (*from)[0])
				*from = (*from)[1:]
				if len(e.spare)%sortRun == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
			}
			e.spare = append(append(e.spare, a...), b...)
		}
		e.list, e.spare = e.spare, e.list
	}
	return nil
}

// find returns the kind of the entry called name, which must begin with a dot. The
// entries must be sorted.
func (e *entries) find(name string) (kind, bool) {
	if !e.dots {
		return 0, false
	}
	i, ok := slices.BinarySearchFunc(e.list, name, func(a entry, name string) int {
		return cmp.Compare(string(e.names[a.off:][:a.size]), name)
	})
	if !ok {
		return 0, false
	}
	return e.list[i].kind, true
}
