package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/internal/text/plain"
)

// undoOptions are the flags of undo.
type undoOptions struct {
	root, to, session string
	list, force, dry  bool
	forget            bool
	diff              int
}

func undoCommand(host *Host) *cobra.Command {
	var o undoOptions
	cmd := &cobra.Command{
		Use:   "undo [flags] [N | forget] [PATH]",
		Short: "Take back what calls changed in a workspace",
		Long: "Takes back the change set with number N, which answers of calls and --list show: content, mode, existence and links of its paths, or only of PATH.\n" +
			"A path that has changed since is left alone and listed. An undo is a change set itself, so `mcp-toolset undo` with its number takes it back.\n" +
			"With --to or --session, all change sets since a time, or of a session, are undone as one.\n" +
			"`mcp-toolset undo forget` removes all change sets and stored contents of the workspace, which no server may use.",
		Example:           "  mcp-toolset undo --list\n  mcp-toolset undo --diff 41\n  mcp-toolset undo 41 src/main.go\n  mcp-toolset undo --to 14:30",
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(cmd *cobra.Command, args []string) error {
			_, _, err := o.parse(cmd, args)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			number, path, err := o.parse(cmd, args)
			if err != nil {
				return err
			}
			return withUndo(host, o.root, func(s *undo.Store, roots []string, worktrees []undo.Worktree) error {
				if o.forget {
					return forgetUndo(cmd.Context(), host, s, roots, worktrees)
				}
				return o.run(cmd.Context(), host, s, roots, worktrees, number, path)
			})
		},
	}
	in := flagSection{cmd, ""}
	in.text(&o.root, "root", "", "the workspace: the first root of its server, `DIR` (default: that of the working directory)")
	in.on(&o.list, "list", "list the change sets, or those of PATH, the newest first")
	in.number(&o.diff, "diff", 0, 1, "show what an undo of `N` would do, with diffs")
	in.text(&o.to, "to", "", "undo all since `TIME`: 14:30, \"2026-11-25 14:30\", or how long ago: 20m")
	in.text(&o.session, "session", "", "undo all of the session `ID`, as --list shows it")
	in.on(&o.dry, "dry-run", "only show what would be done")
	in.on(&o.force, "force", "also replace and remove what has changed since; the undo can be undone")
	return cmd
}

// forgetUndo removes all that is stored for a workspace and its worktrees.
func forgetUndo(ctx context.Context, host *Host, s *undo.Store, roots []string, worktrees []undo.Worktree) error {
	err := s.Forget(ctx)
	for _, w := range worktrees {
		err = cmp.Or(err, w.Forget())
	}
	if errors.Is(err, undo.ErrUsed) {
		return fmt.Errorf("a server uses the workspace %s; end it first", plain.Line(roots[0]))
	}
	if err != nil {
		return err
	}
	return say(host.Out, fmt.Sprintf("Forgotten: all change sets and contents of %s.\n", plain.Text(roots[0])))
}

// parse returns the number and the path of the command line, and checks it.
func (o *undoOptions) parse(cmd *cobra.Command, args []string) (number int, path string, err error) {
	if len(args) > 0 {
		if n, err := strconv.Atoi(args[0]); err == nil && n > 0 {
			number, args = n, args[1:]
		}
	}
	ways := 0
	for _, is := range []bool{o.list, cmd.Flags().Changed("diff"), o.to != "", o.session != "", number > 0} {
		if is {
			ways++
		}
	}
	switch {
	case len(args) > 1:
		return 0, "", usagef("undo takes at most one number and one path")
	case ways == 0 && len(args) == 1 && args[0] == "forget" && !o.force && !o.dry:
		o.forget = true
	case o.list && (o.force || o.dry):
		return 0, "", usagef("--list changes nothing; leave out --force and --dry-run")
	case ways != 1:
		return 0, "", usagef("undo takes one of N, --diff N, --to TIME, --session ID, --list and forget")
	case len(args) == 1:
		path = args[0]
	}
	if o.diff > 0 {
		number, o.dry = o.diff, true
	}
	return number, path, nil
}

// withUndo calls f with the store of a workspace, its roots, and the stores of its worktrees.
func withUndo(host *Host, root string, f func(*undo.Store, []string, []undo.Worktree) error) error {
	stateDir, err := approvalsFolder(host)
	if err != nil {
		return err
	}
	roots, err := undoRoots(stateDir, host.Dir, root)
	if err != nil {
		return err
	}
	var present []string
	for _, r := range roots {
		if info, err := os.Stat(r); err == nil && info.IsDir() {
			present = append(present, r)
		}
	}
	opened, err := workspace.OpenRoots(present)
	if err != nil {
		return err
	}
	defer opened.Close()
	if len(present) == 0 || present[0] != roots[0] {
		return fmt.Errorf("%s does not exist any more; make the folder again to undo changes in it", plain.Line(roots[0]))
	}
	s := undo.New(undo.Options{State: stateDir, Roots: opened, Skip: []string{stateDir}, Log: slog.New(slog.DiscardHandler), Instance: "user"})
	_ = s.Resume(context.Background()) // what cannot be done without the store reports that itself
	return errors.Join(f(s, roots, undo.Worktrees(stateDir, roots[0])), s.Close())
}

