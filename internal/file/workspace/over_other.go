//go:build !windows

package workspace

// renameOver renames the file from to the name of the old file, which it replaces.
func (p *place) renameOver(from string, _ *Old) error { return p.dir.Rename(from, p.name) }
