package ignore

// Lists holds the lists found in one folder.
type Lists struct {
	RgIgnore  *List // .rgignore
	Ignore    *List // .ignore
	GitIgnore *List // .gitignore
	Exclude   *List // info/exclude of the repository whose top this is
	Fold      bool  // the repository ignores case: git's own lists do, too
	Repo      bool  // has .git or .jj: the .gitignore and info/exclude from above do not apply here
}

// Folder holds the rules that apply to the entries of one folder: its own lists and
// those above. It never changes and is safe for concurrent use.
type Folder struct {
	path   string // from the folder of the outermost list: "" or ending with a slash
	depth  int    // slashes in path
	fold   bool   // in a repository that ignores case
	low    string // path in lower case, if fold is set
	scopes []scope
	global *List // core.excludesFile, for folders entered later
}

// scope is a list and the place of its folder. Scopes are in the order of precedence.
type scope struct {
	list  *List
	kind  listKind
	base  int // length of its folder's path
	depth int // slashes in that path
	fold  bool
}

// listKind is the source of a list, in the order of precedence.
type listKind uint8

const (
	rgIgnoreFile listKind = iota
	ignoreFile
	gitIgnoreFile
	excludeFile
	globalFile
)

// Top returns the rules at the top of a walk without its own lists: only those of
// core.excludesFile, which may be nil. See [Above] for a top to which lists of folders
// above apply.
func Top(global *List) *Folder {
	f := &Folder{global: global}
	return f.With(Lists{Repo: true})
}

// With returns the rules of the same folder with the lists found in it.
//
// The patterns of core.excludesFile are relative to the top of the innermost
// repository, as in git, or to the first Folder if there is none.
func (f *Folder) With(l Lists) *Folder {
	own := [...]*List{l.RgIgnore, l.Ignore, l.GitIgnore, l.Exclude, nil}
	if l.Repo {
		own[globalFile] = f.global
	} else if own == ([len(own)]*List{}) {
		return f
	}
	with := *f
	if l.Repo {
		with.fold = l.Fold
	}
	if with.fold {
		with.low = lower(with.path)
		for kind := gitIgnoreFile; kind <= globalFile; kind++ {
			if own[kind] != nil && own[kind].folded != nil {
				own[kind] = own[kind].folded()
			}
		}
	}
	with.scopes = make([]scope, 0, len(f.scopes)+len(own))
	above := f.scopes
	for kind, list := range own {
		kind := listKind(kind)
		if list != nil && len(list.rules) > 0 {
			with.scopes = append(with.scopes, scope{list, kind, len(f.path), f.depth, with.fold && kind >= gitIgnoreFile})
		}
		for len(above) > 0 && above[0].kind == kind {
			if !l.Repo || kind < gitIgnoreFile {
				with.scopes = append(with.scopes, above[0])
			}
			above = above[1:]
		}
	}
	return &with
}

// Enter returns the rules of the folder name in f, in which l was found. A folder
// without lists costs two small allocations.
func (f *Folder) Enter(name string, l Lists) *Folder {
	below := &Folder{path: f.path + name + "/", depth: f.depth + 1, fold: f.fold, scopes: f.scopes, global: f.global}
	if f.fold {
		below.low = f.low + lower(name) + "/"
	}
	return below.With(l)
}

// Match returns the verdict on the entry name of the folder. isFolder is whether it is
// a folder; a link to a folder is not.
func (f *Folder) Match(name string, isFolder bool) Verdict {
	if len(f.scopes) == 0 {
		return Undecided
	}
	e := newEntry(name, isFolder)
	low := e
	if f.fold {
		low = newEntry(lower(name), isFolder)
	}
	for i := range f.scopes {
		s := &f.scopes[i]
		path, e := f.path, &e
		if s.fold {
			path, e = f.low, &low
		}
		if v := s.list.match(path[s.base:], f.depth-s.depth, e); v != Undecided {
			return v
		}
	}
	return Undecided
}

// lower returns s with the letters of ASCII in lower case, as git compares names.
func lower(s string) string {
	for i := range len(s) {
		if lowerByte(s[i]) != s[i] {
			b := []byte(s)
			for i := range b {
				b[i] = lowerByte(b[i])
			}
			return string(b)
		}
	}
	return s
}

func lowerByte(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		b |= 0x20
	}
	return b
}

// Ignored reports whether the entry name of the folder is ignored.
func (f *Folder) Ignored(name string, isFolder bool) bool {
	return f.Match(name, isFolder) == Ignored
}
