package publish

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failTime is a timeout that only failures reach.
const failTime = time.Minute

// server is a job whose network is made of listeners of this process.
type server struct {
	done chan struct{}
	once sync.Once

	mu    sync.Mutex
	ports map[uint16]string // port of the session to the address that stands for it
}

func newServer() *server { return &server{done: make(chan struct{}), ports: map[uint16]string{}} }

func (s *server) Kind() string          { return "shell" }
func (s *server) Title() string         { return "server" }
func (s *server) Done() <-chan struct{} { return s.done }
func (s *server) Status() task.Status   { return task.Status{State: task.Running} }
func (s *server) Stop(string) error     { s.once.Do(func() { close(s.done) }); return nil }
func (s *server) Output() *spool.Log    { return nil }
func (s *server) Release()              {}
func (s *server) Network() task.Network { return s }

func (s *server) Listening(context.Context) (ports []uint16, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for port := range s.ports {
		ports = append(ports, port)
	}
	slices.Sort(ports)
	return ports, nil
}

func (s *server) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	s.mu.Lock()
	address, ok := s.ports[port]
	s.mu.Unlock()
	if !ok {
		return nil, errors.New("connection refused")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// serve makes the server echo lines on a port, after its name. It returns a function that ends that.
func (s *server) serve(t *testing.T, port uint16, name string) (stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				_, _ = io.WriteString(c, name+"\n")
				_, _ = io.Copy(c, c)
			})
		}
	})
	s.mu.Lock()
	s.ports[port] = l.Addr().String()
	s.mu.Unlock()
	stop = sync.OnceFunc(func() {
		s.mu.Lock()
		delete(s.ports, port)
		s.mu.Unlock()
		_ = l.Close()
	})
	t.Cleanup(func() { stop(); all.Wait() })
	return stop
}

// world is a Publisher with its tasks.
type world struct {
	t *testing.T
	*Publisher
	tasks *task.Registry

	mu       sync.Mutex
	named    []uint16
	asks     bool
	recorded []string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, tasks: task.New(time.Now), asks: true}
	w.Publisher = New(Options{
		Named: func(port uint16) bool { w.mu.Lock(); defer w.mu.Unlock(); return slices.Contains(w.named, port) },
		Asks:  func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.asks },
		Record: func(o session.Owner, _ *task.Task, port, host uint16) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.recorded = append(w.recorded, fmt.Sprintf("%s %d %v", o.Session, port, port == host))
		},
		Events: event.New(),
	})
	w.tasks.OnAdd = w.Watch
	t.Cleanup(func() {
		for _, task := range w.tasks.All() {
			_ = task.Stop("the test")
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) name(ports ...uint16) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.named = ports
}

func (w *world) add(o session.Owner, s *server) *task.Task {
	w.t.Helper()
	t, err := w.tasks.Add(o, s)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// event waits for the events of an owner and returns their texts.
func (w *world) event(o session.Owner) (texts []string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), failTime)
	defer cancel()
	if err := w.Events.Wait(ctx, o); err != nil {
		w.t.Fatal("no event:", err)
	}
	list, _ := w.Events.Take(o)
	for _, e := range list {
		texts = append(texts, e.Text)
	}
	return texts
}

// freePort returns a port of this machine that no program uses and that the kernel does not choose.
func freePort(t *testing.T) uint16 {
	t.Helper()
	for port := 20000; port < firstEphemeral; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			defer l.Close()
			return uint16(port)
		}
	}
	t.Fatal("no port is free")
	return 0
}

// greet connects to a port of this machine and returns the name of the server.
func greet(t *testing.T, port uint16) (string, net.Conn) {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return "", nil
	}
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line), c
}

// closed waits until nothing listens on a port of this machine.
func closed(t *testing.T, port uint16) {
	t.Helper()
	for deadline := time.Now().Add(failTime); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatalf("port %d is still open", port)
		}
	}
}

var me, other = session.Owner{Session: "me"}, session.Owner{Session: "other"}

