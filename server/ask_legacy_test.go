package server

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/identity"
)

type connector = func(t *testing.T, capabilities string) *askClient

// TestAnswers checks the meaning of each answer to a question. An unclear
// answer allows nothing, and an acceptance without more means once.
func TestAnswers(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		c := connect(t, canElicit)
		for i, tc := range []struct{ answer, want string }{
			{`"result":{"action":"accept"}`, "accepted allow=true always=false"},
			{`"result":{"action":"accept","content":null}`, "accepted allow=true always=false"},
			{`"result":{"action":"accept","content":{}}`, "accepted allow=true always=false"},
			{`"result":{"action":"accept","content":{"remember":"once"}}`, "accepted allow=true always=false"},
			{`"result":{"action":"accept","content":{"remember":"ALWAYS"}}`, "accepted allow=true always=false"},
			{`"result":{"action":"accept","content":"always"}`, "accepted allow=true always=false"},
			{`"result":{"action":"accept","content":{"remember":"always","remember":"always"}}`, "accepted allow=true always=false"},
			{`"result":{"action":"accept","content":{"remember":"always","x":1,"x":2}}`, "accepted allow=true always=false"},
			{`"result":{"action":"accept","content":{"remember":"always"},"_meta":{}}`, "accepted allow=true always=true"},
			{`"result":{"action":"decline","content":{"remember":"always"}}`, "declined allow=false always=false"},
			{`"result":{"action":"cancel"}`, "cancelled allow=false always=false"},
			{`"result":{"action":"Accept"}`, "no answer allow=false always=false"},
			{`"result":{"action":"decline","Action":"accept"}`, "no answer allow=false always=false"},
			{`"result":{"action":"decline","action":"accept"}`, "no answer allow=false always=false"},
			{`"result":{"action":"accept","content":{},"content":{}}`, "no answer allow=false always=false"},
			{`"result":{"action":["accept"]}`, "no answer allow=false always=false"},
			{`"result":{}`, "no answer allow=false always=false"},
			{`"result":null`, "no answer allow=false always=false"},
			{`"result":"accept"`, "no answer allow=false always=false"},
			{`"error":{"code":-32601,"message":"no"}`, "no answer allow=false always=false"},
			{`"error":{"code":-1,"message":"no"},"result":{"action":"accept"}`, "no answer allow=false always=false"},
		} {
			c.send(callLine(i, "Ask", `{"text":"it","always":"it"}`))
			q := c.question()
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, q.ID, tc.answer))
			if got := c.text(fmt.Sprint(i)); got != tc.want+" decided now" {
				t.Errorf("%s\n got %s\nwant %s", tc.answer, got, tc.want)
			}
		}
	})
}

// TestUnseen checks that a client that declines or cancels faster than a person has not asked its
// user. It may accept, as its user has configured it.
func TestUnseen(t *testing.T) {
	overBoth(t, func(t *testing.T, s *Server, connect connector) {
		s.personTime = time.Hour
		c := connect(t, canElicit)
		for i, tc := range [][2]string{{"accept", "accepted allow=true"}, {"decline", "unseen allow=false"}, {"cancel", "unseen allow=false"}} {
			c.send(callLine(i, "Ask", `{"text":"it"}`))
			c.reply(c.question(), `{"action":"`+tc[0]+`"}`)
			if got := c.text(fmt.Sprint(i)); got != tc[1]+" always=false decided now" {
				t.Error(got)
			}
		}
	})
}

// TestAlwaysNotOnOffer checks that a client cannot choose "always" if it was
// not offered.
func TestAlwaysNotOnOffer(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		c := connect(t, canElicit)
		for i, args := range []string{`{"text":"it"}`, `{"text":"it","always":"` + strings.Repeat("x", maxAlways+1) + `"}`} {
			c.send(callLine(i, "Ask", args))
			q := c.question()
			if strings.Contains(string(q.Params), "remember") {
				t.Errorf("always is on offer: %s", q.Params)
			}
			c.reply(q, `{"action":"accept","content":{"remember":"always"}}`)
			if got := c.text(fmt.Sprint(i)); got != "accepted allow=true always=false decided now" {
				t.Error(got)
			}
		}
	})
}

// TestDeclared checks that only clients that declare forms are asked.
func TestDeclared(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		for capabilities, asked := range map[string]bool{
			`{}`: false, `{"sampling":{},"roots":{}}`: false, `{"elicitation":{"url":{}}}`: false,
			`{"elicitation":{}}`: true, `{"elicitation":{"form":{}}}`: true, `{"elicitation":{"form":{"applyDefaults":true},"url":{}}}`: true,
		} {
			c := connect(t, capabilities)
			c.send(callLine(1, "Ask", `{"text":"it"}`))
			if asked {
				c.reply(c.question(), `{"action":"accept"}`)
			}
			if got := c.text("1"); (got != "cannot be asked") != asked {
				t.Errorf("%s: %s", capabilities, got)
			}
			c.leave()
		}
	})
}

