package pipeline

import (
	"crypto/sha256"
	"io"

	"mcp-toolset/internal/file/snapshot"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// maxWritten is the size of the largest file that is hashed again, in bytes. It
// equals the largest size that tools edit.
const maxWritten = 64 << 20

// stillWritten returns the records of files that still have the content the
// call wrote. It is called before the hooks run, so nothing but the call has
// changed these files.
func stillWritten(env *tools.Env, e session.Effect) (written []*session.Read) {
	for i := range e.Reads {
		if r := &e.Reads[i]; r.Wrote {
			if now, _, err := readWritten(env.Files, r.Path); err == nil && now.Hash == r.Hash {
				written = append(written, r)
			}
		}
	}
	return written
}

// lookAgain attributes the changes that hooks made to files to the call that
// wrote them. So the edit guard does not treat a formatter's change as a
// foreign one. If a file cannot be read, its record stays unchanged.
func (c *call) lookAgain(written []*session.Read) {
	for _, r := range written {
		if now, data, err := readWritten(c.env.Files, r.Path); err == nil && now.Hash != r.Hash {
			r.Hash, r.File = now.Hash, now.File
			c.p.Snapshots.Put(r.Hash, data)
		}
	}
}

// readWritten returns the identity, hash and content of a file as it is now.
// The hash is zero if the file is larger than maxWritten.
func readWritten(files *workspace.Files, path string) (session.Read, []byte, error) {
	file, info, err := files.Open(path)
	if err != nil {
		return session.Read{}, nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxWritten+1))
	if err != nil {
		return session.Read{}, nil, err
	}
	r := session.Read{File: workspace.IdentityOf(info)}
	if len(data) <= maxWritten {
		r.Hash = snapshot.Hash(sha256.Sum256(data))
	}
	return r, data, nil
}
