package bash

import (
	"testing"

	"mcp-toolset/internal/exec/shellsafe"
)

func TestWindowsPath(t *testing.T) {
	for text, want := range map[string]string{
		"/c/proj/a.txt": `C:\proj\a.txt`, "/C": `C:\`, "/d/": `D:\`, `C:\x`: `C:\x`, "c:/x/y": `c:\x\y`, "a/b": "a/b", "..": "..", `a\b`: `a\b`, ".env": ".env",
		"/etc/passwd": "", "/tmp/x": "", "/": "", "//host/share": "", "C:x": "", "1:/x": "", "a:": "", "/cygdrive/c/x": "", "/proc/self/environ": "",
	} {
		if got, ok := windowsPath(text); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, ok, want)
		}
	}
}

func TestUnknownOnWindows(t *testing.T) {
	for cmd, unknown := range map[string]bool{
		"git status": false, "cat .env": false, "cd sub && cat x": false, "cat /c/proj/x": false, `cat 'C:\proj\x'`: false, "cat x >/dev/null": false, "cat ../x": false,
		"cd /c/other && cat x": false, "cd /etc && cat x": true, "cat *.go": true, `cd 'C:\other'; cat x`: true, `cd 'a\b'; cat x`: true, "cd; cat x": true, "cd - && cat x": true, "cat /etc/passwd": true, "cat C:x": true, "cat //host/share/x": true, "cat x > /tmp/y": true,
		"pushd /d": false, "pushd": true, "popd": true,
	} {
		a := shellsafe.Analyse(cmd, shellsafe.Options{Dir: "/ws", Roots: []string{"/ws"}, Home: "/home/u"})
		if got := unknownOnWindows(a); (got != "") != unknown {
			t.Errorf("%s: %q", cmd, got)
		}
	}
}

func TestToPosix(t *testing.T) {
	for path, want := range map[string]string{`C:\proj\a b`: "/c/proj/a b", `d:\`: "/d", "C:/x/": "/c/x", "": "", `\\host\share`: "//host/share"} {
		if got := toPosix(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
