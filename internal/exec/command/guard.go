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

// guard protects protected names. A name that exists when a command starts is mounted
// read-only for the command. A name that appears while a command runs is examined every
// few seconds and at the command's end. It is quarantined if it could make a program
// run that the user did not choose.
type guard struct {
	roots          []string               // repositories are searched below them
	files          []string               // further protected names, such as settings
	closed         []string               // paths that are hidden from commands if they exist
	makeQuarantine func() (string, error) // returns the quarantine folder and makes it if absent
	quarantinePath string                 // the quarantine folder, for texts to the user
	// tracked returns those of paths, in folder dir, whose contents come from a commit.
	tracked func(dir string, paths []string) []string
	log     *slog.Logger
	every   time.Duration // interval of looks while commands run
	settle  time.Duration // time that git may need from writing a file to the commit that holds it

	home    string // for names in git's configuration
	journal string // folder of journals; "": none is written

	mu           sync.Mutex
	file         *os.File // journal of this server; nil: none yet
	lock         io.Closer
	journalsRead bool            // whether the journals of killed servers were read
	first        map[string]bool // repositories that existed before the first command
	scanner      scanner
	known        []repo // found earlier; later ones cannot displace them
	running      map[*watched]bool
	timer        *time.Timer
}

// watched is the state of the protected names of a running command.
type watched struct {
	roots    []string          // further roots, in which repositories are searched
	bases    []string          // folders that it can change, links resolved
	trusted  map[string]bool   // names that existed at its start, which a mount protects, and names accepted since
	links    map[string]string // links that existed at its start, and their targets; mounts do not protect them
	until    int64             // files made after this time, in ns, are not the command's; 0: it still runs
	since    int64             // start of the command, in ns
	cut      bool              // whether the scan at its start was incomplete
	removed  []string
	opened   []string          // protected paths that grants let it change
	openings []*opening        // protected names that git in it may change
	mounted  map[string]uint64 // inodes of the files that mounts protect from it
	// restored lists facts on what was put back as it was, or not carried over.
	restored []string

	configs  map[string]name     // existing configurations that it must not change
	lent     []*lent             // its copies of those
	hooks    map[string]string   // its copies of generated hooks, and their originals
	copies   *os.File            // the folder of the copies; nil: none
	pointers map[string]string   // contents at its start of files that name another folder
	taken    map[string]bool     // those of pointers that were quarantined since
	programs map[string]string   // absent files that git's configuration makes git run, and the folders of their checkouts
	steps    map[string][]string // steps at its start that run a command, of rebases that wait

	names    []string // protected names that it must not make in projects; empty: it may make all
	projects []string // project folders that existed at its start
	appeared []string // protected names that it made and that stay
}

const (
	guardEvery  = 5 * time.Second
	guardSettle = 2 * time.Second
)

