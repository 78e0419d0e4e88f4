package toolstest

import (
	"bytes"
	"io"

	"mcp-toolset/internal/record/results"
	"mcp-toolset/tools"
)

// stored is a tools.Results that stores parts in a folder. Other texts stay in memory.
type stored struct {
	store *results.Store
	dir   string
}

func (s stored) Long() tools.Long { return new(memoryLong) }

func (s stored) SaveParts(family, name string, next func() (string, error)) (folder string, count int, err error) {
	return s.store.SaveParts(s.dir, family, name, next)
}

func (s stored) SaveFile(name string, r io.Reader) (path string, err error) {
	return s.store.SaveFile(s.dir, name, r)
}

// memoryLong is a tools.Long that stores nothing.
type memoryLong struct{ bytes.Buffer }

func (w *memoryLong) Mark() (undo func()) {
	size := w.Len()
	return func() { w.Truncate(size) }
}

func (w *memoryLong) Text() string { return w.String() }

func (w *memoryLong) Discard() {}
