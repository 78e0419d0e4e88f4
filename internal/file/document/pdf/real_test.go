package pdf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/testscale"
	"mcp-toolset/internal/text/fault"
)

// TestRealFiles reads the test files of the two libraries. None may panic or take long,
// and refusals must be faults. With -v it lists notes and refusals.
func TestRealFiles(t *testing.T) {
	testscale.NeedFull(t)
	var files []string
	for _, module := range []string{"github.com/pdfcpu/pdfcpu", "github.com/klippa-app/go-pdfium"} {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(strings.TrimSpace(string(dir)), func(path string, _ os.DirEntry, err error) error {
			if strings.HasSuffix(path, ".pdf") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read, noted, refused := 0, 0, map[string]int{}
	for i, path := range files {
		if i%every != 0 {
			continue
		}
		doc, err := readFile(t, path)
		var f *fault.Fault
		switch {
		case errors.As(err, &f):
			refused[f.Fact]++
			t.Logf("%s %v", filepath.Base(path), err)
		case err != nil:
			t.Errorf("%s: %v", path, err)
		default:
			read++
			if doc.Note != "" {
				noted++
				t.Logf("%s: %s", filepath.Base(path), doc.Note)
			}
			checkPages(t, path, doc)
		}
	}
	summary := fmt.Sprintf("%d files, 1 in %d of them tried: %d read, %d with a note", len(files), every, read, noted)
	for fact, n := range refused {
		summary += fmt.Sprintf("\n%4d %s", n, fact)
	}
	t.Log(summary)
	if read < 500/every {
		t.Errorf("only %d of %d read", read, len(files)/every)
	}
}

func readFile(t *testing.T, path string) (*Document, error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	doc, err := Read(f, info.Size(), Request{First: 1, Last: 5, Cache: cacheDir})
	if took := time.Since(start); took > slowest {
		t.Errorf("%s took %v", path, took)
	}
	return doc, err
}
