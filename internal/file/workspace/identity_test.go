package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	of := func() Identity {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return IdentityOf(info)
	}
	write := func(data string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Date(2020, 1, 1, 0, 0, 0, 123, time.UTC)
	write("one", long)
	first := of()
	if first != of() {
		t.Error("a file that nobody touched has two identities")
	}
	for name, change := range map[string]func(){
		"another length":   func() { write("three", long) },
		"another time":     func() { write("one", long.Add(100*time.Nanosecond)) }, // the step of NTFS
		"another file":     func() { os.Remove(path); write("other", long); write("one", long) },
		"put back in time": func() { write("two", long.Add(time.Hour)); write("two", long) },
	} {
		if name == "put back in time" && first.ChangeTime == 0 || name == "another file" && first.Inode == 0 {
			continue // the system does not provide this
		}
		if change(); of() == first {
			t.Errorf("%s: the identity is the same", name)
		}
	}
}

func TestFresh(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)
	for _, tc := range []struct {
		mod, change time.Duration
		want        bool
	}{
		{-time.Hour, -time.Hour, false},
		{-time.Second, -time.Hour, true},
		{-time.Hour, -time.Second, true},
		{time.Hour, 0, true}, // the clocks differ
		{-2 * time.Second, -2 * time.Second, false},
	} {
		i := Identity{ModTime: at.Add(tc.mod).UnixNano(), ChangeTime: at.Add(tc.change).UnixNano()}
		if got := i.Fresh(at); got != tc.want {
			t.Errorf("changed %v and %v before: %v", tc.mod, tc.change, got)
		}
	}
}
