// Package pin remembers what upstream servers last listed, and the tool
// definitions that the user last saw. Tools can then be offered before their
// server is connected, and a definition that changes unnoticed by the user is
// reported.
//
// The first listing of a server counts as seen, because the user has just added
// the server to the settings. So does the first listing of a new config under a
// known name, because projects may use one name for different servers. A later
// difference is reported as a change until the user has looked.
package pin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	// lockTimeout is the timeout for the lock of a file. Writing a large file
	// takes less than a second.
	lockTimeout = 10 * time.Second
	// maxName is the limit of a server's name within a file name, in bytes.
	maxName = 40
	ext     = ".json"
)

// ErrUnknown is the error for a server of which nothing is remembered.
var ErrUnknown = errors.New("nothing is remembered of that server")

// Store holds the records of all servers in a folder of the state folder, which
// all our processes of this user share. It is safe for concurrent use. It
// caches nothing in memory, and creates no file before the first Update.
type Store struct {
	folder string
	locks  *filelock.Locks
	now    func() time.Time
	most   int // limit of a stored listing, in bytes
}

// New returns the store in folder, which must be directly below the state
// folder. Neither folder needs to exist.
func New(folder string, locks *filelock.Locks, now func() time.Time) *Store {
	return &Store{folder: folder, locks: locks, now: now, most: maxListing}
}

// Cached returns the last listing of a server, as received except for white
// space. config is a digest of what is started. ok is false if there is
// none, or one of another config.
func (s *Store) Cached(server, config string) (list []json.RawMessage, ok bool) {
	r, err := s.read(server)
	if err != nil || r == nil || r.Config != config {
		return nil, false
	}
	return r.List, true
}

// Changed maps each tool of the last listing that the user has not seen in its
// present form to a phrase that says what changed. Keys are the server's own
// names of the tools.
func (s *Store) Changed(server, config string) map[string]string {
	r, err := s.read(server)
	if err != nil || r == nil || r.Config != config {
		return nil
	}
	return r.phrases()
}

// Seen reports whether the user has seen this definition of a tool under
// config. It returns false if the server's file is not trusted or damaged.
func (s *Store) Seen(server, config string, tool json.RawMessage) bool {
	r, err := s.read(server)
	form, bad := definition(tool)
	if err != nil || bad != nil || r == nil {
		return false
	}
	name := toolName(tool)
	return slices.ContainsFunc(r.of(config).Seen, func(s seen) bool { return s.Name == name && s.Hash == digest(form) })
}

// Update stores a listing and returns the changes as Changed does. They are
// valid even with an error. An error means that the listing is not stored, or
// that the file was not trusted or damaged, in which case no tool counts as
// seen.
func (s *Store) Update(server, config string, list []json.RawMessage) (changed map[string]string, err error) {
	list, size := compact(list)
	release, err := s.lock(server)
	if err == nil {
		defer release()
	}
	old, damaged := s.read(server)
	if _, none := os.Lstat(s.path(server)); damaged != nil && none == nil {
		old = &record{Config: config, Looked: s.now(), Seen: []seen{}}
	}
	next := old.listed(server, config, list, s.now())
	switch {
	case size > s.most:
		err = fmt.Errorf("the listing has %d bytes, and %d is the most that is kept", size, s.most)
	case err == nil && (damaged != nil || !old.same(next)):
		err = next.write(s.path(server))
	}
	if err = errors.Join(damaged, err); err != nil {
		err = fmt.Errorf("remembering what a server lists: %w", err)
	}
	return next.phrases(), err
}

// Diff returns what changed since the user last looked. It returns ErrUnknown
// if nothing is remembered of the server.
func (s *Store) Diff(server string) ([]Change, error) {
	r, err := s.readExisting(server)
	if err != nil {
		return nil, err
	}
	return r.changes(), nil
}

