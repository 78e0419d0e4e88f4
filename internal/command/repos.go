package command

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How far repositories are looked for below a root.
const (
	scanDepth   = 6 // folders below the root, and below modules of a repository
	scanEntries = 20_000
	scanTime    = 50 * time.Millisecond
	scanRepos   = 100 // each costs mounts
)

// repo is a folder of git's: a .git, that of a submodule or of a linked
// worktree, or a bare repository.
type repo struct {
	dir    string
	linked bool   // of a linked worktree
	super  string // of a submodule: the folder the superproject is in
}

// found is what a scan found. Paths have no links in them.
type found struct {
	repos    []repo
	known    map[string]bool // their folders
	pointers []string        // .git that are no folders: links, and files that name one
	// projects is the roots and the folders that hold a .git, with those of their
	// entries that begin a protected name.
	projects map[string][]string
	cut      bool // there is more than was looked at
}

// scanner looks for repositories, and remembers folders that are as they were.
type scanner struct {
	begins  map[string]bool // the first parts of protected names, in lower case
	folders map[string]listing
	fresh   map[string]listing // those of this scan
	entries int
	until   time.Time
	out     found
}

// newScanner returns a scanner that notes entries which begin a protected name.
func newScanner(names []string) scanner {
	s := scanner{begins: map[string]bool{}}
	for _, name := range names {
		first, _, _ := strings.Cut(name, "/")
		s.begins[strings.ToLower(first)] = true
	}
	return s
}

// listing is what matters of a folder's entries.
type listing struct {
	stamp   stamp
	read    time.Time
	entries int
	folders []string // names
	git     fs.FileMode
	hasGit  bool
	bare    bool     // it looks like a folder of git's
	begins  []string // names that begin a protected one
}

// settled is how much older than the listing a stamp must be to prove
// something: the clock of files has ticks.
const settled = 100 * time.Millisecond

// scan looks for the repositories in folders, outer ones first so that what the
// limits cut off is deep.
func (s *scanner) scan(roots []string) found {
	s.fresh, s.entries, s.until = map[string]listing{}, 0, time.Now().Add(scanTime)
	s.out = found{known: map[string]bool{}, projects: map[string][]string{}}
	level := roots
	for depth := 0; len(level) > 0; depth++ {
		if depth > scanDepth {
			s.out.cut = true
			break
		}
		var next []string
		for _, folder := range level {
			l, ok := s.list(folder)
			if !ok {
				continue
			}
			if l.bare {
				s.repository(repo{dir: folder})
			}
			if depth == 0 || l.hasGit {
				s.out.projects[folder] = l.begins
			}
			git := filepath.Join(folder, ".git")
			switch {
			case l.hasGit && l.git.IsDir():
				s.repository(repo{dir: git})
			case l.hasGit:
				s.out.pointers = append(s.out.pointers, git)
			}
			for _, name := range l.folders {
				switch {
				case name == ".git":
				case name == "node_modules", l.bare && name == "objects":
					s.out.cut = true
				default:
					next = append(next, filepath.Join(folder, name))
				}
			}
		}
		level = next
	}
	s.folders = s.fresh
	return s.out
}

// repository notes a folder of git's and those in it.
func (s *scanner) repository(r repo) {
	if s.out.known[r.dir] {
		return
	}
	if len(s.out.repos) >= scanRepos {
		s.out.cut = true
		return
	}
	s.out.known[r.dir] = true
	s.out.repos = append(s.out.repos, r)
	if l, ok := s.list(filepath.Join(r.dir, "worktrees")); ok {
		for _, name := range l.folders {
			s.repository(repo{dir: filepath.Join(r.dir, "worktrees", name), linked: true})
		}
	}
	super := r.super
	if super == "" {
		super = filepath.Dir(r.dir)
	}
	s.modules(filepath.Join(r.dir, "modules"), super, scanDepth)
}

// modules looks for repositories of submodules, whose names have slashes.
func (s *scanner) modules(folder, super string, depth int) {
	l, ok := s.list(folder)
	if !ok {
		return
	}
	for _, name := range l.folders {
		at := filepath.Join(folder, name)
		if in, ok := s.list(at); ok && in.bare {
			s.repository(repo{dir: at, super: super})
		} else if depth > 0 {
			s.modules(at, super, depth-1)
		} else {
			s.out.cut = true
		}
	}
}

