package command

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A killed server cannot examine the changes of its commands. So while commands run, a
// journal lists the names that existed before them, and the next server reads it. The
// server holds a lock on its journal, which is empty while no command runs.

// entry is the record of a running command in a journal.
type entry struct {
	Bases   []string
	Trusted []string
	Links   map[string]string
	Since   int64
	Cut     bool

	Names, Projects []string

	Pointers map[string]string
	Programs map[string]string
	Steps    map[string][]string
	Openings []*opening
}

// lookMargin is the time after its last look by which a killed server has surely ended.
const lookMargin = 2 * guardEvery

// record writes the journal.
func (g *guard) record() {
	if g.journal == "" || g.file == nil && !g.open() {
		return
	}
	if len(g.running) == 0 {
		_ = g.file.Truncate(0)
		return
	}
	var entries []entry
	for w := range g.running {
		e := entry{Bases: w.bases, Links: w.links, Since: w.since, Cut: w.cut, Names: w.names, Projects: w.projects, Pointers: w.pointers, Programs: w.programs, Steps: w.steps, Openings: w.openings}
		for path := range w.trusted {
			e.Trusted = append(e.Trusted, path)
		}
		entries = append(entries, e)
	}
	data, err := json.Marshal(entries)
	if err == nil {
		// Writing before truncating is safe: a partly written journal is not valid
		// JSON.
		if _, err = g.file.WriteAt(data, 0); err == nil {
			err = g.file.Truncate(int64(len(data)))
		}
	}
	if err != nil {
		g.log.Warn("what commands may make cannot be noted for the next server", "err", err)
	}
}

func (g *guard) open() bool {
	if os.MkdirAll(g.journal, 0o700) != nil {
		return false
	}
	f, err := os.CreateTemp(g.journal, "*.json")
	if err != nil {
		return false
	}
	if g.lock, err = lockFolder(f.Name()); err != nil {
		_ = f.Close()
		return false
	}
	g.file = f
	return true
}

// setJournalTime sets the journal's time to now, the time of this server's last look.
func (g *guard) setJournalTime() {
	if g.file != nil {
		now := time.Now()
		_ = os.Chtimes(g.file.Name(), now, now)
	}
}

// close removes the journal and stops the looks.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	if g.file != nil {
		_ = os.Remove(g.file.Name())
		_ = g.file.Close()
		_ = g.lock.Close()
		g.file, g.journal = nil, ""
	}
}

// recover examines, once, the changes of commands of killed servers. It quarantines files in
// a folder beside the journals, since the user may want them back.
func (g *guard) recover() {
	if g.journalsRead || g.journal == "" {
		return
	}
	g.journalsRead = true
	files, _ := filepath.Glob(filepath.Join(g.journal, "*.json"))
	for _, file := range files {
		g.recoverFrom(file)
	}
}

func (g *guard) recoverFrom(file string) {
	lock, err := lockFolder(file)
	if err != nil {
		return // its server still runs
	}
	defer lock.Close()
	defer os.Remove(file)
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	data, _ := io.ReadAll(f)
	var entries []entry
	if json.Unmarshal(data, &entries) != nil {
		return
	}
	running, away := g.running, g.makeQuarantine
	g.running, g.makeQuarantine = map[*watched]bool{}, func() (string, error) {
		folder := filepath.Join(g.journal, "taken")
		return folder, os.MkdirAll(folder, 0o700)
	}
	var ended []*watched
	for _, e := range entries {
		w := newWatched()
		w.names, w.projects, w.bases, w.links, w.since, w.cut, w.pointers, w.programs, w.steps, w.openings = e.Names, e.Projects, e.Bases, e.Links, e.Since, e.Cut, e.Pointers, e.Programs, e.Steps, e.Openings
		w.until = info.ModTime().Add(lookMargin).UnixNano()
		for _, path := range e.Trusted {
			w.trusted[path] = true
		}
		g.running[w] = true
		ended = append(ended, w)
	}
	g.look(ended)
	g.running, g.makeQuarantine = running, away
}

// madeSince reports whether the file at path was changed after a time. For a folder of
// hooks it reports whether all hooks in it were, too.
func madeSince(path string, since int64) bool {
	at, err := lookAt(path)
	if err != nil || at.changed <= since || !at.kind.IsDir() {
		return err == nil && at.changed > since
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		if at, err := lookAt(filepath.Join(path, e.Name())); err != nil || at.changed <= since {
			return false
		}
	}
	return err == nil
}
