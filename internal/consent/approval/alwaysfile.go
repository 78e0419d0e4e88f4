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

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
)

const (
	alwaysName = "always.json"
	// alwaysVersion is the version of the file format. Other versions are
	// rejected.
	alwaysVersion = 1
	// maxAlways and maxAlwaysSize limit the data that every ask decision is
	// compared with, in entries and bytes.
	maxAlways     = 1000
	maxAlwaysSize = 4 << 20
	// settled is the age after which a modification time distinguishes two
	// changes, even on the coarsest file systems.
	settled = 2 * time.Second
)

// content is the content of the file.
type content struct {
	Version int     `json:"version"`
	Last    int     `json:"last"` // the last number assigned; numbers are not reused
	Entries []Entry `json:"entries"`
}

// alwaysFile caches the entries of the file, and reads it again after a change.
type alwaysFile struct {
	path string

	mu      sync.Mutex
	seen    fs.FileInfo // the file that entries were read from; nil to read it again
	entries []Entry
	problem string // the last problem logged
}

// current returns the present entries of the file.
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
	// A file that was just written could be replaced by one with the same time
	// and size.
	if info != nil && time.Since(info.ModTime()) > settled {
		f.seen = info
	}
	f.entries = c.Entries
	return f.entries, nil
}

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// report passes a problem to tell, unless it is the same as the last one.
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

// readAlways reads the file, unless another user could have written it. A
// missing file counts as empty.
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

// parseAlways decodes the file. It rejects unknown fields, because one may
// restrict an entry.
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

// change applies a change to the file and replaces it. A lock serializes the
// changes of all processes.
func (f *alwaysFile) change(locks *filelock.Locks, wait time.Duration, change func(*content) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	release, err := locks.Lock(ctx, f.path)
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
	enc.SetIndent("", "  ") // readable for users
	if err := enc.Encode(c); err != nil {
		return err
	}
	if b.Len() > maxAlwaysSize {
		return errFull
	}
	return state.Replace(f.path, b.Bytes())
}
