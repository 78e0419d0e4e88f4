//go:build unix || windows

package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mcp-toolset/internal/consent/socket"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStory(t *testing.T) {
	s := newServer(t, "")
	r := call("rm -rf build\u202e\x1b[31m")
	r.Principal = "http"
	n := s.pend(t, r)
	o, err := List(t.Context(), s.state, 0)
	if err != nil || o.Servers != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	now := s.clock.Now()
	want := []Item{{
		Number: n, Server: "/work", Process: os.Getpid(), Since: now, Ends: now.Add(pendingFor), Principal: "http", Tool: "Bash", Title: r.Title,
		Dir: "/work/sub", Root: "/work", Input: r.Input, Reason: r.Reason, Subject: r.Subject,
	}}
	if diff := cmp.Diff(want, o.Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if item, err := Approve(t.Context(), s.state, n, false); err != nil || item.Number != n {
		t.Fatalf("%+v, %v", item, err)
	}
	_, err = Approve(t.Context(), s.state, n, false)
	wants(t, err, "approval 1 was approved already; let the model send the same call again")
	if o, err = List(t.Context(), s.state, n); err != nil || !o.Items[0].Approved || !o.Items[0].Ends.Equal(now.Add(GrantedFor)) {
		t.Errorf("%+v, %v", o, err)
	}
	if s.Take(r) == 0 {
		t.Error("not taken")
	}
	_, err = Approve(t.Context(), s.state, n, true)
	wants(t, err, "approval 1 was approved, and the call was sent again; none is pending")

	m, l := s.pend(t, call("b")), s.pend(t, call("c"))
	if _, err := Deny(t.Context(), s.state, m, ""); err != nil {
		t.Fatal(err)
	}
	_, err = Deny(t.Context(), s.state, m, "")
	wants(t, err, fmt.Sprintf("approval %d was declined; pending: %d", m, l))
	s.pend(t, call("d"))
	_, err = List(t.Context(), s.state, 99)
	wants(t, err, "there is no approval 99; pending: 3, 4")
	if _, err := Approve(t.Context(), s.state, l, true); err != nil || !s.allows(call("c")) {
		t.Errorf("not allowed for always: %v", err)
	}
	// An approval that was granted once can still be always allowed.
	if _, err := Approve(t.Context(), s.state, 4, false); err != nil {
		t.Fatal(err)
	}
	if _, err := Approve(t.Context(), s.state, 4, true); err != nil || !s.allows(call("d")) {
		t.Errorf("not allowed for always: %v", err)
	}
}

// TestWhole checks that the user sees the whole of the longest input, and of
// many.
func TestWhole(t *testing.T) {
	s := newServer(t, "")
	var all []Request
	for i := range 3 {
		input, err := json.Marshal(strings.Repeat(fmt.Sprintf("%d <&>\u2028é", i), 60000))
		if err != nil {
			t.Fatal(err)
		}
		r := Request{Tool: "Write", Input: append(input, " \n"...)}
		all = append(all, r)
		s.pend(t, r)
	}
	o, err := List(t.Context(), s.state, 0)
	if err != nil || len(o.Items) != len(all) {
		t.Fatalf("%d, %v, %v", len(o.Items), o.Silent, err)
	}
	for i, item := range o.Items {
		if string(item.Input) != string(all[i].Input) {
			t.Errorf("the input of %d has %d bytes, want %d", i, len(item.Input), len(all[i].Input))
		}
	}
}

// dial connects to a server's socket.
func (s *server) dial(t *testing.T) socket.Conn {
	t.Helper()
	conn, err := socket.Dial(t.Context(), s.socket.At())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestMalformed(t *testing.T) {
	s := newServer(t, "")
	s.pend(t, call("a"))
	for message, want := range map[string]string{
		"\n":                                   errMessage.Error(),
		"x\n":                                  errMessage.Error(),
		"{}\n":                                 errMessage.Error(),
		"[]\n":                                 errMessage.Error(),
		`{"do":"approve"}` + "\n":              errMessage.Error(),
		`{"do":"approve","number":-1}` + "\n":  errMessage.Error(),
		`{"do":"approve","number":1.5}` + "\n": errMessage.Error(),
		`{"do":"approve","number":1,"x":1}` + "\n":      errMessage.Error(),
		`{"do":"approve","number":1} {}` + "\n":         errMessage.Error(),
		`{"do":"deny","number":1,"always":true}` + "\n": errMessage.Error(),
		`{"do":"eat","number":1}` + "\n":                errMessage.Error(),
		`{"do":"approve","number":2}` + "\n":            "there is no approval 2",
		`{"do":"lift","number":1}` + "\n":               "nothing was declined by number 1",
		strings.Repeat(" ", maxMessage+1) + "\n":        "a message is longer than 65536 bytes",
	} {
		conn := s.dial(t)
		if _, err := io.WriteString(conn, message); err != nil {
			t.Fatal(err)
		}
		a, err := readAnswer(conn, maxAnswer)
		if err != nil || a.Refused != want {
			t.Errorf("%.50q: %+v, %v, want %q", message, a, err, want)
		}
		conn.Close()
	}
	if s.Take(call("a")) != 0 {
		t.Error("granted")
	}
	// An incomplete message has no effect.
	conn := s.dial(t)
	if _, err := io.WriteString(conn, `{"do":"approve","number":1}`); err != nil {
		t.Fatal(err)
	}
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return // a pipe cannot be closed halfway
	}
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if a, err := readAnswer(conn, maxAnswer); err != nil || a.Refused == "" || s.Take(call("a")) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestSilentPeers checks that a silent peer is disconnected, and that
// connections above the limit wait.
func TestSilentPeers(t *testing.T) {
	s := newServer(t, "")
	n := s.pend(t, call("a"))
	var conns []socket.Conn
	for range 32 {
		conns = append(conns, s.dial(t))
	}
	if _, err := Approve(t.Context(), s.state, n, false); err != nil {
		t.Errorf("%v", err)
	}
	// By now, at least one of the connections must have been closed by the
	// server.
	if !slices.ContainsFunc(conns, func(conn socket.Conn) bool {
		_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		return err == nil || errors.Is(err, io.EOF)
	}) {
		t.Error("one more was served beside the most")
	}
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("not hung up on: %v", err)
		}
	}
}

