package workspace

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		dir, path string
		want      bool
	}{
		{"/srv/app", "/srv/app", true},
		{"/srv/app", "/srv/app/x", true},
		{"/srv/app", "/srv/app2", false},
		{"/srv/app", "/srv/app-evil/x", false},
		{"/srv/app", "/srv", false},
		{"/srv/app", "/srv/ap", false},
		{"/srv/app", "/", false},
		{"/srv/app", "", false},
		{"/", "/", true},
		{"/", "/x", true},
		{"", "/x", false},
		{"/srv/app", "/srv/app\n/x", false},
	} {
		if got := Within(filepath.FromSlash(tt.dir), filepath.FromSlash(tt.path)); got != tt.want {
			t.Errorf("Within(%q, %q) = %v", tt.dir, tt.path, got)
		}
	}
}

func TestExpand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the cases are Unix paths")
	}
	long := strings.Repeat("./", 10_000)
	for _, tt := range []struct{ path, home, want string }{
		{"", "/home/me", ""},
		{".", "/home/me", "/work/dir"},
		{"a", "/home/me", "/work/dir/a"},
		{"a/../../b", "/home/me", "/work/b"},
		{"../../../../x", "/home/me", "/x"},
		{"/a//b/./c/", "/home/me", "/a/b/c"},
		{"/a/../../b", "/home/me", "/b"},
		{"/", "/home/me", "/"},
		{"~", "/home/me", "/home/me"},
		{"~/", "/home/me", "/home/me"},
		{"~/x", "/home/me", "/home/me/x"},
		{"~/../x", "/home/me", "/home/x"},
		{"~root/x", "/home/me", "/work/dir/~root/x"},
		{"a/~", "/home/me", "/work/dir/a/~"},
		{"~", "", "/work/dir/~"},
		{"~/x", "", "/work/dir/~/x"},
		{"~/x", "relative", "/work/dir/~/x"},
		{"$HOME/x", "/home/me", "/work/dir/$HOME/x"},
		{"file:///etc/passwd", "/home/me", "/work/dir/file:/etc/passwd"},
		{"%2e%2e/x", "/home/me", "/work/dir/%2e%2e/x"},
		{`..\..\x`, "/home/me", `/work/dir/..\..\x`},
		{"a\nb\xff", "/home/me", "/work/dir/a\nb\xff"},
		{long + "x", "/home/me", "/work/dir/x"},
		{"/" + long + "x", "/home/me", "/x"},
	} {
		if got := Expand(tt.path, "/work/dir", tt.home); got != tt.want {
			t.Errorf("Expand(%.40q, home %q) = %q, want %q", tt.path, tt.home, got, tt.want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, path := range []string{"", "a", "~", "~/x", "~root", "../..", "/a/../b/", "./" + "a\x00", "~/../..", "\xff//~"} {
		f.Add(path, "/home/me")
		f.Add(path, "")
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, path, home string) {
		got := Expand(path, dir, home)
		switch {
		case path == "":
			if got != "" {
				t.Errorf("an empty path became %q", got)
			}
		case !filepath.IsAbs(got) || filepath.Clean(got) != got:
			t.Errorf("Expand(%q, home %q) = %q is not clean and absolute", path, home, got)
		case Expand(got, "/elsewhere", "/nobody") != got:
			t.Errorf("Expand(%q) changes what it made", got)
		}
	})
}

func TestShownPath(t *testing.T) {
	for _, c := range [][3]string{
		{"", "a", "a"}, {"src/", "a", "src/a"}, {"/w/", "~", "/w/~"},
		{"", "~", "./~"}, {"", "~/a", "./~/a"}, {"~/", "a", "./~/a"}, {"", "~x/a", "~x/a"}, {"q/", "~/a", "q/~/a"},
	} {
		if got := ShownPath(c[0], c[1]); got != c[2] {
			t.Errorf("%q %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
