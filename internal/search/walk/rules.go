package walk

import "mcp-toolset/internal/search/ignore"

// Rules says what is left out of one folder. Values never change and are used
// by many goroutines at once. Dynamic types must be comparable.
type Rules interface {
	// Enter gives the rules of the folder called name right below, where
	// found lies. The top of the walk is entered with the name "". It is
	// never nil.
	Enter(name string, found Found) Rules
	// Ignored says whether an entry of the folder is left out.
	Ignored(name string, dir bool) bool
}

// Found is what a folder holds that bears on what is ignored. The contents
// are nil for files that are not there, are links or cannot be read. Of files
// above 1 MiB only the whole lines of the first MiB are given.
type Found struct {
	Rgignore, Ignore, Gitignore []byte // .rgignore, .ignore, .gitignore
	Exclude                     []byte // info/exclude of the repository
	Repo                        bool   // has .git or .jj, as a folder or a file
}

// IgnoreRules is the rules of package ignore: top is what holds above the top
// of the walk.
func IgnoreRules(top *ignore.Folder) Rules { return folderRules{top} }

type folderRules struct{ folder *ignore.Folder }

func (r folderRules) Enter(name string, found Found) Rules {
	lists := ignore.Lists{
		RgIgnore:  ignore.Parse(found.Rgignore),
		Ignore:    ignore.Parse(found.Ignore),
		GitIgnore: ignore.Parse(found.Gitignore),
		Exclude:   ignore.Parse(found.Exclude),
		Repo:      found.Repo,
	}
	if name == "" {
		return folderRules{r.folder.With(lists)}
	}
	return folderRules{r.folder.Enter(name, lists)}
}

func (r folderRules) Ignored(name string, dir bool) bool { return r.folder.Ignored(name, dir) }
