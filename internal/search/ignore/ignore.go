// Package ignore decides which files a search leaves out: by the rules of .gitignore,
// .ignore and .rgignore files, of a repository's info/exclude and of the user's
// core.excludesFile, and by the globs that the user passes with a search.
//
// A file of patterns is a [List]. The rules that apply to a folder, from its own lists
// and those above, are a [Folder]. A walk makes one for each folder with [Folder.Enter]
// and calls [Folder.Match] for each entry. Globs are an [Override].
//
// The rules:
//
//   - A pattern has the meaning that git gives it (gitignore(5), and dir.c and
//     wildmatch.c where the page is silent), in .ignore and .rgignore too. Names and
//     patterns are bytes: ? is one byte. Case is significant.
//   - The last matching pattern of a list decides.
//   - Lists have the precedence of ripgrep: by kind (.rgignore, .ignore, .gitignore,
//     info/exclude, core.excludesFile), and within a kind from the deepest folder up.
//     The first that decides wins. In and below a folder with .git, the .gitignore and
//     info/exclude of the folders above it do not apply.
//   - .gitignore and core.excludesFile apply outside of a repository too.
//   - Nothing below an ignored folder can be included again: a walk does not enter it,
//     and does not call this package for its entries.
//
// Matching does not allocate, unless a path is longer than 512 bytes. The time of a
// pattern is at most proportional to its length times that of the path, for any number
// of asterisks.
//
// This package does not open files: the caller passes a function that reads them.
package ignore

// Verdict is the decision of a list, a folder or an override on an entry.
type Verdict int8

const (
	Undecided Verdict = iota // no pattern matches
	Ignored                  // left out
	Included                 // matched by a negated pattern (!pattern)
)

// invert inverts a verdict, because a plain glob includes.
func (v Verdict) invert() Verdict {
	switch v {
	case Ignored:
		return Included
	case Included:
		return Ignored
	}
	return Undecided
}
