// Package state stores data that must outlive a call, such as results and the
// generated token. It creates nothing before it is needed, so that starting a
// server has no side effect.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// localAppData reports whether programs store their state in %LocalAppData%.
// Tests set it.
var localAppData = runtime.GOOS == "windows"

// Dir returns the path of the state folder: MCP_TOOLSET_STATE_DIR, or
// mcp-toolset in the XDG state folder. The latter defaults to %LocalAppData% on
// Windows and to ~/.local/state elsewhere. The folder may not exist yet.
func Dir(getenv func(string) string, home string) (string, error) {
	if dir := getenv("MCP_TOOLSET_STATE_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("MCP_TOOLSET_STATE_DIR is %s; it must be an absolute path", dir)
		}
		return filepath.Clean(dir), nil
	}
	// The XDG Base Directory specification requires that a relative path is
	// ignored.
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcp-toolset"), nil
	}
	if dir := getenv("LOCALAPPDATA"); localAppData && filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcp-toolset"), nil
	}
	if home == "" {
		return "", errors.New("there is no home folder; set MCP_TOOLSET_STATE_DIR to an absolute path")
	}
	return filepath.Join(home, ".local", "state", "mcp-toolset"), nil
}

// EnsurePrivate makes sure that dir exists and that only this user can access
// it. It corrects a mode that gives access to others. It rejects a symlink and
// a folder of another user, because stored data is private and may later be
// trusted.
func EnsurePrivate(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("creating the state folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("creating the state folder: %w", err)
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("looking at the state folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder; remove it", dir)
	case !OwnedByUser(info):
		return fmt.Errorf("%s belongs to another user; remove it or set MCP_TOOLSET_STATE_DIR", dir)
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("making the state folder private: %w", err)
		}
	}
	return nil
}
