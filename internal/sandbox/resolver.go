package sandbox

import (
	"os"
	"path/filepath"
)

// resolver follows links. It caches the real paths of folders: the many paths of a
// policy lie in few.
type resolver struct {
	exact   map[string]int // paths that are used as they are, by open descriptor; -1: absent
	folders map[string]string
}

func newResolver(exact map[string]int) resolver {
	return resolver{exact: exact, folders: map[string]string{}}
}

// folder returns the folder of a path with links followed; "": there is none.
func (r resolver) folder(path string) string {
	folder := filepath.Dir(path)
	real, known := r.folders[folder]
	if !known {
		real, _ = filepath.EvalSymlinks(folder)
		r.folders[folder] = real
	}
	return real
}

// real returns a path with links followed.
func (r resolver) real(path string) (string, error) {
	folder := r.folder(path)
	if folder == "" {
		return "", os.ErrNotExist
	}
	real := filepath.Join(folder, filepath.Base(path))
	st, err := os.Lstat(real)
	if err != nil {
		return "", err
	}
	if st.Mode()&os.ModeSymlink != 0 {
		return filepath.EvalSymlinks(real)
	}
	return real, nil
}

// all returns the paths that exist, with links followed.
func (r resolver) all(paths []string) []string {
	var out []string
	for _, path := range paths {
		if fd, ok := r.exact[filepath.Clean(path)]; ok {
			if fd >= 0 {
				out = append(out, filepath.Clean(path))
			}
			continue
		}
		if real, err := r.real(path); err == nil {
			out = append(out, real)
		}
	}
	return out
}
