package bash

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/exec/task"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// typist plays with one task that has a terminal.
type typist struct {
	*fixture
	w    *toolstest.Workspace
	tool *tools.Tool
	id   string
}

func (f *fixture) typist(t *testing.T, command string) *typist {
	t.Helper()
	w := toolstest.NewWorkspace(t)
	tool, id := f.input(t, w, command, map[string]any{"tty": true, "stdin": false})
	return &typist{f, w, tool, id}
}

var running = regexp.MustCompile(`running, \d+ s`)

// press calls TaskInput and returns the answer without what varies.
func (p *typist) press(t *testing.T, text string, keys ...string) string {
	t.Helper()
	got := p.send(t, p.w, p.tool, map[string]any{"task_id": p.id, "text": text, "keys": append([]string{}, keys...)})
	got = regexp.MustCompile(`\n\[next offset \d+\]$`).ReplaceAllString(running.ReplaceAllString(got, "running"), "")
	return strings.TrimPrefix(got, "Task $TASK: ")
}

// shows waits until the screen has a text.
func (p *typist) shows(t *testing.T, want string) {
	t.Helper()
	j := p.job(t)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, _, _, _ := j.Terminal().Text()
		if strings.Contains(text, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not on the screen: %q\n%s", want, text)
		}
	}
}

func (p *typist) job(t *testing.T) task.Receiver {
	t.Helper()
	one, ok := p.Tasks.Get(p.w.Session.View().Owner(), p.id)
	if !ok {
		t.Fatal("the task is gone")
	}
	return one.Job.(task.Receiver)
}

func TestTerminal(t *testing.T) {
	f := newFixture(t, nil)
	f.needContainment(t)
	// Each phase prints something once it is ready for keys.
	p := f.typist(t, `trap 'echo caught' INT; tty; stty size; echo $TERM; stty -echo; echo ready; read -r pass; stty echo; echo "<$pass>"; read -r line; sh -c 'echo "[$1]"; exec sleep 1000' . "$line"; cat; exit 3`)
	p.shows(t, "ready")
	for _, one := range []struct {
		text string
		keys []string
		want string
	}{
		{"secret", []string{"enter"}, "running\n[screen of 80x24, cursor in row 6, column 1]\n/dev/pts/0\n24 80\nxterm-256color\nready\n<secret>"},
		{"ab", []string{"backspace", "c", "enter"}, `error: there is no key c. Give characters as text.`},
		{"ab", []string{"backspace", "space", "enter"}, "running\n[screen of 80x24, cursor in row 8, column 1]\n/dev/pts/0\n24 80\nxterm-256color\nready\n<secret>\na\n[a]"},
		{"", []string{"power"}, `error: there is no key power. Use names such as enter, up, f1, ctrl-c and alt-x.`},
		{"", []string{"Ctrl-C", "entre"}, `error: there is no key Ctrl-C. Did you mean ctrl-c or ctrl-a or ctrl-b?`},
		{"", []string{"ctrl-c"}, "running\n[screen of 80x24, cursor in row 9, column 1]\n/dev/pts/0\n24 80\nxterm-256color\nready\n<secret>\na\n[a]\n^Ccaught"},
		{"end", []string{"enter", "ctrl-d"}, "exit code 3\n[screen of 80x24, cursor in row 11, column 1]\n/dev/pts/0\n24 80\nxterm-256color\nready\n<secret>\na\n[a]\n^Ccaught\nend\nend"},
	} {
		if got := p.press(t, one.text, one.keys...); got != one.want {
			t.Errorf("%q %v\n--- got\n%s\n--- want\n%s", one.text, one.keys, got, one.want)
		}
	}
}

// TestTerminalRefused checks the calls for which there is no terminal.
func TestTerminalRefused(t *testing.T) {
	f := newFixture(t, nil)
	f.needContainment(t)
	w := toolstest.NewWorkspace(t)
	for _, one := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"command": "cat", "tty": true}, "tty is for background tasks only. Add run_in_background, or leave tty out."},
		{map[string]any{"command": "cat", "tty": true, "run_in_background": true, "dangerouslyDisableSandbox": true}, "a command has a terminal only inside the sandbox of Linux: dangerouslyDisableSandbox is set. Use stdin instead of tty."},
	} {
		if _, err := run(t.Context(), t, w, f.Bash, one.args); err == nil || err.Error() != one.want {
			t.Error(err)
		}
	}
	tool, id := f.input(t, w, "cat", nil)
	if got := f.send(t, w, tool, map[string]any{"task_id": id, "keys": []string{"up"}}); got != "error: the background task "+id+" has no terminal, so it takes no keys. Give text, or start it again by Bash with run_in_background and tty." {
		t.Error(got)
	}
	p := f.typist(t, "cat")
	if got := f.send(t, p.w, p.tool, map[string]any{"task_id": p.id, "eof": true}); got != "error: the input of a terminal has no end. Press the key ctrl-d at the beginning of a line." {
		t.Error(got)
	}
}

