package spool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/record/store"
)

// Only this user can read the output, and its file name cannot be guessed.
func TestPrivate(t *testing.T) {
	s := anyStore(t)
	a, b := newLog(t, s), newLog(t, s)
	for _, path := range []string{a.Path(), b.Path()} {
		for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700} {
			if info, err := os.Lstat(p); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", p, info.Mode(), err)
			}
		}
	}
	if filepath.Base(a.Path()) == filepath.Base(b.Path()) || len(filepath.Base(a.Path())) < 30 {
		t.Errorf("%s, %s", a.Path(), b.Path())
	}
	odd, err := s.New("../../etc/passwd\n" + strings.Repeat("x", 500))
	if err != nil {
		t.Fatal(err)
	}
	odd.finish()
	if filepath.Dir(odd.Path()) != filepath.Dir(a.Path()) {
		t.Errorf("%s", odd.Path())
	}
}

// A link in place of the folder or a file is not followed.
func TestNoLinks(t *testing.T) {
	elsewhere := t.TempDir()
	secret := filepath.Join(elsewhere, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := anyStore(t)
	l := newLog(t, s)
	l.append([]byte("output\n"))
	l.finish()
	if err := os.Remove(l.Path()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, l.Path()); err != nil {
		t.Skip(err)
	}
	if v, err := l.View(100); !errors.Is(err, ErrRemoved) {
		t.Errorf("got %+v, %v", v, err)
	}
	if err := os.RemoveAll(filepath.Dir(l.Path())); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Dir(l.Path())); err != nil {
		t.Fatal(err)
	}
	if _, err := s.New("task"); err == nil {
		t.Error("a log was made behind a link")
	}
}

func TestTaskQuota(t *testing.T) {
	s := newStore(t, Quota{Task: 1000, All: 1 << 20}, time.Now)
	l := newLog(t, s)
	w, wait := pumped(t, l)
	write(t, w, strings.Repeat("a", 999))
	select {
	case <-l.Full():
		t.Error("it is full too early")
	default:
	}
	write(t, w, strings.Repeat("b", 100))
	<-l.Full()
	if err := l.Err(); err != ErrTaskQuota {
		t.Errorf("got %v", err)
	}
	// The command never blocks.
	write(t, w, strings.Repeat("c", 1<<20)+"\nthe end\n")
	w.Close()
	wait()
	if info, err := os.Stat(l.Path()); err != nil || info.Size() != 1000 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	if printed, stored := l.Bytes(); printed != 1099+1<<20+9 || stored != 1000 {
		t.Errorf("%d, %d", printed, stored)
	}
	v, err := l.View(60)
	if err != nil {
		t.Fatal(err)
	}
	if v.Head != strings.Repeat("a", 10) || v.Tail != strings.Repeat("c", 41)+"\nthe end\n" {
		t.Errorf("got %+v", v)
	}
	if got := l.LastLine(); got != "the end" {
		t.Errorf("the last line is %q", got)
	}
	// Read reports what is missing.
	var text strings.Builder
	var missing int64
	for q := (Query{Max: 20_000}); ; {
		p, err := l.Read(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(p.Text)
		missing += p.Missing
		if !p.More {
			break
		}
		if p.Next <= q.Offset {
			t.Fatal("no progress")
		}
		q.Offset = p.Next
	}
	want := strings.Repeat("a", 999) + "b" + strings.Repeat("c", tailSize-9) + "\nthe end\n"
	if text.String() != want || missing != 1099+1<<20+9-1000-tailSize {
		t.Errorf("%d bytes, want %d; %d are missing", text.Len(), len(want), missing)
	}
}

// Room is made by removing ended logs, the oldest first, never running ones.
func TestAllQuota(t *testing.T) {
	s := newStore(t, Quota{Task: 600, All: 1000}, time.Now)
	logs := make([]*Log, 4)
	for i := range 3 {
		logs[i] = newLog(t, s)
		logs[i].append([]byte(strings.Repeat("x", 300)))
		past := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(logs[i].Path(), past, past); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			logs[i].finish()
		}
	}
	there := func(l *Log) bool { _, err := os.Lstat(l.Path()); return err == nil }
	logs[3] = newLog(t, s)
	logs[3].append([]byte(strings.Repeat("y", 300)))
	if !there(logs[0]) || there(logs[1]) || !there(logs[2]) || logs[3].Err() != nil {
		t.Errorf("%t %t %t %v", there(logs[0]), there(logs[1]), there(logs[2]), logs[3].Err())
	}
	if _, err := logs[1].View(10); err != ErrRemoved {
		t.Errorf("got %v", err)
	}
	if err := logs[1].Remove(); err != nil {
		t.Error(err)
	}
	// The running logs hold 600 bytes, so 400 are left.
	logs[0].append([]byte(strings.Repeat("z", 300)))
	logs[3].append([]byte(strings.Repeat("y", 300)))
	if there(logs[2]) || logs[0].Err() != nil || logs[3].Err() != ErrAllQuota {
		t.Errorf("%t %v %v", there(logs[2]), logs[0].Err(), logs[3].Err())
	}
	if _, stored := logs[3].Bytes(); stored != 400 {
		t.Errorf("%d are stored", stored)
	}
	// Removing a log makes room.
	logs[0].finish()
	if err := logs[0].Remove(); err != nil || there(logs[0]) {
		t.Error(err)
	}
	again := newLog(t, s)
	again.append([]byte(strings.Repeat("z", 500)))
	if again.Err() != nil {
		t.Error(again.Err())
	}
}

