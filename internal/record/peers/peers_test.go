package peers

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/session"
)

// of returns the view of a session of a principal.
func of(principal, id, client string) session.View {
	s := session.New(session.Config{ID: id, Principal: principal, Roots: []string{"/src"}})
	s.SetClient(client)
	return s.View()
}

// handle returns the view of a request with a handle.
func handle(h string) session.View {
	s := session.New(session.Config{ID: "9", Principal: "p", Stateless: true})
	s.Narrow(h)
	return s.View()
}

// shown returns the names that a session sees.
func shown(t *testing.T, r *Registry, v session.View) string {
	t.Helper()
	all, err := r.List(v)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

// refused checks an error.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New("", nil)
		for i, c := range []struct{ client, want string }{
			{"claude-code", "claude-code-1"}, {"claude-code", "claude-code-2"}, {"", "session-3"}, {"Ünï cödé!\n", "n-c-d-4"},
			{strings.Repeat("x", 100), strings.Repeat("x", 40) + "-5"}, {"!", "session-6"},
		} {
			v := of("p", fmt.Sprint(i), c.client)
			r.Use(v)
			if got := shown(t, r, v); !strings.HasPrefix(got+" ", c.want+" ") || !ValidName(c.want) {
				t.Errorf("%q is %s, want %s", c.client, got, c.want)
			}
		}
		// Others are sorted by their last use, and by name if that is equal.
		time.Sleep(time.Second)
		r.Use(of("p", "2", ""))
		r.End(of("p", "5", "").Owner())
		if got := shown(t, r, of("p", "0", "")); got != "claude-code-1 session-3 claude-code-2 n-c-d-4 "+strings.Repeat("x", 40)+"-5" {
			t.Errorf("it sees %s", got)
		}
		if all, _ := r.List(of("p", "8", strings.Repeat("é", 500))); all[0].Client != strings.Repeat("é", 20) {
			t.Errorf("the client is %q", all[0].Client)
		}
		r.End(of("p", "8", "").Owner())
		// A name is not used again.
		if got := shown(t, r, of("p", "7", "claude-code")); !strings.HasPrefix(got, "claude-code-8 ") {
			t.Errorf("a new session is %s", got)
		}
		// Another principal sees nothing of these.
		if got := shown(t, r, of("q", "0", "claude-code")); got != "claude-code-1" {
			t.Errorf("another principal sees %s", got)
		}
		_, err := r.Send(of("q", "0", ""), "claude-code-2", "x")
		refused(t, err, "there is no session or team claude-code-2, as this server has no other session. Go on without it; only the clients of one HTTP server reach each other.")
	})
}

func TestGivenName(t *testing.T) {
	long := strings.Repeat("n", MaxName)
	r := New(long, nil)
	if got, want := shown(t, r, of("", "1", "c"))+" "+strings.Fields(shown(t, r, of("", "2", "c")))[0], long+" "+long[:62]+"-1"; got != want {
		t.Errorf("the names are %s, want %s", got, want)
	}
	r.End(of("", "1", "").Owner())
	// Messages to the first session do not reach another one.
	if got := shown(t, r, of("", "3", "c")); got != long[:62]+"-2 "+long[:62]+"-1" {
		t.Errorf("after the end of the first: %s", got)
	}
	for name, want := range map[string]bool{"a": true, "Team_1-x": true, long: true, "": false, long + "n": false, "a b": false, "é": false, "a\n": false} {
		if ValidName(name) != want {
			t.Errorf("%q is valid: %v", name, !want)
		}
	}
}

// TestFolder checks that a session sees the folder of another only if it is its own too.
func TestFolder(t *testing.T) {
	r := New("", nil)
	r.Use(of("", "1", "a"))
	if all, _ := r.List(of("", "2", "b")); all[1].Folder != "/src" || !all[0].You || all[1].You || all[1].Client != "a" {
		t.Errorf("%+v", all)
	}
	if all, _ := r.List(session.New(session.Config{ID: "3", Roots: []string{"/other"}}).View()); all[1].Folder != "" || all[2].Folder != "" {
		t.Errorf("%+v", all)
	}
}

func TestSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := event.New()
		r := New("", events)
		a, b := of("p", "1", "a"), of("p", "2", "b")
		r.Use(b)
		time.Sleep(90 * time.Second)
		s, err := r.Send(a, "b-1", "hello")
		if err != nil || s.From != "a-2" || len(s.To) != 1 || s.To[0] != "b-1" || s.Idle != 90*time.Second || s.Team != "" {
			t.Errorf("%+v, %v", s, err)
		}
		got, _ := events.Take(b.Owner())
		if len(got) != 1 || got[0].Source != "session a-2" || got[0].Text != "hello" || !got[0].Data {
			t.Errorf("%+v", got)
		}
		_, err = r.Send(a, "a-2", "x")
		refused(t, err, "a-2 is this session. Name another one; ListSessions shows them.")
		_, err = r.Send(a, "c\n", "x")
		refused(t, err, `there is no session or team "c\n". The only other session is b-1.`)
		r.Use(of("p", "3", "c"))
		_, err = r.Send(a, "x", "x")
		refused(t, err, `there is no session or team x. Use one of c-3, b-1.`)
		for i := range 5 {
			r.Use(of("p", fmt.Sprint(10+i), "d"))
		}
		_, err = r.Send(a, "x", "x")
		refused(t, err, `there is no session or team x. Use one of c-3, d-4, d-5, d-6, d-7; ListSessions shows all.`)
		r.End(b.Owner())
		_, err = r.Send(a, "b-1", "x")
		refused(t, err, `there is no session or team b-1. Use one of c-3, d-4, d-5, d-6, d-7; ListSessions shows all.`)
		if got, _ := events.Take(b.Owner()); got != nil {
			t.Errorf("a session that has ended got %+v", got)
		}
	})
}

// TestLimit checks the limit of messages a minute, which is each sender's own.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New("", event.New())
		a, b := of("p", "1", "a"), of("p", "2", "b")
		r.Use(a)
		r.Use(b)
		for i := range maxSent {
			if _, err := r.Send(a, "b-2", "x"); err != nil {
				t.Fatal(i, err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(500 * time.Millisecond)
		_, err := r.Send(a, "b-2", "x")
		refused(t, err, "this session has sent 20 messages in a minute, and no more may be sent. Send it again in 40 s.")
		if _, err := r.Send(b, "a-1", "x"); err != nil {
			t.Error(err)
		}
		time.Sleep(39500 * time.Millisecond)
		if _, err := r.Send(a, "b-2", "x"); err != nil {
			t.Error(err)
		}
		_, err = r.Send(a, "b-2", "x")
		refused(t, err, "this session has sent 20 messages in a minute, and no more may be sent. Send it again in 1 s.")
	})
}

// TestHandles checks that a handle is a session until it ends, and that a request without one is
// none.
func TestHandles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New("", event.New())
		none := session.New(session.Config{ID: "9", Principal: "p", Stateless: true}).View()
		r.Use(none)
		_, err := r.List(none)
		refused(t, err, `this request belongs to no session, so that it has no name and gets no messages. Ask the user for a client that keeps a session, or that sends the value of _meta["mcp-toolset/session"] of an answer with later requests.`)
		if len(r.groups) != 0 {
			t.Errorf("%d groups", len(r.groups))
		}
		a := of("p", "1", "a")
		r.Use(a)
		r.Use(handle("h"))
		if got := shown(t, r, a); got != "a-1 session-2" {
			t.Errorf("it sees %s", got)
		}
		if _, err := r.Join(handle("h"), "team", "", nil); err != nil {
			t.Error(err)
		}
		r.End(handle("h").Owner())
		if got := shown(t, r, a); got != "a-1" || len(r.groups["p"].teams) != 0 {
			t.Errorf("it sees %s and %d teams", got, len(r.groups["p"].teams))
		}
	})
}

// TestMany runs all operations at once. Every message that is sent before the end of its
// recipient is delivered, and nothing is left at the end.
func TestMany(t *testing.T) {
	const sessions = 100
	events := event.New()
	r := New("", events)
	var all sync.WaitGroup
	for i := range sessions {
		v := of("p", fmt.Sprint(i), "c")
		all.Go(func() {
			r.Use(v)
			team := fmt.Sprintf("team%d", i%10)
			if _, err := r.Join(v, team, "", nil); err != nil {
				t.Error(err)
			}
			if list, _ := r.WorkList(v); list == nil {
				t.Error("it has no list")
			} else if err := list.Update(t.Context(), func(l *worklist.List) error { _, err := l.Create(worklist.Draft{Subject: "a"}); return err }); err != nil {
				t.Error(err)
			}
			_, _ = r.List(v)
			_, _ = r.Send(v, team, "x")
			_, _ = r.Send(v, "c-1", "x")
			r.End(v.Owner())
			events.Forget(v.Owner())
			if got, _ := events.Take(v.Owner()); got != nil {
				t.Errorf("after the end there are %+v", got)
			}
		})
	}
	all.Wait()
	if len(r.groups) != 0 {
		t.Errorf("%+v is left", r.groups)
	}
}
