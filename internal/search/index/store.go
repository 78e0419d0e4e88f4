package index

import (
	"math/bits"
	"slices"
)

// A Store keeps the signatures of many files. The zero value is empty and ready.
// It is asked by a [Filter].
//
// Files are known by an id of the caller's choice. Memory is held for every id
// up to the largest, so they should be dense.
//
// A Store must not be changed while it is used by another goroutine.
type Store struct {
	refs        []ref       // by id
	groups      []group     // of the filters of blocks
	open        [][]int32   // by size: groups with a free column
	directories []directory // of texts of several blocks
	spare       []int32     // those of no file
	words       int         // of groups and directories
}

// A ref is where what is known of a file is: a slot, or the number of a
// directory. The zero ref is that of a file of which nothing is known.
type ref uint32

const (
	refEmpty     ref = 1       // a text of no bytes
	refFirst     ref = 2       // the slot or directory 0
	refDirectory ref = 1 << 31 // a directory, not a slot
)

// A slot is where a filter is: group and column.
type slot uint32

func (s slot) group() int  { return int(s / columns) }
func (s slot) column() int { return int(s % columns) }

// maxSlots is how many slots there are; what is over is not kept: refs have 31
// bits. That is 16 TiB of text.
const maxSlots = 1 << 30

// Put keeps sig as the signature of file id, in place of the one before. Of a
// nil sig nothing is kept.
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
		s.refs[id] = refFirst + ref(s.put(sig.filter(0, 1)))
	default:
		d := slices.Clone(directory(sig[:directoryWords(n)]))
		for b := range n {
			d[2+2*b] = d[2+2*b]&low | uint64(s.put(sig.filter(b, n)))<<32
		}
		s.refs[id] = refFirst + ref(s.keep(d)) | refDirectory
	}
}

// put keeps the filter of a block.
func (s *Store) put(filter []uint64, odd bool) slot {
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

// keep keeps a directory and returns its number.
func (s *Store) keep(d directory) int32 {
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

// Delete forgets the signature of file id, if there is one.
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

// Sparse reports whether most of the memory is that of blocks that are gone: of
// groups with few columns in use. To begin anew is the way out then.
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

// ref is where file id is.
func (s *Store) ref(id uint32) ref {
	if int(id) >= len(s.refs) {
		return 0
	}
	return s.refs[id]
}

func (r ref) slot() slot       { return slot(r - refFirst) }
func (r ref) directory() int32 { return int32(r&^refDirectory - refFirst) }

// Bytes is the memory the store holds, with what is free in it.
func (s *Store) Bytes() int64 {
	const perRef, perGroup, perDirectory = 4, 56, 24
	return 8*int64(s.words) + perRef*int64(cap(s.refs)) + perGroup*int64(cap(s.groups)) + perDirectory*int64(cap(s.directories))
}
