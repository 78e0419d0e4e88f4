package command

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/exec/gitconfig"
)

// Limits of the search for repositories below the roots.
const (
	scanDepth   = 6 // levels below the root, and below the modules of a repository
	scanEntries = 20_000
	scanTime    = 50 * time.Millisecond
	scanRepos   = 100 // each costs mounts
)

// repo is a git directory: a .git, that of a submodule or of a linked worktree, or a
// bare repository.
type repo struct {
	dir    string
	linked bool   // whether it belongs to a linked worktree
	super  string // for a submodule: the folder that holds the superproject
	// outside reports that a root is a checkout of it, but that it is in no root. Commands
	// change only its settings of branches.
	outside bool
}

// found is the result of a scan. No path in it goes through a link.
type found struct {
	repos    []repo
	known    map[string]bool // folders of repos
	pointers []string        // each .git that is not a folder but a link or a file that names one
	// projects maps the roots and the folders that hold a .git to those of their
	// entries that begin a protected name.
	projects map[string][]string
	cut      bool // whether the scan is incomplete
}

// scanner searches for repositories. It caches the listings of unchanged folders.
type scanner struct {
	begins  map[string]bool // first parts of protected names, in lower case
	outside []gitconfig.Root
	folders map[string]listing
	fresh   map[string]listing // listings of the current scan
	entries int
	until   time.Time
	out     found
}

// newScanner returns a scanner that records entries that begin a protected name.
func newScanner(names []string) scanner {
	s := scanner{begins: map[string]bool{}}
	for _, name := range names {
		first, _, _ := strings.Cut(name, "/")
		s.begins[strings.ToLower(first)] = true
	}
	return s
}

// listing holds what the scanner needs of a folder's entries.
type listing struct {
	stamp   stamp
	read    time.Time
	entries int
	folders []string // names
	git     fs.FileMode
	hasGit  bool
	bare    bool     // whether it looks like a git directory
	begins  []string // entries that begin a protected name
}

// settled is how much older than the listing a stamp must be to prove that nothing
// changed, since file times advance in ticks.
const settled = 100 * time.Millisecond

// scan searches roots for repositories, level by level, so that the limits cut off the
// deepest folders.
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
	for _, r := range s.outside {
		s.repository(repo{dir: r.Common, outside: true})
	}
	s.folders = s.fresh
	return s.out
}

// repository records a git directory and the git directories in it.
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
			dir := filepath.Join(r.dir, "worktrees", name)
			own := slices.ContainsFunc(s.outside, func(o gitconfig.Root) bool { return o.Dir == dir })
			s.repository(repo{dir: dir, linked: true, outside: r.outside && !own})
		}
	}
	super := r.super
	if super == "" {
		super = filepath.Dir(r.dir)
	}
	s.modules(filepath.Join(r.dir, "modules"), repo{super: super, outside: r.outside}, scanDepth)
}

// modules searches for repositories of submodules, whose names may contain slashes.
func (s *scanner) modules(folder string, r repo, depth int) {
	l, ok := s.list(folder)
	if !ok {
		return
	}
	for _, name := range l.folders {
		at := filepath.Join(folder, name)
		if in, ok := s.list(at); ok && in.bare {
			r.dir = at
			s.repository(r)
		} else if depth > 0 {
			s.modules(at, r, depth-1)
		} else {
			s.out.cut = true
		}
	}
}

// list returns the listing of a folder, from the cache if the folder has not changed.
func (s *scanner) list(path string) (listing, bool) {
	if l, ok := s.fresh[path]; ok {
		return l, true
	}
	if s.entries >= scanEntries || len(s.fresh)&63 == 63 && time.Now().After(s.until) {
		s.entries = scanEntries // list no further folder
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
	case "commondir": // its objects and refs are elsewhere
		*seen |= 6
	}
	if e.IsDir() {
		l.folders = append(l.folders, e.Name())
	}
}

// pointed returns the folder that a file .git at path names in text, with links
// resolved; "" if it names none.
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

// pointerLimit is the limit of a file that names a folder, in bytes.
const pointerLimit = 8 << 10

// follow adds the repositories that pointers lead to and that the scan did not find in
// their place: in folders that it skips, or too deep.
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
	s, err := openParent(base, path)
	if err != nil {
		return nil
	}
	defer s.close()
	return s.read(pointerLimit)
}

// read returns the content of a regular file of at most limit bytes, or nil for
// anything else.
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

// outermost returns the outermost of folders that path is below; "" if none.
func outermost(folders []string, path string) string {
	out := ""
	for _, f := range folders {
		if path != f && inside(path, f) && (out == "" || len(f) < len(out)) {
			out = f
		}
	}
	return out
}
