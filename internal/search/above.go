package search

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"mcp-toolset/internal/search/ignore"
	"mcp-toolset/internal/search/walk"
)

// maxIgnoreFile is the limit of bytes read of an ignore file, as in package
// walk.
const maxIgnoreFile = 1 << 20

// above holds the ignore rules that apply to a folder from the folders above it and
// from the user's own configuration. look reads them anew for each query, because no
// watcher covers them. The value of rules is the same as long as the files are.
type above struct {
	top    string
	home   string
	getenv func(string) string

	mu      sync.Mutex
	sum     [sha256.Size]byte
	rules   walk.Rules
	ignored string
}

// look reads the rules.
func (a *above) look() walk.Rules {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := sha256.New()
	read := func(path string) ([]byte, error) {
		data, err := readRegular(path)
		fmt.Fprintf(h, "%s\x00%d %t\x00", path, len(data), errors.Is(err, fs.ErrNotExist))
		h.Write(data)
		return data, err
	}
	folder, ignored := ignore.Above(a.top, ignore.Global(a.home, a.getenv, read), read)
	a.ignored = ignored
	if sum := [sha256.Size]byte(h.Sum(nil)); a.rules == nil || sum != a.sum {
		a.sum, a.rules = sum, walk.IgnoreRules(folder)
	}
	return a.rules
}

// exclude returns the exclude list of a repository below the top, and whether it ignores
// case: see walk.Options.
func (a *above) exclude(dir string) (list []byte, fold bool) {
	list, fold, _ = ignore.Exclude(filepath.Join(a.top, filepath.FromSlash(dir)), readRegular)
	return list, fold
}

// ignoredFolder returns the folder, the top or one above it, that the rules ignore, or "" if
// none is ignored.
func (a *above) ignoredFolder() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ignored
}

// readRegular reads the beginning of a regular file. It never blocks on opening.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path) // a .gitignore of the user may be a link
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fs.ErrNotExist // below a file
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, os.ErrInvalid
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile+1))
	if len(data) > maxIgnoreFile { // the rest of a truncated pattern would be another pattern
		data = data[:bytes.LastIndexByte(data[:maxIgnoreFile], '\n')+1]
	}
	return data, err
}
