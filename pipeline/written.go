package pipeline

import (
	"crypto/sha256"
	"io"

	"mcp-toolset/internal/snapshot"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// maxWritten is the largest file that is looked at again, in bytes: the largest
// that the tools edit.
const maxWritten = 64 << 20

// stillWritten are the records of files that are what the call wrote: nobody
// else has changed them before the hooks run.
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

// lookAgain takes what hooks did to the files that a call wrote for the
// call's own: a file that a formatter changed at once is not one that somebody
// else has changed. A file that cannot be read now stays what the call wrote.
func (c *call) lookAgain(env *tools.Env, written []*session.Read) {
	for _, r := range written {
		if now, data, err := readWritten(env.Files, r.Path); err == nil && now.Hash != r.Hash {
			r.Hash, r.File = now.Hash, now.File
			c.p.Snapshots.Put(r.Hash, data)
		}
	}
}

// readWritten returns what is recorded of a file as it is now.
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
