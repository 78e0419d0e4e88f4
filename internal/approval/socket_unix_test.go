//go:build unix

package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/state"
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
	wants(t, err, "approval 1 was given already; the same call has to be sent again")
	if o, err = List(t.Context(), s.state, n); err != nil || !o.Items[0].Approved || !o.Items[0].Ends.Equal(now.Add(GrantedFor)) {
		t.Errorf("%+v, %v", o, err)
	}
	if !s.Take(r) {
		t.Error("not taken")
	}
	_, err = Approve(t.Context(), s.state, n, true)
	wants(t, err, "approval 1 was approved, and the call was sent again; none is pending")

	m, l := s.pend(t, call("b")), s.pend(t, call("c"))
	if _, err := Deny(t.Context(), s.state, m); err != nil {
		t.Fatal(err)
	}
	_, err = Deny(t.Context(), s.state, m)
	wants(t, err, fmt.Sprintf("approval %d was denied; pending: %d", m, l))
	s.pend(t, call("d"))
	_, err = List(t.Context(), s.state, 99)
	wants(t, err, "there is no approval 99; pending: 3, 4")
	if _, err := Approve(t.Context(), s.state, l, true); err != nil || !s.allows(call("c")) {
		t.Errorf("not allowed for always: %v", err)
	}
	// One that was given once can still be given for always.
	if _, err := Approve(t.Context(), s.state, 4, false); err != nil {
		t.Fatal(err)
	}
	if _, err := Approve(t.Context(), s.state, 4, true); err != nil || !s.allows(call("d")) {
		t.Errorf("not allowed for always: %v", err)
	}
}

// A person sees all of the longest input, and of many.
func TestWhole(t *testing.T) {
	s := newServer(t, "")
	var all []Request
	for i := range 5 {
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
		t.Fatalf("%d, %v", len(o.Items), err)
	}
	for i, item := range o.Items {
		if string(item.Input) != string(all[i].Input) {
			t.Errorf("the input of %d has %d bytes, want %d", i, len(item.Input), len(all[i].Input))
		}
	}
}

func TestModes(t *testing.T) {
	s := newServer(t, "")
	s.pend(t, call("a"))
	socket, err := socketOf(s.door.folder)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{
		s.state: 0o700, s.folder: 0o700, s.door.folder: 0o700, socket: 0o600, filepath.Join(s.folder, counterName): 0o600,
	} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left := servers(t, s.folder); len(left) > 0 {
		t.Errorf("closing left %v", left)
	}
	_, err = s.Pend(call("b"))
	wants(t, err, "the server is stopping")
	_, err = Approve(t.Context(), s.state, 1, false)
	wants(t, err, ErrNoServer.Error())
}

// servers lists what servers have in the folder of approvals.
func servers(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), state.LockExt); len(name) == nameLength {
			names = append(names, e.Name())
		}
	}
	return names
}

// Without a server there is nothing to decide on, and nothing is made.
func TestNoServer(t *testing.T) {
	dir := filepath.Join(shortDir(t), "state")
	o, err := List(t.Context(), dir, 0)
	if err != nil || len(o.Items) > 0 || o.Servers != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	_, err = Deny(t.Context(), dir, 1)
	wants(t, err, ErrNoServer.Error())
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the state folder was made")
	}
	if err := os.MkdirAll(folderOf(dir), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folderOf(dir), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = Approve(t.Context(), dir, 1, false)
	wants(t, err, "looking for servers: "+folderOf(dir)+" is not a private folder of this user")
}

