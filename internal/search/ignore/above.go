package ignore

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// Above returns the rules that hold at the absolute folder dir because of the
// folders above it, and of core.excludesFile (global, which may be nil). The
// lists of dir itself are for the caller to add with [Folder.With].
//
// .rgignore and .ignore files count up to the top of the file system,
// .gitignore and info/exclude up to the first folder that has .git or .jj. If dir has
// .git itself, adding its lists with Repo drops the latter again.
//
// ignored is the outermost of the folders on the way to dir, dir included, that
// the rules of its own repository leave out; "" if none is.
//
// read reads a file. For one that is not there its error must be
// [fs.ErrNotExist]; any other error says that there is something, such as the
// folder .git. What cannot be read has no patterns. read bounds how much.
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
		if !more {
			// dir's own lists are not read here.
			return f.Enter(name, Lists{}), ignored
		}
		l := listsOf(at, read)
		if l.Repo {
			ignored = "" // what the repository around it leaves out is one of its own
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
	data, repo := Exclude(dir, read)
	if _, err := read(filepath.Join(dir, ".jj")); !errors.Is(err, fs.ErrNotExist) {
		repo = true
	}
	l.Exclude, l.Repo = Parse(data), repo
	return l
}

// Exclude returns the info/exclude file of the repository whose top is dir, or
// nil, and whether there is a .git. Where that is a file, it and a worktree's
// commondir are followed, wherever they lead. See [Above] for read.
func Exclude(dir string, read func(path string) ([]byte, error)) (data []byte, repo bool) {
	git := filepath.Join(dir, ".git")
	switch link, err := read(git); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err == nil:
		target, ok := strings.CutPrefix(string(link), "gitdir: ")
		if !ok {
			return nil, true
		}
		git = join(dir, target)
		if common, err := read(filepath.Join(git, "commondir")); err == nil {
			git = join(git, string(common))
		}
	}
	data, err := read(filepath.Join(git, "info", "exclude"))
	if err != nil {
		return nil, true
	}
	return data, true
}

// join resolves a path that git wrote into a file of dir.
func join(dir, path string) string {
	path = strings.TrimRight(path, "\r\n")
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
