package pipeline

import (
	"io/fs"
	"os"
	"path/filepath"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/policy"
)

// protectedLinks returns the protected names of links that lead to the targets
// that a call edits, by canonical path. It is nil if there are none.
func protectedLinks(roots []string, targets ...policy.Target) map[string]string {
	var links map[string]string
	for _, t := range targets {
		if t.Access != policy.Edit {
			continue
		}
		if name := protectedLink(roots, t.Canonical); name != "" {
			if links == nil {
				links = map[string]string{}
			}
			links[t.Canonical] = name
		}
	}
	return links
}

// protectedLink returns the protected name of a link that leads to canonical or
// to a folder above it, or "" if there is none. For example, if .git is a link
// to another folder, programs use that folder as .git, so it needs the same
// protection. protectedLink examines the folders from the file's own up to its
// root.
func protectedLink(roots []string, canonical string) string {
	root := workspace.Containing(roots, canonical)
	if root == "" {
		return ""
	}
	names := policy.Protected()
	for dir := filepath.Dir(canonical); workspace.Within(root, dir); dir = filepath.Dir(dir) {
		for _, name := range names {
			link := filepath.Join(dir, name)
			if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				continue
			}
			if to, err := workspace.Canonical(link); err == nil && workspace.Within(to, canonical) {
				return name
			}
		}
		if dir == root {
			break
		}
	}
	return ""
}
