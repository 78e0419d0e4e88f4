package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// network is the prefix of a path on another Windows machine.
const network = `\\`

// CompletePath makes the path of a call absolute. If there is no such file or folder, it
// takes the one that is certainly meant and adds a note: see meant. It leaves a network path
// unchanged, so that CheckPath rejects it.
func CompletePath(env *tools.Env, path *string) { completePath(env, path, false) }

// CompleteTarget is like CompletePath for a file to be written. create reports whether the
// call may make a new file. CompleteTarget preserves a separator at the end of the path, so
// that CheckTarget rejects it.
func CompleteTarget(env *tools.Env, path *string, create bool) {
	folder := len(*path) > 1 && os.IsPathSeparator((*path)[len(*path)-1])
	at := *env
	at.Real = env.Place
	completePath(&at, path, create)
	if env.Notes = at.Notes; folder && len(*path) > 1 {
		*path += string(filepath.Separator)
	}
}

func completePath(env *tools.Env, path *string, create bool) {
	if isNetwork(*path) {
		return
	}
	to, note := meant(env, *path, create)
	if *path = to; note != "" {
		env.Notes = append(env.Notes, note)
	}
}

// CheckTarget is like CheckPath for a file to be written.
func CheckTarget(path string) error {
	if len(path) > 1 && os.IsPathSeparator(path[len(path)-1]) {
		return fault.New(plain.Line(path)+" is the path of a folder", "Name a file in it.")
	}
	return CheckPath(path)
}

func isNetwork(path string) bool {
	return runtime.GOOS != "windows" && strings.HasPrefix(path, network)
}

// device matches paths that are not files: reading them does not end, waits for the user,
// or reads from a process.
var device = regexp.MustCompile(`^(/dev/(zero|full|null|u?random|stdin|stdout|stderr|tty\w*|console|ptmx|pts/.*|fd/.*|mem|kmem|kmsg|port)|` +
	`/proc/(kmsg|kcore)|/proc/[^/]+/(task/[^/]+/)?(fd/.*|mem))$`)

// CheckPath checks a completed path without access to the file system.
func CheckPath(path string) error {
	switch {
	case isNetwork(path):
		return fault.New(plain.Line(path)+" is a network path of Windows, and this machine is not one", "Use the path at which the share is mounted here.")
	case device.MatchString(path):
		return fault.New(plain.Line(path)+" is a device or belongs to a running process", "Use the path of a file.")
	}
	return nil
}

// Shared reports whether a path is in the roots, and so has the same content for every
// session. Stored results belong to one session.
func Shared(env *tools.Env, path string) bool {
	for _, root := range env.Session.Roots {
		if workspace.Within(root, path) {
			return true
		}
	}
	return false
}

// LeadsOut returns the error of opening a path if the rules refuse it because of a link in it,
// such as one that leads out of the roots, and otherwise nil: what else cannot be opened is
// not found.
func LeadsOut(path string, err error) error {
	var system *fs.PathError
	var kind *workspace.KindError
	if errors.As(err, &system) || errors.As(err, &kind) {
		return nil
	}
	if canonical, failed := workspace.Canonical(path); failed != nil || canonical == path {
		return nil
	}
	return err
}
