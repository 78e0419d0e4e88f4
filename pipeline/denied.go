package pipeline

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

	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Limits of the search for files that the sandbox must hide or protect from
// changes.
const (
	deniedEntries = 500_000
	deniedTime    = 10 * time.Second
)

// restrictedPaths lists the paths that the sandbox must hide or protect from changes. The
// sandbox knows no patterns. So kept lists the paths that rules name in full,
// and the existing files that patterns cover, in the roots and in the folders
// that patterns begin with. It does not search for files outside of the roots
// that a pattern such as ~/**/*.key covers. If read rules exist, a folder that
// cannot be listed is hidden as a whole, because a command could open it.
//
// Protected names right below a root are also protected from changes, except
// those of git, which the sandbox handles itself, and those covered by grants.
// rules are those that apply to the call, and roots the folders that it can use.
//
// kept fails if there are more than deniedEntries files or the search takes
// longer than deniedTime.
func (p *Pipeline) restrictedPaths(ctx context.Context, set *Rules, rules policy.HidingRules, roots []string, grants []tools.Grant) (out tools.RestrictedPaths, err error) {
	reads, edits := rules.Any(policy.Read), rules.Any(policy.Edit)
	out.Grants, out.Hidden = grants, slices.Clone(set.Hidden)
	out.Unchanged = slices.DeleteFunc(append(protected(roots), present(set.Policy.Programs(roots))...), func(path string) bool { return mayChange(grants, path) })
	out.Unchanged = append(out.Unchanged, present(set.Unchanged)...)
	out.Names = slices.DeleteFunc(set.Policy.Unopened(), func(name string) bool {
		return name == ".git" || name == policy.ProjectFolder || slices.ContainsFunc(grants, func(g tools.Grant) bool {
			return g.Access == policy.Edit && strings.Contains(g.Path+"/", "/"+name+"/")
		})
	})
	if !reads && !edits {
		return out, nil
	}
	limited, cancel := context.WithTimeout(ctx, deniedTime)
	defer cancel()
	out.Hidden = append(out.Hidden, rules.Named(policy.Read)...)
	out.Unchanged = append(out.Unchanged, present(rules.Named(policy.Edit))...)
	seen := 0
	look := func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && reads {
			out.Hidden = append(out.Hidden, path)
		}
		if err != nil {
			return nil
		}
		if seen++; seen > deniedEntries || seen%1000 == 0 && limited.Err() != nil {
			return errDenied
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			return nil
		case reads && rules.Covers(policy.Read, path):
			out.Hidden = append(out.Hidden, path)
		case edits && rules.Covers(policy.Edit, path):
			out.Unchanged = append(out.Unchanged, path)
			if reads {
				return nil // something below may be hidden
			}
		default:
			return nil
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	for _, root := range slices.Concat(roots, rules.Below(policy.Read), rules.Below(policy.Edit)) {
		err := filepath.WalkDir(root, look)
		if ctx.Err() != nil {
			return tools.RestrictedPaths{}, context.Cause(ctx)
		}
		if err != nil {
			return tools.RestrictedPaths{}, &tools.Fault{
				Fact: fmt.Sprintf("rules keep files from being read or changed, and the workspace has too many (over %d, or %s) to find those before a command runs", deniedEntries, deniedTime),
				Next: "Ask the user to write the rules without wildcards, or start the server with a smaller root.",
			}
		}
	}
	return out, nil
}

var errDenied = errors.New("too many files")

// rootsOf returns the folders of a session's workspace. In a worktree, they include the checkout
// from which it was made, which the session may read.
func rootsOf(v session.View) []string {
	if v.Worktree == nil {
		return v.Roots
	}
	return append(slices.Clone(v.Roots), v.Worktree.Main)
}

// protected lists the existing protected names right below the roots, except
// .git.
func protected(roots []string) (out []string) {
	for _, root := range roots {
		for _, name := range policy.Protected() {
			if name != ".git" {
				out = append(out, present([]string{filepath.Join(root, name)})...)
			}
		}
	}
	return out
}

// present returns those of the paths that exist and are not links. Only these
// can be protected from changes.
func present(paths []string) (out []string) {
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			out = append(out, path)
		}
	}
	return out
}
