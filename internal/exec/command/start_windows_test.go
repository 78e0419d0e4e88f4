package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func newWindows(t *testing.T, shell string) (*Commands, string) {
	t.Helper()
	base, err := os.MkdirTemp("", "command test ä ")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) }) // Wine cannot do this
	root := filepath.Join(base, "root")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{
		Shell: shellNamed(t, base, shell), Roots: []string{root}, State: filepath.Join(base, "state"), Home: base,
		Environ: append(os.Environ(), "path=C:\\windows", "SECRET=x", "Npm_Token=x", "PROGRAMDATA=p"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, root
}

func runWindows(t *testing.T, c *Commands, dir, script string) (Result, string) {
	t.Helper()
	r, err := c.Start(t.Context(), Spec{Script: script, Dir: dir, Owner: "o", Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.Done():
	case <-time.After(time.Minute):
		t.Fatal("the command does not end")
	}
	view, err := r.Output.View(10000)
	if err != nil {
		t.Fatal(err)
	}
	return r.Result(), strings.ReplaceAll(view.Head+view.Tail, "\r\n", "\n")
}

func TestWindowsShells(t *testing.T) {
	for _, shell := range []string{"bash.exe", "PowerShell.exe"} {
		t.Run(shell, func(t *testing.T) {
			c, root := newWindows(t, shell)
			sub := filepath.Join(root, "sub")
			result, out := runWindows(t, c, root, "echo ä \"it's\" %PATH% & $x `\"\ncd sub\nexit 7")
			want := "ä \"it's\" %PATH% & $x `\"\n"
			if shell == "bash.exe" {
				want = strings.ReplaceAll(want, "'", `'\''`) // the test shell does not remove quotes
			}
			if out != want || result.Code != 7 || result.Dir != sub || result.EndReason != ByItself || len(result.Leftover) > 0 {
				t.Errorf("%q, %+v", out, result)
			}
			_, out = runWindows(t, c, root, "env PATH\nenv SECRET\nenv NPM_TOKEN\nenv ProgramData\nenv MCP_TOOLSET_COMMAND\nenv SystemRoot")
			if want := "C:\\windows\n\n\np\n1\n" + os.Getenv("SystemRoot") + "\n"; out != want {
				t.Errorf("the environment is %q, want %q", out, want)
			}
			if _, out = runWindows(t, c, root, "env TEMP\nenv TMP"); !strings.Contains(out, tempPrefix) {
				t.Errorf("temporary files are in %s", out)
			}
			if left, _ := filepath.Glob(filepath.Join(strings.SplitN(out, "\n", 2)[0], "*")); len(left) > 0 {
				t.Errorf("left %q", left)
			}
			_, out = runWindows(t, c, root, "args")
			if strings.Contains(out, "args") || strings.Contains(out, root) {
				t.Errorf("the command is on the command line: %s", out)
			}
		})
	}
}

// TestWindowsEnd checks that the process tree of a command is ended.
func TestWindowsEnd(t *testing.T) {
	c, root := newWindows(t, "bash.exe")
	r, err := c.Start(t.Context(), Spec{Script: "spawn\nsleep", Dir: root, Owner: "o", Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); r.Output.LastLine() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not start")
		}
	}
	if err := r.End(Timeout, time.Second); err != nil {
		t.Fatal(err)
	}
	if result := r.Result(); result.EndReason != Timeout || result.Cut || result.Dir != "" {
		t.Errorf("%+v", result)
	}
	result, out := runWindows(t, c, root, "spawn")
	if result.Left != 1 || result.Cut || result.Code != 0 {
		t.Errorf("%q, %+v", out, result)
	}
}

func TestWindowsContainment(t *testing.T) {
	c, _ := newWindows(t, "bash.exe")
	const want = "sandbox: containment on windows: unsupported operation"
	if err := c.Uncontained(t.Context()); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := c.ReadOnly(t.Context()); err == nil {
		t.Error("commands that only read are offered")
	}
	if _, ok := c.Trusted("git"); ok {
		t.Error("a program is trusted by its name")
	}
}

// TestWindowsFolders checks that a folder is locked while its server lives.
func TestWindowsFolders(t *testing.T) {
	c, root := newWindows(t, "bash.exe")
	runWindows(t, c, root, "echo")
	folder := c.temp.base()
	if _, err := lockFolder(strings.ToUpper(folder)); err == nil {
		t.Error("locked twice")
	}
	_ = c.Close()
	lock, err := lockFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	_ = lock.Close()
	for path, want := range map[string]bool{root: true, strings.ToUpper(root) + `\x`: true, root + "x": false, root + `\..\y`: false, `D:\` + root[3:]: false} {
		if inside(path, root) != want {
			t.Errorf("%s in %s: %v", path, root, !want)
		}
	}
}
