package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// maxWork is the limit of files and commits that are named.
const maxWork = 10

// Remove removes the worktree of a session, which must have been made by Enter, and the branch
// that was made with it. If that would lose work, it does so only with discard. It returns the
// branch that was removed; "" if none was. The caller must then apply the move of Leave.
func (r *Registry) Remove(ctx context.Context, v session.View, discard bool) (branch string, err error) {
	c, err := r.load(v.Worktree.Folder)
	switch {
	case err != nil:
		return "", fault.New("the record of the worktree cannot be read: "+plain.Line(err.Error()), "Ask the user to look at that, or leave with the action keep.")
	case c == nil:
		return "", fault.New("EnterWorktree has not made this worktree", "Leave it with the action keep; the user can remove it with git worktree remove.")
	}
	branch, work, err := r.remove(ctx, c, discard)
	if err == nil && len(work) > 0 {
		err = fault.New("removing the worktree would lose work: "+strings.Join(work, "; "), "Commit and push or merge it, leave with the action keep, or set discard_changes if the user wants to lose it.")
	}
	return branch, err
}

// remove removes a worktree and returns the branch that was removed with it. If it returns work,
// which would be lost, it has removed nothing.
func (r *Registry) remove(ctx context.Context, c *record, discard bool) (branch string, work []string, err error) {
	release, err := r.Locks.Lock(ctx, "worktrees "+c.Common)
	if err != nil {
		return "", nil, lockFault(ctx, err)
	}
	defer release()
	if gone(c.Folder) && gone(c.Common) {
		r.forget(c.Folder)
		return "", nil, nil
	}
	g, err := r.open(ctx, c)
	if err != nil {
		return "", nil, err
	}
	work, tip, err := g.work(ctx, c)
	switch {
	case err != nil:
		return "", nil, err
	case len(work) > 0 && !discard:
		return "", work, nil
	}
	g = g.in(c.Common)
	list, err := g.worktrees(ctx)
	if err != nil {
		return "", nil, err
	}
	known := slices.ContainsFunc(list, func(w listed) bool { return w.folder == c.Folder })
	elsewhere := slices.ContainsFunc(list, func(w listed) bool { return w.branch == c.Branch && w.folder != c.Folder })
	// Once git has begun, it must not be interrupted.
	ctx = context.WithoutCancel(ctx)
	if known || !gone(c.Folder) { // otherwise git worktree remove was called elsewhere
		if _, err := g.run(ctx, addTime, "worktree", "remove", "--force", "--force", c.Folder); err != nil {
			return "", nil, failure("git worktree remove", err)
		}
	}
	if c.Made && tip != "" && !elsewhere {
		// Only at the commit that was looked at.
		if _, err := g.run(ctx, gitTime, "update-ref", "-d", "refs/heads/"+c.Branch, tip); err == nil {
			branch = c.Branch
		}
	}
	_ = os.Remove(filepath.Dir(c.Folder)) // if it is empty
	r.forget(c.Folder)
	return branch, nil, nil
}

// open returns a runner in a worktree, or in its checkout if the folder is gone. It fails if the
// folder is no worktree of the repository any more.
func (r *Registry) open(ctx context.Context, c *record) (*git, error) {
	if gone(c.Folder) {
		return newGit(ctx, c.Main, []string{c.Folder, c.Main})
	}
	g, err := newGit(ctx, c.Folder, []string{c.Folder, c.Main})
	if err != nil {
		return nil, err
	}
	own, err := g.path(ctx, "rev-parse", "--absolute-git-dir")
	if err == nil && (filepath.Dir(filepath.Dir(own)) != c.Common || !pointsTo(own, c.Folder)) {
		err = &gitError{plain.Line(c.Folder) + " is no worktree of " + plain.Line(c.Common) + " any more"}
	}
	if err != nil {
		return nil, failure("looking at the worktree", err)
	}
	return g, nil
}

func gone(folder string) bool {
	_, err := os.Lstat(folder)
	return errors.Is(err, fs.ErrNotExist)
}

