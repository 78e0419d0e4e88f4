package sandbox

import (
	"os"
	"path/filepath"
)

// Resolver resolves links. It remembers what it has seen: the paths of a policy are
// many and lie in few folders. Use one only as long as the tree may be taken for
// unchanged. It is not safe for concurrent use.
//
// Each path is looked up, never compared with a list of its folder: a file system
// may ignore case, or make a name only when it is looked up.
type Resolver struct {
	exact map[string]int    // paths used unresolved: open descriptors, -1 for absent ones
	real  map[string]string // by clean absolute path, "" for absent ones
}

// NewResolver returns a Resolver that has seen nothing.
func NewResolver() *Resolver { return &Resolver{real: map[string]string{}} }

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
	real := filepath.Join(folder, filepath.Base(path))
	st, err := os.Lstat(real)
	switch {
	case err != nil:
		return ""
	case st.Mode()&os.ModeSymlink != 0:
		real, _ = filepath.EvalSymlinks(real)
	}
	return real
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
