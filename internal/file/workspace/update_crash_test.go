//go:build unix

package workspace

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary also serves as the other process of the test.
func TestMain(m *testing.M) {
	path := os.Getenv("UPDATE_PATH")
	switch os.Getenv("UPDATE_CHILD") {
	case "crash":
		rewrite(path)
	case "limit":
		limited(path)
	default:
		os.Exit(m.Run())
	}
}

func child(t *testing.T, what, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "UPDATE_CHILD="+what, "UPDATE_PATH="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// childFiles returns Files for the folder that holds path.
func childFiles(dir string) *Files {
	r, err := OpenRoots([]string{dir})
	if err != nil {
		panic(err)
	}
	return NewFiles(r, anything)
}

// rewrite replaces the file repeatedly, and reports it, until it is killed.
func rewrite(path string) {
	files := childFiles(filepath.Dir(path))
	for i := 0; ; i++ {
		text := strings.Repeat(string('a'+rune(i%26)), 1000*(1+i%200))
		if _, err := files.Update(context.Background(), path, set(text)); err != nil {
			panic(err)
		}
		fmt.Println(i)
	}
}

// A writer killed at any time leaves one content or another as a whole, and a later
// write removes its other files.
func TestUpdateKilled(t *testing.T) {
	dir := tempDir(t)
	path := write(t, strings.Repeat("0", 1000), dir, "f")
	killed := 0 // killed during a write
	for n := 0; n < kills || killed == 0 && n < 20*kills; n++ {
		cmd := child(t, "crash", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReaderSize(out, 16).ReadString('\n'); err != nil {
			t.Error(err)
		}
		time.Sleep(rand.N(3 * time.Millisecond)) // long enough for several writes, so any point of one
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		text, err := os.ReadFile(path)
		if !whole(text) || err != nil {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		left := len(list) - 1
		killed += left
		for _, d := range list {
			if d.Name() != "f" && !IsTempName(d.Name()) {
				t.Errorf("left %s behind", d.Name())
			}
			age(t, filepath.Join(dir, d.Name())) // so that the next process sweeps it
		}
		if left > 1 {
			t.Errorf("%d leftovers were not swept", left-1)
		}
	}
	t.Logf("%d left new content beside the old", killed)
	if killed == 0 {
		t.Error("no write was hit")
	}
	age(t, write(t, "half", dir, tempName("f")))
	if _, err := childFiles(dir).Update(t.Context(), path, set("x")); err != nil {
		t.Fatal(err)
	}
	onlyNames(t, dir, "f")
}

// limited writes to a file in a process that must not write large files, and prints the
// error.
func limited(path string) {
	files := childFiles(filepath.Dir(filepath.Dir(path)))
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 4096, Max: 4096}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	_, err := files.Update(context.Background(), path, set(strings.Repeat("x", 10_000)))
	fmt.Print(err)
}

func TestUpdateLimited(t *testing.T) {
	dir := tempDir(t)
	old := write(t, "old", dir, "d", "f")
	for _, path := range []string{old, filepath.Join(dir, "new", "f")} {
		said, err := child(t, "limit", path).Output()
		if want := "writing " + path + ": file too large"; string(said) != want || err != nil {
			t.Errorf("said %q, %v; want %q", said, err, want)
		}
	}
	if content(old) != "old" {
		t.Errorf("holds %.20q", content(old))
	}
	onlyNames(t, dir, "d")
	onlyNames(t, filepath.Join(dir, "d"), "f")
}
