package command

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mcp-toolset/internal/exec/gitconfig"
)

// name is a protected name.
type name struct {
	path    string
	repo    repo // zero: no part of a repository, or a pointer
	pointer bool // a .git that is not a folder
	folder  bool // a folder that holds protected names, so it must not be a link
}

// allRoots returns the roots, those of running commands, and more.
func (g *guard) allRoots(more []string) []string {
	out := slices.Concat(g.roots, more)
	for w := range g.running {
		out = append(out, w.roots...)
	}
	slices.Sort(out[len(g.roots):])
	return slices.Compact(out)
}

// find scans for repositories, also in further roots, and adds those found before that still
// exist.
func (g *guard) find(roots []string) found {
	f := g.scanner.scan(g.allRoots(roots))
	for _, r := range g.known {
		if at, err := lookAt(r.dir); err == nil && at.kind.IsDir() && !f.known[r.dir] {
			f.known[r.dir] = true
			f.repos = append(f.repos, r)
		}
	}
	g.remember(f)
	return f
}

func (g *guard) remember(f found) {
	g.known = slices.Clone(f.repos[:min(len(f.repos), 4*scanRepos)])
}

// allFiles returns the further protected names, and those in further roots.
func (g *guard) allFiles(roots []string) []string {
	out := slices.Clone(g.files)
	for _, root := range g.allRoots(roots) {
		if !slices.Contains(g.roots, root) {
			out = append(out, filepath.Join(root, settingsName))
		}
	}
	return out
}

// names returns all protected names, also in further roots, whether they exist or not.
func (g *guard) names(f found, roots []string) []name {
	var out []name
	for _, path := range f.pointers {
		out = append(out, name{path: path, pointer: true})
	}
	for _, r := range f.repos {
		files := repoNames
		if r.linked {
			files = linkedNames
		}
		for _, file := range files {
			out = append(out, name{path: filepath.Join(r.dir, file), repo: r})
		}
	}
	for _, path := range g.allFiles(roots) {
		out = append(out, name{path: path})
	}
	return out
}

// prepare makes n if it is absent and may be empty, so that a mount can protect it. It
// replaces files that have further names (hard links) by a copy.
func (g *guard) prepare(n name, bases []string) {
	s, err := openParent(outermost(bases, n.path), n.path)
	if err != nil {
		return
	}
	defer s.close()
	at, err := s.look()
	switch {
	case os.IsNotExist(err) && n.repo.dir != "" && filepath.Base(n.path) == "hooks":
		if _, err := lookAt(filepath.Join(n.repo.dir, "config")); err == nil {
			_ = s.mkdir()
		}
	case os.IsNotExist(err) && n.isConfig() && filepath.Base(n.path) == "config.worktree":
		// Git reads it from the moment that it is there.
		common := n.repo.dir
		if n.repo.linked {
			common = filepath.Dir(filepath.Dir(common))
		}
		if f, err := gitconfig.Parse(readIn(bases, filepath.Join(common, "config"), configLimit)); err == nil && f.Last("extensions", "worktreeconfig") == "true" {
			_ = s.create()
		}
	case err != nil:
	case at.kind == 0 && at.links > 1:
		if err := s.alone(); err != nil {
			g.log.Warn("a protected file has further names by which it can be changed", "file", n.path, "err", err)
		}
	case at.kind.IsDir():
		aloneIn(s)
	}
}

// aloneIn replaces the files in a folder that have further names (hard links) by
// copies.
func aloneIn(s *spot) {
	f, err := s.open()
	if err != nil {
		return
	}
	defer f.Close()
	entries, _ := f.ReadDir(1000)
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		file := in(f, e.Name())
		if at, err := file.look(); err == nil && at.links > 1 {
			_ = file.alone()
		}
	}
}

// movable reports whether to examine a name afterwards rather than mount over it, since
// a mounted name cannot be removed. It is true for harmless names of linked worktrees
// below a root and of repositories there that appeared after the server started.
func (g *guard) movable(n name, f found, w *watched) bool {
	roots, bases := g.allRoots(w.roots), w.bases
	young := n.repo.dir != "" && !g.first[n.repo.dir] && !slices.Contains(roots, filepath.Dir(n.repo.dir))
	own := slices.ContainsFunc(g.scanner.outside, func(r gitconfig.Root) bool { return r.Dir == n.repo.dir })
	if own || !young && !n.repo.linked && (!n.pointer || slices.Contains(roots, filepath.Dir(n.path))) {
		return false
	}
	s, err := openParent(outermost(bases, n.path), n.path)
	if err != nil {
		return false
	}
	defer s.close()
	if n.pointer {
		dir := pointed(n.path, s.read(pointerLimit))
		return f.known[dir] && filepath.Base(filepath.Dir(dir)) == "worktrees"
	}
	return g.harmless(s, n, f, bases)
}

func changedSince(path string, since int64) bool {
	at, err := lookAt(path)
	return err == nil && at.changed >= since
}

func (g *guard) bad(n name, f found, bases []string) bool {
	s, err := openParent(outermost(bases, n.path), n.path)
	if err != nil {
		return false // a folder above is a link, which is a protected name itself
	}
	defer s.close()
	if n.folder {
		at, err := s.look()
		return err == nil && at.kind&fs.ModeSymlink != 0
	}
	return !g.harmless(s, n, f, bases)
}

// between returns the folders strictly between folder and a path below it, outermost
// first. It returns none if folder is "".
func between(folder, path string) []string {
	var out []string
	for at := filepath.Dir(path); folder != "" && len(at) > len(folder); at = filepath.Dir(at) {
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}

// restore makes a link again that was removed or replaced, and quarantines the
// replacement.
func (g *guard) restore(path, text string, bases []string) {
	s, err := openParent(outermost(bases, path), path)
	if err != nil {
		return
	}
	defer s.close()
	if _, err := s.look(); err == nil && g.quarantine(path, bases) != nil {
		return
	}
	if s.link(text) == nil {
		g.tell(slices.Collect(maps.Keys(g.running)), path)
	}
}

// quarantine quarantines a name: it moves the name into the quarantine folder, or renames
// it in place if that is on another file system. It removes what cannot be moved.
func (g *guard) quarantine(path string, bases []string) error {
	s, err := openParent(outermost(bases, path), path)
	if err != nil {
		return err
	}
	defer s.close()
	folder, err := g.makeQuarantine()
	if err == nil {
		// A new folder, since there may be two of a name.
		folder, err = os.MkdirTemp(folder, "")
	}
	if err == nil {
		err = s.moveTo(folder)
	}
	if err != nil {
		err = s.remove()
	}
	return err
}
