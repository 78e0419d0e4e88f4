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
	"mcp-toolset/tools"
)

// Limits of looking for files that commands must be kept from.
const (
	deniedEntries = 500_000
	deniedTime    = 10 * time.Second
)

// kept lists what commands must be kept from, for the containment, which knows no
// patterns: the names that rules give in full, and whatever there is now that one
// covers, in the roots and in the folders that patterns begin with. What a
// pattern such as ~/**/*.key covers outside of the roots is not looked for. A
// folder that cannot be looked into is hidden whole: a command could open it.
// Protected names right below a root are kept from changes too, but for those of
// git, which the containment knows better, and for what the call was granted. What
// a person has agreed to is kept from by deny rules alone.
func (p *Pipeline) kept(ctx context.Context, dir string, agreed bool, grants []tools.Grant) (out tools.Kept, err error) {
	rules := p.Policy.Kept(dir, agreed)
	reads, edits := rules.Any(policy.Read), rules.Any(policy.Edit)
	out.Grants = grants
	out.Unchanged = slices.DeleteFunc(p.protected(), func(path string) bool { return mayChange(grants, path) })
	out.Names = slices.DeleteFunc(p.Policy.Unopened(), func(name string) bool {
		return name == ".git" || name == policy.ProjectFolder || slices.ContainsFunc(grants, func(g tools.Grant) bool {
			return g.Access == policy.Edit && strings.Contains(g.Path+"/", "/"+name+"/")
		})
	})
	if !reads && !edits {
		return out, nil
	}
	limited, cancel := context.WithTimeout(ctx, deniedTime)
	defer cancel()
	out.Hidden = rules.Named(policy.Read)
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
	for _, root := range slices.Concat(p.Roots.Paths(), rules.Below(policy.Read), rules.Below(policy.Edit)) {
		err := filepath.WalkDir(root, look)
		if ctx.Err() != nil {
			return tools.Kept{}, context.Cause(ctx)
		}
		if err != nil {
			return tools.Kept{}, &tools.Fault{
				Fact: fmt.Sprintf("rules keep files from being read or changed, and the workspace has too many (over %d, or %s) to find those before a command runs", deniedEntries, deniedTime),
				Next: "Ask the user to write the rules without wildcards, or start the server with a smaller root.",
			}
		}
	}
	return out, nil
}

var errDenied = errors.New("too many files")

// protected lists the protected names that there are right below the roots.
func (p *Pipeline) protected() (out []string) {
	for _, root := range p.Roots.Paths() {
		for _, name := range policy.Protected() {
			if name != ".git" {
				out = append(out, present([]string{filepath.Join(root, name)})...)
			}
		}
	}
	return out
}

// present are those of the paths that exist and are no links: only they can be
// kept as they are.
func present(paths []string) (out []string) {
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			out = append(out, path)
		}
	}
	return out
}
