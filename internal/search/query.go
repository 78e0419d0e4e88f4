package search

import (
	"io"
	"math"
	"sync"
	"time"

	"mcp-toolset/internal/search/match"
)

// Mode is what a query wants to know.
type Mode int

const (
	Names  Mode = iota // which files match, the newest first, ties by path
	Counts             // how many lines of each file match; of a match over lines, all of them
	Lines              // the lines that match
)

// The order of Counts and Lines is that of folders: the files of one by name,
// then the folders in it.

// Query is what to look for in a tree.
type Query struct {
	Match *match.Matcher
	Mode  Mode
	// Pick chooses files by their folder, below the top and with slashes, and
	// their name. Nil: all.
	Pick func(dir, name string) bool
	// Anew, if there is one, is called if Pick is then asked about every file once
	// more: what was asked before was about files some of which there are no more.
	Anew func()
	// Rest, if there is one, reports that Pick chooses all that it has not been
	// asked about, and need not be.
	Rest    func() bool
	picking *sync.Mutex // held while Pick, Anew or Rest is called
	// Show is asked about a file that matches: one that is not shown is as if
	// it were not there. Nil: all.
	Show func(path string) bool
	// Before and After are how many lines around a match are shown; Parts shows
	// of a line that matches only the matches, each as a line.
	Before, After int
	Parts         bool
	// Line appends a line as the answer has it, with a newline: n is its number,
	// at is negative if it does not match. Of a line longer than Wide, in bytes,
	// at is where the first match in it begins; else, and if a match goes on from
	// the line before, it is 0. For Lines. Wide 0: no line is so long.
	Line func(dst []byte, path string, n int, line []byte, at int) []byte
	Wide int
	// Binary is Line for a binary file that matches: it is told once.
	Binary func(dst []byte, path string) []byte
	// Out, if there is one, is given the text of the page of Lines as it is found,
	// instead of Answer.Text. After an error it holds nothing of use.
	Out Out
	// Offset and Limit are the page asked for, in what the mode lists: files, or
	// lines shown. Limit 0 is everything.
	Offset, Limit int
	// Deadline ends the search with what was found. Zero: none does.
	Deadline time.Time
}

// Out takes text, for one goroutine at a time.
type Out interface {
	io.Writer
	// Mark returns a function that takes back all that is written from now on.
	Mark() (undo func())
}

// rest reports whether Pick need not be asked any more.
func (q *Query) rest() bool { return q.Pick == nil || q.Rest != nil && q.Rest() }

// page is the end of the page asked for; 0 if it has none.
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
	Path  string // below the top
	Lines int    // that match
}

// Answer is what a search found.
type Answer struct {
	Files []File // the page of Names and Counts
	Text  []byte // the page of Lines, as Query.Line made it, with Gap between groups
	// Total is how many entries there are on all pages: files, or lines shown.
	// More says that there may be more, since counting them would have taken
	// long.
	Total int
	More  bool
	// Matched is how many files match, Hits how many lines do in Counts: on all
	// pages.
	Matched, Hits int
	// Listed is how many files there are, Picked how many of them were chosen.
	Listed, Picked int
	// Unreadable is how many files and folders could not be read, whole or at
	// all, without those of Silent; files only if they may be shown. Closed is how
	// many are folders.
	Unreadable, Closed int
	// Left is how many files and folders were left out because they are ignored;
	// Ignored is the searched folder, or one above it, if that is; else "".
	Left    int
	Ignored string
	// Silent are folders that were left out, because their file system does not
	// answer; those that may be shown.
	Silent []string
	// Incomplete says why else not everything was searched; "" if it was.
	Incomplete string
}

// Gap stands between lines that do not follow each other, when lines around a
// match are shown. A page does not begin with it.
const Gap = "--\n"
