package search

import "mcp-toolset/internal/search/walk"

// posted is an open file whose worker announces when it waits for the file.
type posted struct {
	walk.Handle
	post *walk.Post
	dir  *walk.Dir
}

func (p *posted) ReadAt(b []byte, off int64) (int, error) {
	p.post.Enter(p.dir)
	defer p.post.Leave()
	return p.Handle.ReadAt(b, off)
}

func (p *posted) Stamp() (walk.Stamp, error) {
	p.post.Enter(p.dir)
	defer p.post.Leave()
	return p.Handle.Stamp()
}
