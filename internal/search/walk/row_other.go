//go:build !linux || (!amd64 && !arm64)

package walk

// row looks at files of one folder, one after the other.
type row struct {
	folder folder
	dir    string
}

// begin prepares r for the files of dir, a path relative to f.
func (r *row) begin(f folder, dir string) { r.folder, r.dir = f, dir }

// stat sets s to the stamp of a listed regular file, if it exists.
func (r *row) stat(name string, s *Stamp) { r.folder.regular(r.dir, name, s) }
