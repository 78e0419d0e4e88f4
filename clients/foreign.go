package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/clients/edit"
	"mcp-toolset/internal/text/plain"
)

// Project holds what install needs for a file of a project, which whoever wrote the project may have
// filled.
type Project struct {
	Dir    string // the project; "" for a file of the user
	Binary string // this program, as install writes it
	Force  bool   // replaces an entry that install did not write
}

// Foreign is the error for an entry in a file of a project that is not exactly one that install writes.
// The server that it describes must not be started.
type Foreign struct {
	Value any // the entry
}

func (*Foreign) Error() string { return "install did not write the entry" }

// writes reports whether value is an entry that install writes for this program.
func (p Place) writes(name string, value any) bool {
	e := parseEntry(value)
	switch {
	case e.URL != "":
		return p.Client.TakesURL() && edit.Same(value, p.Client.entry(name, Entry{URL: e.URL}))
	case len(e.Command) < 2 || e.Command[0] != p.Project.Binary || e.Command[1] != "stdio":
		return false
	}
	for _, folder := range e.Command[2:] {
		if !filepath.IsAbs(folder) && (p.Client.Workspace == "" || folder != p.Client.Workspace) {
			return false
		}
	}
	return edit.Same(value, p.Client.entry(name, Entry{Command: e.Command}))
}

// Written returns an error unless the file has exactly the entry that Install writes for e.
func (p Place) Written(name string, e Entry) error {
	src, err := p.read()
	if err != nil {
		return err
	}
	value, ok, err := p.Client.Format.Get(src, p.Client.Table, name)
	if err == nil {
		err = p.alone(name)
	}
	if err == nil && !(ok && edit.Same(value, p.Client.entry(name, e))) {
		err = errors.New("another program has written the entry; install again")
	}
	return err
}

// read returns the content of the file, or nil if there is none.
func (p Place) read() ([]byte, error) {
	if err := p.linkless(); err != nil {
		return nil, err
	}
	return read(p.Path)
}

// alone returns an error if another file of the project has an entry with the same name: the client
// would merge the two.
func (p Place) alone(name string) error {
	if p.Project.Dir == "" {
		return nil
	}
	for _, file := range slices.Concat(p.Client.Project, p.Client.Merged) {
		other := p
		if other.Path = filepath.Join(p.Project.Dir, filepath.FromSlash(file)); other.Path == p.Path {
			continue
		}
		src, err := other.read()
		has := false
		if err == nil && len(src) > 0 {
			_, has, err = p.Client.Format.Get(src, p.Client.Table, name)
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", plain.Line(other.Path), err)
		case has:
			return fmt.Errorf("%s has an entry %s, too, which %s merges with this one; remove it, or choose another name with --name", plain.Line(other.Path), name, p.Client.Title)
		}
	}
	return nil
}

// linkless returns an error if the way from the project to its file passes a link: the file could be
// anywhere.
func (p Place) linkless() error {
	if p.Project.Dir == "" {
		return nil
	}
	rel, err := filepath.Rel(p.Project.Dir, p.Path)
	if err != nil {
		return err
	}
	at := p.Project.Dir
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return fmt.Errorf("%s is a link, which is not followed in a project", plain.Line(at))
		}
	}
	return nil
}

// Keys returns the members of the entry that Install drops with Force, and the names of its variables.
func (f *Foreign) Keys() (keys []string) {
	table, _ := f.Value.(map[string]any)
	for key, value := range table {
		if slices.Contains(starts, key) {
			continue
		}
		if vars, ok := value.(map[string]any); ok {
			for name := range vars {
				keys = append(keys, key+"."+name)
			}
			continue
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
