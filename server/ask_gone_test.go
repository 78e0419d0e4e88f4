package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/identity"
	"mcp-toolset/pipeline"
	"mcp-toolset/tools"
)

// asks counts the answers that a server's conversations wait for.
func asks(conversations ...*conversation) (n int) {
	for _, c := range conversations {
		c.asked.mu.Lock()
		n += len(c.asked.waiting)
		c.asked.mu.Unlock()
	}
	return n
}

// watched makes the server report each conversation of a call that asks, when
// the call has ended.
func watched(s *Server) <-chan *conversation {
	ended := make(chan *conversation, 100)
	run := s.run
	s.run = func(ctx context.Context, r pipeline.Request) (*tools.Response, error) {
		resp, err := run(ctx, r)
		ended <- callFrom(ctx).conv
		return resp, err
	}
	return ended
}

// TestCancelWhileAsked checks that a call cancelled while its user is asked
// ends at once without an answer. The question is withdrawn, over HTTP by the
// end of its stream, and nothing of it remains.
func TestCancelWhileAsked(t *testing.T) {
	t.Run("stdio", cancelWhileAsked)
	t.Run("http", func(t *testing.T) {
		s := newAsking(t)
		ended := watched(s)
		c := askHTTP(t, serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)}), canElicit)
		c.send(callLine(1, "Ask", `{"text":"it"}`))
		q := c.question()
		c.send(cancelLine(1)) // it ends the stream that carried the question
		if n := asks(await(t, ended)); n != 0 {
			t.Errorf("%d answers are waited for", n)
		}
		c.reply(q, `{"action":"accept"}`)
		c.send(callLine(2, "Read", `{"file_path":"a.txt"}`))
		c.text("2") // and nothing before it
	})
}

func cancelWhileAsked(t *testing.T) {
	s := newAsking(t)
	ended := watched(s)
	c := askStdio(t, t.Context(), s, canElicit)
	c.send(callLine(1, "Ask", `{"text":"it"}`))
	q := c.question()
	c.send(cancelLine(1))
	if got := c.next(); got.Method != "notifications/cancelled" || !strings.Contains(string(got.Params), string(q.ID)) {
		t.Errorf("behind the cancel: %s %s", got.Method, got.Params)
	}
	if n := asks(await(t, ended)); n != 0 {
		t.Errorf("%d answers are waited for", n)
	}
	c.reply(q, `{"action":"accept"}`)
	c.send(callLine(2, "Read", `{"file_path":"a.txt"}`))
	c.text("2") // and nothing before it
}

// TestCancelBeatsAnswer checks that a cancelled call does not run even if the
// user's answer has arrived too.
func TestCancelBeatsAnswer(t *testing.T) {
	s := newAsking(t)
	conv := s.open(identity.Principal{ID: "test"}, false, nil)
	defer s.close(conv)
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		in := &incoming{conv: conv, notify: func(string, any) error { return nil }, send: func(message []byte) error {
			m, _ := readMessage(message)
			cancel()
			conv.asked.answer(messageOf(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, m.rawID)))
			return nil
		}}
		got, how, err := s.askNow(ctx, in, &notifier{ctx: ctx}, question{})
		if !errors.Is(err, context.Canceled) || got != nil || how == "" {
			t.Fatalf("%s %s %v", got, how, err)
		}
	}
}

// TestAskedTooLate checks that a goroutine left behind by a call cannot ask
// after the call's answer.
func TestAskedTooLate(t *testing.T) {
	s := newAsking(t)
	conv := s.open(identity.Principal{ID: "test"}, false, nil)
	defer s.close(conv)
	out := &notifier{ctx: t.Context()}
	out.close()
	in := &incoming{conv: conv, send: func([]byte) error { t.Error("a question is sent"); return nil }}
	if got, how, err := s.askNow(t.Context(), in, out, question{}); got != nil || how != pipeline.NoAnswer || err != nil {
		t.Errorf("%s %s %v", got, how, err)
	}
}

func messageOf(t *testing.T, line string) message {
	t.Helper()
	m, bad := readMessage([]byte(line))
	if bad != nil {
		t.Fatal(bad.text)
	}
	return m
}

// TestGoneWhileAsked checks that no call waits when no answer can come any
// more: the input has ended, the client has disconnected or ended its session,
// or the server must stop.
func TestGoneWhileAsked(t *testing.T) {
	t.Run("stdio, end of input", func(t *testing.T) {
		s := newAsking(t)
		p := connect(t, t.Context(), s)
		p.send("%s", initLine(canElicit))
		p.next()
		p.send("%s", callLine(1, "Ask", `{"text":"it"}`))
		p.next()
		start := time.Now()
		rest, err := p.end()
		if err != nil || time.Since(start) > deadline/2 {
			t.Fatalf("the end took %v: %v", time.Since(start), err)
		}
		if i := slices.IndexFunc(rest, func(l string) bool { return strings.Contains(l, "no answer allow=false") }); i != len(rest)-1 || i < 0 {
			t.Errorf("the call was answered: %q", rest)
		}
	})
	t.Run("stdio, asked after the end of input", func(t *testing.T) {
		s := newAsking(t)
		var out strings.Builder
		in := strings.NewReader(initLine(canElicit) + "\n" + callLine(1, "Ask", `{"text":"it"}`) + "\n" + callLine(2, "Ask", `{"text":"it"}`))
		if err := s.ServeStdio(t.Context(), in, &out); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "no answer allow=false"); n != 2 {
			t.Errorf("%d answers: %s", n, &out)
		}
		if n := strings.Count(out.String(), "elicitation/create"); n > 1 { // the first call may be quicker than the end
			t.Errorf("%d questions though nobody can answer: %s", n, &out)
		}
	})
	t.Run("stdio, stop", func(t *testing.T) {
		s := newAsking(t)
		ended := watched(s)
		ctx, stop := context.WithCancel(t.Context())
		p := connect(t, ctx, s)
		p.send("%s", initLine(canElicit))
		p.next()
		p.send("%s", callLine(1, "Ask", `{"text":"it"}`))
		p.next()
		stop()
		if n := asks(await(t, ended)); n != 0 {
			t.Errorf("%d answers are waited for", n)
		}
		if _, err := p.end(); err != nil {
			t.Error(err)
		}
	})
	for name, leave := range map[string]func(t *testing.T, c *askClient, w *web, session string){
		"hang-up": func(_ *testing.T, c *askClient, _ *web, _ string) { c.leave() },
		"delete": func(t *testing.T, _ *askClient, w *web, session string) {
			if status, _, text := w.do("DELETE", w.url, "", "Mcp-Session-Id: "+session); status != http.StatusOK {
				t.Errorf("delete: %d %s", status, text)
			}
		},
		"stop": func(t *testing.T, _ *askClient, w *web, _ string) {
			start := time.Now()
			if err := w.stop(); err != nil || time.Since(start) > deadline/2 {
				t.Errorf("stopping took %v: %v", time.Since(start), err)
			}
		},
	} {
		t.Run("http, "+name, func(t *testing.T) {
			s := newAsking(t)
			ended := watched(s)
			w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
			c := askHTTP(t, w, canElicit)
			c.send(callLine(1, "Ask", `{"text":"it"}`))
			c.question()
			start := time.Now()
			leave(t, c, w, c.session)
			if n := asks(await(t, ended)); n != 0 || time.Since(start) > deadline/2 {
				t.Errorf("%d answers are waited for, after %v", n, time.Since(start))
			}
		})
	}
}