// TestClosedWhileServing checks that a server that stops does not wait for
// silent peers, and that a client that waits for a server that does not answer
// gets an error.
func TestClosedWhileServing(t *testing.T) {
	s := newServer(t, "")
	s.pend(t, call("a"))
	conn := s.dial(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, conn)
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}

	mute := socket.New(s.state, s.config.Log)
	mute.Handle("", func(ctx context.Context, _ *socket.Peer) { <-ctx.Done() })
	if err := mute.Open(); err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	o, err := List(ctx, s.state, 0)
	if err != nil || o.Servers != 0 || len(o.Silent) != 1 || !strings.Contains(o.Silent[0], "does not answer") {
		t.Errorf("%+v, %v", o, err)
	}
	if time.Since(began) >= answerWithin {
		t.Error("who gave up waited on")
	}
	_, err = Approve(ctx, s.state, 1, false)
	if err == nil || !strings.HasPrefix(err.Error(), "there is no approval 1 where an answer came from; the server of ") {
		t.Errorf("%v", err)
	}
}

// TestManyClients checks that of many concurrent decisions on one approval,
// exactly one succeeds.
func TestManyClients(t *testing.T) {
	s := newServer(t, "")
	other := newServer(t, s.state)
	clients := 50
	if runtime.GOOS == "windows" {
		clients = 10 // in Wine one process answers all queries about processes
	}
	n := s.pend(t, call("a"))
	m := other.pend(t, call("b"))
	var given, denied atomic.Int32
	var mu sync.Mutex
	problems := map[string]int{}
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			_, err := Approve(context.Background(), s.state, n, false)
			if err == nil {
				given.Add(1)
			} else {
				mu.Lock()
				problems[err.Error()]++
				mu.Unlock()
			}
			if i%2 == 0 {
				if _, err := Deny(context.Background(), s.state, m, ""); err == nil {
					denied.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if given.Load() != 1 || denied.Load() != 1 {
		t.Errorf("given %d times, denied %d times", given.Load(), denied.Load())
	}
	if len(problems) != 1 || problems[errApproved(n).Error()] != clients-1 {
		t.Errorf("the others were told %v", problems)
	}
	if s.Take(call("a")) == 0 || s.Take(call("a")) != 0 || other.Take(call("b")) != 0 {
		t.Error("not taken once")
	}
}

// TestManyPending checks that concurrent calls each get their own number.
func TestManyPending(t *testing.T) {
	s := newServer(t, "")
	other := newServer(t, s.state)
	var mu sync.Mutex
	var numbers []int
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			n, err := []*server{s, other}[i%2].Pend(call(fmt.Sprint(i / 4)))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			numbers = append(numbers, n)
			mu.Unlock()
		})
	}
	wg.Wait()
	slices.Sort(numbers)
	if distinct := slices.Compact(numbers); len(distinct) != 20 { // ten calls in each server
		t.Errorf("%d numbers: %v", len(distinct), distinct)
	}
	if o, err := List(t.Context(), s.state, 0); err != nil || len(o.Items) != 20 {
		t.Errorf("%d, %v", len(o.Items), err)
	}
}

func TestReadAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "EOF",
		"{}":                            "EOF",
		"{}\n":                          "EOF",
		"\n":                            "unexpected end of JSON input",
		strings.Repeat("x", maxMessage): "a message is longer than 65536 bytes",
	} {
		_, err := readAnswer(strings.NewReader(text), 100)
		wants(t, err, want)
	}
	if a, err := readAnswer(strings.NewReader("{\"refused\":\n\"x\"}\n\n"), 100); err != nil || a.Refused != "x" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err := readAnswer(endless{}, 1<<20)
	wants(t, err, "the answer is longer than 1048576 bytes")
}

// endless is an answer without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
		if i%60000 == 59999 {
			p[i] = '\n'
		}
	}
	p[0] = ' '
	return len(p), nil
}
