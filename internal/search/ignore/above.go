package ignore

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// Above returns the rules that apply to the absolute folder dir from the folders above
// it and from core.excludesFile (global, which may be nil). The caller adds the lists
// of dir itself with [Folder.With].
//
// .rgignore and .ignore files apply from all folders up to the top of the file system,
// .gitignore and info/exclude up to the first folder that has .git or .jj. If dir has
// .git itself, adding its lists with Repo removes the latter again.
//
// ignored is the outermost of the folders on the way to dir, including dir, that the
// rules of its own repository ignore, or "" if there is none.
//
// read reads a file and limits its size. If the file does not exist, its error must be
// [fs.ErrNotExist]; any other error means that something exists, such as the folder
// .git. A file that cannot be read has no patterns.
func Above(dir string, global *List, read func(path string) ([]byte, error)) (f *Folder, ignored string) {
	dir = filepath.Clean(dir)
	root := filepath.VolumeName(dir) + string(filepath.Separator)
	below := strings.TrimPrefix(filepath.ToSlash(dir[min(len(root), len(dir)):]), "/")
	if below == "" {
		return Top(global), ""
	}
	f = Top(global).With(listsOf(root, read))
	at := root
	for {
		name, rest, more := strings.Cut(below, "/")
		at = filepath.Join(at, name)
		if ignored == "" && f.Ignored(name, true) {
			ignored = at
		}
		l := listsOf(at, read)
		if l.Repo {
			ignored = "" // a repository inside an ignored folder is not ignored
		}
		if !more {
			// The caller adds dir's own lists.
			return f.Enter(name, Lists{}), ignored
		}
		f = f.Enter(name, l)
		below = rest
	}
}

func listsOf(dir string, read func(path string) ([]byte, error)) Lists {
	list := func(name string) *List {
		data, err := read(filepath.Join(dir, name))
		if err != nil {
			return nil
		}
		return Parse(data)
	}
	l := Lists{RgIgnore: list(".rgignore"), Ignore: list(".ignore"), GitIgnore: list(".gitignore")}
	data, fold, repo := Exclude(dir, read)
	if _, err := read(filepath.Join(dir, ".jj")); !errors.Is(err, fs.ErrNotExist) {
		repo = true
	}
	l.Exclude, l.Fold, l.Repo = Parse(data), fold, repo
	return l
}

// Exclude returns the info/exclude file of the repository whose top is dir, or nil, whether
// the repository ignores case, and whether there is a .git. If .git is a file, Exclude
// follows it and a worktree's commondir to any path. See [Above] for read.
func Exclude(dir string, read func(path string) ([]byte, error)) (data []byte, fold, repo bool) {
	git := filepath.Join(dir, ".git")
	switch link, err := read(git); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, false
	case err == nil:
		target, ok := strings.CutPrefix(string(link), "gitdir: ")
		if !ok {
			return nil, false, true
		}
		git = join(dir, target)
		if common, err := read(filepath.Join(git, "commondir")); err == nil {
			git = join(git, string(common))
		}
	}
	if config, err := read(filepath.Join(git, "config")); err == nil {
		fold = FoldsCase(config)
	}
	data, err := read(filepath.Join(git, "info", "exclude"))
	if err != nil {
		return nil, fold, true
	}
	return data, fold, true
}

// join resolves a path that git wrote into a file of dir.
func join(dir, path string) string {
	path = strings.TrimRight(path, "\r\n")
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