// TestAgree checks a port that the user agrees to: it is reported, published, closed with its task,
// and open again with the next task of the session, but not of another.
func TestAgree(t *testing.T) {
	w, port := newWorld(t), freePort(t)
	s := newServer()
	stop := s.serve(t, port, "one")
	first := w.add(me, s)
	want := fmt.Sprintf(`port %d is of this session: its commands and WebFetch reach it, the browser of the user on this machine does not; PublishPort {"port":%[1]d} asks the user to publish it there`, port)
	if got := w.event(me); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q", got)
	}
	if ask, refused := w.Question(me, port); !ask || refused {
		t.Errorf("%v, %v", ask, refused)
	}
	if name, _ := greet(t, port); name != "" {
		t.Fatal("it is published")
	}
	host, err := w.Agree(t.Context(), me, port, w.tasks.List(me))
	if err != nil || host != port {
		t.Fatalf("%d, %v", host, err)
	}
	if ask, refused := w.Question(me, port); ask || refused {
		t.Error("the user would be asked again")
	}
	if ask, _ := w.Question(other, port); !ask {
		t.Error("it holds for another session")
	}
	name, long := greet(t, port)
	if name != "one" {
		t.Fatalf("it is %q", name)
	}
	defer long.Close()
	if notes := w.Notes(t.Context(), first); !slices.Equal(notes, []string{fmt.Sprintf("port %d is published: on this machine the user opens http://localhost:%[1]d/", port)}) {
		t.Errorf("got %q", notes)
	}
	// The server starts again.
	stop()
	if name, c := greet(t, port); name != "" || c == nil {
		t.Errorf("without a server: %q, %v", name, c)
	}
	s.serve(t, port, "again")
	if name, c := greet(t, port); name != "again" {
		t.Errorf("after a restart: %q", name)
	} else {
		c.Close()
	}
	_ = first.Stop("the test")
	closed(t, port)
	if _, err := io.Copy(io.Discard, long); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error("the connection goes on:", err)
	}
	s = newServer()
	s.serve(t, port, "two")
	second := w.add(me, s)
	if got := w.event(me); len(got) != 1 || !strings.Contains(got[0], "is published") {
		t.Errorf("got %q", got)
	}
	if name, c := greet(t, port); name != "two" {
		t.Errorf("it is %q", name)
	} else {
		c.Close()
	}
	// A port of the machine that is in use, here by the other session, is not taken.
	s = newServer()
	s.serve(t, port, "three")
	w.add(other, s)
	w.event(other)
	host, err = w.Agree(t.Context(), other, port, w.tasks.List(other))
	if err != nil || host == 0 || host == port {
		t.Fatalf("%d, %v", host, err)
	}
	if name, c := greet(t, host); name != "three" {
		t.Errorf("it is %q", name)
	} else {
		c.Close()
	}
	_ = second.Stop("the test")
	closed(t, port)
	w.Forget(me)
	if ask, _ := w.Question(me, port); !ask {
		t.Error("the agreement outlives the session")
	}
}

// TestAgreeEarly checks an agreement before anything listens.
func TestAgreeEarly(t *testing.T) {
	w, port, s := newWorld(t), freePort(t), newServer()
	w.add(me, s)
	if host, err := w.Agree(t.Context(), me, port, w.tasks.List(me)); host != 0 || err != nil {
		t.Errorf("%d, %v", host, err)
	}
	s.serve(t, port, "late")
	if got := w.event(me); len(got) != 1 || !strings.Contains(got[0], "is published") {
		t.Errorf("got %q", got)
	}
	if name, c := greet(t, port); name != "late" {
		t.Errorf("it is %q", name)
	} else {
		c.Close()
	}
}

