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
	keys, tty := terminal(t)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	h := host(t, env)
	h.Home, h.Out = t.TempDir(), tty
	if err := os.WriteFile(filepath.Join(h.Dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
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
	_, tty := terminal(t)
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
	console{out: &out}.progress("connecting to %d servers ...", 2)()
	if out.Len() > 0 {
		t.Errorf("piped: %q", &out)
	}
	console{out: &out, escapes: true}.progress("connecting to %d servers ...", 2)()
	if out.String() != "connecting to 2 servers ...\r\x1b[K" {
		t.Errorf("%q", &out)
	}
}
