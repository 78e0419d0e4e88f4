package command

import (
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// guard keeps protected names as they are. What is there when a command starts
// is mounted read-only for it; what a command makes under such a name is looked
// at, at its end and every few seconds until then, and taken away if it could
// make a program run that the user did not choose.
type guard struct {
	roots   []string               // in which repositories are looked for
	files   []string               // further names, such as settings
	away    func() (string, error) // where to what is taken away is moved
	takenTo string                 // that folder, for people
	// tracked lists those of some paths in a folder that git tracks as they are.
	tracked func(dir string, paths []string) []string
	log     *slog.Logger
	every   time.Duration // between looks while commands run
	settle  time.Duration // how long git may take from a file to the commit that has it

	journal string // the folder of journals; "": none is kept

	mu      sync.Mutex
	file    *os.File // the journal of this server; nil: none yet
	lock    io.Closer
	looked  bool            // at what servers left that were killed
	first   map[string]bool // repositories that were there before the first command
	scanner scanner
	known   []repo // found earlier; further ones cannot crowd them out
	running map[*watched]bool
	timer   *time.Timer
}

// watched is what is known of the protected names of a running command.
type watched struct {
	bases   []string          // the folders it can change, links followed
	trusted map[string]bool   // what was there when it started, which a mount keeps
	links   map[string]string // links that were there, and their texts: no mount keeps them
	until   int64             // what was made later is not the command's, in ns; 0: it runs
	since   int64             // when it started, in ns
	cut     bool              // not everything was looked at then
	removed []string
	opened  []string // what it may change all the same

	names    []string // protected names that it may not make in projects; empty: it may make all
	projects []string // folders, of those that were there when it started
	appeared []string // protected names that it made and that stay
}

// name is a protected name.
type name struct {
	path    string
	repo    repo // zero: it is none of git's, or a pointer
	pointer bool // a .git that is no folder
	folder  bool // a folder in which names are: it must be no link
}

const (
	guardEvery  = 5 * time.Second
	guardSettle = 2 * time.Second
)

// begin says what to protect from a command that can change some folders, and
// watches it. names are further names that the command may not make.
func (g *guard) begin(writable []string, names ...string) (w *watched, protect []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left()
	w = &watched{trusted: map[string]bool{}, links: map[string]string{}, since: time.Now().UnixNano()}
	for _, folder := range writable {
		if folder != "" {
			w.bases = append(w.bases, resolved(folder))
		}
	}
	g.look(nil) // what a running command made is not taken for what was there
	f := g.find()
	f.follow(w.bases)
	g.remember(f)
	if g.first == nil {
		g.first = map[string]bool{}
		for _, r := range f.repos {
			g.first[r.dir] = true
		}
	}
	w.cut = f.cut
	w.watchPlants(f, names)
	for _, n := range g.names(f) {
		for _, link := range linksTo(n.path, w.bases) {
			w.links[link], _ = os.Readlink(link)
		}
		g.prepare(n, w.bases)
		at, err := lookAt(n.path)
		if err != nil || g.movable(n, f, w.bases) {
			continue
		}
		switch {
		case at.kind&fs.ModeSymlink == 0:
			w.trusted[n.path] = true
		case n.pointer:
			continue // the names in the folder it leads to are protected
		}
		protect = append(protect, n.path)
	}
	if g.running == nil {
		g.running = map[*watched]bool{}
	}
	g.running[w] = true
	g.record()
	if g.timer == nil {
		g.timer = time.AfterFunc(g.every, g.tick)
	}
	return w, protect
}

// grant lets a command change what it was granted, and returns the rest of what is
// protected from it.
func (g *guard) grant(w *watched, protect []string, grants []Grant) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, grant := range grants {
		if grant.Change {
			w.opened = append(w.opened, grant.Path)
		}
	}
	return slices.DeleteFunc(protect, w.opens)
}

// opens reports whether a command may change a protected name: it was granted that,
// what holds it, or something in it.
func (w *watched) opens(path string) bool {
	return slices.ContainsFunc(w.opened, func(o string) bool { return inside(path, o) || inside(o, path) })
}

// opened reports whether a running command may change a name.
func (g *guard) opened(path string) bool {
	for w := range g.running {
		if w.opens(path) {
			return true
		}
	}
	return false
}

// end looks at what a command made that has ended, and says what was taken
// away.
func (g *guard) end(w *watched) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look([]*watched{w})
	delete(g.running, w)
	if len(g.running) == 0 && g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	g.record()
	return w.removed
}

func (g *guard) tick() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer == nil {
		return
	}
	g.look(nil)
	g.beat()
	g.timer.Reset(g.every)
}

// find finds the repositories, with those found before that are still there.
func (g *guard) find() found {
	f := g.scanner.scan(g.roots)
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

// names lists what is protected, whether it is there or not.
func (g *guard) names(f found) []name {
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
	for _, path := range g.files {
		out = append(out, name{path: path})
	}
	return out
}

// prepare makes what is absent and can be empty, so that a mount can keep it,
// and gives files with further names a copy of their own.
func (g *guard) prepare(n name, bases []string) {
	s, err := reach(outermost(bases, n.path), n.path)
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
	case err != nil:
	case at.kind == 0 && at.links > 1:
		if err := s.alone(); err != nil {
			g.log.Warn("a protected file has further names by which it can be changed", "file", n.path, "err", err)
		}
	case at.kind.IsDir():
		aloneIn(s)
	}
}