// TestNamed checks ports that the settings name, and that stop being named.
func TestNamed(t *testing.T) {
	w, s := newWorld(t), newServer()
	port := freePort(t)
	taken, err := net.Listen("tcp", fmt.Sprintf("[::1]:%d", port))
	if err == nil {
		defer taken.Close()
	}
	w.name(port)
	s.serve(t, port, "named")
	s.serve(t, 50000, "of a test")
	w.add(me, s)
	got := w.event(me)
	if len(got) != 1 || !strings.Contains(got[0], "is published") {
		t.Fatalf("got %q", got)
	}
	if err == nil && !strings.HasPrefix(got[0], fmt.Sprintf("port %d is published as port ", port)) {
		t.Errorf("a port of ::1 counts as free: %q", got)
	}
	host := w.published(service{me, port})
	if name, c := greet(t, host); name != "named" {
		t.Errorf("it is %q", name)
	} else {
		c.Close()
	}
	w.mu.Lock()
	if len(w.recorded) != 1 || !strings.HasPrefix(w.recorded[0], fmt.Sprintf("me %d ", port)) {
		t.Errorf("recorded %q", w.recorded)
	}
	w.asks = false
	w.mu.Unlock()
	w.name()
	if got := w.event(me); len(got) != 1 || !strings.HasSuffix(got[0], "the user can add ports to sandbox.publish in the settings") {
		t.Errorf("got %q", got)
	}
	closed(t, host)
	if ask, refused := w.Question(me, port); ask || !refused {
		t.Errorf("%v, %v", ask, refused)
	}
}

// TestList checks how notes name several ports.
func TestList(t *testing.T) {
	for want, ports := range map[string][]uint16{
		"1 and 2": {1, 2}, "1, 2 and 3": {1, 2, 3}, "1, 2, 3, 4 and 5": {1, 2, 3, 4, 5}, "1, 2, 3, 4, 5 and 2 more": {1, 2, 3, 4, 5, 6, 7},
	} {
		if got := list(ports); got != want {
			t.Errorf("%v: %q", ports, got)
		}
	}
}

// TestClose checks that nothing listens after Close, and that nothing is published later.
func TestClose(t *testing.T) {
	w, s, port := newWorld(t), newServer(), freePort(t)
	w.name(port)
	s.serve(t, port, "named")
	w.add(me, s)
	w.event(me)
	host := w.published(service{me, port})
	_, c := greet(t, host)
	if c == nil {
		t.Fatal("it is not published")
	}
	defer c.Close()
	_ = w.Close()
	if name, _ := greet(t, host); name != "" {
		t.Error("it is still published")
	}
	if host, _ := w.Agree(t.Context(), me, port, w.tasks.List(me)); host != 0 {
		t.Error("it is published again")
	}
}

// TestTold checks that a session hears of a port once, by an event or by an answer, and that no event
// is lost for a later one.
func TestTold(t *testing.T) {
	w, s := newWorld(t), newServer()
	s.serve(t, 20001, "one")
	task := w.add(me, s)
	w.wait(func() bool { return w.Events.Pending(me) })
	s.serve(t, 20002, "two")
	w.wait(func() bool {
		w.reports.Lock() // until the event is added
		defer w.reports.Unlock()
		w.Publisher.mu.Lock()
		defer w.Publisher.mu.Unlock()
		return len(w.told[task]) == 2
	})
	if got := w.event(me); len(got) != 2 || !strings.HasPrefix(got[0], "port 20001 is") || !strings.HasPrefix(got[1], "port 20002 is") {
		t.Errorf("got %q", got)
	}
	s.serve(t, 20003, "three")
	if notes := w.Notes(t.Context(), task); len(notes) != 1 || !strings.HasPrefix(notes[0], "ports 20001, 20002 and 20003 are of this session") {
		t.Errorf("got %q", notes)
	}
	w.look(task, s)
	if w.Events.Pending(me) {
		t.Error("the session hears of it twice")
	}
	_ = task.Stop("the test")
	w.wait(func() bool { w.Publisher.mu.Lock(); defer w.Publisher.mu.Unlock(); return len(w.told) == 0 })
}

// wait waits until f returns true.
func (w *world) wait(f func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(failTime); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatal("it does not happen")
		}
	}
}
