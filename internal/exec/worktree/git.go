package worktree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mcp-toolset/internal/exec/launch"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

const (
	gitTime   = 30 * time.Second
	addTime   = 5 * time.Minute // checking out a large repository, and removing one
	maxOutput = 8 << 20         // bytes of a list of files
)

// git runs git in a folder, as the server. It runs no program that the repository or a user
// names: no hook, filter, monitor or helper.
type git struct {
	program string
	dir     string
	env     []string
	// repository is the folder of the repository, if git must not search it; "": it searches.
	repository string
}

// gitError is the failure of a git command.
type gitError struct{ text string }

func (e *gitError) Error() string { return e.text }

// newGit returns a runner in a folder. It fails if git is not installed or could run a program of
// the repository. roots are folders from which no program is taken.
func newGit(ctx context.Context, dir string, roots []string) (*git, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fault.New("git is not installed", "Ask the user to install git, or work without a worktree.")
	}
	if real, err := workspace.Canonical(program); err != nil || workspace.Containing(roots, real) != "" {
		return nil, fault.New("the git of the search path is in the workspace, where commands can change it", "Ask the user to put another git first in PATH.")
	}
	g := &git{program: program, dir: dir}
	g.env, _ = shellsafe.HarmlessGit(nil)
	list, err := g.run(ctx, gitTime, "config", "--list", "--name-only", "-z")
	if err != nil {
		return nil, g.noRepository(err)
	}
	env, refuse := shellsafe.HarmlessGit(strings.Split(list, "\x00"))
	if refuse != "" {
		return nil, fault.New(plain.Line(refuse), "Ask the user to make the worktree with git worktree add; EnterWorktree enters it by its path.")
	}
	g.env = env
	return g, nil
}

// at returns a runner with the same settings in another folder of the repository.
func (g *git) at(dir string) *git {
	h := *g
	h.dir = dir
	return &h
}

// in returns a runner on a repository, without a checkout.
func (g *git) in(common string) *git {
	h := g.at(common)
	h.repository = common
	return h
}

// run returns the output of git. Its error is a *gitError if git fails.
func (g *git) run(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, errs bytes.Buffer
	before := []string{"--no-pager"}
	if g.repository != "" {
		before = append(before, "--git-dir="+g.repository)
	}
	cmd := exec.CommandContext(ctx, g.program, append(before, args...)...)
	cmd.Dir, cmd.WaitDelay = g.dir, 2*time.Second
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "PWD=" + g.dir}, g.env...)
	cmd.Stdout, cmd.Stderr = &bounded{w: &out, left: maxOutput}, &bounded{w: &errs, left: 64 << 10}
	err := launch.Start(ctx, cmd, nil)
	if err == nil {
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.String(), nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", &gitError{"it did not end within " + limit.String()}
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &exit) && exit.Exited():
		return "", &gitError{lastLine(errs.String())}
	}
	return "", &gitError{err.Error()}
}

// line is run for output of one line, which may be a path with a newline in it.
func (g *git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, gitTime, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// path returns a path that git prints, absolute and canonical.
func (g *git) path(ctx context.Context, args ...string) (string, error) {
	path, err := g.line(ctx, args...)
	if err != nil {
		return "", err
	}
	if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
		path = filepath.Join(g.dir, path)
	}
	return workspace.Canonical(path)
}

// noRepository returns the fault for a folder in which git found no repository.
func (g *git) noRepository(err error) error {
	var failed *gitError
	switch {
	case !errors.As(err, &failed):
		return err
	case strings.Contains(failed.text, "bare repository"):
		return fault.New(plain.Line(g.dir)+" is in a git directory, not in a checkout", "Change to a checkout first; clone a bare repository for it.")
	case strings.Contains(failed.text, "not a git repository"):
		return noRepository(g.dir)
	}
	return failure("looking at the repository", err)
}

func noRepository(dir string) error {
	return fault.New(plain.Line(dir)+" is in no git repository", "Work in the folder itself, or change to a folder of a repository first.")
}

// failure returns the fault for a git command that failed.
func failure(what string, err error) error {
	var failed *gitError
	if !errors.As(err, &failed) {
		return err
	}
	next := "Ask the user to look at that."
	text := strings.TrimSuffix(strings.TrimPrefix(plain.Line(failed.text), "fatal: "), ".")
	switch lower := strings.ToLower(failed.text); {
	case strings.Contains(lower, "exists; cannot create"):
		next = "Use another name."
	case strings.Contains(lower, ".lock"):
		next = "Another git may be at work: try again; if it stays like that, ask the user to remove the lock file."
	case strings.Contains(lower, "no space left"), strings.Contains(lower, "quota"):
		next = "Ask the user to free space."
	case strings.Contains(lower, "dubious ownership"):
		next = "Ask the user to make the worktree with git worktree add; the repository belongs to another user."
	case strings.Contains(lower, "read-only file system"), strings.Contains(lower, "permission denied"):
		next = "Ask the user for the right to write there."
	}
	return fault.New(what+" failed: "+plain.Cut(text, 300), next)
}

// lastLine returns the last line that is an error, or else the last one.
func lastLine(text string) string {
	last := "git failed without a message"
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
		if strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ") {
			return line
		}
	}
	return last
}

// bounded writes up to left bytes and then fails, which ends git.
type bounded struct {
	w    io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("git prints too much")
	}
	return b.w.Write(p)
}
