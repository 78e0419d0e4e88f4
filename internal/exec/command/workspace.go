package command

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mcp-toolset/internal/exec/gitconfig"
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
// other worktrees, with the branches that are checked out there. git itself refuses to move those.
func (w *Workspace) foreign() (out []string) {
	if w == nil || w.Common == "" {
		return nil
	}
	add := func(path string) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 {
			out = append(out, path)
		}
	}
	var checkouts []string
	if w.Own != w.Common { // of a submodule, whose checkout is the root
		for _, name := range checkoutNames {
			add(filepath.Join(w.Common, filepath.FromSlash(name)))
		}
		checkouts = append(checkouts, w.Common)
	}
	worktrees := filepath.Join(w.Common, "worktrees")
	entries, _ := os.ReadDir(worktrees)
	for _, e := range entries {
		if path := filepath.Join(worktrees, e.Name()); path != w.Own {
			add(path)
			checkouts = append(checkouts, path)
		}
	}
	for _, dir := range checkouts {
		if branch := branchOf(dir); branch != "" {
			unpack(w.Common, branch)
			add(filepath.Join(w.Common, filepath.FromSlash(branch)))
			add(filepath.Join(w.Common, "logs", filepath.FromSlash(branch)))
		}
	}
	return out
}

// foreign returns what commands at a workspace must not change of repositories: see
// Workspace.foreign.
func (c *Commands) foreign(at *Workspace) (out []string) {
	if at != nil {
		return at.foreign()
	}
	for _, r := range c.outside {
		out = append(out, (&Workspace{Common: r.Common, Own: r.Dir}).foreign()...)
	}
	return out
}

// branchOf returns the branch of a checkout, such as refs/heads/main, whose HEAD is in a folder;
// "" if HEAD is at none.
func branchOf(dir string) string {
	branch, ok := strings.CutPrefix(string(readSome(filepath.Join(dir, "HEAD"))), "ref: ")
	if branch = strings.TrimRight(branch, "\r\n"); !ok || !strings.HasPrefix(branch, "refs/heads/") || branch != path.Clean(branch) {
		return ""
	}
	return branch
}

// maxPacked is the limit of a file packed-refs that is read, in bytes.
const maxPacked = 16 << 20

// packedBranch matches a line of packed-refs. Nothing else is written, since a command can change
// that file.
var packedBranch = regexp.MustCompile(`(?m)^([0-9a-f]{40}|[0-9a-f]{64}) (refs/heads/.+)$`)

// unpack makes a file for a branch that is only in packed-refs, as git does when the branch
// moves, so that a mount can protect it. It does nothing if git is at work there, and never leaves
// the folder of the repository.
func unpack(common, branch string) {
	root, err := os.OpenRoot(common)
	if err != nil {
		return
	}
	defer root.Close()
	if _, err := root.Lstat(branch); err == nil {
		return
	}
	if info, err := root.Lstat("packed-refs"); err != nil || !info.Mode().IsRegular() || info.Size() > maxPacked || root.MkdirAll(filepath.Dir(branch), 0o777) != nil {
		return
	}
	lock, err := root.OpenFile(branch+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return
	}
	renamed := false
	defer func() {
		_ = lock.Close()
		if !renamed { // otherwise a file of this name is the lock of another git
			_ = root.Remove(branch + ".lock")
		}
	}()
	packed, _ := root.ReadFile("packed-refs")
	for _, line := range packedBranch.FindAllSubmatch(packed, -1) {
		if string(line[2]) != branch {
			continue
		}
		if _, err := root.Lstat(branch); err == nil {
			return // made before the lock
		}
		if _, err := lock.Write(append(line[1], '\n')); err == nil && lock.Close() == nil {
			renamed = root.Rename(branch+".lock", branch) == nil
		}
		return
	}
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

// renamedLog matches the error of git branch -m where the log of another worktree's branch is
// mounted: git cannot move a log out of its folder then. It changes nothing.
var renamedLog = regexp.MustCompile(`unable to move logfile logs/refs/heads/\S+ to logs/refs/\.tmp-renamed-log: Invalid cross-device link`)

// explain returns facts on what the sandbox blocked, with the reason for those on the repository of a
// root that is in no root.
func (c *Commands) explain(facts []string) []string {
	for i, fact := range facts {
		path, _, ok := strings.Cut(fact, ", which may be read but not changed: ")
		if !ok {
			path, _, ok = strings.Cut(fact, ", which is protected from commands: ")
		}
		path = strings.TrimPrefix(path, "the output names ")
		for _, r := range c.outside {
			if ok && inside(path, plain.Line(r.Common)) {
				facts[i] = path + " stays closed: of the repository " + plain.Line(r.Common) + " commands change what belongs to " + plain.Line(r.Top) + ", but no hooks, settings and other worktrees"
			}
		}
		for _, root := range c.config.Roots {
			git := filepath.Join(root, ".git")
			if dir := pointed(git, readSome(git)); ok && dir != "" && inside(path, plain.Line(dir)) && !slices.ContainsFunc(c.outside, func(r gitconfig.Root) bool { return r.Top == root }) {
				facts[i] = path + " stays closed: it is in the folder " + plain.Line(dir) + ", which " + plain.Line(git) + " names, and which does not name " + plain.Line(root) + " as its checkout. If it is one, ask the user to run git worktree repair there and to restart the server"
			}
		}
	}
	return facts
}

// explain returns facts on what the sandbox blocked, with the reason for those on the checkout.
func (w *Workspace) explain(facts []string) []string {
	if w == nil {
		return facts
	}
	for i, fact := range facts {
		path, rest, ok := strings.Cut(fact, ", which may be read but not changed: ")
		path = strings.TrimPrefix(path, "the output names ")
		if ok && rest != "" && (inside(path, plain.Line(w.Main)) || inside(resolved(filepath.Dir(path)), w.Main) || inside(resolved(path), w.Main)) {
			facts[i] = path + " is in the main checkout, which is read-only until ExitWorktree"
		}
	}
	return facts
}
