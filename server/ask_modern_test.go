package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/identity"
)

// modernCall returns a tools/call of 2026-07-28 from a client that can be asked. more
// holds further params, with a leading comma.
func modernCall(id int, tool, args, more string) string {
	meta := strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":`+canElicit, 1)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,%s%s}}`, id, tool, args, meta, more)
}

// resumes returns the params of a call that is sent again.
func resumes(state, answer string) string {
	if answer == "" {
		return fmt.Sprintf(`,"requestState":%q`, state)
	}
	return fmt.Sprintf(`,"requestState":%q,"inputResponses":{"permission":%s}`, state, answer)
}

// call sends a call of 2026-07-28, with the next id.
func (c *askClient) call(tool, args, more string) {
	c.t.Helper()
	c.last++
	c.send(modernCall(c.last, tool, args, more))
}

// outcome returns the text of the last call's result.
func (c *askClient) outcome() string {
	c.t.Helper()
	return c.text(fmt.Sprint(c.last))
}

// asked returns the state of the next message, which must be a call's question.
func (c *askClient) asked() (state string) {
	c.t.Helper()
	a := c.next()
	var r struct {
		ResultType    string
		InputRequests map[string]struct {
			Method string
			Params struct {
				Message         string
				RequestedSchema json.RawMessage
			}
		}
		RequestState string
	}
	if err := json.Unmarshal(a.Result, &r); err != nil || string(a.ID) != fmt.Sprint(c.last) {
		c.t.Fatalf("the answer %s %s %+v: %v", a.ID, a.Result, a.Error, err)
	}
	q := r.InputRequests["permission"]
	if r.ResultType != "input_required" || q.Method != "elicitation/create" || !strings.Contains(q.Params.Message, "asks because: ") ||
		!strings.Contains(string(q.Params.RequestedSchema), `"object"`) || r.RequestState == "" {
		c.t.Fatalf("no question: %s", a.Result)
	}
	return r.RequestState
}

const accept = `{"action":"accept"}`

// TestModernAnswers checks that a call of protocol 2026-07-28 ends with the
// question and is sent again with the answer. Earlier decisions are not
// repeated.
func TestModernAnswers(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		c := connect(t, "")
		for _, tc := range []struct{ answer, want string }{
			{accept, "accepted allow=true always=false decided before"},
			{`{"action":"accept","content":{"remember":"always"}}`, "accepted allow=true always=true decided before"},
			{`{"action":"decline"}`, "declined allow=false always=false decided before"},
			{`{"action":"cancel"}`, "cancelled allow=false always=false decided before"},
			{`{"action":"other"}`, "no answer allow=false always=false decided before"},
			{`{"action":"decline","Action":"accept"}`, "no answer allow=false always=false decided before"},
			{`"accept"`, "no answer allow=false always=false decided before"},
			{`null`, "no answer allow=false always=false decided before"},
		} {
			const args = `{"text":"it","always":"it"}`
			c.call("Ask", args, "")
			state := c.asked()
			c.call("Ask", args, resumes(state, tc.answer))
			if got := c.outcome(); got != tc.want {
				t.Errorf("%s\n got %s\nwant %s", tc.answer, got, tc.want)
			}
		}
	})
}

// TestModernUnseen is TestUnseen for protocol 2026-07-28.
func TestModernUnseen(t *testing.T) {
	overBoth(t, func(t *testing.T, s *Server, connect connector) {
		s.personTime = time.Hour
		c := connect(t, "")
		for _, tc := range [][2]string{{"accept", "accepted allow=true"}, {"decline", "unseen allow=false"}, {"cancel", "unseen allow=false"}} {
			c.call("Ask", `{"text":"it"}`, "")
			c.call("Ask", `{"text":"it"}`, resumes(c.asked(), `{"action":"`+tc[0]+`"}`))
			if got := c.outcome(); got != tc[1]+" always=false decided before" {
				t.Error(got)
			}
		}
	})
}

// TestModernState checks that an answer counts once, and only for its call and
// question. With any other state the question is asked again.
func TestModernState(t *testing.T) {
	const args = `{"text":"it"}`
	flip := func(s string) string { // changes a bit that the encoding preserves
		return string(rune('A'+(s[0]-'A'+1)%2)) + s[1:]
	}
	for name, again := range map[string]func(c *askClient, state string){
		"forged":              func(c *askClient, state string) { c.call("Ask", args, resumes(flip(state), accept)) },
		"other arguments":     func(c *askClient, state string) { c.call("Ask", `{"text":"other"}`, resumes(state, accept)) },
		"arguments re-spaced": func(c *askClient, state string) { c.call("Ask", `{"text": "it"}`, resumes(state, accept)) },
		"another tool":        func(c *askClient, state string) { c.call("Other", args, resumes(state, accept)) },
		"no state":            func(c *askClient, _ string) { c.call("Ask", args, `,"inputResponses":{"permission":`+accept+`}`) },
		"an empty state":      func(c *askClient, _ string) { c.call("Ask", args, resumes("", accept)) },
	} {
		t.Run(name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, s *Server, connect connector) {
				c := connect(t, "")
				c.call("Ask", args, "")
				state := c.asked()
				again(c, state)
				if c.asked() == state {
					t.Error("the state is the same")
				}
				// The genuine call still works.
				c.call("Ask", args, resumes(state, accept))
				if got := c.outcome(); !strings.HasPrefix(got, "accepted") {
					t.Error(got)
				}
			})
		})
	}
}

