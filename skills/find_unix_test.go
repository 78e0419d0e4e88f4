//go:build unix

package skills

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipe checks that a pipe in place of a file is refused without waiting for its writer.
func TestPipe(t *testing.T) {
	dir := temp(t)
	if err := os.Mkdir(filepath.Join(dir, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "x", skillFile), 0o644); err != nil {
		t.Skip(err)
	}
	set := Scan([]Source{{Dir: dir, Layer: User}}, nil)
	if len(set.Issues) != 1 || !strings.HasSuffix(set.Issues[0].String(), "/x/SKILL.md: cannot be read: it is not a regular file") {
		t.Errorf("%v", set.Issues)
	}
}
