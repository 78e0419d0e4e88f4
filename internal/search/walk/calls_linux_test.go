package walk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNames checks that names of any length and content are passed to the system
// unchanged.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	longest := strings.Repeat("n", 255)
	deep := strings.Repeat("d/", 200) + longest
	build(t, dir, "a: text", longest+": text", deep+": text")
	top := top(t, dir)
	for _, tc := range []struct {
		name string
		want error
	}{
		{"a", nil}, {longest, nil}, {deep, nil},
		{"b", unix.ENOENT}, {"a\x00b", unix.EINVAL},
		{longest + "n", unix.ENAMETOOLONG},
	} {
		s, k, err := top.stat("", tc.name)
		if !errors.Is(err, tc.want) || err == nil && (k != kindFile || s.Size != 4) {
			t.Errorf("stat %.20q: %+v, %v, want %v", tc.name, s, err, tc.want)
		}
		h, err := top.open(tc.name)
		if !errors.Is(err, tc.want) {
			t.Errorf("open %.20q: %v, want %v", tc.name, err, tc.want)
		}
		if err == nil {
			h.Close()
		}
	}
	if n := testing.AllocsPerRun(100, func() { _, _, _ = top.stat("", longest) }); n > 0 && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		t.Errorf("looking at a file takes %v allocations", n)
	}
}

// TestReadAt checks that a file is read completely, in any number of pieces.
func TestReadAt(t *testing.T) {
	dir := t.TempDir()
	want := bytes.Repeat([]byte("0123456789abcde\n"), 100_000)
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, want, 0o644); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(name, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := Handle{fd: fd}
	defer h.Close()
	var got []byte
	for buf := make([]byte, 1<<20); len(got) <= len(want); {
		n, err := h.ReadAt(buf, int64(len(got)))
		if err == io.EOF {
			break
		}
		if err != nil || n == 0 {
			t.Fatalf("at %d: %d bytes, %v", len(got), n, err)
		}
		got = append(got, buf[:n]...)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, not the %d of the file", len(got), len(want))
	}
}
