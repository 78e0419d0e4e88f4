package process

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// terminal starts a command with a terminal.
func terminal(t *testing.T, r *Runner, text string) (p *Process, out *output, typing *os.File) {
	t.Helper()
	in, typing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = typing.Close() })
	s := script(t, text)
	s.Input, s.Terminal, s.Confine = in, &TerminalSize{100, 30}, json.RawMessage(`"terminal"`)
	p, out = start(t, r, s)
	return p, out, typing
}

// TestTerminal checks the terminal of a command, and that its end loses no output.
func TestTerminal(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{Tiers: []Tier{PIDNamespace}})
	if _, err := r.Tier(t.Context()); err != nil {
		t.Skip(err)
	}
	p, out, typing := terminal(t, r, "tty; stty size; ls /proc/self/fd | wc -l; read -r x; echo $x > /dev/tty; seq 20000 >&2; exit 3")
	if _, err := typing.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	e := wait(t, p)
	got := out.all(t)
	got = strings.Replace(strings.ReplaceAll(got, "\r\n", "\n"), "typed\n", "", 1) // the echo, at any place
	if !strings.HasPrefix(got, "/dev/pts/0\n30 100\n4\ntyped\n1\n2\n") || !strings.HasSuffix(got, "\n19999\n20000\n") || len(got) != 108894+len("/dev/pts/0\n30 100\n4\ntyped\n") || e.Code != 3 {
		t.Errorf("%+v %d bytes: %.100q", e, len(got), got)
	}
}

// TestTerminalDrains checks that a server that reads late gets all output of a command that has
// ended.
func TestTerminalDrains(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{Tiers: []Tier{PIDNamespace}})
	if _, err := r.Tier(t.Context()); err != nil {
		t.Skip(err)
	}
	in, typing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer typing.Close()
	out, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := script(t, "head -c 100000 /dev/zero")
	s.Input, s.Output, s.Terminal, s.Confine = in, write, &TerminalSize{100, 30}, json.RawMessage(`"terminal"`)
	p, err := r.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
		t.Error("it ended before its output")
	case <-time.After(300 * time.Millisecond):
	}
	if got, err := io.ReadAll(out); len(got) != 100000 || err != nil {
		t.Error(len(got), err)
	}
	wait(t, p)
}

// TestTerminalEnds checks that commands with terminals end however they use them.
func TestTerminalEnds(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{Tiers: []Tier{PIDNamespace}})
	if _, err := r.Tier(t.Context()); err != nil {
		t.Skip(err)
	}
	for name, text := range map[string]string{
		"flood":  "yes",
		"raw":    "stty raw -echo; echo ready; sleep 1000",
		"left":   "exec 0<&- 1>&- 2>&-; sleep 1000",
		"hangup": "trap '' HUP INT TERM; while :; do sleep 1; done",
		"stop":   "stty -ixon; kill -STOP $$",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, out, typing := terminal(t, r, text)
			_ = typing.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
			_, _ = typing.Write(make([]byte, 1<<20))
			if err := p.End(100 * time.Millisecond); err != nil {
				t.Error(err)
			}
			if e := wait(t, p); !e.Ended || e.Stuck || e.Lost != nil {
				t.Errorf("%+v", e)
			}
			out.all(t)
		})
	}
}

// TestTerminalNeeds checks that a terminal requires an input and a confinement.
func TestTerminalNeeds(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{})
	for _, confine := range []string{"", `"limit"`} {
		in, typing, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer typing.Close()
		s := script(t, "true")
		s.Terminal = &TerminalSize{80, 24}
		if s.Input = in; confine != "" {
			s.Confine = json.RawMessage(confine)
			s.Errors = newOutput(t).w
		}
		s.Output = newOutput(t).w
		if _, err := r.Start(t.Context(), s); err == nil || err.Error() != "starting a command: a terminal needs an input and a confinement, and has no separate errors" {
			t.Error(err)
		}
	}
}
