package command

import (
	"maps"
	"slices"

	"mcp-toolset/internal/text/plain"
)

// The mount that protects a file is gone for a command when another program replaces the file,
// as editors do when they save it. From then on the command could change the file. Nobody can
// tell whose change the file holds at the end, so it stays, and the result names it.

// noticeMounted stores which files mounts protect from the command.
func (w *watched) noticeMounted(protect []string) {
	w.mounted = map[string]uint64{}
	for _, path := range protect {
		if at, err := lookAt(path); err == nil && at.kind == 0 {
			w.mounted[path] = at.inode
		}
	}
}

// nameReplaced names the files that mounts protected and that were replaced meanwhile.
func (w *watched) nameReplaced() {
	for _, path := range slices.Sorted(maps.Keys(w.mounted)) {
		if at, err := lookAt(path); err == nil && at.inode != w.mounted[path] {
			w.tellRestored(plain.Line(path) + " is protected; another program replaced it while this command ran, which could change it from then on. Ask the user to look at it")
		}
	}
}
