package sandbox

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// listAfter is the number of paths in one folder after which the folder is
	// listed: one list costs as much as a few looks.
	listAfter = 4
	// maxListed is the number of entries up to which a list is worth it.
	maxListed = 1000
)

// Resolver resolves links. It remembers what it has seen: the paths of a policy are
// many and lie in few folders. Use one only as long as the tree may be taken for
// unchanged. It is not safe for concurrent use.
type Resolver struct {
	exact map[string]int    // paths that are used as they are: open descriptors, -1 for what is absent
	real  map[string]string // by clean absolute path, "" for what is absent
	asked map[string]int    // paths asked for, by folder
	names map[string]map[string]fs.FileMode
}

// NewResolver returns a Resolver that has seen nothing.
func NewResolver() *Resolver {
	return &Resolver{real: map[string]string{}, asked: map[string]int{}, names: map[string]map[string]fs.FileMode{}}
}

// Real returns an absolute path with its links resolved, "" if it does not exist.
func (r *Resolver) Real(path string) string {
	path = filepath.Clean(path)
	real, known := r.real[path]
	if !known {
		real = r.find(path)
		r.real[path] = real
	}
	return real
}

func (r *Resolver) find(path string) string {
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	folder := r.Real(parent)
	if folder == "" {
		return ""
	}
	mode, there := r.look(folder, filepath.Base(path))
	real := filepath.Join(folder, filepath.Base(path))
	switch {
	case !there:
		return ""
	case mode&fs.ModeSymlink != 0:
		real, _ = filepath.EvalSymlinks(real)
	}
	return real
}

// look returns the type of an entry of a folder.
func (r *Resolver) look(folder, name string) (mode fs.FileMode, there bool) {
	names, listed := r.names[folder]
	if r.asked[folder]++; !listed && r.asked[folder] == listAfter {
		if names, listed = list(folder); listed {
			r.names[folder] = names
		}
	}
	if listed {
		mode, there = names[name]
		return mode, there
	}
	st, err := os.Lstat(filepath.Join(folder, name))
	if err != nil {
		return 0, false
	}
	return st.Mode(), true
}

// list returns the types of the entries of a folder; false if it cannot be read or
// is large.
func list(folder string) (map[string]fs.FileMode, bool) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	entries, err := f.ReadDir(maxListed + 1)
	if err != nil && err != io.EOF || len(entries) > maxListed {
		return nil, false
	}
	names := make(map[string]fs.FileMode, len(entries))
	for _, e := range entries {
		names[e.Name()] = e.Type()
	}
	return names, true
}

// all returns the paths that exist, with links resolved.
func (r *Resolver) all(paths []string) []string {
	var out []string
	for _, path := range paths {
		if fd, ok := r.exact[filepath.Clean(path)]; ok {
			if fd >= 0 {
				out = append(out, filepath.Clean(path))
			}
			continue
		}
		if real := r.Real(path); real != "" {
			out = append(out, real)
		}
	}
	return out
}
