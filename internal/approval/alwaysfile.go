package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"mcp-toolset/internal/filelock"
	"mcp-toolset/internal/state"
)

const (
	alwaysName = "always.json"
	// alwaysVersion is the form of the file. Another is not read.
	alwaysVersion = 1
	// maxAlways and maxAlwaysSize bound what every ask compares with, in entries
	// and bytes.
	maxAlways     = 1000
	maxAlwaysSize = 4 << 20
	// settled is when the time of a change tells it from the next one, on the
	// coarsest file systems.
	settled = 2 * time.Second
)

// content is the file.
type content struct {
	Version int     `json:"version"`
	Last    int     `json:"last"` // number that was given last; none is used again
	Entries []Entry `json:"entries"`
}

// alwaysFile is what is always allowed, read again when it has changed.
type alwaysFile struct {
	path string

	mu      sync.Mutex
	seen    fs.FileInfo // of what entries are from; nil to read anew
	entries []Entry
	problem string // as last logged
}

// current is what is in the file now.
func (f *alwaysFile) current() ([]Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.seen, f.entries = nil, nil
		return nil, nil
	}
	if err == nil && f.seen != nil && same(f.seen, info) && state.Trusted(info) == nil {
		return f.entries, nil
	}
	f.seen, f.entries = nil, nil
	c, info, err := readAlways(f.path)
	if err != nil {
		return nil, err
	}
	// A file that was written just now may be replaced by one with the same stamp.
	if info != nil && time.Since(info.ModTime()) > settled {
		f.seen = info
	}
	f.entries = c.Entries
	return f.entries, nil
}

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// report tells of a problem once.
func (f *alwaysFile) report(err error, tell func(problem string)) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	f.mu.Lock()
	known := f.problem == problem
	f.problem = problem
	f.mu.Unlock()
	if !known && err != nil {
		tell(problem)
	}
}

// readAlways reads the file, unless somebody else could have written it. None
// is empty.
func readAlways(path string) (content, fs.FileInfo, error) {
	empty := content{Version: alwaysVersion}
	data, info, err := state.ReadTrusted(path, maxAlwaysSize)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil, nil
	}
	if err != nil {
		return empty, nil, err
	}
	c, err := parseAlways(data)
	if err != nil {
		return empty, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return c, info, nil
}

// parseAlways is strict: what is not understood may be what limits an entry.
func parseAlways(data []byte) (content, error) {
	var c content
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return content{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return content{}, errors.New("something is behind its end")
	}
	if c.Version != alwaysVersion {
		return content{}, fmt.Errorf("its version is %d, and this program knows %d", c.Version, alwaysVersion)
	}
	return c, nil
}

// change writes the file anew with the change, of which there is one at a time
// among all processes.
func (f *alwaysFile) change(locks *filelock.Locks, wait time.Duration, change func(*content) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	release, err := locks.Take(ctx, f.path)
	if err != nil {
		return err
	}
	defer release()
	c, _, err := readAlways(f.path)
	if err != nil {
		return err
	}
	if err := change(&c); err != nil {
		return err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ") // for people
	if err := enc.Encode(c); err != nil {
		return err
	}
	if b.Len() > maxAlwaysSize {
		return errFull
	}
	return state.Replace(f.path, b.Bytes())
}