// TestModernSingleUse checks that an answer is used up by the call that brings
// it, whatever it is, and so is a state without an answer. Deciding is not
// repeated then.
func TestModernSingleUse(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		const args = `{"text":"it"}`
		c := connect(t, "")
		for _, first := range []string{accept, `{"action":"decline"}`, ""} {
			c.call("Ask", args, "")
			state := c.asked()
			c.call("Ask", args, resumes(state, first))
			if first != "" {
				c.outcome()
			} else {
				c.call("Ask", args, resumes(c.asked(), accept))
				if got := c.outcome(); got != "accepted allow=true always=false decided before" {
					t.Error(got)
				}
			}
			c.call("Ask", args, resumes(state, accept))
			if c.asked() == state {
				t.Error("the state is the same")
			}
		}
	})
}

// TestModernQuestionChanged checks that an answer does not count if the user
// would be shown something else now.
func TestModernQuestionChanged(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		const args = `{"text":"it","vary":true}`
		c := connect(t, "")
		c.call("Ask", args, "")
		state := c.asked()
		for range 3 {
			c.call("Ask", args, resumes(state, accept))
			state = c.asked()
		}
	})
}

// TestModernAskedTwice checks that one answer settles only one of two equal
// questions.
func TestModernAskedTwice(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		const args = `{"text":"it","twice":true}`
		c := connect(t, "")
		c.call("Ask", args, "")
		c.call("Ask", args, resumes(c.asked(), accept))
		c.asked()
	})
}

// TestModernForeign checks that a state of one connection is useless in
// another.
func TestModernForeign(t *testing.T) {
	const args = `{"text":"it"}`
	s := newAsking(t)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	a, b, c := askStdio(t, t.Context(), s, ""), askStdio(t, t.Context(), s, ""), askHTTP(t, w, "")
	a.call("Ask", args, "")
	state := a.asked()
	for _, other := range []*askClient{b, c} {
		other.call("Ask", args, resumes(state, accept))
		other.asked()
	}
	a.call("Ask", args, resumes(state, accept))
	a.outcome()
}

// TestModernExpiry checks that a late answer does not count.
func TestModernExpiry(t *testing.T) {
	for late, want := range map[time.Duration]bool{roundLife: true, roundLife + 1: false} {
		synctest.Test(t, func(t *testing.T) {
			s := newAsking(t)
			c := askStdio(t, t.Context(), s, "")
			c.call("Ask", `{"text":"it"}`, "")
			state := c.asked()
			time.Sleep(late)
			c.call("Ask", `{"text":"it"}`, resumes(state, accept))
			if want {
				c.outcome()
			} else {
				c.asked()
			}
			c.leave()
		})
	}
}

// TestModernMalformed checks that a state that was never issued is refused with
// a clear error.
func TestModernMalformed(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		c := connect(t, "")
		c.call("Ask", `{"text":"it"}`, "")
		state := c.asked()
		for _, bad := range []string{"x", state + "A", state[1:], state[:len(state)-1] + "!", strings.Repeat("A", 1<<16)} {
			c.call("Ask", `{"text":"it"}`, resumes(bad, accept))
			if got, want := c.outcome(), "Ask: invalid input: the request state is not one that this server gave out. Send this call again without it."; got != want {
				t.Errorf("%.100q\n got %s\nwant %s", bad, got, want)
			}
		}
	})
}

// TestModernParams checks that parameters are refused if the library could
// choose the wrong one of two answers.
func TestModernParams(t *testing.T) {
	s := newAsking(t)
	c := askStdio(t, t.Context(), s, "")
	for params, want := range map[string]string{
		`"requestState":5`:                                 `params: requestState must be a string`,
		`"requestState":"a","RequestState":"b"`:            `params: the key "RequestState" differs from "requestState" only by case`,
		`"inputResponses":[]`:                              `params: inputResponses: it is not an object`,
		`"InputResponses":{}`:                              `params: the key "InputResponses" differs from "inputResponses" only by case`,
		`"inputResponses":{"permission":1,"permission":2}`: `params: inputResponses: the key "permission" is given twice`,
	} {
		c.call("Ask", `{"text":"it"}`, ","+params)
		if got := c.next(); got.Error == nil || got.Error.Code != -32600 || got.Error.Message != want {
			t.Errorf("%s: %+v, want %s", params, got.Error, want)
		}
	}
	c.call("Ask", `{"text":"it"}`, `,"requestState":null,"inputResponses":null`)
	c.asked()
}

// TestModernNotDeclared checks that the capabilities of the request count, even
// if the client initialized with others. A state does not replace them.
func TestModernNotDeclared(t *testing.T) {
	overBoth(t, func(t *testing.T, _ *Server, connect connector) {
		without := func(c *askClient, more string) {
			c.last++
			c.send(strings.Replace(modernCall(c.last, "Ask", `{"text":"it"}`, more), canElicit, `{}`, 1))
		}
		for _, capabilities := range []string{"", canElicit} {
			c := connect(t, capabilities)
			without(c, "")
			if got := c.outcome(); got != "cannot be asked" {
				t.Error(got)
			}
			c.call("Ask", `{"text":"it"}`, "")
			without(c, resumes(c.asked(), accept))
			if got := c.outcome(); got != "cannot be asked" {
				t.Error(got)
			}
			c.leave()
		}
	})
}
