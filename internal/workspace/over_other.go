//go:build !windows

package workspace

// renameOver gives the file called from the name of the old one.
func (p *place) renameOver(from string, _ *Old) error { return p.dir.Rename(from, p.name) }
