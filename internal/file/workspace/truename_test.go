package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
)

// A simulated file system that ignores case: lists of each name with its other accepted
// spellings.
func TestTrueName(t *testing.T) {
	stored := map[string][]string{
		"README.md":       nil,
		"Program Files":   {"PROGRA~1"},
		"caf\u00e9":       {"cafe\u0301"},
		"stra\u00dfe":     {"STRASSE"},
		"twin":            nil,
		"TWIN":            nil, // only where case matters
		"\u212aelvin.txt": nil,
	}
	list := func(dir string) ([]string, error) {
		if dir == filepath.FromSlash("/closed") {
			return nil, fs.ErrPermission
		}
		var names []string
		for name := range stored {
			names = append(names, name)
		}
		slices.Sort(names)
		return names, nil
	}
	identity := func(path string) string {
		name := filepath.Base(path)
		for file, others := range stored {
			if file == name || slices.Contains(others, name) {
				return file
			}
		}
		return foldASCII(name)
	}
	same := func(a, b string) bool {
		return identity(a) == identity(b) || foldASCII(identity(a)) == foldASCII(identity(b))
	}
	for _, tt := range []struct{ dir, name, want string }{
		{"/d", "README.md", "README.md"},
		{"/d", "readme.MD", "README.md"},
		{"/d", "PROGRA~1", "Program Files"},
		{"/d", "program files", "Program Files"},
		{"/d", "cafe\u0301", "caf\u00e9"},
		{"/d", "STRASSE", "stra\u00dfe"},
		{"/d", "twin", "twin"},
		{"/d", "TWIN", "TWIN"},
		{"/d", "kelvin.txt", "kelvin.txt"}, // no such file: equal folding alone proves nothing
		{"/closed", "readme.MD", "readme.MD"},
		{"/", "readme.MD", "README.md"},
	} {
		if got := trueName(filepath.FromSlash(tt.dir), tt.name, list, same); got != tt.want {
			t.Errorf("trueName(%q, %q) = %q, want %q", tt.dir, tt.name, got, tt.want)
		}
	}
}

func foldASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// The walk lists each directory that it passes through, and no other.
func TestResolveSpelling(t *testing.T) {
	dir := tempDir(t)
	write(t, "", dir, "real/file")
	link(t, "real", dir, "ln")
	var asked []string
	names := func(d string) ([]string, error) {
		if rel, err := filepath.Rel(dir, d); err == nil && Within(dir, d) {
			asked = append(asked, filepath.ToSlash(rel))
		}
		return nil, errors.New("not listed")
	}
	spell := func(dir, name string) (string, error) { return trueName(dir, name, names, sameFile), nil }
	got, err := resolve(filepath.Join(dir, "ln", "file"), spell)
	if want := filepath.Join(dir, "real", "file"); got != want || err != nil {
		t.Errorf("resolve = %q, %v; want %q", got, err, want)
	}
	if want := []string{".", "real"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}
