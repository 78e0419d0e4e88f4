package approval

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Entry is what is always allowed: exactly Subject, by one tool, in the
// workspaces whose first root is among Roots.
type Entry struct {
	Number int    `json:"number"` // that people forget it by
	Tool   string `json:"tool"`
	Subject
	Roots []string  `json:"roots"`
	When  time.Time `json:"when"`
}

func (e *Entry) covers(tool string, subject Subject, root string) bool {
	return e.Tool == subject.of(tool) && e.Subject == subject && root != "" && slices.Contains(e.Roots, root)
}

// Always reports whether a person has always allowed this, by this tool, in the
// workspace of this first root. What any server of the user remembers, and what
// is removed, counts at once. A file that others could have written allows
// nothing.
func (s *Store) Always(tool string, subject Subject, root string) bool {
	if subject.Value == "" {
		return false
	}
	entries, err := s.always.current()
	s.always.report(err, func(problem string) { s.config.Log.Warn("nothing is allowed for always", "error", problem) })
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.covers(tool, subject, root) })
}

// Remember allows for always what a request is about: exactly that, by its tool,
// in its workspace.
func (s *Store) Remember(r Request) error { return s.remember(r, patience) }

func (s *Store) remember(r Request, wait time.Duration) error {
	if err := r.always(); err != nil {
		return err
	}
	if err := s.makeFolder(); err != nil {
		return fmt.Errorf("remembering what is always allowed: %w", err)
	}
	err := s.always.change(s.locks, wait, func(c *content) error { return c.add(r, s.config.Now()) })
	if err != nil {
		return fmt.Errorf("remembering what is always allowed: %w", err)
	}
	return nil
}

var errFull = errors.New("there is no room for more; see `mcp-toolset approvals` and forget some")

// add adds what a request is about, or its root to what is there.
func (c *content) add(r Request, now time.Time) error {
	for i := range c.Entries {
		if e := &c.Entries[i]; e.Tool == r.Tool && e.Subject == r.Subject {
			if !slices.Contains(e.Roots, r.Root) {
				e.Roots = append(e.Roots, r.Root)
			}
			return nil
		}
	}
	if len(c.Entries) >= maxAlways {
		return errFull
	}
	c.Last++
	c.Entries = append(c.Entries, Entry{
		Number: c.Last, Tool: r.Subject.of(r.Tool), Subject: r.Subject, Roots: []string{r.Root}, When: now.UTC().Truncate(time.Second),
	})
	return nil
}

// Entries is what is always allowed in a state folder, as it was given. It needs
// no server.
func Entries(stateFolder string) ([]Entry, error) {
	c, _, err := readAlways(filepath.Join(folderOf(stateFolder), alwaysName))
	if err != nil {
		return nil, err
	}
	return c.Entries, nil
}

// ForgetEntry removes what is always allowed by its number. It needs no server,
// and servers that run know it at once.
func ForgetEntry(stateFolder string, number int) (Entry, error) {
	folder := folderOf(stateFolder)
	f := alwaysFile{path: filepath.Join(folder, alwaysName)}
	unknown := fmt.Errorf("nothing is always allowed by number %d", number)
	if _, err := os.Lstat(f.path); errors.Is(err, fs.ErrNotExist) {
		return Entry{}, unknown // and nothing is made to look
	}
	var gone Entry
	err := f.change(locksOf(folder), patience, func(c *content) error {
		at := slices.IndexFunc(c.Entries, func(e Entry) bool { return e.Number == number })
		if at < 0 {
			return unknown
		}
		gone = c.Entries[at]
		c.Entries = slices.Delete(c.Entries, at, at+1)
		return nil
	})
	return gone, err
}
