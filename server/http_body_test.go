package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"mcp-toolset/internal/identity"
)

// left returns the free room in bytes.
func (m *bodyBudget) left() (small, large int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.small, m.large
}

// TestBody checks that a body of any size is read completely, takes room of its
// size while it is in use, and none afterwards.
func TestBody(t *testing.T) {
	const small, large = 1 << 20, 64 << 20
	for _, size := range []int{0, 1, firstBody - 1, firstBody, firstBody + 1, smallBody, smallBody + 1, 1<<20 + 1, maxBody} {
		text := bytes.Repeat([]byte("x"), size)
		for name, expected := range map[string]int64{"known": int64(size), "unknown": -1, "less": int64(size / 2)} {
			for _, r := range []io.Reader{bytes.NewReader(text), iotest.HalfReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))} {
				m := newBodyBudget(small, large)
				b := &body{budget: m}
				if err := b.readFrom(r, expected); err != nil || !bytes.Equal(b.data, text) {
					t.Fatalf("%d bytes, %s: %d, %v", size, name, len(b.data), err)
				}
				s, l := m.left()
				taken, most := small-s+large-l, 2*size+firstBody
				if name == "known" {
					most = max(size+1, firstBody)
				}
				if taken < size || taken > most {
					t.Errorf("%d bytes, %s: take %d, at most %d", size, name, taken, most)
				}
				b.release()
				if s, l := m.left(); s != small || l != large {
					t.Errorf("%d bytes, %s: %d and %d are left behind them", size, name, s, l)
				}
			}
		}
	}
}

// fill takes the room for larger bodies, except but bytes.
func fill(t *testing.T, m *bodyBudget, but int) {
	t.Helper()
	if _, large := m.left(); !m.acquire(large - but) {
		t.Fatal("there is less room than is left")
	}
}

// announce sends the header of a request and the beginning of its body.
func announce(t *testing.T, w *web, size int, begin string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, _ = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		goodToken, size, begin)
	return conn
}

// TestNoRoom checks that a request without room is refused with a request to
// retry. Small messages pass beside large ones, and a refused request holds no
// room.
func TestNoRoom(t *testing.T) {
	s, _ := newServer(t, time.Second)
	s.bodies = newBodyBudget(1<<20, 32<<20)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	session := w.session()
	fill(t, s.bodies, 2*smallBody)
	small, large := s.bodies.left()
	ping := func(pad int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"pad":"` + strings.Repeat("x", pad) + `"}}`
	}
	status, header, body := w.do("POST", w.url, ping(8*smallBody), session)
	const want = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"requests in progress take all the memory there is for them; send this one again when some are answered"}}` + "\n"
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") != "1" || body != want {
		t.Errorf("no room: %d, Retry-After %q, %s", status, header.Get("Retry-After"), body)
	}
	if s, l := s.bodies.left(); s != small || l != large {
		t.Errorf("what was refused holds %d and %d bytes", small-s, large-l)
	}
	// A client that stops sending is not waited for.
	for _, size := range []int{5 * smallBody, 8 * smallBody, maxBody} {
		conn := announce(t, w, size, strings.Repeat(" ", 4*smallBody))
		_ = conn.SetDeadline(time.Now().Add(deadline / 2)) // well below the body's own timeout
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		answer, err := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusServiceUnavailable || !resp.Close || err != nil || string(answer) != want {
			t.Errorf("%d bytes: %d, %s, %v", size, resp.StatusCode, answer, err)
		}
	}
	fill(t, s.bodies, 0)
	if status, _, body := w.do("POST", w.url, ping(10), session); status != http.StatusOK {
		t.Errorf("a small one: %d %s", status, body)
	}
	s.bodies.release(32 << 20)
	if status, _, body := w.do("POST", w.url, ping(8*smallBody), session); status != http.StatusOK {
		t.Errorf("with room: %d %s", status, body)
	}
}

// TestAnnouncedBodies checks that bodies that are announced and not sent use
// almost no room, and that one announced as too long is refused at once.
func TestAnnouncedBodies(t *testing.T) {
	s, _ := newServer(t, time.Second)
	s.bodies = newBodyBudget(1<<20, 64<<20)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	small, large := s.bodies.left()
	const clients, sent = 50, 5000
	for range clients {
		announce(t, w, maxBody, strings.Repeat(" ", sent))
	}
	for end := time.Now().Add(deadline); ; <-time.After(time.Millisecond) {
		s, l := s.bodies.left()
		if l != large || small-s > clients*2*sent {
			t.Fatalf("%d bytes each of %d are held for %d that came", (small-s+large-l)/clients, maxBody, sent)
		}
		if small-s == clients*2*firstBody {
			break // all sent bytes have arrived
		}
		if time.Now().After(end) {
			t.Fatalf("only %d bytes are held", small-s)
		}
	}
	conn := announce(t, w, maxBody+1, "")
	_ = conn.SetDeadline(time.Now().Add(deadline / 2))
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 413") {
		t.Errorf("announced too long: %.80q, %v", answer, err)
	}
}

// TestManyLargeBodies checks that the memory of 100 clients that send large
// bodies at once is limited by the room.
func TestManyLargeBodies(t *testing.T) {
	const clients, fit = 100, 8
	g := newGate()
	s, _ := newServer(t, time.Second, g.tool("Wait", true))
	room := fit*largeBody + largeBody/2 // one that grows needs some more
	s.bodies = newBodyBudget(clients*smallBody, room)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	w.client.Timeout = 0 // sending has no limit
	head := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Wait","arguments":{"name":"x"},` + modernMeta + `,"pad":"`
	const tail = `"}}`
	pad := strings.Repeat("x", largeBody-len(head)-len(tail)) // one for all: this is not the clients' memory
	runtime.GC()
	before, peak := heap(), int64(0)
	var served, refused, broken atomic.Int64
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer close(g.open)
		for end := time.Now().Add(10 * deadline); refused.Load()+broken.Load()+int64(len(g.starts())) < clients && time.Now().Before(end); {
			<-time.After(time.Millisecond)
			peak = max(peak, heap()-before)
		}
	}()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			r, _ := http.NewRequest("POST", w.url, io.MultiReader(strings.NewReader(head), strings.NewReader(pad), strings.NewReader(tail)))
			r.ContentLength = int64(largeBody)
			for _, h := range append(modern("tools/call", "Wait"), "Authorization: Bearer "+goodToken, "Content-Type: application/json") {
				name, value, _ := strings.Cut(h, ": ")
				r.Header.Set(name, value)
			}
			resp, err := w.client.Do(r)
			if err != nil {
				broken.Add(1) // disconnected while it was sending
				return
			}
			_ = resp.Body.Close()
			switch resp.StatusCode {
			case http.StatusOK:
				served.Add(1)
			case http.StatusServiceUnavailable:
				refused.Add(1)
			default:
				t.Errorf("status %d", resp.StatusCode)
			}
		})
	}
	all.Wait()
	<-watched
	t.Logf("%d served, %d refused, %d broken off, at most %d MB", served.Load(), refused.Load(), broken.Load(), peak>>20)
	if served.Load() < 1 || refused.Load() < 1 {
		t.Errorf("%d served, %d refused, %d broken off", served.Load(), refused.Load(), broken.Load())
	}
	// Garbage may be as large as the memory in use, which holds each message as received,
	// and some while they are parsed.
	if most := int64(5*room + 32<<20); peak > most {
		t.Errorf("the heap has grown by %d MB, at most %d expected for %d MB of bodies", peak>>20, most>>20, clients*largeBody>>20)
	}
}
