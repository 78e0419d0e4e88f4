package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// errAgain is an error of Elicit that the server package recognizes.
type errAgain struct{ n int }

func (e *errAgain) Error() string { return "come again" }

// TestElicit checks that a question of a server reaches the user of the call,
// in both eras and over both transports.
func TestElicit(t *testing.T) {
	for _, era := range eras {
		for _, over := range []string{"stdio", "http"} {
			t.Run(era+" "+over, func(t *testing.T) {
				t.Parallel()
				s := stdioServer(t, "x", era)
				if over == "http" {
					s = Server{Name: "x", Prefix: "x", URL: newWeb(t, era).URL}
				}
				m, _ := begin(t, Config{Servers: []Server{s}})
				ask := func(f func(context.Context, tools.Form) (tools.FormReply, error)) (string, error) {
					env := testEnv()
					env.Elicit = f
					r, err := invoke(t, m, "x", "ask", `{}`, env)
					if err != nil {
						return "", err
					}
					return text2(r, nil), nil
				}
				var form tools.Form
				got, err := ask(func(_ context.Context, f tools.Form) (tools.FormReply, error) {
					form = f
					return tools.FormReply{Action: "accept", Content: json.RawMessage(`{"colour":"red"}`)}, nil
				})
				if err != nil || got != `{"action":"accept","content":{"colour":"red"}}` {
					t.Errorf("accept: %s %v", got, err)
				}
				if form.Server != "x" || form.Message != "Which colour?" || string(form.Schema) != `{"properties":{"colour":{"type":"string"}},"type":"object"}` {
					t.Errorf("the form is %s %s %s", form.Server, form.Message, form.Schema)
				}
				if got, err = ask(nil); err != nil || got != `{"action":"decline"}` {
					t.Errorf("nobody: %s %v", got, err)
				}
				if got, err = ask(func(context.Context, tools.Form) (tools.FormReply, error) {
					return tools.FormReply{Action: "cancel"}, nil
				}); err != nil || got != `{"action":"cancel"}` {
					t.Errorf("cancel: %s %v", got, err)
				}
				_, err = ask(func(context.Context, tools.Form) (tools.FormReply, error) { return tools.FormReply{}, &errAgain{7} })
				var again *errAgain
				if !errors.As(err, &again) || again.n != 7 {
					t.Errorf("an error of its own: %v", err)
				}
				if got := text2(invoke(t, m, "x", "echo", `{}`, nil)); got != "{}" {
					t.Errorf("afterwards: %s", got)
				}
			})
		}
	}
}

// TestElicitTakesTime checks that a server needs no sign of life while the user
// answers.
func TestElicitTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{caps: `{"tools":{}}`, calls: map[string]func(*fakeConn, fakeRequest){"ask": func(c *fakeConn, r fakeRequest) {
			c.say(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}`)
		}}}
		f.other = map[string]func(*fakeConn, fakeRequest){"": func(c *fakeConn, _ fakeRequest) { // our answer
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, r := range f.seen {
				if r.Method == "tools/call" {
					c.answer(r, `{"content":[{"type":"text","text":"thanks"}]}`)
				}
			}
		}}
		m, _ := beginFake(t, f, Config{Servers: []Server{{Name: "x", Prefix: "x", Command: "c", Timeout: time.Minute}}})
		env := testEnv()
		env.Elicit = func(ctx context.Context, _ tools.Form) (tools.FormReply, error) {
			select {
			case <-time.After(time.Hour):
				return tools.FormReply{Action: "decline"}, nil
			case <-ctx.Done():
				return tools.FormReply{}, ctx.Err()
			}
		}
		if got := text2(m.find("x").call(t.Context(), env, "ask", nil)); got != "thanks" {
			t.Error(got)
		}
	})
}

// TestWhoseQuestion checks that a question without a call goes to the user of
// all running calls, if there is only one.
func TestWhoseQuestion(t *testing.T) {
	some := func(context.Context, tools.Form) (tools.FormReply, error) { return tools.FormReply{}, nil }
	env := func(id, who string, stateless, asks bool) *tools.Env {
		e := &tools.Env{Session: session.View{ID: id, Principal: who, Stateless: stateless}}
		if asks {
			e.Elicit = some
		}
		return e
	}
	for i, c := range []struct {
		calls []*tools.Env
		want  int // index of the call to ask; -1 for none
	}{
		{nil, -1},
		{[]*tools.Env{env("a", "p", false, true)}, 0},
		{[]*tools.Env{env("", "", true, true)}, 0},
		{[]*tools.Env{env("a", "p", false, true), env("a", "p", false, true)}, 1},
		{[]*tools.Env{env("a", "p", false, true), env("b", "p", false, true)}, -1},
		{[]*tools.Env{env("a", "p", false, true), env("a", "q", false, true)}, -1},
		{[]*tools.Env{env("", "", true, true), env("", "", true, true)}, -1},
		{[]*tools.Env{env("a", "p", false, false), env("a", "p", false, true)}, -1},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			m := New(Config{})
			conn := newConn(newServer(m, Server{Name: "x"}))
			var calls []*call
			for _, e := range c.calls {
				calls = append(calls, conn.begin(t.Context(), e, false))
			}
			got := conn.sole()
			if c.want < 0 && got != nil || c.want >= 0 && got != calls[c.want] {
				t.Errorf("it is %v", got)
			}
		})
	}
}
