package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"mcp-toolset/tools"
)

// Limits of looking for files that commands must be kept from.
const (
	deniedEntries = 500_000
	deniedTime    = 10 * time.Second
)

// denied lists what deny rules keep from being read, for the containment of
// commands, which knows no patterns: the names that rules give in full, and
// whatever there is now that one covers, in the roots and in the folders that
// patterns begin with. What a pattern such as ~/**/*.key covers outside of the
// roots is not looked for. A folder that cannot be looked into is denied whole:
// a command could open it.
func (p *Pipeline) denied(ctx context.Context, dir string) ([]string, error) {
	if !p.Policy.DeniesReading() {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, deniedTime)
	defer cancel()
	out := p.Policy.DeniedByName(dir)
	seen := 0
	for _, root := range append(slices.Clone(p.Roots.Paths()), p.Policy.DeniedBelow(dir)...) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrPermission) {
				out = append(out, path)
			}
			if err != nil {
				return nil
			}
			if seen++; seen > deniedEntries || seen%1000 == 0 && limited.Err() != nil {
				return errDenied
			}
			if d.Type()&fs.ModeSymlink != 0 || !p.Policy.DeniesReadingOf(path, dir) {
				return nil
			}
			out = append(out, path)
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, &tools.Fault{
				Fact: fmt.Sprintf("rules keep files from being read, and the workspace has too many (over %d, or %s) to find those before a command runs", deniedEntries, deniedTime),
				Next: "Have a person write the rules without wildcards, or start the server with a smaller root.",
			}
		}
	}
	return out, nil
}

var errDenied = errors.New("too many files")
