package file

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/tools"
)

// network begins the path of a file on another Windows machine.
const network = `\\`

// CompletePath makes the path of a call absolute. A network path is not one of
// this machine, and stays what it is for CheckPath to say so.
func CompletePath(env *tools.Env, path *string) {
	if !isNetwork(*path) {
		*path = env.Abs(*path)
	}
}

// CompleteTarget is CompletePath for a file that is to be written: a path that
// ends as one of a folder keeps that end for CheckTarget to refuse it.
func CompleteTarget(env *tools.Env, path *string) {
	folder := len(*path) > 1 && os.IsPathSeparator((*path)[len(*path)-1])
	if CompletePath(env, path); folder && len(*path) > 1 {
		*path += string(filepath.Separator)
	}
}

// CheckTarget is CheckPath for a file that is to be written.
func CheckTarget(path string) error {
	if len(path) > 1 && os.IsPathSeparator(path[len(path)-1]) {
		return fault.New(plain.Line(path)+" is the path of a folder", "Name a file in it.")
	}
	return CheckPath(path)
}

func isNetwork(path string) bool {
	return runtime.GOOS != "windows" && strings.HasPrefix(path, network)
}

// device are paths that name no file: what is read from them is without end,
// waits for a person, or is a process's own.
var device = regexp.MustCompile(`^(/dev/(zero|full|null|u?random|stdin|stdout|stderr|tty\w*|console|ptmx|pts/.*|fd/.*|mem|kmem|kmsg|port)|` +
	`/proc/(kmsg|kcore)|/proc/[^/]+/(task/[^/]+/)?(fd/.*|mem))$`)

// CheckPath judges a completed path by its words alone.
func CheckPath(path string) error {
	switch {
	case isNetwork(path):
		return fault.New(plain.Line(path)+" is a network path of Windows, and this machine is not one", "Use the path at which the share is mounted here.")
	case device.MatchString(path):
		return fault.New(plain.Line(path)+" is a device or belongs to a running process", "Use the path of a file.")
	}
	return nil
}

// Shared reports whether a path is the same to every session: one in the roots.
// Stored results are one session's alone.
func Shared(env *tools.Env, path string) bool {
	for _, root := range env.Session.Roots {
		if workspace.Within(root, path) {
			return true
		}
	}
	return false
}
