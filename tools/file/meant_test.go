package file

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// TestMeant lists paths that do not exist and the path that is taken. Folders end with a
// slash.
func TestMeant(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems take some of these names for the same, and backslashes for separators")
	}
	const (
		nfc, nfd       = "r\u00e9sum\u00e9.txt", "re\u0301sume\u0301.txt"
		hangul, jamo   = "\ud55c\uae00.txt", "\u1112\u1161\u11ab\u1100\u1173\u11af.txt"
		umlaut, opened = "\u00dcbung", "U\u0308bung"
	)
	for _, test := range []struct {
		name, disk    string // the files, separated by "|"
		given         string
		read, write   string // the paths taken, relative; "": as given
		noted, silent string // a part of the note of reading; "none" if there is no note at all
	}{
		{name: "as shown, narrow blank", disk: "a\u202fb.txt", given: `a\u202fb.txt`, read: "a\u202fb.txt", write: "a\u202fb.txt", silent: "none"},
		{name: "as shown, folder", disk: "c\u3000d/e.txt", given: `c\u3000d/e.txt`, read: "c\u3000d/e.txt", write: "c\u3000d/e.txt", silent: "none"},
		{name: "as shown, new file in it", disk: "c\u3000d/", given: `c\u3000d/new.txt`, write: "c\u3000d/new.txt"},
		{name: "as shown, a byte", disk: "g\xe9.txt", given: `g\xe9.txt`, read: "g\xe9.txt", write: "g\xe9.txt", silent: "none"},
		{name: "as shown, control characters", disk: "x\ny\tz\x1b[1m", given: `x\ny\tz\x1b[1m`, read: "x\ny\tz\x1b[1m", write: "x\ny\tz\x1b[1m"},
		{name: "as shown, beyond 16 bits", disk: "t\U000e0041", given: `t\U000e0041`, read: "t\U000e0041", write: "t\U000e0041"},
		{name: "as shown, with a backslash of its own", disk: "n\\new\u202f", given: `n\new\u202f`, read: "n\\new\u202f", write: "n\\new\u202f"},
		{name: "escaped by Go", disk: nfc, given: `r\u00e9sum\u00e9.txt`, read: nfc, write: nfc},
		{name: "escaped by git", disk: nfc, given: `r\303\251sum\303\251.txt`, read: nfc, write: nfc},
		{name: "escaped and quoted by git", disk: "d/" + nfc, given: `"d/r\303\251sum\303\251.txt"`, read: "d/" + nfc, write: "d/" + nfc},
		{name: "repr of Python", disk: "a\u00a0b.txt", given: `a\xa0b.txt`, read: "a\u00a0b.txt", write: "a\u00a0b.txt", silent: "none"},
		{name: "ascii of Python", disk: nfc, given: `r\xe9sum\xe9.txt`, read: nfc, write: nfc},
		{name: "a byte and a letter", disk: "g\xe9.txt|g\u00e9.txt", given: `g\xe9.txt`, read: "g\xe9.txt", write: "g\xe9.txt", silent: "none"},
		{name: "a backslash that exists wins", disk: "a\\u202fb.txt|a\u202fb.txt", given: `a\u202fb.txt`},
		{name: "a replacement character", disk: "g\xe9.txt", given: "g\ufffd.txt", read: "g\xe9.txt", write: "g\xe9.txt", noted: "not UTF-8"},
		{name: "one for several bytes", disk: "\xe4\xb8.txt", given: "\ufffd.txt", read: "\xe4\xb8.txt", write: "\xe4\xb8.txt"},

		{name: "composed for decomposed", disk: nfd, given: nfc, read: nfd, write: nfd, noted: "decomposed letters (NFD)"},
		{name: "decomposed for composed", disk: nfc, given: nfd, read: nfc, write: nfc, noted: "composed letters (NFC)"},
		{name: "Hangul", disk: jamo, given: hangul, read: jamo, write: jamo, noted: "NFD"},
		{name: "a folder", disk: opened + "/x.txt", given: umlaut + "/x.txt", read: opened + "/x.txt", write: opened + "/x.txt"},
		{name: "a new file in a folder", disk: opened + "/", given: umlaut + "/sub/y.txt", write: opened + "/sub/y.txt"},
		{name: "both forms exist", disk: nfd + "|" + nfc, given: nfc},
		{name: "two folders and a file", disk: opened + "/" + jamo, given: umlaut + "/" + hangul, read: opened + "/" + jamo, write: opened + "/" + jamo},
		{name: "blank for a narrow blank", disk: "Screenshot at 1.01\u202fAM.png", given: "Screenshot at 1.01 AM.png", read: "Screenshot at 1.01\u202fAM.png", write: "Screenshot at 1.01\u202fAM.png", noted: "kind of blank"},
		{name: "narrow blank for a blank", disk: "a b", given: "a\u202fb", read: "a b", write: "a b"},
		{name: "no-break blank", disk: "Sn\u00edmek\u00a01.png", given: "Sn\u00edmek 1.png", read: "Sn\u00edmek\u00a01.png", write: "Sn\u00edmek\u00a01.png"},
		{name: "ideographic blank", disk: "\u6f22\u3000\u5b57", given: "\u6f22 \u5b57", read: "\u6f22\u3000\u5b57", write: "\u6f22\u3000\u5b57"},
		{name: "invisible mark", disk: "\u200eWhatsApp.jpg", given: "WhatsApp.jpg", read: "\u200eWhatsApp.jpg", write: "\u200eWhatsApp.jpg"},
		{name: "no-break hyphen", disk: "a\u2011b", given: "a-b", read: "a\u2011b", write: "a\u2011b"},
		{name: "two that look the same", disk: "a\u00a0b|a\u202fb", given: "a b"},
		{name: "an apostrophe", disk: "l\u2019an.png", given: "l'an.png", read: "l\u2019an.png", noted: "other quotes"},
		{name: "joined emoji stay apart", disk: "\U0001f468\u200d\U0001f469", given: "\U0001f468\U0001f469"},

		{name: "URL", disk: "src/my file.go", given: "file://$DIR/src/my%20file.go", read: "src/my file.go", write: "src/my file.go", noted: "there is no file://"},
		{name: "URL of a new file", disk: "src/", given: "file://$DIR/src/new.go", write: "src/new.go"},
		{name: "URL with a host and a line", disk: "a.go", given: "file://localhost$DIR/a.go#L3", read: "a.go", write: "a.go"},
		{name: "relative URL", disk: "src/a.go", given: "file:src/a.go", read: "src/a.go", write: "src/a.go"},
		{name: "mention", disk: "src/a.go", given: "@src/a.go", read: "src/a.go", write: "src/a.go"},
		{name: "a folder with @", disk: "@types/a.ts|types/b.ts", given: "@types/b.ts", read: "types/b.ts"},
		{name: "backslashes", disk: "src/a.go", given: `src\a.go`, read: "src/a.go", write: "src/a.go"},
		{name: "backslashes, absolute", disk: "src/a.go", given: `$DIR\src\a.go`, read: "src/a.go", write: "src/a.go"},
		{name: "backslashes, new file", disk: "src/", given: `src\new.go`, write: "src/new.go"},
		{name: "backslash of the name itself", disk: `src\a.go|src/a.go`, given: `src\a.go`},
		{name: "backticks", disk: "src/a.go", given: "`src/a.go`", read: "src/a.go", write: "src/a.go"},
		{name: "quotes, new file", disk: "src/", given: `"src/new.go"`, write: "src/new.go"},
		{name: "mention in backticks with a line", disk: "src/a.go", given: "`@src/a.go:12`", read: "src/a.go", write: "src/a.go"},
		{name: "old side of a diff", disk: "src/a.go", given: "a/src/a.go", read: "src/a.go", write: "src/a.go"},
		{name: "new side of a diff", disk: "src/a.go", given: "b/src/a.go", read: "src/a.go", write: "src/a.go"},
		{name: "a folder called b", disk: "b/src/c.go|src/a.go", given: "b/src/a.go", read: "src/a.go"},
		{name: "shell", disk: "my file (1).txt", given: `my\ file\ \(1\).txt`, read: "my file (1).txt", write: "my file (1).txt"},
		{name: "HTML", disk: "R&D/plan.md", given: "R&amp;D/plan.md", read: "R&D/plan.md", write: "R&D/plan.md"},
		{name: "HTML of the name itself", disk: "a&lt;b|a<b", given: "a&lt;b"},
		{name: "as bash shows it", disk: "a\tb.txt", given: `$'a\tb.txt'`, read: "a\tb.txt", write: "a\tb.txt"},
		{name: "quoted by ls, in a folder", disk: "d/J\xf1z.txt", given: `d/'J'$'\361''z.txt'`, read: "d/J\xf1z.txt", write: "d/J\xf1z.txt"},
		{name: "quoted in part", disk: "d/my file.txt", given: `d/"my file".txt`, read: "d/my file.txt", write: "d/my file.txt"},
		{name: "one apostrophe", disk: "d/its.txt", given: "d/it's.txt"},
		{name: "a blank at the end", disk: "a.cpp ", given: "a.cpp", read: "a.cpp ", write: "a.cpp ", noted: "blanks at an end"},
		{name: "blanks at the beginning", disk: "\u00a0 a.cpp", given: "a.cpp", read: "\u00a0 a.cpp", write: "\u00a0 a.cpp", noted: "blanks at an end"},
		{name: "a folder with a blank at the end", disk: "Q1 /a.txt", given: "Q1/a.txt", read: "Q1 /a.txt", write: "Q1 /a.txt"},
		{name: "with and without a blank", disk: "a |a", given: "a\u00a0", read: "a", write: "a"},
		{name: "as ls shows it", disk: "a b\tc.txt", given: `'a b'$'\t''c.txt'`, read: "a b\tc.txt", write: "a b\tc.txt"},
		{name: "percent", disk: "my file.txt", given: "my%20file.txt", read: "my file.txt", write: "my file.txt"},
		{name: "line and column", disk: "a.go", given: "a.go:12:5", read: "a.go", write: "a.go"},
		{name: "blanks around", disk: "a.go", given: " a.go\n", read: "a.go", write: "a.go"},
		{name: "several at once", disk: "src/" + nfd, given: `b\src\` + nfc, read: "src/" + nfd},
		{name: "case is not meant", disk: "src/main.go", given: "SRC/Main.go"},
		{name: "nothing", disk: "a.go", given: "b.go"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for f := range strings.SplitSeq(test.disk, "|") {
				path := filepath.Join(dir, f)
				if strings.HasSuffix(f, "/") {
					if err := os.MkdirAll(path, 0o777); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			for _, create := range []bool{false, true} {
				want := test.read
				if create {
					want = test.write
				}
				given := strings.ReplaceAll(test.given, "$DIR", dir)
				env := &tools.Env{Session: session.View{Dir: dir}}
				path, note := meant(env, given, create)
				if want == "" {
					want, _ = filepath.Rel(dir, env.Abs(given))
					if note != "" && !create {
						t.Errorf("note %q", note)
					}
				}
				if got, _ := filepath.Rel(dir, path); got != want {
					t.Errorf("create %v: %q, want %q", create, got, want)
				}
				if !create && (!strings.Contains(note, test.noted) || test.silent == "none" && note != "") {
					t.Errorf("note %q, want %q", note, test.noted)
				}
			}
		})
	}
}

// TestMeantDenied checks that nothing denied is looked at or taken.
func TestMeantDenied(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"secret/a\u202fb", "open/c\u202fd", "open/e\u202ff"} {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	env := &tools.Env{Session: session.View{Dir: dir}, Denied: func(path string) bool {
		return strings.HasPrefix(path, filepath.Join(dir, "secret")) || strings.HasSuffix(path, "d")
	}}
	for given, want := range map[string]string{
		"secret/a b": "secret/a b", "open/c d": "open/c d", "open/e f": "open/e\u202ff", "file:secret/a\u202fb": "file:secret/a\u202fb",
	} {
		if path, _ := meant(env, given, false); path != filepath.Join(dir, want) {
			t.Errorf("%q: %q", given, path)
		}
	}
}
