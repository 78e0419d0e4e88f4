package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// Workspace holds the folders of a command whose session works in a git worktree. Paths are
// canonical.
type Workspace struct {
	Roots  []string // in place of Config.Roots
	Folder string   // the worktree, which the command may read
	Main   string   // the checkout from which the worktree was made, which the command may only read
	// Common is the folder of the repository, which the command may change so that git can
	// commit; "": it may not. Own is the part of it that belongs to the worktree. What belongs to
	// the checkout or to another worktree is protected.
	Common, Own string
}

// roots returns the roots in which repositories are searched.
func (w *Workspace) roots() []string {
	if w == nil {
		return nil
	}
	return w.Roots
}

// checkoutNames lists the files in the folder of a repository that belong to its main checkout.
var checkoutNames = []string{"HEAD", "index", "ORIG_HEAD", "MERGE_HEAD", "logs/HEAD", "info", "modules", "sequencer", "rebase-merge", "rebase-apply"}

// foreign returns the existing files of the repository that belong to the main checkout or to
// other worktrees.
func (w *Workspace) foreign() (out []string) {
	if w == nil || w.Common == "" {
		return nil
	}
	add := func(path string) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 {
			out = append(out, path)
		}
	}
	for _, name := range checkoutNames {
		add(filepath.Join(w.Common, filepath.FromSlash(name)))
	}
	worktrees := filepath.Join(w.Common, "worktrees")
	entries, _ := os.ReadDir(worktrees)
	for _, e := range entries {
		if path := filepath.Join(worktrees, e.Name()); path != w.Own {
			add(path)
		}
	}
	return out
}

// writableAt returns the folders that commands at a workspace may write to, and those that they
// may only read. nil stands for the workspace of the server.
func (c *Commands) writableAt(at *Workspace) (write, only []string) {
	if at == nil {
		return c.writable, nil
	}
	config := c.config
	config.Roots = slices.Clone(at.Roots)
	if at.Common != "" {
		config.Roots = append(config.Roots, at.Common)
	}
	config.AllowWrite = slices.DeleteFunc(slices.Clone(c.config.AllowWrite), func(path string) bool {
		real := resolved(path)
		return inside(real, at.Main) || inside(at.Main, real)
	})
	return writable(config), []string{at.Main, at.Folder}
}

// mayWrite returns all folders in which some command may write.
func (c *Commands) mayWrite() []string {
	if c.config.Worktrees == "" {
		return c.writable
	}
	return append(slices.Clone(c.writable), c.config.Worktrees)
}

// explain returns facts on what the sandbox blocked, with the reason for those on the checkout.
func (w *Workspace) explain(facts []string) []string {
	if w == nil {
		return facts
	}
	for i, fact := range facts {
		path, rest, ok := strings.Cut(fact, " may be read but not changed: ")
		if ok && rest != "" && inside(path, plain.Line(w.Main)) {
			facts[i] = path + " is in the main checkout, which is read-only until ExitWorktree"
		}
	}
	return facts
}
