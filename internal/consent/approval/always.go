package approval

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Entry is one thing that is always allowed: exactly Subject, by one tool, in
// the workspaces whose first root is in Roots.
type Entry struct {
	Number    int    `json:"number"`              // the number by which users forget it
	Principal string `json:"principal,omitempty"` // see hosted
	Tool      string `json:"tool"`
	Subject
	Roots []string  `json:"roots"`
	When  time.Time `json:"when"`
}

func (e *Entry) covers(principal, tool string, subject Subject, root string) bool {
	return e.Principal == hosted(principal) && e.Tool == subject.of(tool) && e.Subject == subject && root != "" && slices.Contains(e.Roots, root)
}

// hosted returns a principal of http --tokens, whose ID has a colon. It returns "" for all others,
// which belong to the user of the machine.
func hosted(principal string) string {
	if strings.Contains(principal, ":") {
		return principal
	}
	return ""
}

// Always reports whether the principal's user has always allowed subject for this tool in
// the workspace with this first root. Changes by other servers and by the
// command line take effect at once. A file that other users could have written
// allows nothing.
func (s *Store) Always(principal, tool string, subject Subject, root string) bool {
	if subject.Value == "" {
		return false
	}
	entries, err := s.always.current()
	s.always.report(err, func(problem string) { s.config.Log.Warn("nothing is allowed for always", "error", problem) })
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.covers(principal, tool, subject, root) })
}

// Remember always allows the subject of a request, for its tool and in its
// workspace.
func (s *Store) Remember(r Request) error { return s.remember(r, lockTimeout) }

func (s *Store) remember(r Request, wait time.Duration) error {
	if err := r.always(); err != nil {
		return err
	}
	if err := s.socket.EnsureFolder(); err != nil {
		return fmt.Errorf("storing a permanent approval: %w", err)
	}
	err := s.always.change(s.locks, wait, func(c *content) error { return c.add(r, s.config.Now()) })
	if err != nil {
		return fmt.Errorf("storing a permanent approval: %w", err)
	}
	return nil
}

var errFull = errors.New("there is no room for more; see `mcp-toolset approvals` and forget some")

// add adds an entry for a request, or adds the root to the existing entry.
func (c *content) add(r Request, now time.Time) error {
	for i := range c.Entries {
		if e := &c.Entries[i]; e.Principal == hosted(r.Principal) && e.Tool == r.Tool && e.Subject == r.Subject {
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
		Number: c.Last, Principal: hosted(r.Principal), Tool: r.Subject.of(r.Tool), Subject: r.Subject, Roots: []string{r.Root}, When: now.UTC().Truncate(time.Second),
	})
	return nil
}

// Entries returns all entries in a state folder, in order of creation. It needs
// no running server.
func Entries(stateFolder string) ([]Entry, error) {
	c, _, err := readAlways(filepath.Join(folderOf(stateFolder), alwaysName))
	if err != nil {
		return nil, err
	}
	return c.Entries, nil
}

// EntryOf returns the entry in a state folder that allows the subject of an approval. ok is
// false if there is none.
func EntryOf(stateFolder string, i Item) (e Entry, ok bool) {
	entries, err := Entries(stateFolder)
	at := slices.IndexFunc(entries, func(e Entry) bool { return e.covers(i.Principal, i.Tool, i.Subject, i.Root) })
	if err != nil || at < 0 {
		return Entry{}, false
	}
	return entries[at], true
}

// ForgetEntry removes the entry with a number and returns it. It needs no
// running server. Running servers notice the change at once.
func ForgetEntry(stateFolder string, number int) (Entry, error) {
	folder := folderOf(stateFolder)
	f := alwaysFile{path: filepath.Join(folder, alwaysName)}
	none := errors.New("nothing is always allowed")
	if _, err := os.Lstat(f.path); errors.Is(err, fs.ErrNotExist) {
		return Entry{}, none // without creating any file
	}
	var gone Entry
	err := f.change(locksOf(folder), lockTimeout, func(c *content) error {
		at := slices.IndexFunc(c.Entries, func(e Entry) bool { return e.Number == number })
		if at < 0 {
			var numbers []string
			for _, e := range c.Entries[:min(len(c.Entries), 20)] {
				numbers = append(numbers, strconv.Itoa(e.Number))
			}
			if len(numbers) == 0 {
				return none
			}
			return fmt.Errorf("nothing is always allowed by number %d, only by %s; `mcp-toolset approvals` lists them", number, strings.Join(numbers, ", "))
		}
		gone = c.Entries[at]
		c.Entries = slices.Delete(c.Entries, at, at+1)
		return nil
	})
	return gone, err
}
