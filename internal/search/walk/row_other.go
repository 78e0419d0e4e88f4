//go:build !linux || (!amd64 && !arm64)

package walk

// A row looks at files of one folder, one after the other.
type row struct {
	folder folder
	dir    string
}

// begin has the files of dir, a path from f, looked at.
func (r *row) begin(f folder, dir string) { r.folder, r.dir = f, dir }

// stat sets s to the stamp of a regular file that was listed, if it is there.
func (r *row) stat(name string, s *Stamp) { r.folder.regular(r.dir, name, s) }
