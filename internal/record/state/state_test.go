package state

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// onWindows reports that there are no modes, and that absolute paths begin with
// a drive.
const onWindows = runtime.GOOS == "windows"

func TestDir(t *testing.T) {
	defer func(before bool) { localAppData = before }(localAppData)
	for _, tc := range []struct{ own, xdg, local, home, want, err string }{
		{own: "/s", xdg: "/x", home: "/h", want: "/s"},
		{own: "s", home: "/h", err: "MCP_TOOLSET_STATE_DIR is s; it must be an absolute path"},
		{xdg: "/x", home: "/h", want: "/x/mcp-toolset"},
		{xdg: "x", home: "/h", want: "/h/.local/state/mcp-toolset"},
		{home: "/h", want: "/h/.local/state/mcp-toolset"},
		{local: "/l", home: "/h", want: "/l/mcp-toolset"},
		{local: "/l", xdg: "/x", home: "/h", want: "/x/mcp-toolset"},
		{local: "l", home: "/h", want: "/h/.local/state/mcp-toolset"},
		{err: "there is no home folder; set MCP_TOOLSET_STATE_DIR to an absolute path"},
	} {
		for _, path := range []*string{&tc.own, &tc.xdg, &tc.local, &tc.home, &tc.want} {
			if *path = filepath.FromSlash(*path); onWindows && strings.HasPrefix(*path, `\`) {
				*path = "C:" + *path
			}
		}
		env := map[string]string{"MCP_TOOLSET_STATE_DIR": tc.own, "XDG_STATE_HOME": tc.xdg, "LOCALAPPDATA": tc.local}
		localAppData = tc.local != ""
		got, err := Dir(func(k string) string { return env[k] }, tc.home)
		if got != tc.want || (err != nil) != (tc.err != "") || err != nil && err.Error() != tc.err {
			t.Errorf("Dir(%+v) = %q, %v", tc, got, err)
		}
	}
}

func TestEnsurePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := EnsurePrivate(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := EnsurePrivate(dir); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 && !onWindows {
		t.Errorf("mode is %v", info.Mode())
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Readlink(link); err != nil && onWindows {
		t.Skip("no links here (Wine makes a file of one):", err)
	}
	if err := EnsurePrivate(link); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("a planted symlink was accepted: %v", err)
	}
}
