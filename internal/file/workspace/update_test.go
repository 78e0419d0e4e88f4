package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// set returns a change that sets the content, whatever the old one is.
func set(text string) func(*Old) ([]byte, error) {
	return func(*Old) ([]byte, error) { return []byte(text), nil }
}

// content returns the content of the file at path, or the error.
func content(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "error: " + cause(err).Error()
	}
	return string(text)
}

// onlyNames checks that the folder holds these names and no others.
func onlyNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	if got := names(list); !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func TestUpdate(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		ws := mkdir(t, dir, "ws")
		write(t, "old", ws, "f")
		write(t, "old", ws, "target")
		write(t, "old", ws, "sub/f")
		secret := write(t, "SECRET", dir, "out/secret")
		link(t, "target", ws, "link")
		link(t, "sub", ws, "to-sub")
		link(t, "sub/new", ws, "dangling")
		link(t, "../out/secret", ws, "to-secret")
		link(t, "../out/new", ws, "dangling-out")
		link(t, "../out", ws, "to-out")
		r := open(ws)
		files := NewFiles(r, inside(r))
		at := func(names ...string) (paths []string) {
			for _, name := range names {
				paths = append(paths, filepath.Join(ws, name))
			}
			return paths
		}
		for _, tt := range []struct {
			path string
			want Written // Path below ws
			err  error
		}{
			{"f", Written{Path: "f"}, nil},
			{"new", Written{Path: "new", Created: true}, nil},
			{"link", Written{Path: "target"}, nil},
			{"to-sub/f", Written{Path: "sub/f"}, nil},
			{"dangling", Written{Path: "sub/new", Created: true}, nil},
			{"a/b/c", Written{Path: "a/b/c", Created: true, MadeDirs: at("a", "a/b")}, nil},
			{"to-sub/a/c", Written{Path: "sub/a/c", Created: true, MadeDirs: at("sub/a")}, nil},
			{strings.Repeat("n", 255), Written{Path: strings.Repeat("n", 255), Created: true}, nil},
			{strings.Repeat("\u20ac", 85), Written{Path: strings.Repeat("\u20ac", 85), Created: true}, nil},
			{"to-secret", Written{}, errOutside},
			{"dangling-out", Written{}, errOutside},
			{"to-out/new", Written{}, errOutside},
			{"to-out/a/b/new", Written{}, errOutside},
			{"../out/secret", Written{}, errOutside},
			{"f/x", Written{}, syscall.ENOTDIR},
			{strings.Repeat("n", 256), Written{}, syscall.ENAMETOOLONG},
			{"q/" + strings.Repeat("n", 256), Written{}, syscall.ENAMETOOLONG}, // and the new folder q is removed
		} {
			path := filepath.Join(ws, tt.path)
			before, _ := os.Lstat(path)
			got, err := files.Update(t.Context(), path, set("new "+tt.path))
			if !errors.Is(err, tt.err) {
				t.Errorf("Update(%.40q): %v; want %v", tt.path, err, tt.err)
				continue
			}
			if tt.err != nil {
				var failed *fs.PathError
				if tt.err != errOutside && (!errors.As(err, &failed) || failed.Path != path) {
					t.Errorf("Update(%.40q): %#v; want *fs.PathError with the literal path", tt.path, err)
				}
				continue
			}
			tt.want.Path = filepath.Join(ws, tt.want.Path)
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Written{}, "Identity")); diff != "" {
				t.Errorf("Update(%.40q): %s", tt.path, diff)
			}
			info, err := os.Stat(path)
			if err != nil || content(path) != "new "+tt.path || got.Identity != IdentityOf(info) {
				t.Errorf("%.40q holds %q and is %+v, said %+v", tt.path, content(path), info, got.Identity)
			}
			if after, _ := os.Lstat(path); before != nil && before.Mode().Type() != after.Mode().Type() {
				t.Errorf("%s was a %v and is a %v", tt.path, before.Mode(), after.Mode())
			}
		}
		if content(secret) != "SECRET" {
			t.Error("a file outside changed")
		}
		onlyNames(t, filepath.Join(dir, "out"), "secret")
		onlyNames(t, filepath.Join(ws, "sub"), "a", "f", "new")
		onlyNames(t, ws, "a", "dangling", "dangling-out", "f", "link", "new", strings.Repeat("n", 255),
			"sub", "target", "to-out", "to-secret", "to-sub", strings.Repeat("\u20ac", 85))
	})
}

