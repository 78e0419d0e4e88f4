//go:build !windows

package command

import (
	"path/filepath"
	"strings"
)

// findShell returns the shell of this machine. path lists the folders of PATH.
func (c *Commands) findShell(path []string) string {
	return FindShell(strings.Join(path, string(filepath.ListSeparator)))
}