// The number of files is limited: the oldest ended logs are removed, running ones are not.
func TestMostFiles(t *testing.T) {
	const most = 10
	root := filepath.Join(t.TempDir(), "state", "output")
	s := limited(root, DefaultQuota, most, time.Now)
	t.Cleanup(func() { _ = s.Close() })
	files := func() int { _, n := s.store.Usage(); return n }
	runs := newLog(t, s)
	var logs []*Log
	for i := range 25 {
		l := newLog(t, s)
		l.append([]byte("output\n"))
		l.finish()
		past := time.Now().Add(time.Duration(i-100) * time.Minute)
		if err := os.Chtimes(l.Path(), past, past); err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
		list, err := filepath.Glob(filepath.Join(root, "*", "*"+logExt))
		if err != nil || len(list) > most || len(list) != files() {
			t.Fatalf("there are %d files, %d are counted, %v", len(list), files(), err)
		}
	}
	there := func(l *Log) bool { _, err := os.Lstat(l.Path()); return err == nil }
	if !there(runs) || there(logs[14]) || !there(logs[24]) || !there(logs[20]) {
		t.Errorf("%t %t %t %t", there(runs), there(logs[14]), there(logs[20]), there(logs[24]))
	}
	if _, err := logs[0].View(10); err != ErrRemoved {
		t.Errorf("got %v", err)
	}
	if err := logs[24].Remove(); err != nil || files() > 9 {
		t.Errorf("%d are counted, %v", files(), err)
	}
	// An answer may be about to name a log that has just ended.
	for range 2 * most {
		l := newLog(t, s)
		l.finish()
		logs = append(logs, l)
	}
	for i, l := range logs[25:] {
		if !there(l) {
			t.Errorf("log %d of those just made is gone", i)
		}
	}
}

// The logs of a dead server are removed by another one when they are old or room is needed. Those
// of a live server are not.
func TestCleaning(t *testing.T) {
	c := newClock()
	root := filepath.Join(t.TempDir(), "output")
	dead, live := NewStore(root, DefaultQuota, c.now), NewStore(root, DefaultQuota, c.now)
	var paths []string
	for _, s := range []*Store{dead, live} {
		l, err := s.New("task")
		if err != nil {
			t.Fatal(err)
		}
		l.append([]byte("output\n"))
		l.finish()
		paths = append(paths, l.Path())
	}
	there := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	if err := dead.Close(); err != nil { // as at the end of the process
		t.Fatal(err)
	}
	later := func() *Store {
		s := NewStore(root, DefaultQuota, c.now)
		l, err := s.New("task")
		if err != nil {
			t.Fatal(err)
		}
		l.finish()
		t.Cleanup(func() { s.Close() })
		return s
	}
	c.pass(store.MaxAge - time.Hour)
	s := later()
	if !there(paths[0]) || !there(paths[1]) {
		t.Error("it was cleaned too early")
	}
	c.pass(2 * time.Hour)
	if l, err := s.New("task"); err != nil {
		t.Error(err)
	} else {
		l.finish()
	}
	if there(paths[0]) || !there(paths[1]) {
		t.Errorf("the dead server's is there: %t; the live one's: %t", there(paths[0]), there(paths[1]))
	}
	if err := live.Close(); err != nil {
		t.Error(err)
	}
	later()
	if there(paths[1]) {
		t.Error("what was left is still there")
	}
	later() // removes the folder, which is empty now
	if there(filepath.Dir(paths[0])) || there(filepath.Dir(paths[0])+".lock") {
		t.Error("an empty folder is still there")
	}
}

func TestUntouched(t *testing.T) {
	root := filepath.Join(t.TempDir(), "output")
	s := NewStore(root, DefaultQuota, time.Now)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(root); err == nil {
		t.Error("a store that keeps nothing has a folder")
	}
}
