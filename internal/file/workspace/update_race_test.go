package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Files, folders and folders that are about to be made are exchanged with links to
// their like outside while they are written. Nothing outside ever changes.
func TestUpdateRace(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := memoryDir(t)
		ws := mkdir(t, dir, "ws")
		out := map[string]string{}
		for _, name := range []string{"d/f", "e/sub/f", "f"} {
			out[write(t, "SECRET", dir, "out", name)] = "SECRET"
			write(t, "mine", ws, name)
		}
		mkdir(t, dir, "out/n")
		link(t, "../out/d", ws, "d.link")
		link(t, "../../out/e/sub", ws, "e/sub.link")
		link(t, "../out/f", ws, "f.link")
		link(t, "../out/n", ws, "n.link")
		r := open(ws)
		files := NewFiles(r, inside(r))

		var stop atomic.Bool
		var swaps atomic.Int64
		var attack sync.WaitGroup
		for _, name := range []string{"d", "e/sub", "f"} {
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
		attack.Go(func() { // a folder that appears and disappears, and a link in its place
			path := filepath.Join(ws, "n")
			for !stop.Load() {
				_ = os.RemoveAll(path)
				_ = os.Rename(path+".link", path)
				_ = os.Rename(path, path+".link")
			}
		})
		defer attack.Wait()
		defer stop.Store(true)

		counts := make(map[string]int)
		for i := 0; i < raceUpdates && !t.Failed(); i++ {
			for _, name := range []string{"d/f", "d/m/f", "e/sub/f", "f", "n/f", "n/m/f"} {
				_, err := files.Update(t.Context(), filepath.Join(ws, name), set("mine"))
				counts[outcome(t, err)]++
			}
		}
		stop.Store(true)
		attack.Wait()
		t.Logf("%d swaps, %v", swaps.Load(), counts)
		if counts["ok"] == 0 || counts["refused"] == 0 {
			t.Errorf("the race did not happen: %v", counts)
		}
		for path, want := range out {
			if content(path) != want {
				t.Errorf("%s holds %q", path, content(path))
			}
		}
		onlyNames(t, filepath.Join(dir, "out"), "d", "e", "f", "n")
		onlyNames(t, filepath.Join(dir, "out", "d"), "f")
		onlyNames(t, filepath.Join(dir, "out", "e", "sub"), "f")
		onlyNames(t, filepath.Join(dir, "out", "n"))
		noTemps(t, ws)
	})
}

// memoryDir returns a new directory on a file system in memory, if there is one: on a
// disk, each sync waits for all writes of the attackers.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "workspace-test-")
	if err != nil || !filepath.IsAbs(dir) { // on Windows it is a folder of the current drive
		return tempDir(t)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// noTemps checks that no temporary file was left at or below dir.
func noTemps(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && IsTempName(d.Name()) {
			t.Error("left behind:", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// If a link replaces a file or folder after the check, even while change runs, the path
// is checked again.
func TestUpdateSwapped(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		for _, part := range []string{"d", "d/e", "d/e/f"} {
			for _, late := range []bool{false, true} {
				dir := tempDir(t)
				path := write(t, "mine", dir, "ws/d/e/f")
				secret := write(t, "SECRET", dir, "out/d/e/f")
				at := filepath.Join(dir, "ws", part)
				link(t, filepath.Join(dir, "out", part), at+".link")
				r := open(filepath.Join(dir, "ws"))
				checks := 0
				files := NewFiles(r, func(literal, canonical string) error {
					if checks++; checks == 1 && !late {
						return exchange(at, at+".link")
					}
					return inside(r)(literal, canonical)
				})
				changes := 0
				_, err := files.Update(t.Context(), path, func(*Old) ([]byte, error) {
					if changes++; changes == 1 && late {
						return []byte("new"), exchange(at, at+".link")
					}
					return []byte("new"), nil
				})
				// The open folder is still the one that was checked.
				held := late && part != "d/e/f"
				if held && err != nil || !held && err != errOutside || content(secret) != "SECRET" {
					t.Errorf("%s, late %v: %v, outside %q", part, late, err, content(secret))
				}
				noTemps(t, dir)
			}
		}
	})
}

// Readers by path see one content or the other as a whole, at any time.
func TestUpdateReaders(t *testing.T) {
	replacesOpen(t)
	dir := memoryDir(t)
	path := write(t, strings.Repeat("0", 1000), dir, "f")
	files := NewFiles(openRoots(t, dir), anything)
	var stop atomic.Bool
	var reads atomic.Int64
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for !stop.Load() {
				text, err := os.ReadFile(path)
				if !whole(text) || err != nil {
					t.Errorf("read %d bytes, %v", len(text), err)
					return
				}
				reads.Add(1)
			}
		})
	}
	for i := range replacements {
		text := strings.Repeat(string('a'+rune(i%26)), 1000*(1+i%50))
		if _, err := files.Update(t.Context(), path, set(text)); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	readers.Wait()
	if reads.Load() == 0 {
		t.Error("nobody read")
	}
}

// whole reports whether text consists of thousands of one character.
func whole(text []byte) bool {
	return len(text) > 0 && len(text)%1000 == 0 && bytes.Count(text, text[:1]) == len(text)
}

// No descriptor stays open after success or failure.
func TestUpdateLeaks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("descriptors cannot be listed here")
	}
	// One of an earlier test may be closed at any time, when it is collected.
	open := func() (all []string) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("descriptors cannot be listed here:", err)
		}
		for _, d := range list {
			target, err := os.Readlink("/proc/self/fd/" + d.Name())
			if err == nil && !strings.HasPrefix(target, "anon_inode:") { // that of list is closed; those are the runtime's
				all = append(all, d.Name()+" "+target)
			}
		}
		return all
	}
	eachOpener(t, func(t *testing.T, opens func(...string) *Roots) {
		dir := memoryDir(t)
		r := opens(dir)
		files := NewFiles(r, anything)
		fails := errors.New("fails")
		before := open()
		for i := range 20 {
			sub := filepath.Join(dir, "d", string('a'+rune(i)))
			path := filepath.Join(sub, "f")
			for _, change := range []func(*Old) ([]byte, error){
				set("x"), set("y"),
				func(*Old) ([]byte, error) { return nil, ErrNoChange },
				func(*Old) ([]byte, error) { return nil, fails },
				func(*Old) ([]byte, error) { return []byte("z"), os.WriteFile(path, []byte("again"), 0o600) },
			} {
				_, _ = files.Update(t.Context(), path, change)
			}
			_, _ = files.Update(t.Context(), sub, set("x"))
			_, _ = files.Update(t.Context(), filepath.Join(sub, "m", strings.Repeat("n", 256)), set("x"))
			_, _ = files.Update(t.Context(), filepath.Join(path, "x"), set("x"))
		}
		if left := slices.DeleteFunc(open(), func(d string) bool { return slices.Contains(before, d) }); len(left) > 0 {
			t.Errorf("left open: %q", left)
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	text := strings.Repeat("0123456789", 1024)
	for name, dir := range map[string]string{"disk": tempDir(b), "memory, where syncing is free": memoryDir(b)} {
		r := openRoots(b, dir)
		for _, o := range []opener{r.opener, walk{r}} {
			files := NewFiles(&Roots{opener: o}, anything)
			path := write(b, text, dir, "f")
			b.Run(fmt.Sprintf("%T/%s", o, name), func(b *testing.B) {
				for b.Loop() {
					if _, err := files.Update(b.Context(), path, set(text)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
