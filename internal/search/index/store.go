package index

import (
	"math/bits"
	"slices"
)

// Store holds the signatures of many files. The zero value is empty and ready for use.
// A [Filter] reads it.
//
// The caller chooses the ids of files. Memory is allocated for every id up to the
// largest, so ids should be dense.
//
// A Store must not be changed while another goroutine uses it.
type Store struct {
	refs        []ref       // by id
	groups      []group     // of the filters of blocks
	open        [][]int32   // by size: groups with a free column
	directories []directory // of texts of several blocks
	spare       []int32     // indexes of unused directories
	words       int         // of groups and directories
}

// ref is the location of a file's signature: a slot, or the index of a directory. The
// zero ref is that of an unknown file.
type ref uint32

const (
	refEmpty     ref = 1       // a text of no bytes
	refFirst     ref = 2       // the slot or directory 0
	refDirectory ref = 1 << 31 // a directory, not a slot
)

// slot is the location of a filter: group and column.
type slot uint32

func (s slot) group() int  { return int(s / columns) }
func (s slot) column() int { return int(s % columns) }

// maxSlots is the limit of slots, because refs have 31 bits. That is 16 TiB of text.
// Signatures beyond it are not stored.
const maxSlots = 1 << 30

// Put stores sig as the signature of file id, in place of the one before. A nil sig
// only removes that.
func (s *Store) Put(id uint32, sig Signature) {
	s.Delete(id)
	n := sig.blocks()
	if sig == nil || len(s.groups)*columns+n*columns > maxSlots {
		return
	}
	if missing := int(id) + 1 - len(s.refs); missing > 0 {
		s.refs = append(s.refs, make([]ref, missing)...)
	}
	switch n {
	case 0:
		s.refs[id] = refEmpty
	case 1:
		s.refs[id] = refFirst + ref(s.storeBlock(sig.filter(0, 1)))
	default:
		d := slices.Clone(directory(sig[:directoryWords(n)]))
		for b := range n {
			d[2+2*b] = d[2+2*b]&low | uint64(s.storeBlock(sig.filter(b, n)))<<32
		}
		s.refs[id] = refFirst + ref(s.storeDirectory(d)) | refDirectory
	}
}

// storeBlock stores the filter of a block.
func (s *Store) storeBlock(filter []uint64, odd bool) slot {
	size := roundUp(len(filter))
	if s.open == nil {
		s.open = make([][]int32, len(sizes))
	}
	open := &s.open[size]
	if len(*open) == 0 {
		*open = append(*open, int32(len(s.groups)))
		s.groups = append(s.groups, group{n: int32(len(filter))})
	}
	at := (*open)[len(*open)-1]
	g := &s.groups[at]
	s.words -= len(g.words)
	column := g.put(filter, odd)
	s.words += len(g.words)
	if g.full() {
		*open = (*open)[:len(*open)-1]
	}
	return slot(at)*columns + slot(column)
}

// storeDirectory stores a directory and returns its index.
func (s *Store) storeDirectory(d directory) int32 {
	s.words += len(d)
	if last := len(s.spare) - 1; last >= 0 {
		at := s.spare[last]
		s.spare = s.spare[:last]
		s.directories[at] = d
		return at
	}
	s.directories = append(s.directories, d)
	return int32(len(s.directories) - 1)
}

// Delete removes the signature of file id, if there is one.
func (s *Store) Delete(id uint32) {
	r := s.ref(id)
	switch {
	case r == 0:
		return
	case r == refEmpty:
	case r&refDirectory == 0:
		s.free(r.slot())
	default:
		d := s.directories[r.directory()]
		for b := range d.blocks() {
			s.free(d.slot(b))
		}
		s.words -= len(d)
		s.directories[r.directory()] = nil
		s.spare = append(s.spare, r.directory())
	}
	s.refs[id] = 0
}

func (s *Store) free(at slot) {
	g := &s.groups[at.group()]
	if g.full() {
		size := roundUp(int(g.n))
		s.open[size] = append(s.open[size], int32(at.group()))
	}
	s.words -= len(g.words)
	g.free(at.column())
	s.words += len(g.words)
}

// Sparse reports whether most of the memory belongs to groups with few columns in use,
// after the removal of blocks. The caller should then start a new Store.
func (s *Store) Sparse() bool {
	const few = 1 << 20 // words
	total, used := 0, 0
	for i := range s.groups {
		g := &s.groups[i]
		total += len(g.words)
		used += int(g.n) * bits.OnesCount64(g.used)
	}
	return total > few && used < total/4
}

// ref returns the location of file id.
func (s *Store) ref(id uint32) ref {
	if int(id) >= len(s.refs) {
		return 0
	}
	return s.refs[id]
}

func (r ref) slot() slot       { return slot(r - refFirst) }
func (r ref) directory() int32 { return int32(r&^refDirectory - refFirst) }

// Bytes returns the memory of the store, including its free parts.
func (s *Store) Bytes() int64 {
	const perRef, perGroup, perDirectory = 4, 56, 24
	return 8*int64(s.words) + perRef*int64(cap(s.refs)) + perGroup*int64(cap(s.groups)) + perDirectory*int64(cap(s.directories))
}
