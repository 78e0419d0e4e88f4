package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpen(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		ws := mkdir(t, dir, "ws")
		write(t, "SECRET", dir, "ws-evil/secret")
		write(t, "mine", ws, "sub/f")
		link(t, "../ws-evil", ws, "rel")
		link(t, filepath.Join(dir, "ws-evil"), ws, "abs")
		link(t, "../ws-evil/secret", ws, "file")
		link(t, "../ws-evil/new", ws, "dangling")
		link(t, "new", ws, "dangling-in")
		link(t, filepath.Join(ws, "sub"), ws, "abs-in")
		link(t, "abs-in/f", ws, "chain-in")
		link(t, "rel/secret", ws, "chain-out")
		link(t, "loop2", ws, "loop1")
		link(t, "loop1", ws, "loop2")
		r := open(ws)
		files := NewFiles(r, inside(r))

		for _, tt := range []struct {
			path, want string
			err        error
		}{
			{"sub/f", "mine", nil},
			{"abs-in/f", "mine", nil},
			{"chain-in", "mine", nil},
			{"../ws-evil/secret", "", errOutside},
			{"sub/../../ws-evil/secret", "", errOutside},
			{"../ws-evil", "", errOutside},
			{"../none", "", errOutside},
			{"rel/secret", "", errOutside},
			{"rel/none", "", errOutside},
			{"abs/secret", "", errOutside},
			{"file", "", errOutside},
			{"chain-out", "", errOutside},
			{"dangling", "", errOutside},
			{"dangling-in", "", fs.ErrNotExist},
			{"none", "", fs.ErrNotExist},
			{"none/x", "", fs.ErrNotExist},
			{"loop1", "", syscall.ELOOP},
			{"sub/f/x", "", syscall.ENOTDIR},
			{"sub/f/", "", syscall.ENOTDIR},
			{strings.Repeat("n", 256), "", syscall.ENAMETOOLONG},
			{"none/" + strings.Repeat("n", 256), "", fs.ErrNotExist},
			{"sub/f\x00.txt", "", errNUL},
			// A path outside that cannot be resolved is refused without an explanation.
			{"../ws-evil/secret/x", "", errOutside},
		} {
			path := filepath.Join(ws, tt.path)
			if strings.HasSuffix(tt.path, "/") {
				path += "/"
			}
			got, err := read(t, files, path)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("Open(%.60q) = %q, %v; want %q, %v", tt.path, got, err, tt.want, tt.err)
			}
			var at *fs.PathError
			if tt.err != nil && tt.err != errOutside && (!errors.As(err, &at) || at.Path != path) {
				t.Errorf("Open(%.60q): %#v; want *fs.PathError with the literal path", tt.path, err)
			}
			if want := tt.err == nil || tt.err == fs.ErrNotExist; files.Allowed(path) != want {
				t.Errorf("Allowed(%.60q) = %v", tt.path, !want)
			}
		}
		if _, _, err := files.Open("sub/f"); !errors.Is(err, errRelative) {
			t.Errorf("a relative path: %v", err)
		}
	})
}

// A path outside every root opens, too, if the check allows it.
func TestOpenOutsideRoots(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		path := write(t, "shared", dir, "lib/a/f")
		link(t, "lib/a", dir, "to-lib")
		for _, r := range []*Roots{open(), open(mkdir(t, dir, "ws")), open(filepath.VolumeName(dir) + separator)} {
			files := NewFiles(r, anything)
			for _, p := range []string{path, filepath.Join(dir, "to-lib", "f")} {
				if text, err := read(t, files, p); text != "shared" || err != nil {
					t.Errorf("roots %q: Open(%s) = %q, %v", r.Paths(), p, text, err)
				}
			}
		}
	})
}

func TestCheckSeesBothPaths(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		real := write(t, "x", dir, "real")
		literal := link(t, "real", dir, "ln")
		var seen []string
		files := NewFiles(open(dir), func(literal, canonical string) error {
			seen = append(seen, literal, canonical)
			return nil
		})
		if _, err := read(t, files, literal); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{literal, real}, seen); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOpenNames(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		files := NewFiles(open(dir), anything)
		for _, name := range []string{
			"with space", "new\nline", "tab\t", "\xff\xfe", "a\u202etxt.exe", "*", "[a]", "{a,b}", "?", "-rf", "~", "$HOME",
			`back\slash`, "...", "CON", "NUL", "aux.txt", "e\u0301", "\u00e9", strings.Repeat("n", 255), "%2e%2e",
		} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
				if runtime.GOOS == "linux" {
					t.Error(err)
				}
				continue // no valid name on this system
			}
			if text, err := read(t, files, path); text != name || err != nil {
				t.Errorf("%q: read %q, %v", name, text, err)
			}
		}
	})
}

func TestOpenDeep(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		files := NewFiles(open(dir), anything)
		path := write(t, "deep", dir, strings.Repeat("d/", 300), "f")
		if text, err := read(t, files, path); text != "deep" || err != nil {
			t.Errorf("read %q, %v", text, err)
		}
		tooDeep := filepath.Join(dir, strings.Repeat("d/", 3000), "f")
		if _, err := read(t, files, tooDeep); !errors.Is(err, syscall.ENAMETOOLONG) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("3,000 folders that are not there: %v", err)
		}
	})
}

func TestOpenUnreadable(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("root may read everything, and Windows has no such mode")
	}
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		file := write(t, "x", dir, "closed-file")
		below := write(t, "x", dir, "closed-dir/f")
		files := NewFiles(open(dir), anything)
		for path, chmod := range map[string]string{file: file, below: filepath.Dir(below)} {
			if err := os.Chmod(chmod, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(chmod, 0o700) })
			var at *fs.PathError
			if _, _, err := files.Open(path); !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) || at.Path != path {
				t.Errorf("Open(%s): %v", path, err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	for _, depth := range []int{1, 8} {
		dir := tempDir(b)
		path := write(b, "x", dir, strings.Repeat("d/", depth-1), "f")
		r := openRoots(b, dir)
		names := strings.Count(path, separator)
		bench := func(name string, open func() (*os.File, error)) {
			b.Run(fmt.Sprintf("%s/%d names", name, names), func(b *testing.B) {
				for b.Loop() {
					f, err := open()
					if err != nil {
						b.Fatal(err)
					}
					f.Close()
				}
			})
		}
		bench("os.Open", func() (*os.File, error) { return os.Open(path) })
		for _, o := range []opener{r.opener, walk{r}} {
			files := &Files{opener: o, check: inside(r)}
			bench(fmt.Sprintf("%T", o), func() (*os.File, error) {
				f, _, err := files.Open(path)
				return f, err
			})
		}
	}
}

func BenchmarkCanonical(b *testing.B) {
	path := write(b, "x", tempDir(b), strings.Repeat("d/", 7), "f")
	for b.Loop() {
		if _, err := Canonical(path); err != nil {
			b.Fatal(err)
		}
	}
}
