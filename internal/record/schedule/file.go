package schedule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// file holds the durable schedules of all servers with a state folder. A reader finds it
// before or after a change, never between, also when a server is killed.
type file struct {
	path  string
	locks *filelock.Locks
}

// lockName is the name of the lock of the file.
const lockName = "schedules"

// maxFile is the limit of the file, in bytes. It is more than maxDurable schedules have.
const maxFile = 4 << 20

// content is the content of the file.
type content struct {
	Version   int        `json:"version"`
	Last      int        `json:"last"` // number of the last id; none is given again
	Schedules []Schedule `json:"schedules"`
}

// fileVersion is the version of the form of the file.
const fileVersion = 1

// read returns the content of the file. Without a file, it is empty.
func (f *file) read() (content, error) {
	data, _, err := state.ReadTrusted(f.path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return content{Version: fileVersion}, nil
	}
	var c content
	if err == nil {
		if c, err = decode(data); err != nil {
			err = fmt.Errorf("reading %s: %w", f.path, err)
		}
	}
	if err != nil {
		return content{}, fault.New("the durable schedules were not used: "+plain.Line(err.Error()), "Ask the user to repair or remove that file, or to update this server.")
	}
	return c, nil
}

func decode(data []byte) (c content, err error) {
	var head struct{ Version int }
	if err := json.Unmarshal(data, &head); err != nil {
		return c, fmt.Errorf("it is damaged: %w", err)
	}
	if head.Version != fileVersion {
		return c, fmt.Errorf("its version is %d, and this server knows %d", head.Version, fileVersion)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("it is damaged: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return c, errors.New("it is damaged: it goes on after its end")
	}
	seen := map[string]bool{}
	for _, s := range c.Schedules {
		digits, durable := strings.CutPrefix(s.ID, "d")
		n, err := strconv.Atoi(digits)
		if !durable || err != nil || n < 1 || n > c.Last || seen[s.ID] {
			return c, fmt.Errorf("it is damaged: the id %s is repeated or out of range", plain.Key(s.ID))
		}
		if s.Next.IsZero() || s.Created.IsZero() || s.Prompt == "" {
			return c, fmt.Errorf("it is damaged: the schedule %s is not complete", s.ID)
		}
		seen[s.ID] = true
	}
	return c, nil
}

// update calls change with the content of the file and stores what change makes of it. If
// change returns an error, update returns it and the file stays as it was. No other server
// changes the file meanwhile.
func (f *file) update(ctx context.Context, change func(*content) error) error {
	release, err := f.locks.Lock(ctx, lockName)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			release()
		}
		return context.Cause(ctx)
	case errors.Is(err, filelock.ErrHeld):
		return fault.New("another server has held the lock of the durable schedules for half a minute", "Try again; if it stays like that, ask the user to end a server that hangs.")
	case err != nil:
		return fault.New("the durable schedules cannot be locked: "+plain.Line(err.Error()), "Ask the user to look at that.")
	}
	defer release()
	c, err := f.read()
	if err != nil {
		return err
	}
	if err := change(&c); err != nil {
		return err
	}
	if err := f.write(c); err != nil {
		return fault.New("storing the durable schedules failed: "+plain.Line(err.Error()),
			"See with CronList whether the change was made, and ask the user to look at "+plain.Line(f.path)+".")
	}
	return nil
}

func (f *file) write(c content) error {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return err
	}
	if err := state.EnsurePrivate(filepath.Dir(f.path)); err != nil {
		return err
	}
	return state.Replace(f.path, data.Bytes())
}
