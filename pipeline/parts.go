package pipeline

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// maxGlob is the maximum number of files that a shell pattern expands to.
// Further matches are unknown.
const maxGlob = 1000

// parts converts the parts of a call for the policy. It follows links and
// replaces shell patterns by the files they match now.
func (c *call) parts(ctx context.Context, from *tools.Parts) (*policy.Parts, error) {
	to := &policy.Parts{
		List: c.publishing(from.List), Unresolved: from.Unresolved, Incomplete: from.Incomplete, Unnamed: from.Unnamed, Edits: from.Edits, Harmless: from.Harmless,
	}
	for _, folders := range []struct {
		from []string
		to   *[]string
	}{{from.Readable, &to.Readable}, {from.Writable, &to.Writable}, {from.Scratch, &to.Scratch}} {
		for _, path := range folders.from {
			canonical, _, err := follow(ctx, path)
			if err != nil {
				return nil, err
			}
			*folders.to = append(*folders.to, canonical)
		}
	}
	made := map[string]bool{}
	for _, named := range from.Paths {
		made[named.Path] = made[named.Path] || named.Access == policy.Edit
	}
	seen, kept := map[tools.NamedPath]bool{}, c.rules.HidingRules(c.Session.View().Dir, false)
	for _, named := range from.Paths {
		paths := []string{named.Path}
		if named.Glob {
			pattern := named.Path
			if c.env.Place != nil {
				pattern = c.env.Place(pattern, false)
			}
			paths = expand(pattern)
		}
		if len(paths) > maxGlob {
			to.Edits = false
			if to.Unresolved == "" && (kept.Any(policy.Read) || kept.Any(policy.Edit)) {
				to.Unresolved = "a pattern matches more than can be looked at"
			}
		}
		for _, path := range paths[:min(len(paths), maxGlob)] {
			key := tools.NamedPath{Path: path, Access: named.Access, Input: named.Input, By: named.By, Uncertain: named.Uncertain, Dir: named.Dir}
			if seen[key] {
				continue
			}
			seen[key] = true
			if named.Place && !made[path] && !mayExist(path) {
				continue
			}
			canonical, own, err := c.follow(ctx, path, named.Access == policy.Edit || made[path])
			if err != nil {
				return nil, err
			}
			absent := missing(canonical) && (c.env.Place == nil || missing(c.env.Place(path, false)))
			if named.Access == policy.Read {
				absent = absent && !named.Uncertain && c.contained() && canonical == filepath.Clean(path)
			}
			free := own || c.unreached(named.Dir, made) || named.Access == policy.Read && (c.absent(path, canonical, named.Uncertain) || c.reads(path, canonical, true, named.Uncertain))
			if named.Input {
				to.Inputs = append(to.Inputs, len(to.Targets))
			}
			to.Targets = append(to.Targets, policy.Target{Literal: c.shown(path), Canonical: canonical, Access: named.Access, Free: free, Absent: absent, By: named.By})
		}
	}
	return to, nil
}

// follow returns the canonical path of a file that a command names, and whether it is in the
// session's own folder for temporary files, or of the command's own process. A path that cannot be
// resolved stays as it is.
func (c *call) follow(ctx context.Context, path string, made bool) (canonical string, own bool, err error) {
	if real := filepath.Clean(path); c.temp != nil && c.temp.Own(real) {
		return real, true, nil
	}
	real := path
	if c.env.Place != nil {
		real = c.env.Place(path, made)
	}
	canonical, _, err = follow(ctx, real)
	return canonical, c.own(canonical), err
}

// free reports whether a call may use a file that it names without a question, wherever it is: it is
// in the session's folder for temporary files, or all commands may read it.
func (c *call) free(literal, canonical string, access policy.Access) bool {
	return c.own(canonical) || access == policy.Read && c.reads(literal, canonical, false, false)
}

// reads reports whether all commands may read a file; see command.Private.Reads. A link in a root
// that leads out of all of them may be a trap, so its target has to be named itself.
func (c *call) reads(literal, canonical string, command, uncertain bool) bool {
	in := func(path string) bool { return workspace.Containing(c.env.Session.Roots, path) != "" }
	if in(canonical) {
		return false // it needs no exception, and no trial of the sandbox to be waited for
	}
	return c.temp != nil && !in(filepath.Clean(literal)) && c.temp.Reads(canonical, command, uncertain)
}

// contained reports whether the kernel keeps commands from what they may not use.
func (c *call) contained() bool { return c.temp != nil && c.temp.Contained() }

// own reports whether a canonical path is in the session's folder for temporary files.
func (c *call) own(canonical string) bool { return c.temp != nil && c.temp.Owns(canonical) }

// shown returns a text in which the session's folder for temporary files has the name that it
// has for commands, by which rules mean it.
func (c *call) shown(text string) string {
	if c.temp == nil {
		return text
	}
	return c.temp.Shown(text)
}

// absent reports whether a command that names a file outside of the roots finds nothing there. It
// only fails then, so there is nothing to ask about. A program that may make the file is asked
// about, unless not even the first name of the path exists. A link in a root may be given a target
// until the command runs, and processes and devices come by themselves.
func (c *call) absent(literal, canonical string, uncertain bool) bool {
	switch {
	case workspace.Containing(c.env.Session.Roots, filepath.Clean(literal)) != "", workspace.Containing([]string{"/proc", "/sys", "/dev"}, canonical) != "":
		return false
	case uncertain:
		return nowhere(canonical)
	}
	return missing(canonical)
}

// unreached reports whether a command cannot change to a folder, so that it uses no file there: the
// folder is missing and outside of the roots, and the kernel keeps the command from making it.
func (c *call) unreached(dir string, made map[string]bool) bool {
	if dir == "" || !c.contained() || workspace.Containing(c.env.Session.Roots, dir) != "" || c.own(dir) || !missing(dir) || c.env.Place != nil && !missing(c.env.Place(dir, false)) {
		return false
	}
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if made[at] {
			return false
		}
	}
	return true
}

// missing reports whether there is certainly nothing at a path.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// nowhere reports whether the first name of an absolute path is absent. A word such as /CN=localhost
// is no file, and a contained command cannot make one there.
func nowhere(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if first == "" || runtime.GOOS == "windows" {
		return false
	}
	return missing("/" + first)
}

// mayExist reports whether a path may lead to something.
func mayExist(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// expand returns the files that a shell pattern matches now, and the folder
// that the pattern begins in. So a pattern without a match is judged by that
// folder.
func expand(pattern string) []string {
	i := strings.IndexAny(pattern, "*?[")
	if i < 0 {
		return []string{pattern}
	}
	matches, _ := filepath.Glob(pattern)
	return append([]string{filepath.Clean(pattern[:strings.LastIndexAny(pattern[:i], "/"+string(filepath.Separator))+1])}, matches...)
}
