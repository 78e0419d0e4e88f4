package search

import (
	"io"
	"math"
	"sync"
	"time"

	"mcp-toolset/internal/search/match"
)

// Mode is the kind of result of a query.
type Mode int

const (
	Names  Mode = iota // the files that match, the newest first, ties by path
	Counts             // the number of matching lines of each file; for a match over several lines, all of them
	Lines              // the lines that match
)

// Counts and Lines are in the order of folders: the files of a folder by name, then its
// subfolders.

// Query describes a search in a tree.
type Query struct {
	Match *match.Matcher
	Mode  Mode
	// Pick chooses files by their folder, relative to the top and with slashes, and
	// their name. nil chooses all.
	Pick func(dir, name string) bool
	// Anew, if not nil, is called before Pick is called for every file once more. Some
	// of the files of the calls before may not exist any more.
	Anew func()
	// Rest, if not nil, reports whether Pick chooses all the files it was not called
	// for, so that it need not be called.
	Rest    func() bool
	picking *sync.Mutex // held while Pick, Anew or Rest is called
	// Show reports whether a file that matches may be shown. A file that may not is
	// treated as if it did not exist. nil shows all.
	Show func(path string) bool
	// Decode, if not nil, returns the text in UTF-8 of a file that is not UTF-8. ok is false if its
	// encoding is not known: then its bytes are searched.
	Decode func(path string, data []byte) (text []byte, ok bool)
	// Before and After are the numbers of lines shown around a match. Parts shows only
	// the matches of a line, each as a line of its own.
	Before, After int
	Parts         bool
	// Line appends a line in the form of the answer, with a newline. n is its number;
	// at is negative if it does not match. For a matching line longer than Wide bytes,
	// at is the offset of its first match, or 0 if a match continues from the line
	// before. Otherwise at is 0. Wide 0 means that no line is too long. Used in Lines.
	Line func(dst []byte, path string, n int, line []byte, at int) []byte
	Wide int
	// Binary is Line for a binary file that matches. It is called once per file.
	Binary func(dst []byte, path string) []byte
	// Out, if not nil, receives the text of the page of Lines as it is found, instead
	// of Answer.Text. After an error its content is undefined.
	Out Out
	// Offset and Limit select a page, in files or lines shown, depending on the mode.
	// Limit 0 means no limit.
	Offset, Limit int
	// Listed, if not nil, gets the number of files to search, before they are searched.
	Listed func(files int)
	// Deadline ends the search with the results so far. Zero means none.
	Deadline time.Time
}

// Out receives text. One goroutine at a time uses it.
type Out interface {
	io.Writer
	// Mark returns a function that removes all that is written from now on.
	Mark() (undo func())
}

// rest reports whether Pick need not be called any more.
func (q *Query) rest() bool { return q.Pick == nil || q.Rest != nil && q.Rest() }

// page returns the end of the requested page, or 0 if it has none.
func (q *Query) page() int {
	if q.Limit == 0 {
		return 0
	}
	if q.Offset > math.MaxInt-q.Limit {
		return math.MaxInt
	}
	return q.Offset + q.Limit
}

// File is a file that matches.
type File struct {
	Path  string // relative to the top
	Lines int    // number of matching lines
}

// Answer holds the results of a search.
type Answer struct {
	Files []File // the page of Names and Counts
	Text  []byte // the page of Lines, as Query.Line made it, with Gap between groups
	// Total is the number of entries on all pages: files, or lines shown. More reports
	// that there may be more, because counting them would have taken long.
	Total int
	More  bool
	// Matched is the number of matching files, Hits the number of matching lines in
	// Counts, both on all pages.
	Matched, Hits int
	// Listed is the number of files in the tree, Picked the number chosen of them.
	Listed, Picked int
	// Unreadable is the number of files and folders that could not be read in whole,
	// without those of Silent. Files count only if they may be shown. Closed is the
	// number of folders among them.
	Unreadable, Closed int
	// IgnoredCount is the number of ignored files and folders. Ignored is the searched folder
	// or one above it, if that is ignored, and "" otherwise.
	IgnoredCount int
	Ignored      string
	// Silent lists the folders that were not searched because their file system does
	// not answer, if they may be shown.
	Silent []string
	// Incomplete is another reason why not everything was searched, or "".
	Incomplete string
}

// Gap separates lines that are not consecutive, when lines around a match are shown. A
// page does not begin with it.
const Gap = "--\n"