// undoRoots returns the roots of the workspace at root or, if that is "", of the one that has the
// working directory as its first root or below it.
func undoRoots(stateDir, dir, root string) ([]string, error) {
	at := root
	if at == "" {
		at = dir
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	at, err := workspace.Canonical(at)
	if err != nil {
		return nil, err
	}
	for folder := at; ; folder = filepath.Dir(folder) {
		if roots, err := undo.Roots(undo.Dir(stateDir, []string{folder})); err == nil && len(roots) > 0 {
			return roots, nil
		}
		if root != "" || filepath.Dir(folder) == folder {
			break
		}
	}
	if root != "" {
		return nil, fmt.Errorf("no changes are recorded for the workspace %s; name the first root of its server", plain.Line(at))
	}
	return nil, fmt.Errorf("no changes are recorded for %s or a folder above it; name the first root of the server with --root", plain.Line(at))
}

func (o *undoOptions) run(ctx context.Context, host *Host, s *undo.Store, roots []string, worktrees []undo.Worktree, number int, path string) error {
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(host.Dir, path)
	}
	if path != "" {
		parent, err := workspace.Canonical(filepath.Dir(path))
		if err != nil {
			return err
		}
		path = filepath.Join(parent, filepath.Base(path))
	}
	if o.list {
		return listUndo(host, s, worktrees, path)
	}
	numbers, err := o.numbers(s, worktrees, number)
	if err != nil {
		return err
	}
	var paths []string
	if path != "" {
		paths = []string{path}
	}
	out, err := s.Restore(ctx, undo.Request{Numbers: numbers, Paths: paths, DryRun: o.dry, Force: o.force})
	text := out.Text(roots[0], o.dry)
	if o.dry {
		text += s.Diffs(&out, roots[0])
	}
	if err != nil {
		return errors.Join(err, say(host.Out, text))
	}
	if err := say(host.Out, text); err != nil {
		return err
	}
	if len(out.Refused) > 0 {
		return failedResult{}
	}
	return nil
}

// numbers returns the change sets to undo.
func (o *undoOptions) numbers(s *undo.Store, worktrees []undo.Worktree, number int) ([]int, error) {
	fits := func(h *undo.Header) bool { return h.Number == number }
	what := fmt.Sprintf("there is no change set %d; mcp-toolset undo --list shows the numbers", number)
	if at := slices.IndexFunc(worktrees, func(w undo.Worktree) bool { return w.Has(number) }); at >= 0 {
		what = fmt.Sprintf("the change set %d is of a worktree; add --root %s", number, plain.Line(worktrees[at].Root))
	}
	switch {
	case o.session != "":
		fits = func(h *undo.Header) bool { return h.Session == o.session }
		what = fmt.Sprintf("there is no change set of a session %s; mcp-toolset undo --list shows the sessions", plain.Quote(o.session))
	case o.to != "":
		since, err := since(o.to, time.Now())
		if err != nil {
			return nil, err
		}
		fits = func(h *undo.Header) bool { return !h.Began.Before(since) }
		what = "nothing was changed since " + since.Format(time.DateTime)
	}
	list, err := s.List(1<<20, fits)
	if err == nil && len(list) == 0 {
		err = errors.New(what)
	}
	var out []int
	for _, h := range list {
		out = append(out, h.Number)
	}
	return out, err
}

// since returns the time that a text of --to means.
func since(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if at.After(now) {
				at = at.AddDate(0, 0, -1)
			}
			return at, nil
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", time.DateTime, time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return now, usagef("--to: %q is not a time; write 14:30, \"2026-11-25 14:30\", or how long ago, such as 20m", text)
}

// maxListed is the limit of change sets that --list shows.
const maxListed = 200

// listUndo prints the change sets that have changes at or below path; "": all, and the worktrees that
// have some of their own.
func listUndo(host *Host, s *undo.Store, worktrees []undo.Worktree, path string) error {
	list, err := s.List(maxListed, func(h *undo.Header) bool {
		if path == "" {
			return true
		}
		set, err := s.Get(h.Number)
		return err == nil && slices.ContainsFunc(set.Changes, func(c undo.Change) bool { return workspace.Within(path, c.Path) })
	})
	if err != nil {
		return err
	}
	if len(list) == 0 && path != "" {
		return say(host.Out, "No changes of "+plain.Text(path)+" are recorded.\n")
	}
	var b bytes.Buffer
	if len(list) == 0 {
		b.WriteString("No changes are recorded.\n")
	}
	t := &table{cut: []int{4}}
	for _, h := range list {
		title := plain.Line(h.Title)
		if h.Late {
			title += " (in the background)"
		}
		if h.Unfinished {
			title += " (not finished)"
		}
		t.row(strconv.Itoa(h.Number), h.Began.Local().Format("Jan 02 15:04:05"), plain.Line(h.Tool), fmt.Sprintf("%d changed", h.Paths), title, plain.Line(strings.TrimSpace(h.Session)))
	}
	t.write(&b, screenOf(host, host.Out))
	if len(worktrees) > 0 && path == "" {
		b.WriteString("\nChanges in its worktrees, with --root:\n")
		for _, w := range worktrees {
			b.WriteString("  " + plain.Text(w.Root) + "\n")
		}
	}
	_, err = host.Out.Write(b.Bytes())
	return err
}
