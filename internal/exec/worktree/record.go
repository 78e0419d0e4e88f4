package worktree

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
)

const (
	maxRecords = 1000
	// maxRecord is the limit of a record, in bytes. A name of a copied file has up to 4 KiB, and up to
	// six times as much in JSON.
	maxRecord = maxCopied*6*4096 + 64<<10
)

// record describes a worktree that Enter has made. It is stored before the worktree is made, so
// that a server that is killed leaves none that is not listed.
type record struct {
	Folder string    `json:"folder"`
	Main   string    `json:"main"`
	Common string    `json:"common"`
	Branch string    `json:"branch"`
	Made   bool      `json:"madeBranch"` // the branch was made with the worktree
	Base   string    `json:"base"`       // the commit that it began with
	When   time.Time `json:"when"`
	Copied []string  `json:"copied,omitempty"` // files that were copied, relative to the folder
}

func (r *Registry) records() string { return filepath.Join(r.State, "worktrees") }

// file returns the path of the record of a folder, without its ending.
func (r *Registry) file(folder string) string {
	return filepath.Join(r.records(), fmt.Sprintf("%x", sha256.Sum256([]byte(folder)))[:16])
}

func (r *Registry) store(c *record) error {
	data, err := json.Marshal(c)
	if err == nil {
		err = state.EnsurePrivate(r.State)
	}
	if err == nil {
		err = state.EnsurePrivate(r.records())
	}
	if err == nil {
		err = state.Replace(r.file(c.Folder)+".json", data)
	}
	return err
}

// read returns the record in a file.
func (r *Registry) read(file string) (*record, error) {
	data, _, err := state.ReadTrusted(file, maxRecord)
	if err != nil {
		return nil, err
	}
	c := new(record)
	if err := json.Unmarshal(data, c); err != nil || !filepath.IsAbs(c.Folder) || r.file(c.Folder)+".json" != file {
		return nil, fmt.Errorf("reading %s: it is damaged", file)
	}
	return c, nil
}

// load returns the record of a folder; nil if Enter has not made the worktree.
func (r *Registry) load(folder string) (*record, error) {
	c, err := r.read(r.file(folder) + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c, err
}

// all returns all records, the oldest first, and the files that are damaged.
func (r *Registry) all() (list []*record, damaged []string, err error) {
	entries, err := os.ReadDir(r.records())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, e := range entries[:min(len(entries), 3*maxRecords)] {
		name := filepath.Join(r.records(), e.Name())
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		switch c, err := r.read(name); {
		case err == nil:
			list = append(list, c)
		case !errors.Is(err, fs.ErrNotExist): // otherwise it was removed meanwhile
			damaged = append(damaged, name)
		}
	}
	slices.SortFunc(list, func(a, b *record) int { return a.When.Compare(b.When) })
	return list, damaged, nil
}

// forget removes the record of a folder. One that stays is listed as gone.
func (r *Registry) forget(folder string) {
	_ = os.Remove(r.file(folder) + ".json")
	_ = os.Remove(r.file(folder) + ".lock")
}

// use locks a worktree for a session until the file is closed. It returns nil if another session
// uses the worktree. The lock ends with the process.
func (r *Registry) use(folder string) (*os.File, error) {
	f, err := os.OpenFile(r.file(folder)+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if ok, err := filelock.TryLock(f); !ok {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Made reports whether Enter has made the worktree in a canonical folder.
func (r *Registry) Made(folder string) bool {
	c, err := r.load(folder)
	return err == nil && c != nil
}
