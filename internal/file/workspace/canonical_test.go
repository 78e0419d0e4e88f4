package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCanonical(t *testing.T) {
	dir := tempDir(t)
	write(t, "", dir, "real/sub/file")
	mkdir(t, dir, "other")
	for name, target := range map[string]string{
		"rel":             "real",
		"abs":             filepath.Join(dir, "real"),
		"slash":           "real/",
		"file-slash":      "real/sub/file/",
		"dots":            "./real//sub/./",
		"deep":            "real/sub",
		"up":              "deep/../file2", // a sibling of sub, not of deep
		"physical":        "deep/..",
		"chain1":          "chain2",
		"chain2":          filepath.Join(dir, "chain3"),
		"chain3":          "rel/sub",
		"dangling":        "other/new",
		"to-dangling":     "dangling",
		"dangling-far":    "none/at/all",
		"dangling-climbs": "none/../real",
		"loop1":           "loop2",
		"loop2":           "loop1",
		"self":            "self",
		"grows":           "grows/x",
		"through-file":    "real/sub/file/../file",
		"top":             "/..",
	} {
		link(t, target, dir, name)
	}
	link(t, "../../other", dir, "real/sub/back")

	for _, tt := range []struct {
		path, want string
		err        error
	}{
		{"", "", nil},
		{"real/sub/file", "real/sub/file", nil},
		{"rel", "real", nil},
		{"rel/sub/file", "real/sub/file", nil},
		{"abs/sub/file", "real/sub/file", nil},
		{"slash", "real", nil},
		{"dots", "real/sub", nil},
		{"physical", "real", nil},
		{"physical/none", "real/none", nil},
		{"up", "real/file2", nil},
		{"chain1", "real/sub", nil},
		{"chain1/file", "real/sub/file", nil},
		{"rel/sub/back/x", "other/x", nil},
		{"new", "new", nil},
		{"new/a/b", "new/a/b", nil},
		{"rel/new/a", "real/new/a", nil},
		{"dangling", "other/new", nil},
		{"dangling/x", "other/new/x", nil},
		{"to-dangling", "other/new", nil},
		{"dangling-far/x", "none/at/all/x", nil},
		{"dangling-climbs", "", fs.ErrNotExist},
		{"loop1", "", syscall.ELOOP},
		{"loop2/x", "", syscall.ELOOP},
		{"self", "", syscall.ELOOP},
		{"grows", "", syscall.ELOOP},
		{"file-slash", "", syscall.ENOTDIR},
		{"through-file", "", syscall.ENOTDIR},
		{"real/sub/file/x", "", syscall.ENOTDIR},
		{strings.Repeat("n", 256), "", syscall.ENAMETOOLONG},
		{"rel/" + strings.Repeat("n", 256) + "/x", "", syscall.ENAMETOOLONG},
		{strings.Repeat("real/../", 1000) + "rel", "real", nil}, // the path is never stored at its full length
	} {
		t.Run(fmt.Sprintf("%.30s", tt.path), func(t *testing.T) {
			path := dir + "/" + tt.path
			got, err := Canonical(path)
			if !errors.Is(err, tt.err) {
				t.Fatalf("Canonical(%q) = %q, %v; want %v", path, got, err, tt.err)
			}
			if tt.err != nil {
				var at *fs.PathError
				if got != "" || !errors.As(err, &at) || at.Path != path {
					t.Errorf("Canonical(%q) = %q, %#v; want *fs.PathError with that path", path, got, err)
				}
				return
			}
			if want := filepath.Join(dir, tt.want); got != want {
				t.Errorf("Canonical(%q) = %q, want %q", path, got, want)
			}
			if again, err := Canonical(got); again != got || err != nil {
				t.Errorf("Canonical(%q) = %q, %v: not stable", got, again, err)
			}
			if again, err := resolve(path, listed); again != got || err != nil {
				t.Errorf("spelled as stored: %q, %v; want %q", again, err, got)
			}
		})
	}

	if got, err := Canonical(filepath.Join(dir, "top", "x")); got != filepath.Join(filepath.VolumeName(dir)+"/", "x") || err != nil {
		t.Errorf("above the top: %q, %v", got, err)
	}
	for _, path := range []string{"", "a", "./a", dir + "/a\x00b", dir + "/rel\x00"} {
		if got, err := Canonical(path); err == nil {
			t.Errorf("Canonical(%q) = %q, want an error", path, got)
		}
	}
}

// The longest chain of links that the kernel follows resolves, and one link more does
// not.
func TestCanonicalLinkLimit(t *testing.T) {
	dir := tempDir(t)
	write(t, "", dir, "0")
	for i := 1; i <= maxLinks+1; i++ {
		link(t, fmt.Sprint(i-1), dir, fmt.Sprint(i))
	}
	last := filepath.Join(dir, fmt.Sprint(maxLinks))
	if got, err := Canonical(last); got != filepath.Join(dir, "0") || err != nil {
		t.Errorf("%d links: %q, %v", maxLinks, got, err)
	}
	if got, err := Canonical(filepath.Join(dir, fmt.Sprint(maxLinks+1))); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("%d links: %q, %v", maxLinks+1, got, err)
	}
}

// FuzzCanonical makes a link with the fuzzed target and compares the result with
// package filepath, which follows links the same way but stops at a missing file.
func FuzzCanonical(f *testing.F) {
	dir := tempDir(f)
	write(f, "", dir, "a/b/file")
	link(f, "a/b", dir, "deep")
	link(f, "../..", dir, "a/b/up")
	link(f, "gone/x", dir, "dangling")
	for _, target := range []string{
		"a", "deep/..", "deep/../b/file", "a/b/up/deep", "dangling", "none/../a", "a/b/file/", "l", "./a//b/",
		filepath.Join(dir, "deep"), "/..", "a/b/up/a/b/up/dangling/y",
	} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		path := filepath.Join(t.TempDir(), "l")
		if !filepath.IsAbs(target) {
			target = dir + "/" + target
		}
		if os.Symlink(target, path) != nil {
			t.Skip() // empty, too long, or with a NUL byte
		}
		got, err := Canonical(path)
		real, realErr := filepath.EvalSymlinks(path)
		// EvalSymlinks accepts a name after a file if it is "." or "".
		_, statErr := os.Stat(path)
		if statErr == nil && realErr == nil && (got != real || err != nil) {
			t.Errorf("to %q: %q, %v; want %q", target, got, err, real)
		}
		if err != nil {
			return
		}
		if filepath.Clean(got) != got || !filepath.IsAbs(got) {
			t.Errorf("to %q: %q is not clean and absolute", target, got)
		}
		if again, err := Canonical(got); again != got || err != nil {
			t.Errorf("to %q: %q becomes %q, %v", target, got, again, err)
		}
	})
}