// begin starts to watch a command that can change the folders writable. It returns the
// existing names that mounts must protect. roots are further roots of the command, and names
// further names that it must not make.
func (g *guard) begin(roots, writable []string, names ...string) (w *watched, protect []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.recover()
	w = newWatched()
	w.roots, w.since = roots, time.Now().UnixNano()
	for _, folder := range writable {
		if folder != "" {
			w.bases = append(w.bases, resolved(folder))
		}
	}
	g.look(nil) // so that files that a running command made do not count as existing before
	f := g.find(roots)
	f.follow(w.bases)
	g.remember(f)
	if g.first == nil {
		g.first = map[string]bool{}
		for _, r := range f.repos {
			g.first[r.dir] = true
		}
	}
	w.cut = f.cut
	for other := range g.running { // a mount is gone when git replaces the file
		w.openings = append(w.openings, other.openings...)
	}
	w.watchPlants(f, names)
	for _, n := range g.names(f, roots) {
		for _, link := range linksTo(n.path, w.bases) {
			w.links[link], _ = os.Readlink(link)
		}
		if g.hides(n.path) {
			w.trusted[n.path] = true // also if the user makes it meanwhile
			for _, above := range between(outermost(w.bases, n.path), n.path) {
				w.trusted[above] = true
			}
			continue
		}
		g.prepare(n, w.bases)
		at, err := lookAt(n.path)
		if err != nil || g.movable(n, f, w) {
			if n.pointer || filepath.Base(n.path) == "commondir" {
				w.notice(n)
			}
			continue
		}
		switch {
		case at.kind&fs.ModeSymlink == 0:
			w.trusted[n.path] = true
			if at.kind == 0 && n.isConfig() {
				w.configs[n.path] = n
			}
		case n.pointer:
			continue // the names in the target folder are protected
		}
		protect = append(protect, n.path)
	}
	for _, r := range f.repos {
		w.noticeRepo(r)
	}
	protect = append(protect, g.watchPrograms(w, f)...)
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

func newWatched() *watched {
	return &watched{trusted: map[string]bool{}, links: map[string]string{}, configs: map[string]name{}, hooks: map[string]string{}, pointers: map[string]string{}, taken: map[string]bool{}, programs: map[string]string{}, steps: map[string][]string{}}
}

// hides reports whether a command that starts now cannot reach a name, since a folder above
// it, or the name itself, is hidden.
func (g *guard) hides(path string) bool {
	return slices.ContainsFunc(g.closed, func(closed string) bool { return inside(path, closed) && exists(closed) })
}

// grant lets a command change the paths that it was granted, and returns the rest
// of protect.
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

// opens reports whether grants let a command change a protected name: the name itself,
// a folder above it, or something in it.
func (w *watched) opens(path string) bool {
	return slices.ContainsFunc(w.opened, func(o string) bool { return inside(path, o) || inside(o, path) })
}

// opened reports whether a grant lets any running command change a name.
func (g *guard) opened(path string) bool {
	for w := range g.running {
		if w.opens(path) {
			return true
		}
	}
	return false
}

// end examines what an ended command made, stops watching it, and returns the names
// that were quarantined.
func (g *guard) end(w *watched) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look([]*watched{w})
	w.takeBack()
	w.nameReplaced()
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
	g.setJournalTime()
	g.timer.Reset(g.every)
}

// look examines all protected names and quarantines what a running command made there,
// unless it is harmless. ended lists commands that make no more changes.
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
	f := g.find(nil)
	names := g.names(f, nil)
	for _, r := range f.repos {
		names = append(names, name{path: filepath.Join(r.dir, "info"), repo: r, folder: true})
	}
	for _, path := range g.allFiles(nil) {
		for _, above := range between(outermost(bases, path), path) {
			names = append(names, name{path: above, folder: true})
		}
	}
	for _, n := range names {
		if _, ok := links[n.path]; ok {
			continue
		}
		if g.opened(n.path) {
			for w := range g.running { // from now on it counts as existing
				w.trusted[n.path] = true
			}
			continue
		}
		makers := g.makers(n)
		if len(makers) == 0 || !g.bad(n, f, bases) || n.isConfig() && g.clean(n, f, bases, makers) || g.quarantine(n.path, bases) != nil {
			continue
		}
		restored := false
		for _, w := range makers {
			if _, had := w.pointers[n.path]; had {
				w.taken[n.path], restored = true, true
			}
		}
		if !restored {
			g.tell(makers, n.path)
		}
	}
	g.judgeOpenings(bases, ended)
	g.restorePointers(bases, ended)
	g.restoreSteps(bases)
	// Last, when nothing else is left that a setting could make git run.
	for w := range g.running {
		g.carry(w, f, bases, slices.Contains(ended, w))
	}
	g.lookAtPlants(f, bases, ended)
}

// makers returns the running commands that may have made the file at a name.
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
			// It may have existed then, where the incomplete scan did not look.
		case w.until != 0 && madeSince(n.path, w.until):
		default:
			out = append(out, w)
		}
	}
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