// aloneIn does so for the files in a folder.
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

// movable reports whether a name is better looked at afterwards than mounted
// on, since it could not be removed again: what git makes of a linked worktree
// below a root, and repositories there that came since the server started.
func (g *guard) movable(n name, f found, bases []string) bool {
	young := n.repo.dir != "" && !g.first[n.repo.dir] && !slices.Contains(g.roots, filepath.Dir(n.repo.dir))
	if !young && !n.repo.linked && (!n.pointer || slices.Contains(g.roots, filepath.Dir(n.path))) {
		return false
	}
	s, err := reach(outermost(bases, n.path), n.path)
	if err != nil {
		return false
	}
	defer s.close()
	if n.pointer {
		dir := pointed(n.path, s.read(pointerLimit))
		return f.known[dir] && filepath.Base(filepath.Dir(dir)) == "worktrees"
	}
	return harmless(s, n, f, bases)
}

// look looks at all protected names and takes away what a running command made
// there, unless it does no harm. ended are those that do nothing more.
func (g *guard) look(ended []*watched) {
	if len(g.running) == 0 {
		return
	}
	var bases []string
	links := map[string]string{}
	for w := range g.running {
		bases = append(bases, w.bases...)
		maps.Copy(links, w.links)
	}
	slices.Sort(bases)
	bases = slices.Compact(bases)
	for path, text := range links {
		if now, err := os.Readlink(path); err != nil || now != text {
			g.restore(path, text, bases)
		}
	}
	f := g.find()
	names := g.names(f)
	for _, r := range f.repos {
		names = append(names, name{path: filepath.Join(r.dir, "info"), repo: r, folder: true})
	}
	for _, path := range g.files {
		for _, above := range between(outermost(bases, path), path) {
			names = append(names, name{path: above, folder: true})
		}
	}
	for _, n := range names {
		if _, ok := links[n.path]; ok {
			continue
		}
		if g.opened(n.path) {
			for w := range g.running { // later it counts as found
				w.trusted[n.path] = true
			}
			continue
		}
		if makers := g.makers(n); len(makers) > 0 && g.bad(n, f, bases) && g.putAway(n.path, bases) == nil {
			g.tell(makers, n.path)
		}
	}
	g.lookAtPlants(f, bases, ended)
}

// makers lists the running commands that can have made what is at a name.
func (g *guard) makers(n name) []*watched {
	at, err := lookAt(n.path)
	if err != nil {
		return nil
	}
	var out []*watched
	for w := range g.running {
		switch {
		case w.trusted[n.path], outermost(w.bases, n.path) == "":
		case w.cut && at.changed < w.since && !changedSince(filepath.Dir(n.path), w.since):
			// It may have been there, where nobody looked.
		case w.until != 0 && madeSince(n.path, w.until):
		default:
			out = append(out, w)
		}
	}
	return out
}

func changedSince(path string, since int64) bool {
	at, err := lookAt(path)
	return err == nil && at.changed >= since
}

func (g *guard) bad(n name, f found, bases []string) bool {
	s, err := reach(outermost(bases, n.path), n.path)
	if err != nil {
		return false // a folder above is a link, which is a name of its own
	}
	defer s.close()
	if n.folder {
		at, err := s.look()
		return err == nil && at.kind&fs.ModeSymlink != 0
	}
	return !harmless(s, n, f, bases)
}

// between lists the folders strictly between a folder and a path below it, the
// outer ones first; none if the folder is "".
func between(folder, path string) []string {
	var out []string
	for at := filepath.Dir(path); folder != "" && len(at) > len(folder); at = filepath.Dir(at) {
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}

func (g *guard) tell(makers []*watched, path string) {
	g.log.Warn("what appeared under a protected name while a command ran was taken away", "name", path)
	for _, w := range makers {
		if !slices.Contains(w.removed, path) {
			w.removed = append(w.removed, path)
		}
	}
}

// restore makes a link again that somebody has removed or replaced.
func (g *guard) restore(path, text string, bases []string) {
	s, err := reach(outermost(bases, path), path)
	if err != nil {
		return
	}
	defer s.close()
	if _, err := s.look(); err == nil && g.putAway(path, bases) != nil {
		return
	}
	if s.link(text) == nil {
		g.tell(slices.Collect(maps.Keys(g.running)), path)
	}
}

// putAway moves a name into the folder of what was taken away, or beside it if
// that is on another file system. What cannot be moved is removed.
func (g *guard) putAway(path string, bases []string) error {
	s, err := reach(outermost(bases, path), path)
	if err != nil {
		return err
	}
	defer s.close()
	folder, err := g.away()
	if err == nil {
		// Of its own: there may be two of a name.
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
