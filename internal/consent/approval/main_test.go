//go:build unix || windows

package approval

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain also runs the test binary as the other servers and clients of a
// test.
func TestMain(m *testing.M) {
	switch os.Getenv("APPROVAL_CHILD") {
	case "server":
		serveChild(os.Getenv("APPROVAL_STATE"))
	case "orphan":
		beOrphan()
	case "middle":
		beMiddle()
	case "waiting client":
		waitForParent()
		fallthrough
	case "client":
		_, err := Approve(context.Background(), os.Getenv("APPROVAL_STATE"), 1, false)
		fmt.Println(err)
	default:
		goleak.VerifyTestMain(m)
	}
}

// order is a command of a test to a server in another process.
type order struct {
	Do      string
	Request Request
}

// serveChild executes one order per line until its input ends.
func serveChild(state string) {
	s := New(Config{Folder: state, Server: "child", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	defer s.Close()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var o order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			fmt.Println(err)
			return
		}
		r := o.Request
		switch o.Do {
		case "pend":
			fmt.Println(s.Pend(r))
		case "take":
			fmt.Println(s.Take(r) != 0)
		case "always":
			fmt.Println(s.Always(r.Principal, r.Tool, r.Subject, r.Root))
		case "declined":
			is, _ := s.Declined(r.Session, r.Tool, r.Subject)
			fmt.Println(is)
		}
	}
}

// child is another process of a test.
type child struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
	end func()
}

// startServer starts another server on a state folder.
func startServer(t *testing.T, state string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), "APPROVAL_CHILD=server", "APPROVAL_STATE="+state)
	c.cmd.Stderr = os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.end = sync.OnceFunc(func() {
		c.in.Close()
		_ = c.cmd.Wait()
	})
	t.Cleanup(c.end)
	return c
}

// say sends an order to the server and returns the answer.
func (c *child) say(do string, r Request) string {
	c.t.Helper()
	line, err := json.Marshal(order{do, r})
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return text[:len(text)-1]
}

// clock is a settable clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// logged is a log that tests can read.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// server is a Store with its parts.
type server struct {
	*Store
	state string
	clock *clock
	log   *logged
}

// newServer returns a store on a state folder; "" means a new one.
func newServer(t *testing.T, state string) *server {
	t.Helper()
	if state == "" {
		state = filepath.Join(shortDir(t), "state")
	}
	c, l := &clock{now: time.Now()}, &logged{}
	s := &server{New(Config{Folder: state, Server: "/work", Now: c.Now, Log: slog.New(slog.NewTextHandler(l, nil))}), state, c, l}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// shortDir returns a temporary folder whose path leaves room for the path of a
// socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// call returns a request to run a command.
func call(command string) Request {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err) // cannot happen: marshaling a string
	}
	return Request{
		Session: "s1", Tool: "Bash", Title: "Run " + command, Dir: "/work/sub", Root: "/work", Input: input,
		Reason: "the ask rule Bash covers it", Subject: Subject{Kind: "command", Value: command},
	}
}

func (s *server) pend(t *testing.T, r Request) int {
	t.Helper()
	n, err := s.Pend(r)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// wants fails unless err has the given text.
func wants(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("the error is %q, want %q", fmt.Sprint(err), want)
	}
}

func (s *Store) wasDeclined(session, tool string, subject Subject) bool {
	is, _ := s.Declined(session, tool, subject)
	return is
}