// Reviewed returns when the user last looked, or when the server was first
// listed. It returns ErrUnknown if nothing is remembered of the server.
func (s *Store) Reviewed(server string) (time.Time, error) {
	r, err := s.readExisting(server)
	if err != nil {
		return time.Time{}, err
	}
	return r.Looked, nil
}

// Accept marks the changes that the user was shown, as returned by Diff, as
// seen. Changes since then remain unseen.
func (s *Store) Accept(server string, shown []Change) error {
	return s.change(server, func(path string) error {
		r, err := s.readExisting(server)
		if err != nil {
			return err
		}
		r.accept(shown, s.now())
		return r.write(path)
	})
}

// Forget removes the record of a server, even a damaged one. It returns
// ErrUnknown if there is none.
func (s *Store) Forget(server string) error {
	return s.change(server, os.Remove)
}

// change calls f with the path of a server's file while holding its lock. It
// returns ErrUnknown, and creates nothing, if there is no file.
func (s *Store) change(server string, f func(path string) error) error {
	path := s.path(server)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return ErrUnknown
	}
	release, err := s.lock(server)
	if err != nil {
		return err
	}
	defer release()
	if err = f(path); errors.Is(err, fs.ErrNotExist) {
		return ErrUnknown
	}
	return err
}

// Servers returns the sorted names of the servers with a record. It leaves out
// files that are not trusted or damaged; the error names them.
func (s *Store) Servers() ([]string, error) {
	entries, err := os.ReadDir(s.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is remembered: %w", err)
	}
	var names []string
	var problems []error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ext) {
			continue
		}
		switch name, ok, err := s.serverOf(filepath.Join(s.folder, e.Name())); {
		case err != nil:
			problems = append(problems, err)
		case ok:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, errors.Join(problems...)
}

// serverOf returns the server to which a file belongs. ok is false for a file
// of another version.
func (s *Store) serverOf(path string) (name string, ok bool, err error) {
	data, _, err := state.ReadTrusted(path, maxRecord)
	if err != nil {
		return "", false, err
	}
	var r struct {
		Version int
		Server  string
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return "", false, fmt.Errorf("reading %s: it is damaged: %w", path, err)
	}
	if r.Version == version && s.path(r.Server) != path {
		return "", false, fmt.Errorf("reading %s: it is of another server", path)
	}
	return r.Server, r.Version == version, nil
}

// path returns the file of a server. Its name contains the readable part of the
// server's name, and a hash that makes it unique on any file system.
func (s *Store) path(server string) string {
	readable := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '_'
	}, server)
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(s.folder, readable[:min(len(readable), maxName)]+"-"+hex.EncodeToString(sum[:8])+ext)
}

func (s *Store) read(server string) (*record, error) { return readRecord(s.path(server), server) }

// readExisting reads a record that must exist. It returns ErrUnknown if there is none.
func (s *Store) readExisting(server string) (*record, error) {
	r, err := s.read(server)
	if err == nil && r == nil {
		err = ErrUnknown
	}
	return r, err
}

// lock creates the folders if necessary, and takes the lock of a server's file.
func (s *Store) lock(server string) (release func(), err error) {
	for _, dir := range []string{filepath.Dir(s.folder), s.folder} {
		if err := state.EnsurePrivate(dir); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	return s.locks.Lock(ctx, s.path(server))
}

// compact returns a listing without white space, and its size in bytes. It
// leaves out entries that are not JSON, because no tool can be made of them.
func compact(list []json.RawMessage) (out []json.RawMessage, size int) {
	out = []json.RawMessage{}
	for _, raw := range list {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			out = append(out, b.Bytes())
			size += b.Len()
		}
	}
	return out, size
}

// phrases returns the changes of listed tools by name, or nil if there are
// none.
func (r *record) phrases() map[string]string {
	var out map[string]string
	for _, c := range r.changes() {
		if c.Is == nil {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[c.Tool] = c.Phrase()
	}
	return out
}
