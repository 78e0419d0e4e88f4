package skills

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// found holds the folders of skills that a search has found, before they are read.
type found struct {
	skills []place
	issues []Issue
}

// place is the folder of a skill, with the stamp of its SKILL.md.
type place struct {
	dir, name, layer string // dir is canonical; name is that of the folder as found
	size             int64
	changed          time.Time
}

func (f found) equal(o found) bool {
	return slices.Equal(f.issues, o.issues) && slices.EqualFunc(f.skills, o.skills, func(a, b place) bool {
		return a.dir == b.dir && a.name == b.name && a.layer == b.layer && a.size == b.size && a.changed.Equal(b.changed)
	})
}

// searching is a search in progress.
type searching struct {
	found
	source  Source
	within  []string        // canonical
	seen    map[string]bool // canonical folders of skills
	entered int
	full    bool
}

// search finds the folders of skills. It reads no file.
func search(sources []Source) found {
	s := &searching{seen: map[string]bool{}}
	for _, source := range sources {
		real, err := filepath.EvalSymlinks(source.Dir)
		if err != nil {
			if source.Layer == CommandLine {
				s.issue(Issue{Path: source.Dir, Text: "cannot be opened: " + cause(err).Error()})
			}
			continue
		}
		s.source, s.within = source, []string{real}
		for _, dir := range source.Within {
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				s.within = append(s.within, real)
			}
		}
		if !s.isWithin(real) { // such as .claude, as a link out of the project
			s.issue(Issue{Path: source.Dir, Text: "is a link that leads out of its place; put the folder itself there"})
			continue
		}
		s.folder(real, real, 0)
	}
	return s.found
}

func (s *searching) issue(i Issue) { s.issues = append(s.issues, i) }

// isWithin reports whether a canonical path is in a folder in which links may end. The folder of
// the source counts only if no others are named.
func (s *searching) isWithin(path string) bool {
	within := s.within
	if len(s.source.Within) > 0 {
		within = within[1:]
	}
	return slices.ContainsFunc(within, func(dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// folder searches a folder. real is its canonical path.
func (s *searching) folder(dir, real string, depth int) {
	if s.entered++; s.full || s.entered > maxFolders {
		s.stop(dir)
		return
	}
	if depth > 0 {
		if info, err := os.Stat(filepath.Join(real, skillFile)); err == nil {
			s.skill(dir, real, info)
			return
		}
	}
	if depth == maxDepth {
		return
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		if !errors.Is(err, syscall.ENOTDIR) {
			s.issue(Issue{Path: dir, Text: "cannot be read: " + cause(err).Error()})
		}
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" {
			continue
		}
		next, nextReal := filepath.Join(dir, e.Name()), filepath.Join(real, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			if nextReal, err = filepath.EvalSymlinks(nextReal); err != nil {
				s.issue(Issue{Path: next, Text: "is a link that leads nowhere", name: e.Name()})
				continue
			}
			if info, err := os.Stat(nextReal); err != nil || !info.IsDir() {
				continue
			}
			if !s.isWithin(nextReal) {
				s.issue(Issue{Path: next, Text: "is a link that leads out of its place; put the folder itself there", name: e.Name()})
				continue
			}
			s.folder(next, nextReal, depth+1)
		case e.IsDir():
			s.folder(next, nextReal, depth+1)
		}
	}
}

// stop ends the search before a folder.
func (s *searching) stop(dir string) {
	if !s.full {
		s.full = true
		s.issue(Issue{Path: dir, Text: fmt.Sprintf("is left out with all that follow: more than %d folders or %d skills", maxFolders, maxSkills)})
	}
}

func (s *searching) skill(dir, real string, info fs.FileInfo) {
	if s.seen[real] {
		return // the same folder by another path
	}
	if len(s.skills) == maxSkills {
		s.stop(dir)
		return
	}
	s.seen[real] = true
	s.skills = append(s.skills, place{real, filepath.Base(dir), s.source.Layer, info.Size(), info.ModTime()})
}

// cause returns err without its path.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// readIn reads a regular file of at most max bytes below a folder. Links may not leave the folder.
func readIn(dir, name string, max int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, cause(err)
	}
	defer root.Close()
	f, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, cause(err)
	}
	if int64(len(data)) > max {
		return nil, fmt.Errorf("it is larger than %d bytes", max)
	}
	return data, nil
}

// openRegular opens a regular file. Opening a pipe does not wait for its writer.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if strings.Contains(err.Error(), "escapes") {
			return nil, errors.New("it is a link that leads out of the folder")
		}
		return nil, cause(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, cause(err)
	}
	return f, nil
}
