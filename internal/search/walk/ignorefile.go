package walk

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"mcp-toolset/internal/search/ignore"
)

const excludeFile, configFile = ".git/info/exclude", ".git/config"

// ignoreFile is the state of an ignore file when it was read.
type ignoreFile struct {
	name  string // relative to its folder
	stamp Stamp  // zero if it did not exist
	sum   [sha256.Size]byte
}

// same reports whether the file is as it was when read.
func (g *ignoreFile) same(loc *locator, p *place) bool {
	s, k, err := loc.stat(p, g.name)
	if g.stamp == (Stamp{}) {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && k == kindFile && s == g.stamp
}

// findRules reads the ignore files of the folder and sets its rules, unless they are
// the same as before. It reports whether they are new.
func (w *worker) findRules(n *node, f folder, settled time.Time) bool {
	above := w.above
	if n.parent != nil {
		above = n.parent.rules
	}
	if above == nil {
		had := n.rules != nil
		n.rules, n.ignores = nil, nil
		return had
	}
	var found Found
	var ignores []ignoreFile
	unread := false // whether the last file exists and could not be read
	read := func(name string) []byte {
		g, data, young := readIgnoreFile(f, name, settled)
		if young {
			n.retry.Store(true)
		}
		unread = young && g.stamp == (Stamp{})
		ignores = append(ignores, g)
		return data
	}
	for _, file := range []struct {
		name string
		data *[]byte
	}{{".rgignore", &found.Rgignore}, {".ignore", &found.Ignore}, {".gitignore", &found.Gitignore}} {
		if k, ok := w.find(file.name); ok && k == kindFile {
			*file.data = read(file.name)
		}
	}
	if k, ok := w.find(".git"); ok {
		found.Repo = true
		linked := k != kindDir // the file of a worktree or submodule leads elsewhere
		if !linked {
			found.Fold = ignore.FoldsCase(read(configFile))
			ignores[len(ignores)-1].sum = sha256.Sum256(fmt.Append(nil, found.Fold)) // the rest does not matter
			found.Exclude = read(excludeFile)
			linked = unread // the list may be a link
		}
		if linked && w.exclude != nil {
			found.Exclude, found.Fold = w.exclude(n.place.path())
			ignores = append(ignores, ignoreFile{name: ".git", sum: sha256.Sum256(fmt.Appendf(nil, "%t %s", found.Fold, found.Exclude))})
			n.retry.Store(true) // the stamps there are not checked
		}
	}
	if _, ok := w.find(".jj"); ok {
		found.Repo = true
	}

	alike := slices.EqualFunc(n.ignores, ignores, func(a, b ignoreFile) bool {
		return a.name == b.name && a.sum == b.sum && (a.stamp == Stamp{}) == (b.stamp == Stamp{})
	})
	fresh := n.judge || n.rules == nil || !alike || n.repo != found.Repo
	n.ignores, n.repo = ignores, found.Repo
	if fresh {
		n.rules = above.Enter(n.place.name, found)
	}
	return fresh
}

// readIgnoreFile reads an ignore file of the folder f. young reports that it must be
// read again next time: it could change without another stamp, or could not be read.
func readIgnoreFile(f folder, name string, settled time.Time) (g ignoreFile, data []byte, young bool) {
	g.name = name
	h, err := f.open(name)
	if err != nil {
		return g, nil, !errors.Is(err, fs.ErrNotExist)
	}
	defer h.Close()
	stamp, err := h.Stamp()
	if err != nil {
		return g, nil, true
	}
	data, err = io.ReadAll(io.LimitReader(h, maxIgnoreFile+1))
	if err != nil {
		return g, nil, true
	}
	if len(data) > maxIgnoreFile { // the rest of a truncated pattern would be another pattern
		data = data[:bytes.LastIndexByte(data[:maxIgnoreFile], '\n')+1]
	}
	g.stamp, g.sum = stamp, sha256.Sum256(data)
	return g, data, stamp.key().after(settled)
}

// after reports whether the key has a stamp later than t, so that a change made now
// might leave the same key.
func (k key) after(t time.Time) bool { return max(k.mtime, k.ctime) > t.UnixNano() }
