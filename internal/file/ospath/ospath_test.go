package ospath

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestExpandWindows(t *testing.T) {
	for in, want := range map[string]string{
		``:                        ``,
		`a.txt`:                   `C:\proj\a.txt`,
		`sub/../a.txt`:            `C:\proj\a.txt`,
		`..\..\..\x`:              `C:\x`,
		`c:\Proj\a.txt`:           `C:\Proj\a.txt`,
		`c:/Proj//./a.txt`:        `C:\Proj\a.txt`,
		`C:\`:                     `C:\`,
		`\x`:                      `C:\x`,
		`/x/y`:                    `X:\y`,
		`/d`:                      `D:\`,
		`/dir/y`:                  `C:\dir\y`,
		`~`:                       `C:\Users\me`,
		`~/x`:                     `C:\Users\me\x`,
		`~\x`:                     `C:\Users\me\x`,
		`~me`:                     `C:\proj\~me`,
		`\\?\c:\proj\a.txt`:       `C:\proj\a.txt`,
		`\\?\C:\proj\..\..\x`:     `C:\x`,
		`//?/C:/proj/a.txt`:       `C:\proj\a.txt`,
		`\??\C:\proj\a.txt`:       `C:\proj\a.txt`,
		`\\?\UNC\srv\share\a`:     `\\srv\share\a`,
		`\\?\unc\srv\share\a`:     `\\srv\share\a`,
		`//srv/share/../../a`:     `\\srv\share\a`,
		`\\srv\share`:             `\\srv\share\`,
		`\\srv`:                   `\\srv\\`,
		`\\.\COM1`:                `\\.\COM1\`,
		`\\?\Volume{0-0}\a`:       `\\?\Volume{0-0}\a`,
		`\\?\GLOBALROOT\Device\x`: `\\?\GLOBALROOT\Device\x`,
		`C:a.txt`:                 `C:\proj\C:a.txt`,
	} {
		if got := Windows.Expand(in, `C:\proj`, `C:\Users\me`); got != want {
			t.Errorf("Expand(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCheckWindows(t *testing.T) {
	for path, fact := range map[string]string{
		`C:\proj\a.txt`:                "",
		`C:\proj\.git\a b`:             "",
		`C:\`:                          "",
		`\\srv\share\a`:                "",
		`C:\PROGRA~1\x`:                "",
		`C:\proj\console.txt`:          "",
		`C:\proj\com10`:                "",
		`C:\proj\a.txt:s`:              "names a stream",
		`C:\proj\a.txt::$DATA`:         "names a stream",
		`C:\proj\sub:$I30\a`:           "names a stream",
		`C:\proj\C:a.txt`:              "has a drive letter",
		`C:\proj\a.txt.`:               "ends in a dot",
		`C:\proj\a.txt `:               "ends in a dot or a space",
		`C:\proj .\a.txt`:              "ends in a dot",
		`C:\proj\...`:                  "ends in a dot",
		`C:\proj\NUL`:                  "reserves for a device",
		`C:\proj\nul.tar.gz`:           "reserves for a device",
		`C:\proj\con .txt`:             "reserves for a device",
		`C:\proj\COM1.log\x`:           "reserves for a device",
		`C:\proj\lpt²`:                 "reserves for a device",
		`C:\proj\CONIN$`:               "reserves for a device",
		`C:\proj\a*.txt`:               "which no Windows name has",
		`C:\proj\a?`:                   "which no Windows name has",
		`C:\proj\a<.txt`:               "which no Windows name has",
		"C:\\proj\\a\x01":              "which no Windows name has",
		`\\.\COM1\`:                    "names a device",
		`\\?\Volume{0-0}\a`:            "names a device",
		`\\?\GLOBALROOT\Device\x`:      "names a device",
		`\\srv\\`:                      "names no share",
		`\\srv\nul\a`:                  "reserves for a device",
		`\\srv\C$\a`:                   "",
		`C:\` + strings.Repeat("a", 9): "",
	} {
		err := Windows.Check(path)
		var f *Fault
		if (err != nil) != (fact != "") || err != nil && (!errors.As(err, &f) || !strings.Contains(f.Fact, fact) || f.Next == "") {
			t.Errorf("Check(%q) = %v, want %q", path, err, fact)
		}
		if err := Unix.Check(path); err != nil {
			t.Errorf("on Unix Check(%q) = %v", path, err)
		}
	}
}

func TestNames(t *testing.T) {
	for path, want := range map[string]string{
		`C:\`:                   "c",
		`C:\Proj\A.txt`:         "c proj a.txt",
		`\\Srv\Share\`:          "unc srv share",
		`\\Srv\Share\A`:         "unc srv share a",
		`\\c\share\a`:           "unc c share a",
		`C:\ſtr` + "\u212a":     "c strk",
		`\\?\Volume{0-0}\a`:     "unc ? volume{0-0} a",
		`C:\Straße\ÄÖ\ǅ\ı\test`: "c straße äö ǆ i test",
	} {
		got := Windows.Names(path)
		if strings.Join(got, " ") != want || len(got) != Windows.Depth(path) {
			t.Errorf("Names(%q) = %q, want %q, depth %d", path, got, want, Windows.Depth(path))
		}
	}
	if got := Unix.Names("/A/b"); strings.Join(got, " ") != "A b" || len(Unix.Names("/")) != 0 || Unix.Depth("/") != 0 {
		t.Errorf("on Unix: %q", got)
	}
}

func TestUnslashed(t *testing.T) {
	for _, path := range []string{`C:\`, `C:\Proj\a`, `\\Srv\Share\`, `\\Srv\Share\a`} {
		if got := Windows.Unslashed(Windows.Slashed(path)); got != path {
			t.Errorf("%q is %q with slashes, and %q without", path, Windows.Slashed(path), got)
		}
	}
	if got := Windows.Unslashed("/proj/a"); Windows.Check(got) == nil {
		t.Errorf("a path on no drive becomes %q", got)
	}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		dir, path  string
		holds, may bool
	}{
		{`C:\proj`, `C:\proj`, true, true},
		{`C:\proj`, `C:\proj\a`, true, true},
		{`C:\proj`, `C:\PROJ\a`, false, true},
		{`C:\proj`, `C:\proj2`, false, false},
		{`C:\proj`, `C:\proj/a`, false, false},
		{`C:\proj`, `D:\proj\a`, false, false},
		{`C:\`, `C:\a`, true, true},
		{`\\srv\share\`, `\\srv\share\a`, true, true},
		{`\\srv\share\`, `\\srv\share2\a`, false, false},
		{``, `C:\a`, false, false},
	} {
		if got := Windows.Holds(c.dir, c.path); got != c.holds {
			t.Errorf("Holds(%q, %q) = %v", c.dir, c.path, got)
		}
		if got := Windows.MayHold(c.dir, c.path); got != c.may {
			t.Errorf("MayHold(%q, %q) = %v", c.dir, c.path, got)
		}
	}
	if Unix.MayHold("/a", "/A/b") || !Unix.MayHold("/a", "/a/b") || !Unix.Holds("/", "/a") || !Darwin.MayHold("/a", "/A/b") {
		t.Error("Unix compares names exactly, Darwin does not")
	}
}

// TestHost compares the style of the host with path/filepath.
func TestHost(t *testing.T) {
	paths := []string{"/a/../b//c/", "/", "/a/.", "a/b", "..", `\a\b`, "C:/x", `C:\x\..\y`, `\\srv\share\a\..\b`}
	for _, p := range paths {
		if Host.IsAbs(p) != filepath.IsAbs(p) {
			t.Errorf("%s: IsAbs(%q) = %v", runtime.GOOS, p, Host.IsAbs(p))
		}
		if got := Host.Clean(p); got != filepath.Clean(p) {
			t.Errorf("%s: Clean(%q) = %q, want %q", runtime.GOOS, p, got, filepath.Clean(p))
		}
	}
}

func FuzzWindows(f *testing.F) {
	for _, s := range []string{`C:\a`, `\\?\UNC\a\b\c`, `\\.\x`, `/c/d`, `~\x`, `a:b`, `\\`, `\??\`, `//?`, `\\?\UNC`, `\\?\UNC\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		p := Windows.Expand(in, `C:\proj`, `C:\home`)
		if in == "" {
			return
		}
		if !Windows.IsAbs(p) || Windows.Clean(p) != p {
			t.Fatalf("Expand(%q) = %q, which is not clean and absolute but %q", in, p, Windows.Clean(p))
		}
		if names := Windows.Names(p); len(names) != Windows.Depth(p) {
			t.Fatalf("%q has the names %q and the depth %d", p, names, Windows.Depth(p))
		}
		if Windows.Check(p) == nil {
			for _, name := range Windows.Names(p) {
				if name == ".." || name == "." || name == "" {
					t.Fatalf("%q passes and has the name %q", p, name)
				}
			}
		}
	})
}
