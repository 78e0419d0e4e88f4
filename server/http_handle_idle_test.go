package server

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/identity"
	"mcp-toolset/session"
)

// keptView returns the view of a session with a handle.
func keptView(h string) session.View { return keptConv(h).session.View() }

func keptConv(h string) *conversation {
	s := session.New(session.Config{ID: "9", Principal: "p", Stateless: true})
	s.Narrow(h)
	return &conversation{session: s, asked: newQuestions()}
}

// TestHandlesEnd checks that the session of a handle ends when it was not used for long, unless
// its client listens or a request is in progress.
func TestHandlesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h handles
		use := func(name string, ends bool) {
			key := handleKey{handle: name}
			h.enter(key, identity.Principal{}, maxSessions, time.Now(), func() *conversation { return keptConv(name) })
			if ends {
				h.leave(key, time.Now())
			}
		}
		listening := true
		idle := func() (names []string) {
			for _, c := range h.idle(time.Now(), func(o session.Owner) bool { return listening && o == keptView("listens").Owner() }) {
				names = append(names, c.session.View().Handle)
			}
			return names
		}
		for _, name := range []string{"a", "b", "listens"} {
			use(name, true)
		}
		use("runs", false)
		time.Sleep(sessionIdle - time.Minute)
		use("b", true)
		if got := idle(); got != nil {
			t.Errorf("ended: %v", got)
		}
		time.Sleep(2 * time.Minute)
		if got := fmt.Sprint(idle()); got != "[a]" {
			t.Errorf("ended: %s", got)
		}
		time.Sleep(sessionIdle)
		if got := fmt.Sprint(idle()); got != "[b]" {
			t.Errorf("ended: %s", got)
		}
		listening = false
		h.leave(handleKey{handle: "runs"}, time.Now())
		time.Sleep(sessionIdle)
		if got := idle(); len(got) != 2 || len(h.of) != 0 {
			t.Errorf("ended: %v", got)
		}
	})
}

// TestHandlesMany checks that the least recently used session ends when there are too many.
func TestHandlesMany(t *testing.T) {
	var h handles
	at := time.Now()
	enter := func(name string, i int) []*conversation {
		key := handleKey{handle: name}
		_, ended := h.enter(key, identity.Principal{ID: "http"}, maxSessions, at.Add(time.Duration(i)), func() *conversation { return keptConv(name) })
		if name != "1" { // which is in use
			h.leave(key, at.Add(time.Duration(i)))
		}
		return ended
	}
	for i := range maxSessions {
		if ended := enter(fmt.Sprint(i), i); ended != nil {
			t.Fatalf("%v", ended)
		}
	}
	enter("0", maxSessions)
	if _, ended := h.enter(handleKey{principal: "token:b", handle: "x"}, identity.Principal{ID: "token:b"}, 1, at, func() *conversation { return keptConv("x") }); ended != nil {
		t.Error("the session of another principal has ended")
	}
	ended := enter("x", maxSessions+1)
	if len(ended) != 1 || ended[0].session.View().Handle != "2" || len(h.of) != maxSessions+1 {
		t.Errorf("%d have ended, %d are left", len(ended), len(h.of))
	}
}
