// Package ignore says which files a search leaves out: the rules of
// .gitignore, .ignore and .rgignore files, of a repository's info/exclude and
// of the user's core.excludesFile, and the globs a person gives with a search.
//
// One file is a [List]. What holds in a folder, from its own lists and those
// above, is a [Folder]; a walk makes one for each folder with [Folder.Enter]
// and asks [Folder.Match] about each entry. Globs are an [Override].
//
// The rules:
//
//   - A pattern means what git makes of it (gitignore(5), and dir.c and
//     wildmatch.c where the page is silent), in .ignore and .rgignore too.
//     Names and patterns are bytes: ? is one byte. Case is respected.
//   - The last matching pattern of a list decides.
//   - Lists are asked as ripgrep does: by kind (.rgignore, .ignore, .gitignore,
//     info/exclude, core.excludesFile), within a kind from the deepest folder
//     up. The first that decides wins. In and below a folder with .git, the
//     .gitignore and info/exclude of the folders above it do not hold.
//   - .gitignore holds outside of a repository too, and core.excludesFile.
//   - Nothing below an ignored folder can be included again: a walk does not
//     enter it. This package is not asked about what lies in there.
//
// Deciding takes no memory, unless a path is longer than 512 bytes. A pattern takes at most time proportional to its
// length times that of the path, however many asterisks it has.
//
// Nothing here opens a file: reading is handed in by the caller.
package ignore

// Verdict is what a list, a folder or an override says about an entry.
type Verdict int8

const (
	Undecided Verdict = iota // no pattern matches
	Ignored                  // left out
	Included                 // matched by a pattern that takes back (!pattern)
)

// invert turns the meaning round: a plain glob includes.
func (v Verdict) invert() Verdict {
	switch v {
	case Ignored:
		return Included
	case Included:
		return Ignored
	}
	return Undecided
}
