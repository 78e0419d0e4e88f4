package worklist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// NameRule describes valid names of shared lists, for error texts.
const NameRule = "1 to 64 letters, digits, - and _"

var listName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ValidName reports whether a shared list can have a name. On Windows, names of devices
// such as CON are not valid.
func ValidName(name string) bool { return listName.MatchString(name) && filepath.IsLocal(name+".json") }

// Shared keeps a list in a file that several servers use. A reader finds the list before or
// after a change, never between, also when a server is killed.
type Shared struct {
	name, path string
	lock       string // name of the lock
	locks      *filelock.Locks
}

// NewShared returns the store of the list with a valid name in a state folder. locks are
// those of the state folder. NewShared creates nothing; the first change creates the file.
func NewShared(stateDir, name string, locks *filelock.Locks) *Shared {
	return &Shared{
		name: name, path: filepath.Join(stateDir, "lists", name+".json"), locks: locks,
		// Not the path: servers may reach the folder by different ones, and the file by
		// names that differ in case.
		lock: "task list " + strings.ToLower(name),
	}
}

// Read implements Store.
func (s *Shared) Read(ctx context.Context) (l List, err error) {
	err = s.locked(ctx, func() error {
		_, l, err = s.load()
		return err
	})
	return l, err
}

// Update implements Store.
func (s *Shared) Update(ctx context.Context, change func(*List) error) error {
	return s.locked(ctx, func() error {
		old, l, err := s.load()
		if err != nil {
			return err
		}
		if err := change(&l); err != nil {
			return err
		}
		data, err := encode(l)
		if err == nil && !bytes.Equal(data, old) {
			err = s.write(data)
		}
		if err != nil {
			return fault.New(fmt.Sprintf("storing the task list %s failed: %s", s.name, plain.Line(err.Error())),
				"See with TaskList whether the change was made, and ask the user to look at "+plain.Line(s.path)+".")
		}
		return nil
	})
}

// locked calls f while no other server reads or changes the list.
func (s *Shared) locked(ctx context.Context, f func() error) error {
	release, err := s.locks.Lock(ctx, s.lock)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			release()
		}
		return context.Cause(ctx)
	case errors.Is(err, filelock.ErrHeld):
		return fault.New(fmt.Sprintf("another server has held the lock of the task list %s for half a minute", s.name),
			"Try again; if it stays like that, ask the user to end a server that hangs.")
	case err != nil:
		return fault.New(fmt.Sprintf("the task list %s cannot be locked: %s", s.name, plain.Line(err.Error())), "Ask the user to look at that.")
	}
	defer release()
	return f()
}

// load returns the content of the file and the list in it. Without a file, they are empty.
func (s *Shared) load() ([]byte, List, error) {
	data, err := s.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, List{}, nil
	}
	var l List
	if err == nil {
		if l, err = decode(data); err != nil {
			err = fmt.Errorf("reading %s: %w", s.path, err)
		}
	}
	switch {
	case errors.Is(err, errNewer):
		return nil, List{}, fault.New(fmt.Sprintf("the task list %s was not used: %s", s.name, plain.Line(err.Error())), "Ask the user to update this server, or to start it with another --task-list.")
	case err != nil:
		return nil, List{}, fault.New(fmt.Sprintf("the task list %s was not used: %s", s.name, plain.Line(err.Error())), "Ask the user to repair or remove that file.")
	}
	return data, l, nil
}

// read returns the content of the file. It follows no links.
func (s *Shared) read() ([]byte, error) {
	dir := filepath.Dir(s.path)
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("reading %s: it is not a folder", dir)
	}
	data, _, err := state.ReadTrusted(s.path, maxFile)
	return data, err
}

func (s *Shared) write(data []byte) error {
	if err := state.EnsurePrivate(filepath.Dir(s.path)); err != nil {
		return err
	}
	return state.Replace(s.path, data)
}