// TestAnswersAreNotMixed checks that each of several simultaneous questions
// gets its own answer. An answer of another session, a second answer and an
// answer to no question are dropped.
func TestAnswersAreNotMixed(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		a, b := connect(t, canElicit), connect(t, canElicit)
		ask := func(c *askClient, id int) answer {
			c.send(callLine(id, "Ask", `{"text":"it","aside":true}`))
			return c.question()
		}
		// As any client would number them, so that only the question's id distinguishes
		// them.
		first, second, other := ask(a, 1), ask(a, 2), ask(b, 1)
		b.reply(first, `{"action":"accept"}`)
		b.reply(second, `{"action":"accept"}`)
		for _, id := range []string{`"ask-1"`, `1`, `"1"`, `0`} {
			a.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept"}}`)
		}
		b.send(`{"jsonrpc":"2.0","id":"x","method":"ping"}`)
		b.next() // messages sent before have been handled
		a.reply(second, `{"action":"decline"}`)
		if got := a.text("2"); !strings.HasPrefix(got, "declined") {
			t.Error(got)
		}
		a.reply(second, `{"action":"accept"}`)
		a.reply(first, `{"action":"cancel"}`)
		if got := a.text("1"); !strings.HasPrefix(got, "cancelled") {
			t.Error(got)
		}
		b.reply(other, `{"action":"accept"}`)
		if got := b.text("1"); !strings.HasPrefix(got, "accepted") {
			t.Error(got)
		}
	})
}

// TestOneAnswer checks that a second answer is dropped even if the first has
// not been received yet.
func TestOneAnswer(t *testing.T) {
	q := newQuestions()
	id, answer := q.register()
	counts := make(chan bool, 2)
	go func() {
		for range 2 {
			counts <- q.answer(message{id: "s" + id})
		}
	}()
	if first, second := await(t, counts), await(t, counts); !first || second {
		t.Errorf("the first answer counts: %t, the second: %t", first, second)
	}
	await(t, answer)
	id, _ = q.register()
	q.forget(id)
	if q.answer(message{id: "s" + id}) {
		t.Error("an answer counts that nobody waits for")
	}
}

// TestOtherCallsGoOn checks that a call that waits for the user retains its
// place in its lane and delays no other lane.
func TestOtherCallsGoOn(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		a, b := connect(t, canElicit), connect(t, canElicit)
		a.send(callLine(1, "Ask", `{"text":"first"}`))
		q := a.question()
		a.send(callLine(2, "Ask", `{"text":"second"}`))
		b.send(callLine(1, "Ask", `{"text":"other"}`))
		b.reply(b.question(), `{"action":"accept"}`)
		b.text("1")
		b.send(callLine(2, "Read", `{"file_path":"a.txt"}`))
		if got := b.text("2"); !strings.Contains(got, "one") {
			t.Error(got)
		}
		if len(a.messages) > 0 {
			t.Errorf("the second call did not wait: %s", <-a.messages)
		}
		a.reply(q, `{"action":"accept"}`)
		var second answer
		for range 2 { // the first result and the second question, on streams of their own over HTTP
			if m := a.next(); m.Method != "" {
				second = m
			}
		}
		if !strings.Contains(string(second.Params), "Do second") {
			t.Fatalf("the second question: %s", second.Params)
		}
		a.reply(second, `{"action":"accept"}`)
		a.text("2")
	})
}

// TestAskTimesOut checks that a question without an answer denies the call
// after the timeout, that the client gets a cancel for it, and that a late
// answer is dropped.
func TestAskTimesOut(t *testing.T) {
	timesOut := func(t *testing.T, c *askClient) {
		c.send(callLine(1, "Ask", `{"text":"it"}`))
		q := c.question()
		if got, want := c.next(), `{"requestId":`+string(q.ID)+`}`; got.Method != "notifications/cancelled" || string(got.Params) != want {
			t.Errorf("behind the question: %s %s, want %s", got.Method, got.Params, want)
		}
		if got := c.text("1"); got != "timed out allow=false always=false decided now" {
			t.Error(got)
		}
		c.reply(q, `{"action":"accept"}`)
		c.send(callLine(2, "Read", `{"file_path":"a.txt"}`))
		c.text("2")
	}
	t.Run("stdio", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newAsking(t)
			s.AskTimeout = deadline / 2 // next gives up at the deadline
			start := time.Now()
			c := askStdio(t, t.Context(), s, canElicit)
			timesOut(t, c)
			if took := time.Since(start); took != s.AskTimeout {
				t.Errorf("it took %v, want %v", took, s.AskTimeout)
			}
			c.leave()
		})
	})
	t.Run("http", func(t *testing.T) {
		s := newAsking(t)
		s.AskTimeout = 50 * time.Millisecond
		timesOut(t, askHTTP(t, serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)}), canElicit))
	})
}