// work returns what removing the worktree would lose, in at most maxWork lines and one more, and
// the commit at the tip of its branch.
func (g *git) work(ctx context.Context, c *record) (lines []string, tip string, err error) {
	args := []string{"log", "--format=%h %s", fmt.Sprintf("--max-count=%d", maxWork+1)}
	if !gone(c.Folder) {
		if lines, err = g.uncommitted(ctx, c); err != nil {
			return nil, "", err
		}
		if head, err := g.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err == nil {
			args = append(args, head)
		}
	}
	not := []string{"--not", c.Base, "--branches", "--tags", "--remotes"}
	if tip, err = g.line(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+c.Branch); err != nil {
		tip = ""
	}
	if c.Made && tip != "" {
		args = append(args, tip)
		not = slices.Insert(not, 2, "--exclude="+c.Branch)
	}
	commits := ""
	if len(args) > 3 {
		if commits, err = g.run(ctx, gitTime, append(args, append(not, "--")...)...); err != nil {
			return nil, "", failure("git log", err)
		}
	}
	for line := range strings.Lines(commits) {
		lines = append(lines, "on no other branch: "+plain.Cut(plain.Line(strings.TrimSuffix(line, "\n")), 100))
	}
	if more := len(lines) - maxWork; more > 0 {
		lines = append(lines[:maxWork], fmt.Sprintf("and %d more", more))
		if strings.Count(commits, "\n") > maxWork {
			lines[maxWork] = "and more"
		}
	}
	return lines, tip, nil
}

// uncommitted returns a line for each change that is not committed.
func (g *git) uncommitted(ctx context.Context, c *record) (lines []string, err error) {
	status, err := g.run(ctx, gitTime, "status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")
	if err != nil {
		return nil, failure("git status", err)
	}
	for entry := range strings.SplitSeq(status, "\x00") {
		if len(entry) < 4 {
			continue
		}
		name := entry[3:]
		if entry[:2] == "??" && slices.Contains(c.Copied, name) && sameContent(c.Folder, c.Main, name) {
			continue
		}
		lines = append(lines, "not committed: "+plain.Line(name))
	}
	own, err := g.path(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, failure("looking at the worktree", err)
	}
	if entries, _ := os.ReadDir(filepath.Join(own, "modules")); len(entries) > 0 {
		lines = append(lines, "not looked at: the submodules that are checked out in it")
	}
	return lines, nil
}

// Listed is a worktree of a list.
type Listed struct {
	Folder, Repository, Branch string
	Made                       time.Time
	InUse                      bool     // a session works in it
	Gone                       bool     // the folder does not exist any more
	Work                       []string // what removing it would lose
	Removed                    bool     // by List
	Problem                    string   // why it could not be looked at or removed; "": none
}

// List returns the worktrees that Enter has made, the oldest first, and damaged records. With
// clean it removes those that no session uses and that hold no work.
func (r *Registry) List(ctx context.Context, clean bool) (out []Listed, damaged []string, err error) {
	list, damaged, err := r.all()
	for _, c := range list {
		if ctx.Err() != nil {
			return out, damaged, context.Cause(ctx)
		}
		out = append(out, r.look(ctx, c, clean))
	}
	return out, damaged, err
}

func (r *Registry) look(ctx context.Context, c *record, clean bool) Listed {
	l := Listed{Folder: c.Folder, Repository: c.Main, Branch: c.Branch, Made: c.When}
	problem := func(err error) Listed {
		l.Problem = err.Error()
		return l
	}
	lock, err := r.use(c.Folder)
	switch {
	case err != nil:
		return problem(err)
	case lock == nil:
		l.InUse = true
	default:
		defer lock.Close()
	}
	l.Gone = gone(c.Folder)
	if clean && !l.InUse {
		if _, l.Work, err = r.remove(ctx, c, false); err != nil {
			return problem(err)
		}
		l.Removed = len(l.Work) == 0
		return l
	}
	g, err := r.open(ctx, c)
	if err == nil {
		l.Work, _, err = g.work(ctx, c)
	}
	if err != nil {
		return problem(err)
	}
	return l
}
