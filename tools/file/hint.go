package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// OpenError returns the error for a file that could not be opened, with a next step.
func OpenError(env *tools.Env, path string, err error) error {
	var kind *workspace.KindError
	var other *fs.PathError
	shown := plain.Line(path)
	switch {
	case errors.As(err, &kind) && kind.Kind == "directory":
		return &tools.Fault{Fact: shown + " is a directory", Next: directoryHint(env, path)}
	case errors.As(err, &kind):
		return &tools.Fault{Fact: fmt.Sprintf("%s is a %s, not a file", shown, kind.Kind), Next: "Only regular files can be read."}
	case errors.Is(err, fs.ErrNotExist):
		return Missing(env, path)
	case errors.Is(err, fs.ErrPermission):
		return &tools.Fault{Fact: shown + " may not be read by the user the server runs as", Next: "Ask the user to change its mode."}
	case fault.Descriptors("", err) != nil:
		return fault.Descriptors(shown+" cannot be opened", err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return &tools.Fault{Fact: shown + " is a path too long", Next: "Use one relative to a folder nearer to the file."}
	case errors.As(err, &other):
		return &tools.Fault{Fact: shown + " cannot be opened: " + plain.Line(other.Err.Error()), Next: "Check the path."}
	}
	return err
}

// ReadError returns the error for an open file that could not be read to its end.
func ReadError(shown string, err error) error {
	var system *fs.PathError
	if !errors.As(err, &system) {
		return fmt.Errorf("reading %s: %w", shown, err)
	}
	return &tools.Fault{
		Fact: shown + " cannot be read: " + plain.Line(system.Err.Error()),
		Next: "Try once more; if that fails too, ask the user to check the disk.",
	}
}

// About puts the name of the file before the fact of an error. Errors that are not faults,
// and nil, are returned unchanged.
func About(path string, err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return err
	}
	return &about{fault.Fault{Fact: plain.Line(path) + " " + f.Fact, Next: f.Next}, err}
}

// about is a fault with the name of its file. It wraps the original error.
type about struct {
	fault.Fault
	of error
}

func (a *about) Unwrap() []error { return []error{&a.Fault, a.of} }

// Limits for the entries of a folder that hints read and show. A folder can hold millions.
const (
	hintEntries = 2000
	hintShown   = 10
)

func directoryHint(env *tools.Env, path string) string {
	entries, err := env.Files.ReadDir(path, hintEntries)
	names := visible(env, path, entries)
	if err != nil || len(names) == 0 {
		return "Use Glob to list its files, and read a file in it."
	}
	more := ""
	if len(names) > hintShown {
		names, more = names[:hintShown], " and more"
	}
	for i, name := range names {
		names[i] = plain.Line(name)
		if IsFolder(env, filepath.Join(path, name)) {
			names[i] += "/"
		}
	}
	return "Use Glob to list its files, or read a file in it; it has " + strings.Join(names, ", ") + more + "."
}

// Missing returns the error for a file that does not exist. It suggests existing files with
// similar names.
func Missing(env *tools.Env, path string) *tools.Fault {
	if env.Real != nil {
		if layered := env.Real(path, false); layered != path && exists(layered) {
			return &tools.Fault{Fact: plain.Line(path) + " is only in the layer that commands of this workspace have over the cache", Next: "Copy it into the workspace with cp to change it."}
		}
	}
	return &tools.Fault{Fact: plain.Line(path) + " does not exist", Next: missingHint(env, path)}
}

func missingHint(env *tools.Env, path string) string {
	m := matcher{env: env, fold: true, denied: map[string]bool{}}
	if to, ok := m.walk(path); ok && exists(to) && env.Files.Allowed(to) {
		return "Did you mean " + plain.Line(to) + "?"
	}
	dir, base := filepath.Split(path)
	if dir = filepath.Clean(dir); !exists(dir) {
		if to, ok := m.walk(dir); ok {
			dir = to
		}
	}
	entries, err := env.Files.ReadDir(dir, hintEntries)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "Its folder does not exist either; relative paths start at " + plain.Line(env.Session.Dir) + "."
	case err != nil:
		return "Its folder cannot be listed; check the path."
	}
	near := nearest.Names(base, visible(env, dir, entries), 3)
	near = slices.DeleteFunc(near, func(name string) bool { return name == base }) // a dangling link
	switch {
	case slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == base }):
		return "There is a link of this name that leads nowhere."
	case len(near) == 0 && len(entries) == hintEntries:
		return "None of the first " + strconv.Itoa(hintEntries) + " names in its folder is similar. Find it with Glob."
	case len(near) == 0:
		return "Nothing in " + plain.Line(dir) + " has a similar name. Find it with Glob."
	}
	for i := range near {
		near[i] = plain.Line(filepath.Join(dir, near[i]))
	}
	return "Did you mean " + strings.Join(near, ", or ") + "?"
}

// Pattern splits a path with a wildcard into a folder and a pattern. ok is true if the path
// has a wildcard and the folder exists.
func Pattern(env *tools.Env, path string) (folder, pattern string, ok bool) {
	at := strings.IndexAny(path, "*?[{")
	if at < 0 {
		return "", "", false
	}
	at = strings.LastIndexByte(path[:at], filepath.Separator) + 1
	folder, pattern = filepath.Clean(path[:at]), path[at:]
	_, err := env.Files.ReadDir(folder, 1)
	return folder, pattern, err == nil
}

// visible returns the names that the policy allows a model to see.
func visible(env *tools.Env, dir string, entries []fs.DirEntry) []string {
	var names []string
	for _, e := range entries {
		if env.Files.Allowed(filepath.Join(dir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names
}