// TestTerminalPrograms uses programs that need a terminal.
func TestTerminalPrograms(t *testing.T) {
	f := newFixture(t, nil)
	f.needContainment(t)
	t.Run("bash", func(t *testing.T) {
		p := f.typist(t, "PS1='> ' bash --norc --noprofile -i")
		p.shows(t, ">")
		p.press(t, "echo one", "enter")
		if got := p.press(t, "", "up", "ctrl-a", "delete", "delete", "delete", "delete", "right", "left", "left"); !strings.HasSuffix(got, "[screen of 80x24, cursor in row 3, column 3]\n> echo one\none\n>  one") {
			t.Error(got)
		}
		p.press(t, "printf 'two %s\\n' #", "enter")
		if got := p.press(t, "", "ctrl-d"); !strings.Contains(got, "> printf 'two %s\\n' # one\ntwo") || !strings.HasPrefix(got, "exit code 0\n") {
			t.Error(got)
		}
	})
	t.Run("vim", func(t *testing.T) {
		if _, err := exec.LookPath("vim"); err != nil {
			t.Skip(err)
		}
		p := f.typist(t, "vim -u NONE -i NONE -n file")
		p.shows(t, "~")
		p.press(t, "ihello\rworld", "escape")
		if got := p.press(t, "", "up", "home"); !strings.Contains(got, "cursor in row 1, column 1]\nhello\nworld\n~\n") {
			t.Error(got)
		}
		p.press(t, ":wq", "enter")
		if text, err := os.ReadFile(p.w.Root + "/file"); string(text) != "hello\nworld\n" {
			t.Errorf("%q %v", text, err)
		}
	})
	t.Run("less", func(t *testing.T) {
		if _, err := exec.LookPath("less"); err != nil {
			t.Skip(err)
		}
		p := f.typist(t, "seq 1 100 > numbers; less numbers; echo left")
		p.shows(t, "23")
		if got := p.press(t, "", "page-down", "down"); !strings.Contains(got, "]\n25\n26\n") || !strings.Contains(got, "\n47\n:") {
			t.Error(got)
		}
		if got := p.press(t, "q"); !strings.HasPrefix(got, "exit code 0\n") || !strings.HasSuffix(got, "]\nleft") {
			t.Error(got) // the main screen
		}
	})
}

// TestTerminalAttacks checks programs that flood their terminal, do not read it, leave it, and
// ask it for more answers than they read.
func TestTerminalAttacks(t *testing.T) {
	f := newFixture(t, nil)
	f.needContainment(t)
	t.Run("flood", func(t *testing.T) {
		p := f.typist(t, `yes "$(printf '\033[2J\033[99999999999b\033]8;;x\033[c')" | head -c 3000000; echo; stty -icanon -echo; head -c 3 | od -c | head -1; echo done`)
		<-p.job(t).Done()
		if text, _, _ := p.job(t).Output().Content(10 << 20); !bytes.HasSuffix(text, []byte("0000000 033   [   ?\r\ndone\r\n")) {
			t.Errorf("%d %q", len(text), text[max(0, len(text)-300):])
		}
	})
	t.Run("not read", func(t *testing.T) {
		p := f.typist(t, "stty raw -echo; echo ready; sleep 1000")
		p.shows(t, "ready")
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if n, err := p.job(t).Send(ctx, make([]byte, 1<<20)); err == nil || n == 1<<20 || n < 4<<10 {
			t.Error(n, err)
		}
		if err := p.job(t).Stop("the test"); err != nil {
			t.Error(err)
		}
	})
	t.Run("left", func(t *testing.T) {
		p := f.typist(t, "echo before; exec </dev/null >/dev/null 2>&1; sleep 0.3; echo after >/dev/tty; exit 4")
		<-p.job(t).Done()
		if text, row, _, _ := p.job(t).Terminal().Text(); text != "before\nafter" || row != 3 || p.job(t).Status().Code != 4 {
			t.Errorf("%q %d %+v", text, row, p.job(t).Status())
		}
	})
	t.Run("typing", func(t *testing.T) {
		p := f.typist(t, `python3 -c 'import fcntl
for request in 0x5412, 0x541c:
  try: fcntl.ioctl(0, request, b"x"); print("typed")
  except OSError as e: print(e.errno)'; ls /dev/pts | tr '\n' ' '`)
		<-p.job(t).Done()
		if text, _, _, _ := p.job(t).Terminal().Text(); text != "1\n1\n0 ptmx" {
			t.Error(text)
		}
	})
}

// TestTerminalsLeaveNothing checks that tasks with terminals leave no descriptors.
func TestTerminalsLeaveNothing(t *testing.T) {
	f := newFixture(t, nil)
	f.needContainment(t)
	fds := func() (names []string) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name, _ := os.Readlink("/proc/self/fd/" + e.Name())
			if strings.HasPrefix(name, "pipe:") || strings.HasPrefix(name, "/dev/pt") {
				names = append(names, name)
			}
		}
		return names
	}
	count := func() int { return len(fds()) }
	for range 3 {
		p := f.typist(t, "echo one")
		<-p.job(t).Done()
	}
	before := count()
	for i := range 10 {
		p := f.typist(t, "echo "+strconv.Itoa(i))
		<-p.job(t).Done()
		f.Tasks.Forget(p.w.Session.View().Owner(), "the test")
	}
	for end := time.Now().Add(time.Minute); count() > before+6; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(before, fds())
		}
	}
}