// Servers of one user have numbers of their own, and a person one list.
func TestTwoServers(t *testing.T) {
	s := newServer(t, "")
	other := startServer(t, s.state)
	if n := s.pend(t, call("a")); n != 1 {
		t.Errorf("number %d", n)
	}
	if got := other.say("pend", call("a")); got != "2 <nil>" { // the same call, but of another server
		t.Errorf("the other server answers %s", got)
	}
	o, err := List(t.Context(), s.state, 0)
	if err != nil || o.Servers != 2 || len(o.Items) != 2 || o.Items[0].Server != "/work" || o.Items[1].Server != "child" || o.Items[1].Process != other.cmd.Process.Pid {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := Approve(t.Context(), s.state, 2, false); err != nil {
		t.Fatal(err)
	}
	if s.Take(call("a")) {
		t.Error("an approval of one server was taken in another")
	}
	if got := other.say("take", call("a")); got != "true" {
		t.Errorf("the other server answers %s", got)
	}
	if got := other.say("pend", call("b")); got != "3 <nil>" {
		t.Errorf("the other server answers %s", got)
	}
	if _, err := Deny(t.Context(), s.state, 3); err != nil {
		t.Fatal(err)
	}
	if got := other.say("declined", call("b")); got != "true" {
		t.Errorf("the other server answers %s", got)
	}
	if _, err := Lift(t.Context(), s.state, 3); err != nil {
		t.Fatal(err)
	}
	if got := other.say("declined", call("b")); got != "false" {
		t.Errorf("the other server answers %s", got)
	}
	_, err = Deny(t.Context(), s.state, 3)
	wants(t, err, "approval 3 was denied; pending: 1")
	other.end()
	if left := servers(t, s.folder); len(left) != 2 { // ours, and its lock
		t.Errorf("a server that ended left %v", left)
	}
	// One that starts anew knows nothing of before.
	again := startServer(t, s.state)
	if got := again.say("pend", call("c")); got != "4 <nil>" {
		t.Errorf("the server answers %s", got)
	}
	_, err = Approve(t.Context(), s.state, 2, false)
	wants(t, err, "there is no approval 2; pending: 1, 4")
}

// Should two have one number after all, nobody decides on both.
func TestSameNumber(t *testing.T) {
	s := newServer(t, "")
	other := newServer(t, s.state)
	s.pend(t, call("a"))
	other.pend(t, call("b"))
	other.items[0].number = 1
	_, err := Approve(t.Context(), s.state, 1, false)
	wants(t, err, "2 servers have an approval 1; stop one of them")
	if s.Take(call("a")) || other.Take(call("b")) {
		t.Error("granted")
	}
}

// What a server that was killed left is passed over, and swept by the next.
func TestKilled(t *testing.T) {
	for name, dir := range map[string]string{"short": "s", "long": strings.Repeat("long/", 25) + "s"} {
		t.Run(name, func(t *testing.T) {
			folder, temp := filepath.Join(shortDir(t), dir), shortDir(t)
			t.Setenv("TMPDIR", temp)
			dead := startServer(t, folder)
			if got := dead.say("pend", call("a")); got != "1 <nil>" {
				t.Fatalf("the server answers %s", got)
			}
			_ = dead.cmd.Process.Kill()
			dead.end()
			if left := servers(t, folderOf(folder)); len(left) != 2 {
				t.Errorf("a server that was killed left %v", left)
			}
			if o, err := List(t.Context(), folder, 0); err != nil || o.Servers != 0 || len(o.Silent) > 0 {
				t.Errorf("%+v, %v", o, err)
			}
			_, err := Approve(t.Context(), folder, 1, false)
			wants(t, err, ErrNoServer.Error())
			s := newServer(t, folder)
			living := newServer(t, folder)
			living.pend(t, call("c"))
			s.pend(t, call("b"))
			if left := servers(t, s.folder); len(left) != 4 {
				t.Errorf("there is %v", left)
			}
			for _, one := range []*server{s, living} {
				if err := one.Close(); err != nil {
					t.Error(err)
				}
			}
			entries, err := os.ReadDir(temp)
			if err != nil || len(entries) > 0 {
				t.Errorf("in the folder for temporary files: %v, %v", entries, err)
			}
		})
	}
}

// Where the state folder's path is too long for a socket it is elsewhere, as
// private.
func TestLongPath(t *testing.T) {
	temp := shortDir(t)
	t.Setenv("TMPDIR", temp)
	s := newServer(t, filepath.Join(shortDir(t), strings.Repeat("long/", 25)+"s"))
	n := s.pend(t, call("a"))
	if info, err := os.Lstat(s.door.temp); err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(s.door.temp) != temp {
		t.Fatalf("%s: %v, %v", s.door.temp, info, err)
	}
	if _, err := Approve(t.Context(), s.state, n, false); err != nil || !s.Take(call("a")) {
		t.Errorf("%v", err)
	}
	// Nobody is led elsewhere.
	at := filepath.Join(s.door.folder, pointerName)
	for _, path := range []string{temp + "/other/s", s.door.temp + "/other", "s", s.door.temp + "/../s", ""} {
		if err := os.WriteFile(at, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := socketOf(s.door.folder); err == nil {
			t.Errorf("%q leads to %q", path, got)
		}
	}
	if err := os.WriteFile(at, []byte(filepath.Join(s.door.temp, socketName)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.door.temp, 0o711); err != nil {
		t.Fatal(err)
	}
	o, err := List(t.Context(), s.state, 0)
	if err != nil || len(o.Silent) != 1 || !strings.HasSuffix(o.Silent[0], s.door.temp+" is not a private folder of this user") {
		t.Errorf("%+v, %v", o, err)
	}

	t.Setenv("TMPDIR", filepath.Join(temp, strings.Repeat("long/", 25)))
	if err := os.MkdirAll(os.TempDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	nowhere := newServer(t, s.state)
	if _, err := nowhere.Pend(call("a")); err == nil || !strings.Contains(err.Error(), "too long for the path of a socket; set MCP_TOOLSET_STATE_DIR or TMPDIR to a shorter one") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// Who removes the state folder while a server runs costs it what was pending
// there, and no more.
func TestStateRemoved(t *testing.T) {
	s := newServer(t, "")
	s.pend(t, call("a"))
	if err := os.RemoveAll(s.state); err != nil {
		t.Fatal(err)
	}
	n := s.pend(t, call("b"))
	if n != 2 {
		t.Errorf("number %d", n)
	}
	if _, err := Approve(t.Context(), s.state, n, false); err != nil || !s.Take(call("b")) {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(s.state); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// dial connects to a server's socket.
func (s *server) dial(t *testing.T) net.Conn {
	t.Helper()
	path, err := socketOf(s.door.folder)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", path)
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
		a, err := readAnswer(conn)
		if err != nil || a.Refused != want {
			t.Errorf("%.50q: %+v, %v, want %q", message, a, err, want)
		}
		conn.Close()
	}
	if s.Take(call("a")) {
		t.Error("granted")
	}
	// Half a message is none.
	conn := s.dial(t)
	if _, err := io.WriteString(conn, `{"do":"approve","number":1}`); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if a, err := readAnswer(conn); err != nil || a.Refused == "" || s.Take(call("a")) {
		t.Errorf("%+v, %v", a, err)
	}
}

// A peer that says nothing is hung up on; more than the most at once wait.
func TestSilentPeers(t *testing.T) {
	s := newServer(t, "")
	n := s.pend(t, call("a"))
	var conns []net.Conn
	for range maxConnections {
		conns = append(conns, s.dial(t))
	}
	began := time.Now()
	if _, err := Approve(t.Context(), s.state, n, false); err != nil {
		t.Errorf("%v", err)
	}
	if waited := time.Since(began); waited < connectionFor/2 {
		t.Errorf("the next was served after %v", waited)
	}
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("not hung up on: %v", err)
		}
	}
}

// A server that stops does not wait for who says nothing, and who waits for a
// server that does not answer is told.
func TestClosedWhileServing(t *testing.T) {
	s := newServer(t, "")
	s.pend(t, call("a"))
	conn := s.dial(t)
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if waited := time.Since(began); waited > connectionFor {
		t.Errorf("closing took %v", waited)
	}
	_, _ = io.Copy(io.Discard, conn)
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}

	mute, err := newDoor(filepath.Join(s.folder, strings.Repeat("A", nameLength)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mute.remove() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	o, err := List(ctx, s.state, 0)
	if err != nil || o.Servers != 0 || len(o.Silent) != 1 || !strings.Contains(o.Silent[0], "does not answer") {
		t.Errorf("%+v, %v", o, err)
	}
	_, err = Approve(ctx, s.state, 1, false)
	if err == nil || !strings.HasPrefix(err.Error(), "there is no approval 1 where an answer came from; the server of ") {
		t.Errorf("%v", err)
	}
}

// Of many who decide on one approval at once, one does.
func TestManyClients(t *testing.T) {
	s := newServer(t, "")
	other := newServer(t, s.state)
	n := s.pend(t, call("a"))
	m := other.pend(t, call("b"))
	var given, denied atomic.Int32
	var mu sync.Mutex
	problems := map[string]int{}
	var wg sync.WaitGroup
	for i := range 50 {
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
				if _, err := Deny(context.Background(), s.state, m); err == nil {
					denied.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if given.Load() != 1 || denied.Load() != 1 {
		t.Errorf("given %d times, denied %d times", given.Load(), denied.Load())
	}
	if len(problems) != 1 || problems[errApproved(n).Error()] != 49 {
		t.Errorf("the others were told %v", problems)
	}
	if !s.Take(call("a")) || s.Take(call("a")) || other.Take(call("b")) {
		t.Error("not taken once")
	}
}

// All at once: what is pending gets numbers of its own, one to a call.
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
	if distinct := slices.Compact(numbers); len(distinct) != 20 { // ten calls in each
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
		_, err := readAnswer(strings.NewReader(text))
		wants(t, err, want)
	}
	if a, err := readAnswer(strings.NewReader("{\"refused\":\n\"x\"}\n\n")); err != nil || a.Refused != "x" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err := readAnswer(endless{})
	wants(t, err, fmt.Sprintf("the answer is longer than %d bytes", maxAnswer))
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
