package policy

import (
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// Moved returns the policy of a session that works in a git worktree. roots are those of the
// session, folder is the worktree, and main the checkout from which it was made. All are
// canonical. In main, calls may only read. Deny and ask rules on a path in main also cover the
// same path in folder, so that a copy of a file is as protected as the file.
func (p *Policy) Moved(roots []string, folder, main string) *Policy {
	q := *p
	q.roots = folders(roots)
	q.before = slices.Concat(p.roots, p.before)
	q.frozen, q.copy = newFolder(main), newFolder(folder)
	return &q
}

// bases returns the folders at which relative deny and ask rules begin: the roots, and those
// that the session has outside of its worktree.
func (p *Policy) bases() []folder { return slices.Concat(p.roots, p.before) }

// original returns the path in the checkout that corresponds to a path in the worktree; "" if
// there is none.
func (p *Policy) original(path string) string {
	if p.copy.path == "" || !p.copy.mayHold(path) {
		return ""
	}
	return p.translate(path, p.copy, p.frozen)
}

// inWorktree returns the path in the worktree that corresponds to a path in the checkout; "" if
// there is none.
func (p *Policy) inWorktree(path string) string {
	if p.frozen.path == "" || !p.frozen.mayHold(path) || p.copy.mayHold(path) {
		return ""
	}
	return p.translate(path, p.frozen, p.copy)
}

// translate returns path with the folder to in place of the folder from. Names that differ only in
// case can have different lengths.
func (p *Policy) translate(path string, from, to folder) string {
	return paths.Join(to.path, strings.Join(paths.Split(paths.Clean(path))[from.depth:], "/"))
}

// inFrozen reports whether the call would change something in the checkout from which the
// session's worktree was made. It returns the path that shows this.
func (c *call) inFrozen() (path string, ok bool) {
	if c.r.Target.Access != Edit || c.p.frozen.path == "" {
		return "", false
	}
	for _, path := range [...]string{c.written(), c.real.path} {
		if c.p.frozen.mayHold(path) && !c.p.copy.mayHold(path) {
			return path, true
		}
	}
	return "", false
}

func (c *call) frozenFile(path string) Decision {
	next := "use the file in the worktree, " + plain.Quote(c.p.inWorktree(path))
	if repository := newFolder(paths.Join(c.p.frozen.path, ".git")); repository.mayHold(path) {
		next = "use git in the worktree" // where .git is no folder
	}
	return c.denied(c.by(path, "is in the main checkout, which is read-only until ExitWorktree"), next)
}
