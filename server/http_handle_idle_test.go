package server

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/session"
)

// handleView returns the view of a request with a handle.
func handleView(h string) session.View {
	s := session.New(session.Config{ID: "9", Principal: "p", Stateless: true})
	s.Narrow(h)
	return s.View()
}

// TestHandlesEnd checks that the session of a handle ends when it was not used for long, unless
// its client listens.
func TestHandlesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ended := &Server{}, make(chan string, 10)
		s.SessionEnded = func(v session.View) { ended <- v.Handle }
		s.subscribers.of = map[session.Owner]map[string]func(){}
		s.subscribers.add(handleView("listens").Owner(), "c", func() {})
		use := func(h string) {
			of := session.New(session.Config{ID: "9", Principal: "p", Stateless: true})
			if h != "" {
				of.Narrow(h)
			}
			s.used(of)
		}
		for _, h := range []string{"a", "b", "listens", ""} {
			use(h)
		}
		go s.endIdle(t.Context())
		time.Sleep(sessionIdle - time.Minute)
		use("b")
		synctest.Wait()
		if len(ended) != 0 {
			t.Errorf("%s has ended", <-ended)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(ended) != 1 || <-ended != "a" {
			t.Error("a has not ended, or another one has")
		}
		time.Sleep(sessionIdle)
		synctest.Wait()
		if len(ended) != 1 || <-ended != "b" {
			t.Error("b has not ended, or another one has")
		}
		s.subscribers.add(handleView("listens").Owner(), "c", nil)
		time.Sleep(sessionIdle + time.Minute)
		synctest.Wait()
		if len(ended) != 1 || <-ended != "listens" || len(s.handles.of) != 0 {
			t.Error("the one that listened has not ended")
		}
	})
}

// TestHandlesMany checks that the least recently used session ends when there are too many.
func TestHandlesMany(t *testing.T) {
	var h handles
	at := time.Now()
	for i := range maxSessions {
		if ended := h.use(handleView(fmt.Sprint(i)), at.Add(time.Duration(i))); ended != nil {
			t.Fatalf("%v", ended)
		}
	}
	h.use(handleView("0"), at.Add(maxSessions))
	ended := h.use(handleView("x"), at.Add(maxSessions+1))
	if len(ended) != 1 || ended[0].Handle != "1" || len(h.of) != maxSessions {
		t.Errorf("%d have ended, %d are left", len(ended), len(h.of))
	}
}
