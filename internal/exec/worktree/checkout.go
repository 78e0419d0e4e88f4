package worktree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// checkout is the checkout in which a session works.
type checkout struct {
	git
	top    string // its top folder
	own    string // the folder of its HEAD and index
	common string // the folder of the repository
	writes bool   // the session may change the repository's folder
}

// find returns the checkout of a session's working directory.
func find(ctx context.Context, v session.View) (*checkout, error) {
	g, err := newGit(ctx, v.Dir, v.Roots)
	if err != nil {
		return nil, err
	}
	c := &checkout{git: *g}
	if bare, err := g.line(ctx, "rev-parse", "--is-bare-repository"); err == nil && bare == "true" {
		return nil, g.noRepository(&gitError{"bare repository"})
	}
	if c.own, err = g.path(ctx, "rev-parse", "--absolute-git-dir"); err != nil {
		return nil, g.noRepository(err)
	}
	if c.common, err = g.path(ctx, "rev-parse", "--git-common-dir"); err != nil {
		return nil, failure("looking at the repository", err)
	}
	if c.top, err = g.path(ctx, "rev-parse", "--show-toplevel"); err != nil || !workspace.Within(c.top, v.Dir) {
		return nil, fault.New(plain.Line(v.Dir)+" is not in the checkout of its repository", "Change to a folder of the checkout first.")
	}
	if !c.belongs(v.Roots) {
		return nil, fault.New("the repository "+plain.Line(c.own)+" is outside of the workspace", "Ask the user to start the server with the folder that holds it as a root.")
	}
	c.writes = workspace.Containing(v.Roots, c.common) != ""
	for _, root := range v.Roots {
		if root != c.top && workspace.Within(root, c.top) {
			return nil, fault.New("the root "+plain.Line(root)+" holds more than the repository "+plain.Line(c.top), "Ask the user to start the server with the repository as a root.")
		}
	}
	return c, nil
}

// belongs reports whether the repository is that of the checkout. A file .git may name any
// repository of the user, which the session must not get hold of by it.
func (c *checkout) belongs(roots []string) bool {
	if c.own != c.common && filepath.Dir(filepath.Dir(c.own)) != c.common && workspace.Containing(roots, c.common) == "" {
		return false
	}
	return workspace.Containing(roots, c.own) != "" || c.own == filepath.Join(c.top, ".git") || pointsTo(c.own, c.top)
}

// pointsTo reports whether the folder of a linked worktree in a repository names the folder top.
func pointsTo(own, top string) bool {
	data, err := os.ReadFile(filepath.Join(own, "gitdir"))
	if err != nil || len(data) > 16<<10 {
		return false
	}
	path := filepath.FromSlash(strings.TrimRight(string(data), "\r\n"))
	if !filepath.IsAbs(path) {
		path = filepath.Join(own, path)
	}
	back, err := workspace.Canonical(filepath.Dir(path))
	return err == nil && back == top
}

// move returns how the session moves from the checkout to a worktree.
func (c *checkout) move(ctx context.Context, v session.View, folder, branch string) (session.Move, error) {
	own, err := c.at(folder).path(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return session.Move{}, failure("looking at the worktree", err)
	}
	if !pointsTo(own, folder) || filepath.Dir(filepath.Dir(own)) != c.common {
		return session.Move{}, fault.New(plain.Line(folder)+" is no worktree of this repository", "See the worktrees with git worktree list.")
	}
	w := &session.Worktree{Folder: folder, Main: c.top, Branch: branch, Roots: v.Roots, Dir: v.Dir}
	if c.writes {
		w.Common, w.Own = c.common, own
	}
	m := session.Move{To: w, Dir: w.Inside(v.Dir)}
	for _, root := range v.Roots {
		in := w.Inside(root)
		if in != root {
			if err := os.MkdirAll(in, 0o777); err != nil { // git has no empty folders
				return m, fault.New("making a folder of the workspace in the worktree failed: "+plain.Line(err.Error()), "Ask the user to look at that.")
			}
			// A folder can be a link in a commit.
			if real, err := workspace.Canonical(in); err != nil || real != in {
				return m, fault.New("the root "+plain.Line(in)+" is a link in the worktree", "Work without a worktree.")
			}
		}
		if !slices.Contains(m.Roots, in) {
			m.Roots = append(m.Roots, in)
		}
	}
	if real, err := workspace.Canonical(m.Dir); err != nil || real != m.Dir || !isFolder(m.Dir) {
		m.Dir = w.Inside(workspace.Containing(v.Roots, v.Dir))
	}
	return m, nil
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// listed is a worktree as git lists it.
type listed struct {
	folder string // canonical
	branch string // "": HEAD is detached
	bare   bool
}

// worktrees lists the worktrees of the repository, the main one first.
func (g *git) worktrees(ctx context.Context) (list []listed, err error) {
	text, err := g.run(ctx, gitTime, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, failure("listing the worktrees", err)
	}
	for block := range strings.SplitSeq(text, "\x00\x00") {
		var w listed
		for line := range strings.SplitSeq(block, "\x00") {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				if w.folder, err = workspace.Canonical(filepath.FromSlash(value)); err != nil {
					w.folder = ""
				}
			case "branch":
				w.branch = strings.TrimPrefix(value, "refs/heads/")
			case "bare":
				w.bare = true
			}
		}
		if w.folder != "" {
			list = append(list, w)
		}
	}
	return list, nil
}

// usedBy returns the worktree in which a branch is checked out; "" if none.
func (g *git) usedBy(ctx context.Context, branch string) (string, error) {
	list, err := g.worktrees(ctx)
	i := slices.IndexFunc(list, func(w listed) bool { return w.branch == branch })
	if i < 0 {
		return "", err
	}
	return list[i].folder, err
}
