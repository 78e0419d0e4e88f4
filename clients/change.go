package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mcp-toolset/clients/edit"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
)

// maxFile is the limit of a file in bytes. Files of clients that hold their history have megabytes.
const maxFile = 64 << 20

// Change describes what Install or Uninstall did to a file.
type Change struct {
	Path          string
	Before, After []byte   // contents; nil if there is no file
	Backup        string   // the file with the old content, "" if there is none
	Was           Entry    // the entry before the change
	Dropped       bool     // whether the entry had settings that it has no more, which are in Backup
	Replaced      *Foreign // the entry of a project's file that was replaced as a whole; nil: none
}

// Changed reports whether there is a difference.
func (c *Change) Changed() bool {
	return !bytes.Equal(c.Before, c.After) || (c.Before == nil) != (c.After == nil)
}

// Refusal is the error for a file that was not changed.
type Refusal struct {
	Path string
	Err  error
}

func (r *Refusal) Error() string {
	err := r.Err
	var at *fs.PathError
	var kind *workspace.KindError
	switch { // the path is named once
	case errors.As(err, &at) && at.Path == r.Path:
		err = fmt.Errorf("%s: %w", at.Op, at.Err)
	case errors.As(err, &kind) && kind.Path == r.Path:
		err = fmt.Errorf("it is a %s, not a regular file", kind.Kind)
	}
	return fmt.Sprintf("%s: %v", plain.Line(r.Path), err)
}

func (r *Refusal) Unwrap() error { return r.Err }

// ErrOther means that the name belongs to another server.
var ErrOther = errors.New("the name belongs to another server")

// Snippet returns the text that a file needs for a server.
func (p Place) Snippet(name string, e Entry) string {
	return p.Client.Format.Snippet([]string{p.Client.Table, name}, p.Client.entry(name, e))
}

// Entry returns the server with a name, and whether there is one.
func (p Place) Entry(name string) (e Entry, ok bool, err error) {
	src, err := p.read()
	if err == nil {
		var value any
		if value, ok, err = p.Client.Format.Get(src, p.Client.Table, name); ok {
			e = parseEntry(value)
		}
	}
	if err != nil {
		err = &Refusal{p.Path, err}
	}
	return e, ok, err
}

