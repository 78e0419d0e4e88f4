package assembly

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

const (
	// maxGuide is the limit of the instructions of all projects, in bytes.
	maxGuide = 24 << 10
	// maxRoots is the limit of the projects whose instructions are read.
	maxRoots = 4
)

// guideFiles are the files with instructions of a project. Only the first one that exists is read:
// where there are both, one of them usually names the other.
var guideFiles = []string{"AGENTS.md", "CLAUDE.md"}

// guide returns the instructions of the projects of a session that the user trusts. A file outside of
// its project, a hidden one, and one that is no regular file are left out.
func (p *Plan) guide(v session.View, hidden func(string) bool) string {
	roots := v.Roots
	if w := v.Worktree; w != nil {
		roots = []string{w.Main} // the trusted folder
	}
	var b strings.Builder
	for _, root := range roots[:min(len(roots), maxRoots)] {
		if !slices.Contains(p.found().Trusted, root) {
			continue
		}
		for _, name := range guideFiles {
			text, more := guideText(root, name, hidden, maxGuide-b.Len())
			if text == "" {
				continue
			}
			b.WriteString("Instructions of the project in " + plain.Line(root) + ", which the user trusts (" + name + "):\n" + text)
			if more {
				b.WriteString("\n[The rest of the file is left out.]")
			}
			b.WriteString("\n")
			break
		}
	}
	return strings.TrimSpace(b.String())
}

// guideText returns the text of a file of a project, at most limit bytes of it. A command may change
// the file meanwhile: it is opened below root, without waiting for the writer of a pipe, and read only
// if it is the file that was examined.
func guideText(root, name string, hidden func(string) bool, limit int) (text string, more bool) {
	path, err := workspace.Canonical(filepath.Join(root, name))
	if err != nil || !workspace.Within(root, path) || hidden(path) || limit <= 0 {
		return "", false
	}
	folder, err := os.OpenRoot(root)
	if err != nil {
		return "", false
	}
	defer folder.Close()
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return "", false
	}
	info, err := folder.Lstat(rel)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	f, err := folder.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return "", false
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return "", false
	}
	if more = len(data) > limit; more {
		data = data[:limit]
	}
	return strings.TrimSpace(plain.Lines(strings.ToValidUTF8(string(data), ""))), more
}
