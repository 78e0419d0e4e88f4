package walk

import "mcp-toolset/internal/search/ignore"

// Rules decides which entries of one folder are ignored. Values never change and are
// used by many goroutines at once. Dynamic types must be comparable.
type Rules interface {
	// Enter returns the rules of the folder called name, directly in this one, whose
	// files are found. The name of the top of the walk is "". The result is never nil.
	Enter(name string, found Found) Rules
	// Ignored reports whether an entry of the folder is ignored.
	Ignored(name string, dir bool) bool
}

// Found holds the entries of a folder that affect what is ignored. The content of a
// file is nil if it does not exist, is a link or cannot be read. Of files larger than 1
// MiB it is the whole lines of the first MiB.
type Found struct {
	Rgignore, Ignore, Gitignore []byte // .rgignore, .ignore, .gitignore
	Exclude                     []byte // info/exclude of the repository
	Fold                        bool   // core.ignoreCase of the repository
	Repo                        bool   // has .git or .jj, as a folder or a file
}

// IgnoreRules returns the rules of package ignore. top holds the rules from above the
// top of the walk.
func IgnoreRules(top *ignore.Folder) Rules { return folderRules{top} }

type folderRules struct{ folder *ignore.Folder }

func (r folderRules) Enter(name string, found Found) Rules {
	lists := ignore.Lists{
		RgIgnore:  ignore.Parse(found.Rgignore),
		Ignore:    ignore.Parse(found.Ignore),
		GitIgnore: ignore.Parse(found.Gitignore),
		Exclude:   ignore.Parse(found.Exclude),
		Fold:      found.Fold,
		Repo:      found.Repo,
	}
	if name == "" {
		return folderRules{r.folder.With(lists)}
	}
	return folderRules{r.folder.Enter(name, lists)}
}

func (r folderRules) Ignored(name string, dir bool) bool { return r.folder.Ignored(name, dir) }
