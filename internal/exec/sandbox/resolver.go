package sandbox

import (
	"os"
	"path/filepath"
)

// Resolver resolves links. It caches results: a policy has many paths in few
// folders. Use a Resolver only while the file tree can be assumed unchanged. It is
// not safe for concurrent use.
//
// Each path is looked up, never compared with a listing of its folder: a file
// system may ignore case, or create a name only on lookup.
type Resolver struct {
	exact map[string]int    // paths used unresolved, with open descriptors; -1 for absent ones
	real  map[string]string // resolved by clean absolute path; "" for absent ones
}

// NewResolver returns a Resolver with an empty cache.
func NewResolver() *Resolver { return &Resolver{real: map[string]string{}} }

// Real returns an absolute path with its links resolved, or "" if it does not
// exist.
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
