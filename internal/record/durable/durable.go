// Package durable stores what outlives a server in files of the state folder, which all
// servers with that folder use. Errors are worded for models.
package durable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// Version is the version of the form of the files, which is their property "version".
const Version = 1

// File is a JSON file whose content is a T. A reader finds it before or after a change, never
// between, also when a server is killed.
type File[T any] struct {
	Path  string
	Locks *filelock.Locks
	Name  string        // of its records, such as "schedules", and of its lock
	See   string        // where a model sees them, such as "CronList"
	Max   int           // limit of the file, in bytes
	Empty T             // content without a file
	Check func(T) error // returns an error if the content is damaged
}

// Read returns the content of the file.
func (f *File[T]) Read() (T, error) {
	data, _, err := state.ReadTrusted(f.Path, f.Max)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Empty, nil
	}
	var c T
	if err == nil {
		if c, err = f.decode(data); err != nil {
			err = fmt.Errorf("reading %s: %w", f.Path, err)
		}
	}
	if err != nil {
		return f.Empty, fault.New("the durable "+f.Name+" were not used: "+plain.Line(err.Error()), "Ask the user to repair or remove that file, or to update this server.")
	}
	return c, nil
}

func (f *File[T]) decode(data []byte) (c T, err error) {
	var head struct{ Version int }
	if err := json.Unmarshal(data, &head); err != nil {
		return c, fmt.Errorf("it is damaged: %w", err)
	}
	if head.Version != Version {
		return c, fmt.Errorf("its version is %d, and this server knows %d", head.Version, Version)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("it is damaged: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return c, errors.New("it is damaged: it goes on after its end")
	}
	if err := f.Check(c); err != nil {
		return c, fmt.Errorf("it is damaged: %w", err)
	}
	return c, nil
}

// Update calls change with the content of the file and stores what change makes of it. If
// change returns an error, Update returns it and the file stays as it was. No other server
// changes the file meanwhile.
func (f *File[T]) Update(ctx context.Context, change func(*T) error) error {
	release, err := f.Locks.Lock(ctx, f.Name)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			release()
		}
		return context.Cause(ctx)
	case errors.Is(err, filelock.ErrHeld):
		return fault.New("another server has held the lock of the durable "+f.Name+" for half a minute", "Try again; if it stays like that, ask the user to end a server that hangs.")
	case err != nil:
		return fault.New("the durable "+f.Name+" cannot be locked: "+plain.Line(err.Error()), "Ask the user to look at that.")
	}
	defer release()
	c, err := f.Read()
	if err != nil {
		return err
	}
	if err := change(&c); err != nil {
		return err
	}
	if err := f.write(c); err != nil {
		return fault.New("storing the durable "+f.Name+" failed: "+plain.Line(err.Error()),
			"See with "+f.See+" whether the change was made, and ask the user to look at "+plain.Line(f.Path)+".")
	}
	return nil
}

func (f *File[T]) write(c T) error {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return err
	}
	if err := state.EnsurePrivate(filepath.Dir(f.Path)); err != nil {
		return err
	}
	return state.Replace(f.Path, data.Bytes())
}

// Key identifies whose a record is: all sessions with one key have a part in it.
type Key struct{ Principal, Root string }

// KeyOf returns the key of a session: its principal and its first root.
func KeyOf(v session.View) Key {
	return Key{Principal: v.Principal, Root: v.Project()}
}