// Ours returns the names of the servers in a file that are this program, in alphabetical order.
func (p Place) Ours() (names []string) {
	src, err := p.read()
	if err != nil {
		return nil
	}
	value, _, _ := p.Client.Format.Get(src, p.Client.Table)
	table, _ := value.(map[string]any)
	for name, value := range table {
		if parseEntry(value).Ours() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Install adds a server to a file, or makes one with this name start the command of e, or reach its
// URL. It leaves other settings of an entry. If stdio became HTTP or the reverse, only those that
// switch it on or off stay. In a file of a project, an entry that install did not write fails with
// *Foreign, or with Force is replaced as a whole. With dry it changes nothing. Errors are *Refusal, and
// the file is then as it was.
func (p Place) Install(ctx context.Context, name string, e Entry, dry bool) (*Change, error) {
	return p.change(ctx, dry, func(c *Change) (backup bool, err error) {
		path := []string{p.Client.Table, name}
		value, ok, err := p.Client.Format.Get(c.Before, path...)
		if err != nil {
			return false, err
		}
		if err := p.alone(name); err != nil {
			return false, err
		}
		entry := p.Client.entry(name, e)
		if !ok {
			c.After, err = p.Client.Format.Set(c.Before, path, entry)
			return true, err
		}
		old, made := p.original(c.Before, name, value)
		if p.Project.Dir != "" && !p.writes(name, value) {
			if !p.Project.Force {
				return false, &Foreign{value}
			}
			c.Was, c.Replaced = parseEntry(value), &Foreign{value}
			rest, err := p.Client.Format.Remove(c.Before, path)
			if err == nil {
				c.After, err = p.Client.Format.Set(rest, path, entry)
			}
			return true, err
		}
		if c.Was = parseEntry(value); !made && !c.Was.Ours() && (e.URL == "" || c.Was.URL != e.URL) { // a URL that the user names is accepted
			return false, ErrOther
		}
		table := value.(map[string]any)
		if (c.Was.URL == "") != (e.URL == "") {
			entry, c.Dropped = p.Client.replaced(name, c.Was, table, entry)
			var rest []byte // the file without the entry
			switch {
			case !made:
				rest, err = p.Client.Format.Remove(c.Before, path)
			case old != "":
				rest, err = read(old)
			}
			if err == nil {
				c.After, err = p.Client.Format.Set(rest, path, entry)
			}
			return !made, err
		}
		c.After = c.Before
		for _, m := range entry {
			if old, has := table[m.Key]; slices.Contains(starts, m.Key) && (!has || !edit.Same(old, m.Value)) {
				if c.After, err = p.Client.Format.Set(c.After, append(slices.Clone(path), m.Key), m.Value); err != nil {
					return false, err
				}
			}
		}
		return !made, nil
	})
}

// replaced returns the entry that takes the place of one with the values of table, with its settings
// that switch a server on or off, and whether other settings of the user are lost.
func (c *Client) replaced(name string, was Entry, table map[string]any, entry edit.Object) (out edit.Object, lost bool) {
	usual := map[string]any{}
	if len(was.Command) > 0 || c.TakesURL() {
		for _, m := range c.entry(name, was) {
			usual[m.Key] = m.Value
		}
	}
	for _, m := range entry {
		if on, ok := table[m.Key].(bool); ok && slices.Contains(switches, m.Key) {
			m.Value = on
		}
		out = append(out, m)
	}
	for _, key := range switches {
		if on, ok := table[key].(bool); ok && !slices.ContainsFunc(out, func(m edit.Member) bool { return m.Key == key }) {
			out = append(out, edit.Member{Key: key, Value: on})
		}
	}
	for key, value := range table {
		if _, on := value.(bool); on && slices.Contains(switches, key) || slices.Contains(starts, key) {
			continue
		}
		was, known := usual[key]
		lost = lost || !known || !edit.Same(value, was)
	}
	return out, lost
}

// Uninstall removes a server from a file. It accepts any entry with the given URL, if that is not "".
// If the file is one that Install made, it removes the file; if it is as Install left it, the result is
// the backup, and the backup is removed.
func (p Place) Uninstall(ctx context.Context, name, url string, dry bool) (*Change, error) {
	spent := ""
	c, err := p.change(ctx, dry, func(c *Change) (backup bool, err error) {
		path := []string{p.Client.Table, name}
		value, ok, err := p.Client.Format.Get(c.Before, path...)
		if err != nil || !ok {
			c.After = c.Before
			return false, err
		}
		var made bool
		spent, made = p.original(c.Before, name, value)
		if c.Was = parseEntry(value); !made && !c.Was.Ours() && (url == "" || c.Was.URL != url) {
			return false, ErrOther
		}
		if made {
			if c.After = nil; spent != "" {
				c.After, err = read(spent)
			}
			return false, err
		}
		c.After, err = p.Client.Format.Remove(c.Before, path)
		return true, err
	})
	if err == nil && spent != "" && !dry {
		_ = os.Remove(spent) // one more file beside it does no harm
	}
	return c, err
}

// original returns the backup that was src before Install added an entry. made reports that there is
// one, or that Install made the file; it is false if anything else has changed since then.
func (p Place) original(src []byte, name string, value any) (backup string, made bool) {
	was := parseEntry(value)
	if len(was.Command) == 0 && (was.URL == "" || !p.Client.TakesURL()) {
		return "", false
	}
	entry := p.Client.entry(name, was)
	path := []string{p.Client.Table, name}
	matches := func(old []byte) bool {
		if _, ok, err := p.Client.Format.Get(old, path...); ok || err != nil {
			return false
		}
		out, err := p.Client.Format.Set(old, path, entry)
		return err == nil && bytes.Equal(out, src)
	}
	for _, file := range slices.Backward(p.backups()) {
		if old, err := read(file); err == nil && old != nil && matches(old) {
			return file, true
		}
	}
	return "", matches(nil)
}

// suffix stands in the name of a backup between the name of its file and the time.
const suffix = ".bak-mcp-toolset-"

// backups returns the backups of a file, the newest last.
func (p Place) backups() (files []string) {
	dir, name := filepath.Split(p.Path)
	entries, _ := os.ReadDir(dir) // in the order of names, which have the time
	for _, e := range entries {
		if len(e.Name()) > len(name)+len(suffix) && e.Name()[:len(name)+len(suffix)] == name+suffix && e.Type().IsRegular() {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// change computes a change and applies it, again if the file changes meanwhile. plan sets After from
// Before, and reports whether it needs a backup.
func (p Place) change(ctx context.Context, dry bool, plan func(*Change) (bool, error)) (*Change, error) {
	c, err := p.tryChange(ctx, dry, plan)
	if err != nil {
		if c != nil && c.Backup != "" {
			_ = os.Remove(c.Backup) // the file is as it was
		}
		var refusal *Refusal
		if !errors.As(err, &refusal) {
			err = &Refusal{p.Path, err}
		}
		return nil, err
	}
	return c, nil
}

func (p Place) tryChange(ctx context.Context, dry bool, plan func(*Change) (bool, error)) (c *Change, err error) {
	if err := p.linkless(); err != nil {
		return nil, err
	}
	if dry {
		c = &Change{Path: p.Path}
		if info, err := os.Stat(p.Path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o222 == 0 {
			return c, workspace.ErrProtected
		}
		if c.Before, err = read(p.Path); err == nil {
			_, err = plan(c)
		}
		return c, err
	}
	roots, err := workspace.OpenRoots(nil)
	if err != nil {
		return nil, err
	}
	defer roots.Close()
	files := workspace.NewFiles(roots, func(string, string) error { return nil }).Private()
	written, err := files.Update(ctx, p.Path, func(old *workspace.Old) ([]byte, error) {
		if c != nil && c.Backup != "" { // the file has changed since then
			if err := os.Remove(c.Backup); err != nil {
				return nil, err
			}
		}
		c = &Change{Path: p.Path}
		if old != nil {
			if old.Info.Mode().Perm()&0o222 == 0 {
				return nil, workspace.ErrProtected // also for root
			}
			if c.Before, err = readAll(old.File); err != nil {
				return nil, err
			}
		}
		backup, err := plan(c)
		switch {
		case err != nil:
			return nil, err
		case !c.Changed() || c.After == nil:
			return nil, workspace.ErrNoChange
		case backup && old != nil:
			c.Backup, err = backUp(p.Path, c.Before)
		}
		return c.After, err
	})
	if err != nil && !errors.Is(err, workspace.ErrUnconfirmed) {
		return c, err
	}
	if c.Changed() && c.After == nil {
		return c, removeFile(written.Path, c.Before)
	}
	return c, nil
}

// removeFile removes a file with a given content.
func removeFile(path string, content []byte) error {
	now, err := read(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, content) {
		return errors.New("it is changing; try again")
	}
	return os.Remove(path)
}

// backUp writes a private copy beside a file and returns its name.
func backUp(path string, content []byte) (name string, err error) {
	stamp := path + suffix + time.Now().Format("20060102-150405.000")
	f, err := os.OpenFile(stamp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("making a backup: %w", err)
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(stamp)
		return "", fmt.Errorf("making a backup: %w", err)
	}
	return stamp, nil
}

// read returns the content of a file, or nil if there is none.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening it could block
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

// readAll returns the rest of a file. It is not nil, even if the file is empty.
func readAll(f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	if data == nil {
		data = []byte{}
	}
	return data, err
}
