package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/exec/worktree"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/plain"
)

func worktreesCommand(host *Host) *cobra.Command {
	var clean, asJSON bool
	cmd := &cobra.Command{
		Use:   "worktrees [flags]",
		Short: "List the git worktrees that sessions have made, and remove those without work",
		Long: "Lists the git worktrees that EnterWorktree has made, of all repositories, with the work in them: changes that are not committed, and commits that are on no other branch.\n\n" +
			"--clean removes those that no session uses and that hold no work, with the branches that were made with them.\n\n" +
			"Exit status: 0, or 1 if one cannot be looked at or removed.",
		Example: "  mcp-toolset worktrees\n  mcp-toolset worktrees --clean",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := state.Dir(host.Getenv, host.Home)
			if err != nil {
				return err
			}
			r := worktree.Registry{State: dir, Locks: filelock.New(filepath.Join(dir, "locks"))}
			list, damaged, err := r.List(cmd.Context(), clean)
			l := worktreeList{Worktrees: []listedWorktree{}}
			for _, w := range list {
				l.add(w)
			}
			for _, file := range damaged {
				l.Problems = append(l.Problems, "the record "+plain.Text(file)+" is damaged; remove it")
			}
			b := new(bytes.Buffer)
			if asJSON {
				enc := json.NewEncoder(b)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				err = errors.Join(err, enc.Encode(l))
			} else {
				l.print(b, screenOf(host, host.Out), clean)
			}
			if _, writeErr := host.Out.Write(b.Bytes()); err != nil || writeErr != nil {
				return errors.Join(err, writeErr)
			}
			if len(l.Problems) > 0 {
				return failedResult{}
			}
			return nil
		},
	}
	s := flagSection{cmd, ""}
	s.on(&clean, "clean", "remove those that no session uses and that hold no work")
	s.on(&asJSON, "json", "print one JSON object, for programs")
	return cmd
}

// worktreeList holds the worktrees. Its JSON is for programs; keys are only added.
type worktreeList struct {
	Worktrees []listedWorktree `json:"worktrees"`
	Problems  []string         `json:"problems,omitempty"`
}

type listedWorktree struct {
	Folder     string    `json:"folder"`
	Repository string    `json:"repository"`
	Branch     string    `json:"branch"`
	State      string    `json:"state"`
	Made       time.Time `json:"made"`
	Work       []string  `json:"work,omitempty"`
}

func (l *worktreeList) add(w worktree.Listed) {
	state := "left"
	switch {
	case w.Removed:
		state = "removed"
	case w.Gone:
		state = "gone"
	case w.InUse:
		state = "in use"
	}
	l.Worktrees = append(l.Worktrees, listedWorktree{plain.Text(w.Folder), plain.Text(w.Repository), plain.Text(w.Branch), state, w.Made, w.Work})
	if w.Problem != "" {
		l.Problems = append(l.Problems, plain.Text(w.Folder)+": "+plain.Text(w.Problem))
	}
}

func (l *worktreeList) print(b *bytes.Buffer, c screen, clean bool) {
	if len(l.Worktrees) == 0 {
		b.WriteString("there is no worktree; EnterWorktree makes them\n")
	} else {
		list := table{cut: []int{0, 4}}
		list.row("REPOSITORY", "BRANCH", "STATE", "MADE", "FOLDER")
		for _, w := range l.Worktrees {
			list.row(w.Repository, w.Branch, w.State, age(time.Since(w.Made)), w.Folder)
		}
		list.write(b, c)
	}
	for _, w := range l.Worktrees {
		if len(w.Work) > 0 {
			fmt.Fprintf(b, "\n%s holds work:\n  %s\n", w.Folder, strings.Join(w.Work, "\n  "))
			switch {
			case clean && w.State == "left":
				fmt.Fprintf(b, "To remove it all the same: git -C %s worktree remove --force --force %s\n", shellWord(w.Repository), shellWord(w.Folder))
			case clean && w.State == "gone":
				fmt.Fprintf(b, "To remove its branch all the same: git -C %s branch -D %s\n", shellWord(w.Repository), shellWord(w.Branch))
			}
		}
	}
	for _, problem := range l.Problems {
		fmt.Fprintf(b, "\nProblem: %s\n", problem)
	}
}
