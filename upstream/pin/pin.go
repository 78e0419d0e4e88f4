// Package pin remembers what other MCP servers last listed, so that it can be
// shown before they are connected, and what a person last saw of each of their
// tools, so that a definition that changed behind their back is noticed.
//
// The first listing of a server counts as seen, since a person has just put the
// server into the settings; so does the first one of what was not started by that
// name before, as projects may use one name for several. What is listed later is
// changed until a person has looked.
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

	"mcp-toolset/internal/filelock"
	"mcp-toolset/internal/state"
)

const (
	// patience is how long another process may keep the lock of a file: writing a
	// large one takes no second.
	patience = 10 * time.Second
	// maxName is how much of a server's name is in that of its file, in bytes.
	maxName = 40
	ext     = ".json"
)

// ErrUnknown says that nothing is remembered of a server.
var ErrUnknown = errors.New("nothing is remembered of that server")

// Store is what is remembered of all servers, in a folder of the state folder
// that the servers of this user share. It is safe for concurrent use. Nothing is
// kept in memory, and nothing is made before the first Update.
type Store struct {
	folder string
	locks  *filelock.Locks
	now    func() time.Time
	most   int // bytes of a listing that is kept
}

// New is the store in a folder right below the state folder. Neither need exist.
func New(folder string, locks *filelock.Locks, now func() time.Time) *Store {
	return &Store{folder: folder, locks: locks, now: now, most: maxListing}
}

// Cached is the last listing of a server, as it came but for white space. config
// is a digest of what is started; a listing of something else is none.
func (s *Store) Cached(server, config string) (list []json.RawMessage, ok bool) {
	r, err := s.read(server)
	if err != nil || r == nil || r.Config != config {
		return nil, false
	}
	return r.List, true
}

// Changed says of each tool of the last listing that a person has not seen as it
// is, by its own name, what changed, in a phrase.
func (s *Store) Changed(server, config string) map[string]string {
	r, err := s.read(server)
	if err != nil || r == nil || r.Config != config {
		return nil
	}
	return r.phrases()
}

// Seen reports whether a person has seen a tool as its definition has it, where
// config is started. A file that cannot be believed says of none that they have.
func (s *Store) Seen(server, config string, tool json.RawMessage) bool {
	r, err := s.read(server)
	form, bad := definition(tool)
	if err != nil || bad != nil || r == nil {
		return false
	}
	name := toolName(tool)
	return slices.ContainsFunc(r.of(config).Seen, func(s seen) bool { return s.Name == name && s.Hash == digest(form) })
}

// Update stores a listing and says what Changed says of it. What it says is
// right also beside an error: then the listing is not stored, or what was seen
// before cannot be believed, and nothing counts as seen.
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

// Diff is what changed since a person last looked. The error is ErrUnknown where
// nothing is remembered.
func (s *Store) Diff(server string) ([]Change, error) {
	r, err := s.known(server)
	if err != nil {
		return nil, err
	}
	return r.changes(), nil
}

// Looked is when a person last looked, or the server was first listed. The error
// is as in Diff.
func (s *Store) Looked(server string) (time.Time, error) {
	r, err := s.known(server)
	if err != nil {
		return time.Time{}, err
	}
	return r.Looked, nil
}

// Accept marks what a person was shown of a server, by Diff, as seen. What has
// changed since they were shown it stays changed.
func (s *Store) Accept(server string, shown []Change) error {
	return s.change(server, func(path string) error {
		r, err := s.known(server)
		if err != nil {
			return err
		}
		r.accept(shown, s.now())
		return r.write(path)
	})
}

// Forget drops what is remembered of a server, whatever state it is in. The
// error is ErrUnknown where there is nothing.
func (s *Store) Forget(server string) error {
	return s.change(server, os.Remove)
}

// change calls f with the lock of a server's file. Nothing is made where there
// is no file.
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

// Servers are the names of those of which something is remembered, sorted.
// Files that cannot be believed are left out; the error says which.
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

// serverOf is the server that a file is of; one of another version is of none.
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

// path is the file of a server: what can be read of its name, and what makes it
// one of its own on any file system.
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

// known is read for one that has to be there.
func (s *Store) known(server string) (*record, error) {
	r, err := s.read(server)
	if err == nil && r == nil {
		err = ErrUnknown
	}
	return r, err
}

// lock makes the folder, and takes the lock of a server's file.
func (s *Store) lock(server string) (release func(), err error) {
	for _, dir := range []string{filepath.Dir(s.folder), s.folder} {
		if err := state.EnsurePrivate(dir); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.locks.Take(ctx, s.path(server))
}

// compact is a listing without white space, and its size. What is not JSON is
// left out: nothing could be made of it.
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

// phrases are the changes of what is listed, nil if there are none.
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
