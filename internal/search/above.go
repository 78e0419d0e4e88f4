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

	"mcp-toolset/internal/search/ignore"
	"mcp-toolset/internal/search/walk"
)

// maxIgnoreFile is how much of an ignore file is read, as in package walk.
const maxIgnoreFile = 1 << 20

// above is the ignore rules that hold at a folder because of those above it and
// of the user's own. They are read anew for each query, since nobody watches
// them, and are the same value as long as they say the same.
type above struct {
	top    string
	home   string
	getenv func(string) string

	mu      sync.Mutex
	sum     [sha256.Size]byte
	rules   walk.Rules
	ignored string
}

// look reads them.
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

// exclude is the list of a repository below the top: see walk.Options.
func (a *above) exclude(dir string) []byte {
	data, _ := ignore.Exclude(filepath.Join(a.top, filepath.FromSlash(dir)), readRegular)
	return data
}

// leftOut is the folder, the top or one above it, that the rules leave out; ""
// if none is.
func (a *above) leftOut() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ignored
}

// readRegular reads the beginning of a regular file, which it does not wait for.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path) // a .gitignore of the user's own may well be a link
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
	if len(data) > maxIgnoreFile { // half a pattern would be another one
		data = data[:bytes.LastIndexByte(data[:maxIgnoreFile], '\n')+1]
	}
	return data, err
}
