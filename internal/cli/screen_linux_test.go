package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// onTerminal runs a command line on a terminal of 80 columns and returns its output.
func onTerminal(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	keys, tty := newTerminal(t)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	h := host(t, env)
	h.Home, h.Out = t.TempDir(), tty
	for name, data := range map[string]string{"a": "", "x.py": "# coding: cp1251\n# \xcf\n"} {
		if err := os.WriteFile(filepath.Join(h.Dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shown := make(chan string)
	go func() {
		var all bytes.Buffer
		_, _ = all.ReadFrom(keys) // ends with an error once the terminal is closed
		shown <- all.String()
	}()
	if code := Main(args, h); code != exitOK {
		t.Errorf("%v: exit code %d: %s", args, code, h.Err)
	}
	_ = tty.Close()
	return strings.ReplaceAll(<-shown, "\r\n", "\n")
}

// Tables and help fit the terminal.
func TestFitsTerminal(t *testing.T) {
	for _, args := range [][]string{{"tools"}, {"stdio", "--help"}} {
		out := onTerminal(t, map[string]string{}, args...)
		if !strings.Contains(out, "\n") {
			t.Errorf("%v shows %q", args, out)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%v: %d columns: %s", args, n, line)
			}
		}
	}
	_, piped, _ := runMain(t, "tools")
	if !strings.Contains(piped, "Stops a background task and everything it started, and waits until all of it has ended") {
		t.Errorf("piped, texts are cut:\n%s", piped)
	}
}

// A user at a terminal gets the next step.
func TestNextStep(t *testing.T) {
	_, tty := newTerminal(t)
	h := host(t, map[string]string{})
	h.Home, h.In = t.TempDir(), tty
	if err := os.Mkdir(filepath.Join(h.Home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	code := Main(nil, h)
	if out := h.Out.(*bytes.Buffer).String(); code != exitOK || !strings.Contains(out, "\n  next     mcp-toolset install ") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// Decisions have colours on a terminal unless the user has disabled them.
func TestColours(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{}, true},
		{map[string]string{"TERM": "xterm", "NO_COLOR": ""}, true},
		{map[string]string{"NO_COLOR": "1"}, false},
		{map[string]string{"TERM": "dumb"}, false},
	} {
		out := onTerminal(t, tc.env, "policy", "explain", "Read", `{"file_path":"a"}`)
		want := "Read: allow\n"
		if tc.want {
			want = "Read: \x1b[32mallow\x1b[0m\n"
		}
		if !strings.HasPrefix(out, want) || !tc.want && strings.Contains(out, "\x1b") {
			t.Errorf("%v: %q", tc.env, out)
		}
	}
	if _, out, _ := runMain(t, "policy", "explain", "Read", `{"file_path":"a"}`); strings.Contains(out, "\x1b") {
		t.Errorf("piped: %q", out)
	}
}

// Progress is shown on a terminal and erased.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	screen{out: &out}.progress("connecting to %d servers ...", 2)()
	if out.Len() > 0 {
		t.Errorf("piped: %q", &out)
	}
	screen{out: &out, escapes: true}.progress("connecting to %d servers ...", 2)()
	if out.String() != "connecting to 2 servers ...\r\x1b[K" {
		t.Errorf("%q", &out)
	}
}

// On a terminal, the diff of a call has colours. A pipe gets the text of the result. The edit converts
// the file, so that its answer is a diff.
func TestCallOnTerminal(t *testing.T) {
	edit := []string{"call", "Edit", `{"file_path":"x.py","old_string":"cp1251\n","new_string":"utf-8\n1\u001b[2J\u202e\n- 2\n"}`}
	const plain = "@@ -1,2 +1,4 @@\n-# coding: cp1251\n+# coding: utf-8\n+1\\x1b[2J\\u202e\n+- 2\n # П\n[the file was windows-1251 and is UTF-8 now]\n"
	for _, tc := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{}, "\x1b[36m@@ -1,2 +1,4 @@\x1b[0m\n\x1b[31m-# coding: cp1251\x1b[0m\n\x1b[32m+# coding: utf-8\x1b[0m\n\x1b[32m+1\\x1b[2J\\u202e\x1b[0m\n\x1b[32m+- 2\x1b[0m\n # П\n[the file was windows-1251 and is UTF-8 now]\n"},
		{map[string]string{"NO_COLOR": "1"}, plain},
		{map[string]string{"TERM": "dumb"}, plain},
	} {
		_, got, _ := strings.Cut(onTerminal(t, tc.env, edit...), "\n")
		if got != tc.want {
			t.Errorf("%v: %q, want %q", tc.env, got, tc.want)
		}
	}
	h := host(t, map[string]string{})
	h.Home = t.TempDir()
	if err := os.WriteFile(filepath.Join(h.Dir, "x.py"), []byte("# coding: cp1251\n# \xcf\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	Main(edit, h)
	if _, got, _ := strings.Cut(h.Out.(*bytes.Buffer).String(), "\n"); got != plain {
		t.Errorf("piped: %q", got)
	}
}

// On a terminal, JSON cannot control it, and has the same value. A pipe gets it unchanged.
func TestPrintJSON(t *testing.T) {
	for terminal, want := range map[bool]string{true: `\u009b2J\u202e`, false: "\u009b2J\u202e"} {
		var b bytes.Buffer
		if err := (screen{terminal: terminal, out: &b}).printJSON([]byte("{\"a\":\"\u009b2J\u202e\"}\n")); err != nil || b.String() != "{\n  \"a\": \""+want+"\"\n}\n" {
			t.Errorf("terminal %v: %q, %v", terminal, &b, err)
		}
	}
}

// A text that is no diff has no colours, and the first line of an error is red. A text cannot
// control the terminal; a pipe gets all of it.
func TestReads(t *testing.T) {
	c := screen{terminal: true, escapes: true, colour: true}
	for _, tc := range []struct {
		text         string
		diff, failed bool
		want         string
	}{
		{"+1\n-2", false, false, "+1\n-2"},
		{"+1\n-2\n 3\n@@ 4", true, false, "+1\n\x1b[31m-2\x1b[0m\n 3\n\x1b[36m@@ 4\x1b[0m"},
		{"\x1b[2J\u202e\r\n\t.", false, false, "\\x1b[2J\\u202e\\r\n\t."},
		{"no\n-2", false, true, "\x1b[31mno\x1b[0m\n-2"},
	} {
		if got := c.reads(tc.text, tc.diff, tc.failed); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
		if got := (screen{}).reads(tc.text, tc.diff, tc.failed); got != tc.text {
			t.Errorf("piped: %q", got)
		}
	}
}

// The line of a call is replaced, cut to the terminal, and erased at the end.
func TestStatusLine(t *testing.T) {
	var out bytes.Buffer
	if line := (screen{out: &out}).statusLine(); line != nil {
		t.Error("a pipe has a line")
	}
	line := screen{out: &out, escapes: true, width: 10}.statusLine()
	line.show("one\x1b[2J")
	line.show("Running go test")
	line.close()
	line.show("late")
	if want := "\r\x1b[Kone\\x1b[…\r\x1b[KRunning …\r\x1b[K"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
	out.Reset()
	screen{out: &out, escapes: true}.statusLine().close() // nothing was shown
	if out.Len() > 0 {
		t.Errorf("%q", &out)
	}
}
