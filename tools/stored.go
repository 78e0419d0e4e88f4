package tools

import "io"

// Results stores texts that are too long for an answer, in the session's folder of results.
type Results interface {
	// Long begins a text that may exceed the limit of an answer. The text is stored while
	// it is written, so that it need not fit in memory. A call writes at most one.
	Long() Long

	// SaveParts stores a long text in pieces that Read can show. It calls next for each
	// piece until next returns io.EOF, and returns the folder and the number of files in
	// it. If a call of this session has already saved a text under name, it is not saved
	// again. Saved texts whose names differ but begin with family and a hyphen are removed
	// to make room.
	SaveParts(family, name string, next func() (string, error)) (folder string, count int, err error)

	// SaveFile stores the bytes of r as a file and returns its path. If a call of this session
	// has already saved a file under name, it is not saved again, and r is not read.
	SaveFile(name string, r io.Reader) (path string, err error)
}

// Long is a text that is written in pieces, each of whole characters. It is not safe for
// concurrent use.
type Long interface {
	io.Writer // Write never fails
	// Mark returns a function that removes everything written after Mark.
	Mark() (undo func())
	// Text ends the text and returns it in the form for the model: the whole text, or its
	// ends and the place where the whole is stored.
	Text() string
	// Discard ends the text and drops it. After Text it has no effect.
	Discard()
}