// list lists a folder, unless that is known.
func (s *scanner) list(path string) (listing, bool) {
	if l, ok := s.fresh[path]; ok {
		return l, true
	}
	if s.entries >= scanEntries || len(s.fresh)&63 == 63 && time.Now().After(s.until) {
		s.entries = scanEntries // no more
		s.out.cut = true
		return listing{}, false
	}
	if l, ok := s.folders[path]; ok && l.read.Sub(time.Unix(0, l.stamp.changed)) > settled {
		if at, ok := stampAt(path); ok && at == l.stamp {
			s.fresh[path] = l
			s.entries += l.entries
			return l, true
		}
	}
	l := listing{read: time.Now()}
	f, err := openFolder(path)
	if err != nil {
		return l, false
	}
	defer f.Close()
	l.stamp, _ = stampOf(f)
	seen := 0
	for {
		entries, err := f.ReadDir(1000)
		for _, e := range entries {
			l.add(e, &seen)
			if s.begins[strings.ToLower(e.Name())] {
				l.begins = append(l.begins, e.Name())
			}
		}
		l.entries += len(entries)
		if s.entries += len(entries); err != nil || s.entries >= scanEntries {
			s.out.cut = s.out.cut || err == nil
			break
		}
	}
	l.bare = seen == gitSigns
	s.fresh[path] = l
	return l, true
}

const gitSigns = 7

func (l *listing) add(e fs.DirEntry, seen *int) {
	switch e.Name() {
	case ".git":
		l.hasGit, l.git = true, e.Type()
	case "HEAD":
		*seen |= 1
	case "objects":
		*seen |= 2
	case "refs":
		*seen |= 4
	case "commondir": // has both elsewhere
		*seen |= 6
	}
	if e.IsDir() {
		l.folders = append(l.folders, e.Name())
	}
}

// pointed is the folder that a file .git names, with links followed; "" if it
// names none.
func pointed(path string, text []byte) string {
	text, ok := bytes.CutPrefix(text, []byte("gitdir: "))
	if !ok {
		return ""
	}
	dir := strings.TrimRight(string(text), "\r\n")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(path), dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return real
}

// pointerLimit is how large a file that names a folder may be, in bytes.
const pointerLimit = 8 << 10

// follow adds the repositories that pointers lead to and that were not found
// where they are: in folders that are not looked through, or too deep.
func (f *found) follow(bases []string) {
	add := func(dir string) {
		if dir != "" && !f.known[dir] && len(f.repos) < scanRepos && outermost(bases, dir) != "" {
			f.known[dir] = true
			f.repos = append(f.repos, repo{dir: dir, linked: filepath.Base(filepath.Dir(dir)) == "worktrees"})
		}
	}
	for _, path := range f.pointers {
		dir := ""
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			dir, _ = filepath.EvalSymlinks(path)
		} else if err == nil && info.Mode().IsRegular() {
			dir = pointed(path, readSome(path))
		}
		if dir == "" {
			continue
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		add(dir)
		if common := strings.TrimSpace(string(readSome(filepath.Join(dir, "commondir")))); common != "" {
			if !filepath.IsAbs(common) {
				common = filepath.Join(dir, common)
			}
			if real, err := filepath.EvalSymlinks(common); err == nil {
				add(real)
			}
		}
	}
}

func readSome(path string) []byte {
	base := filepath.Dir(path)
	s, err := reach(base, path)
	if err != nil {
		return nil
	}
	defer s.close()
	return s.read(pointerLimit)
}

// read reads a regular file of at most limit bytes; nil for anything else.
func (s *spot) read(limit int64) []byte {
	if at, err := s.look(); err != nil || at.kind != 0 || at.size > limit {
		return nil
	}
	f, err := s.open()
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil || int64(len(text)) > limit {
		return nil
	}
	return text
}

// outermost is the outermost of some folders that a path is in, "" if none.
func outermost(folders []string, path string) string {
	out := ""
	for _, f := range folders {
		if path != f && inside(path, f) && (out == "" || len(f) < len(out)) {
			out = f
		}
	}
	return out
}