func TestUpdateOld(t *testing.T) {
	dir := tempDir(t)
	path := write(t, "old", dir, "f")
	files := NewFiles(openRoots(t, dir), anything)
	mine := errors.New("mine")
	for _, reply := range []error{nil, ErrNoChange, fmt.Errorf("same: %w", ErrNoChange), mine, errMoved, &KindError{"x", "y"}} {
		calls := 0
		w, err := files.Update(t.Context(), path, func(old *Old) ([]byte, error) {
			calls++
			text, err := io.ReadAll(old.File)
			if string(text) != "old" || err != nil || old.Info.Size() != 3 {
				t.Errorf("read %q of %v, %v", text, old.Info, err)
			}
			return text, reply
		})
		want := reply
		if errors.Is(reply, ErrNoChange) {
			want = nil
		}
		info, _ := os.Stat(path)
		if err != want || calls != 1 || err == nil && (w.Path != path || w.Identity != IdentityOf(info)) {
			t.Errorf("answered %v: %v after %d calls, %+v", reply, err, calls, w)
		}
	}
	w, err := files.Update(t.Context(), filepath.Join(dir, "a", "b"), func(old *Old) ([]byte, error) {
		if old != nil {
			t.Errorf("%+v of a file that is not", old)
		}
		return nil, ErrNoChange
	})
	if err != nil || w.Created || w.MadeDirs != nil {
		t.Errorf("%+v, %v", w, err)
	}
	onlyNames(t, dir, "f")
	if w, err := files.Update(t.Context(), filepath.Join(dir, "empty"), set("")); err != nil || !w.Created || w.Identity.Size != 0 {
		t.Errorf("%+v, %v", w, err)
	}
}

// Changes by others while change runs are not lost: change is called again.
func TestUpdateMeanwhile(t *testing.T) {
	for name, meddle := range map[string]func(path string) error{
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte("theirs"), 0o600), os.Rename(path+"2", path))
		},
		"written in place":   func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o600) },
		"removed":            os.Remove,
		"made a folder":      func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"its folder removed": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"protected": func(path string) error {
			if runtime.GOOS == "windows" {
				return errors.New("there is no such mode")
			}
			return os.Chmod(path, 0o640)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			path := write(t, "old", dir, "d", "f")
			calls := 0
			_, err := NewFiles(openRoots(t, dir), anything).Update(t.Context(), path, func(old *Old) ([]byte, error) {
				if calls++; calls == 1 {
					err := meddle(path)
					unable(t, err)
					return []byte("too soon"), err
				}
				if old == nil {
					return []byte("+"), nil
				}
				text, err := io.ReadAll(old.File)
				return append(text, '+'), err
			})
			want := map[string]string{"replaced": "theirs+", "written in place": "theirs+", "protected": "old+"}[name]
			if want == "" {
				want = "+"
			}
			if name == "made a folder" {
				var kind *KindError
				if !errors.As(err, &kind) || *kind != (KindError{path, "directory"}) {
					t.Error(err)
				}
			} else if err != nil || calls != 2 || content(path) != want {
				t.Errorf("%q after %d calls, %v; want %q", content(path), calls, err, want)
			}
			onlyNames(t, filepath.Dir(path), "f")
		})
	}
}

// The folder that should contain a new folder disappears during the update.
func TestUpdateFolderGoes(t *testing.T) {
	dir := tempDir(t)
	gone := mkdir(t, dir, "d")
	w, err := NewFiles(openRoots(t, dir), anything).Update(t.Context(), filepath.Join(gone, "e", "f"), func(*Old) ([]byte, error) {
		_ = os.Remove(gone)
		if _, err := os.Lstat(gone); err == nil {
			unable(t, errors.New("a folder that is open stays until it is closed"))
		}
		return []byte("new"), nil
	})
	if err != nil || len(w.MadeDirs) != 2 || content(w.Path) != "new" {
		t.Errorf("%+v, %v", w, err)
	}
}

