package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// raceTime is several times the time in which the test catches a plain os.Open.
const raceTime = 400 * time.Millisecond

// Folders and files are exchanged with links to similar ones outside, or to a forbidden
// neighbour, while they are opened and listed. Nothing that the check refuses is read or
// named.
func TestRace(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		t.Parallel()
		dir := tempDir(t)
		ws := mkdir(t, dir, "ws")
		write(t, "SECRET", dir, "out/sub/f")
		write(t, "SECRET", dir, "out/sub/secret")
		write(t, "mine", ws, "d/sub/f")
		write(t, "mine", ws, "e/sub/f")
		write(t, "mine", ws, "g/f")
		link(t, filepath.Join(dir, "out"), ws, "d.link")
		link(t, "../../out/sub", ws, "e/sub.link")
		link(t, "../../out/sub/f", ws, "g/f.link")
		write(t, "mine", ws, "h/f")
		write(t, "SECRET", ws, "h/deny")
		link(t, "deny", ws, "h/f.link")
		write(t, "mine", ws, "k/sub/f")
		write(t, "SECRET", ws, "deny/sub/f")
		link(t, "deny", ws, "k.link")
		r := open(ws)
		files := NewFiles(r, func(literal, canonical string) error {
			if strings.Contains(canonical, "deny") {
				return errOutside
			}
			return inside(r)(literal, canonical)
		})

		var stop atomic.Bool
		var swaps atomic.Int64
		var attack sync.WaitGroup
		for _, name := range []string{"d", "e/sub", "g/f", "h/f", "k"} {
			path := filepath.Join(ws, name)
			attack.Go(func() {
				for !stop.Load() {
					if err := exchange(path, path+".link"); err != nil {
						t.Error("exchanging:", err)
						return
					}
					swaps.Add(1)
				}
			})
		}
		defer attack.Wait()
		defer stop.Store(true)

		// A busy machine may need more time to meet both sides of the race.
		counts := make(map[string]int)
		met := func() bool { return counts["ok"] > 0 && counts["refused"] > 0 }
		for start := time.Now(); !t.Failed(); {
			if d := time.Since(start); d > time.Minute || d > raceTime && met() {
				break
			}
			for _, name := range []string{"d/sub/f", "e/sub/f", "g/f", "h/f", "k/sub/f"} {
				text, err := read(t, files, filepath.Join(ws, name))
				counts[outcome(t, err)]++
				if err == nil && text != "mine" {
					t.Errorf("%s: read %q", name, text)
				}
			}
			list, err := files.ReadDir(filepath.Join(ws, "d/sub"), 0)
			counts["list "+outcome(t, err)]++
			for _, d := range list {
				info, _ := d.Info()
				if d.Name() == "secret" || info != nil && info.Size() == int64(len("SECRET")) {
					t.Errorf("listed %s, %v", d.Name(), info)
				}
			}
		}
		t.Logf("%d swaps, %v", swaps.Load(), counts)
		if !met() {
			t.Errorf("the race did not happen: %v", counts)
		}
	})
}

func outcome(t *testing.T, err error) string {
	switch {
	case err == nil:
		return "ok"
	case err == errOutside:
		return "refused"
	case errors.Is(err, errMoved):
		return "gave up"
	case errors.Is(err, fs.ErrNotExist):
		return "gone"
	}
	t.Errorf("an answer that explains nothing: %v", err)
	return "other"
}

// A link that appears right after the check is not followed: the path is checked again
// with its new target.
func TestSwappedAfterCheck(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		for _, part := range []string{"d", "d/e", "d/e/f"} {
			dir := tempDir(t)
			path := write(t, "mine", dir, "ws/d/e/f")
			write(t, "SECRET", dir, "out/d/e/f")
			swap := filepath.Join(dir, "ws", part)
			link(t, filepath.Join(dir, "out", part), swap+".link")
			r := open(filepath.Join(dir, "ws"))
			checks := 0
			files := NewFiles(r, func(literal, canonical string) error {
				if checks++; checks == 1 {
					return exchange(swap, swap+".link")
				}
				return inside(r)(literal, canonical)
			})
			if text, err := read(t, files, path); err != errOutside || checks != 2 {
				t.Errorf("%s: read %q, %v after %d checks", part, text, err, checks)
			}
		}
	})
}

// The same between the look at the file and the open.
func TestSwappedAfterLook(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		path := write(t, "mine", dir, "f")
		write(t, "SECRET", dir, "deny")
		link(t, "deny", dir, "f.link")
		looks := 0
		file, err := open(dir).opener.open(path, func(fs.FileInfo) error {
			if looks++; looks > 1 {
				t.Error("asked about what the link leads to")
			}
			return exchange(path, path+".link")
		})
		if err != errMoved {
			t.Errorf("opened %v, %v", file, err)
		}
	})
}

// A file replaced by a new one is read normally: that is no attack.
func TestReplacedAfterCheck(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		path, saved := write(t, "old", dir, "f"), write(t, "new", dir, "f.tmp")
		files := NewFiles(open(dir), func(string, string) error {
			return os.Rename(saved, path)
		})
		if text, err := read(t, files, path); text != "new" || err != nil {
			t.Errorf("read %q, %v", text, err)
		}
	})
}

// restless is a path that always changes between two looks.
type restless struct{ opens int }

func (o *restless) open(string, func(fs.FileInfo) error) (*os.File, error) {
	o.opens++
	return nil, errMoved
}

func (o *restless) folder(string) (*os.Root, error) {
	_, err := o.open("", nil)
	return nil, err
}

func (o *restless) entry(_ string, d fs.DirEntry) fs.DirEntry { return d }

func TestOpenGivesUp(t *testing.T) {
	path := write(t, "x", tempDir(t), "f")
	o := new(restless)
	_, _, err := (&Files{opener: o, check: anything}).Open(path)
	var at *fs.PathError
	if !errors.Is(err, errMoved) || !errors.As(err, &at) || at.Path != path || o.opens != maxAttempts {
		t.Errorf("after %d opens: %v", o.opens, err)
	}
}
