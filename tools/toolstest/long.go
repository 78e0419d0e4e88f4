package toolstest

import "bytes"

// whole is a tools.Long that stores nothing.
type whole struct{ bytes.Buffer }

func (w *whole) Mark() (undo func()) {
	size := w.Len()
	return func() { w.Truncate(size) }
}

func (w *whole) Text() string { return w.String() }

func (w *whole) Discard() {}