// A file that appears just before its creation is not overwritten.
func TestUpdateAppears(t *testing.T) {
	dir := tempDir(t)
	path := filepath.Join(dir, "a", "f")
	var seen []string
	_, err := NewFiles(openRoots(t, dir), anything).Update(t.Context(), path, func(old *Old) ([]byte, error) {
		if old == nil {
			write(t, "theirs", path)
			seen = append(seen, "none")
			return []byte("mine"), nil
		}
		text, err := io.ReadAll(old.File)
		seen = append(seen, string(text))
		return []byte("both"), err
	})
	if diff := cmp.Diff([]string{"none", "theirs"}, seen); diff != "" || err != nil || content(path) != "both" {
		t.Error(diff, err, content(path))
	}
}

func TestUpdateGivesUp(t *testing.T) {
	dir := tempDir(t)
	path := filepath.Join(dir, "a", "b")
	files := NewFiles(openRoots(t, dir), anything)
	calls := 0
	_, err := files.Update(t.Context(), path, func(old *Old) ([]byte, error) {
		calls++
		write(t, fmt.Sprint("version ", calls), path)
		return []byte("mine"), nil
	})
	var at *fs.PathError
	if !errors.Is(err, errMoved) || !errors.As(err, &at) || at.Path != path || calls != maxAttempts {
		t.Errorf("after %d calls: %v", calls, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = files.Update(ctx, filepath.Join(dir, "x", "f"), func(*Old) ([]byte, error) {
		cancel()
		return []byte("late"), nil
	})
	if err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	onlyNames(t, dir, "a")
	onlyNames(t, filepath.Dir(path), "b")
}

// Folders that were made are removed if the file cannot be written, except for one that
// is used by then.
func TestUpdateUnmakes(t *testing.T) {
	dir := tempDir(t)
	files := NewFiles(openRoots(t, dir), anything)
	p, err := files.find(filepath.Join(dir, "a", "b", "c", "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if err := p.makeFolders(); err != nil {
		t.Fatal(err)
	}
	write(t, "theirs", dir, "a", "f")
	p.unmake()
	onlyNames(t, filepath.Join(dir, "a"), "f")
}

func TestTempName(t *testing.T) {
	for _, name := range []string{"f", ".f", strings.Repeat("n", 255), strings.Repeat("\u20ac", 85), "\x80" + strings.Repeat("\x80", 200)} {
		got := tempName(name)
		if !IsTempName(got) || len(got) > 142 || got == tempName(name) {
			t.Errorf("%q for %q", got, name)
		}
		if strings.HasPrefix(name, "\u20ac") && strings.ToValidUTF8(got, "") != got {
			t.Errorf("%q is cut inside a character", got)
		}
	}
	for _, name := range []string{
		"f", ".tmp", ".f.tmp", "f.mcp-toolset-0123456789abcdef.tmp", ".f.mcp-toolset-0123456789abcdeg.tmp",
		".f.mcp-toolset-0123456789abcde.tmp", ".f.mcp-toolset-0123456789abcdef.tmp2", ".f.mcp-toolset-x0123456789abcdef.tmp", "",
	} {
		if IsTempName(name) {
			t.Errorf("%q is taken for ours", name)
		}
	}
}

// TestUpdateUnconfirmed checks that a file in its place is reported as written even if
// the system does not confirm it.
func TestUpdateUnconfirmed(t *testing.T) {
	dir := tempDir(t)
	path := write(t, "old", dir, "f")
	defer func(was func(*os.Root) error) { storeNames = was }(storeNames)
	storeNames = func(*os.Root) error { return &fs.PathError{Op: "fsync", Path: ".", Err: syscall.EIO} }
	w, err := NewFiles(openRoots(t, dir), anything).Update(t.Context(), path, set("new"))
	if !errors.Is(err, ErrUnconfirmed) || !errors.Is(err, syscall.EIO) || content(path) != "new" {
		t.Errorf("%v, holds %q", err, content(path))
	}
	info, err := os.Stat(path)
	if err != nil || w.Path != path || w.Identity != IdentityOf(info) {
		t.Errorf("%+v, %v", w, err)
	}
	onlyNames(t, dir, "f")
}
