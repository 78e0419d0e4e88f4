package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/identity"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/settings"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// formIn is the input of the test tool Form, during which an upstream server asks.
type formIn struct {
	Ask    string `json:"ask" jsonschema:"What it asks, one question a line"`
	Schema string `json:"schema,omitempty" jsonschema:"Of the answers"`
	Vary   bool   `json:"vary,omitempty" jsonschema:"Ask something else each time"`
}

type formOut struct {
	Said string `json:"said" jsonschema:"The answers"`
}

const nameSchema = `{"properties":{"name":{"maxLength":12345678901234567890,"title":"<Name>","type":"string"}},"required":["name"],"type":"object"}`

// newEliciting returns a server with the tool Form, and a function that returns the
// recorded outcomes of its calls and hooks. Calls ask if the rules require it.
func newEliciting(t *testing.T, rules string) (s *Server, notes func() string) {
	t.Helper()
	var runs atomic.Int64
	tool := tools.MustBuild(tools.Def[formIn, formIn, formOut]{Name: "Form", Prompt: "Asks in its middle.",
		Call: func(ctx context.Context, env *tools.Env, in formIn) (r tools.Result[formOut], err error) {
			if env.Elicit == nil {
				r.Data.Said = "nobody can be asked"
				return r, nil
			}
			schema := nameSchema
			if in.Schema != "" {
				schema = in.Schema
			}
			var said []string
			for line := range strings.SplitSeq(in.Ask, "\n") {
				if in.Vary {
					line = fmt.Sprint(line, runs.Add(1))
				}
				reply, err := env.Elicit(ctx, tools.Form{Server: "other", Message: line, Schema: json.RawMessage(schema)})
				if err != nil {
					return r, fmt.Errorf("asking: %w", err)
				}
				said = append(said, reply.Action+string(reply.Content))
			}
			r.Data.Said = strings.Join(said, ", ")
			return r, nil
		},
		Render: func(o formOut) []tools.Content { return []tools.Content{tools.Text{Text: o.Said}} },
	})
	s, root := newServer(t, deadline, tool)
	set, err := settings.Parse([]byte(rules), "/etc/test.json", "/etc")
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	s.Pipeline.CurrentRules().Policy = policy.New(policy.Config{Rules: set.Rules(), AddTo: set.Source(), Roots: []string{root}})
	s.Pipeline.CurrentRules().Hooks = set.Hooks()
	s.Pipeline.CurrentRules().RunHooks = func(_ context.Context, event hook.Event, _ []hook.Hook, _ hook.Input) hook.Verdict {
		lines <- string(event)
		return hook.Verdict{}
	}
	s.Pipeline.Audit = func(_ context.Context, e audit.Entry) error {
		lines <- e.Outcome
		return nil
	}
	return s, func() string {
		var all []string
		for len(lines) > 0 {
			all = append(all, <-lines)
		}
		return strings.Join(all, " ")
	}
}

const allHooks = `"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"a"}]}],"PostToolUse":[{"hooks":[{"type":"command","command":"b"}]}],"PostToolUseFailure":[{"hooks":[{"type":"command","command":"c"}]}]}`

// formsOverBoth runs a test over either transport.
func formsOverBoth(t *testing.T, rules string, test func(t *testing.T, s *Server, notes func() string, connect connector)) {
	t.Run("stdio", func(t *testing.T) {
		s, notes := newEliciting(t, rules)
		test(t, s, notes, func(t *testing.T, capabilities string) *askClient {
			return askStdio(t, t.Context(), s, capabilities)
		})
	})
	t.Run("http", func(t *testing.T) {
		s, notes := newEliciting(t, rules)
		w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
		test(t, s, notes, func(t *testing.T, capabilities string) *askClient { return askHTTP(t, w, capabilities) })
	})
}

// shownForm holds the params of a question.
type shownForm struct {
	Message         string
	RequestedSchema json.RawMessage
}

// ended returns the question under a key that the last call ended with, and its state.
func (c *askClient) ended(key string) (f shownForm, state string) {
	c.t.Helper()
	a := c.next()
	var r struct {
		ResultType    string
		InputRequests map[string]struct {
			Method string
			Params shownForm
		}
		RequestState string
	}
	if err := json.Unmarshal(a.Result, &r); err != nil || string(a.ID) != fmt.Sprint(c.last) {
		c.t.Fatalf("the answer %s %s %+v: %v", a.ID, a.Result, a.Error, err)
	}
	q := r.InputRequests[key]
	if r.ResultType != "input_required" || len(r.InputRequests) != 1 || q.Method != "elicitation/create" || r.RequestState == "" {
		c.t.Fatalf("no question %s: %s", key, a.Result)
	}
	return q.Params, r.RequestState
}

// formAnswer returns the params of a call that is sent again.
func formAnswer(state, answer string) string {
	return fmt.Sprintf(`,"requestState":%q,"inputResponses":{"form":%s}`, state, answer)
}

const asksWho = "The server other asks (in a call of Form):\n> who"

func wantForm(t *testing.T, f shownForm, message string) {
	t.Helper()
	var schema bytes.Buffer
	if err := json.Compact(&schema, f.RequestedSchema); err != nil {
		t.Fatal(err)
	}
	got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(schema.String())
	if f.Message != message || got != nameSchema {
		t.Errorf("the question is %q of %s\nwant %q", f.Message, got, message)
	}
}

// formAnswers maps a client's answers to a form to the answers that the upstream server
// gets.
var formAnswers = map[string]string{
	`{"action":"accept","content":{"name":"Ann","n":12345678901234567890}}`: `accept{"name":"Ann","n":12345678901234567890}`,
	`{"action":"accept"}`:                                 "accept",
	`{"action":"accept","content":null}`:                  "accept",
	`{"action":"accept","content":"Ann"}`:                 "cancel",
	`{"action":"accept","content":["Ann"]}`:               "cancel",
	`{"action":"decline","content":{"name":"Ann"}}`:       "decline",
	`{"action":"cancel"}`:                                 "cancel",
	`{"action":"Accept"}`:                                 "cancel",
	`{"action":"decline","action":"accept"}`:              "cancel",
	`{"action":"decline","Action":"accept","content":{}}`: "cancel",
	`{}`:       "cancel",
	`null`:     "cancel",
	`"accept"`: "cancel",
}

// TestFormWaits checks that up to protocol 2025-11-25 a form is shown while the
// call waits, and that the answer is passed on.
func TestFormWaits(t *testing.T) {
	formsOverBoth(t, `{}`, func(t *testing.T, _ *Server, _ func() string, connect connector) {
		c := connect(t, canElicit)
		id := 10
		for answer, want := range formAnswers {
			id++
			c.send(callLine(id, "Form", `{"ask":"who"}`))
			q := c.question()
			var f shownForm
			if err := json.Unmarshal(q.Params, &f); err != nil {
				t.Fatal(err)
			}
			wantForm(t, f, asksWho)
			c.reply(q, answer)
			if got := c.text(fmt.Sprint(id)); got != want {
				t.Errorf("%s\n got %s\nwant %s", answer, got, want)
			}
		}
		c.send(callLine(2, "Form", `{"ask":"who\nwhat\nwho"}`))
		for i := range 3 {
			c.reply(c.question(), fmt.Sprintf(`{"action":"accept","content":{"n":%d}}`, i))
		}
		if got := c.text("2"); got != `accept{"n":0}, accept{"n":1}, accept{"n":2}` {
			t.Error(got)
		}
		c.send(callLine(3, "Form", `{"ask":"who"}`))
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no"}}`, c.question().ID))
		if got := c.text("3"); got != "cancel" {
			t.Error(got)
		}
	})
}

// TestFormEndsCall checks that from protocol 2026-07-28 on the call ends with a
// form and is sent again, as often as it asks.
func TestFormEndsCall(t *testing.T) {
	formsOverBoth(t, `{}`, func(t *testing.T, _ *Server, notes func() string, connect connector) {
		c := connect(t, "")
		for answer, want := range formAnswers {
			c.call("Form", `{"ask":"who"}`, "")
			f, state := c.ended("form")
			wantForm(t, f, asksWho)
			c.call("Form", `{"ask":"who"}`, formAnswer(state, answer))
			if got := c.outcome(); got != want {
				t.Errorf("%s\n got %s\nwant %s", answer, got, want)
			}
			if got := notes(); got != "asked ok" {
				t.Errorf("audited as %s", got)
			}
		}
		const args = `{"ask":"who\nwhat\nwho\nwho"}`
		c.call("Form", args, "")
		for i, line := range []string{"who", "what", "who", "who"} {
			f, state := c.ended("form")
			wantForm(t, f, strings.Replace(asksWho, "> who", "> "+line, 1))
			c.call("Form", args, formAnswer(state, fmt.Sprintf(`{"action":"accept","content":{"n":%d}}`, i)))
		}
		if got := c.outcome(); got != `accept{"n":0}, accept{"n":1}, accept{"n":2}, accept{"n":3}` {
			t.Error(got)
		}
	})
}

// TestFormOfAskedCall checks that a call that needs approval and then asks by a
// form is approved once, and that its hooks run once.
func TestFormOfAskedCall(t *testing.T) {
	formsOverBoth(t, `{"permissions":{"ask":["Form"]},`+allHooks+`}`, func(t *testing.T, _ *Server, notes func() string, connect connector) {
		const args = `{"ask":"who\nwhat"}`
		c := connect(t, canElicit)
		c.send(callLine(100, "Form", args))
		for _, part := range []string{"asks because: ", asksWho, "\\n> what"} {
			q := c.question()
			if !strings.Contains(string(q.Params), strings.ReplaceAll(strings.ReplaceAll(part, "\n", `\n`), ">", `\u003e`)) && !strings.Contains(string(q.Params), part) {
				t.Errorf("the question %s, want %s", q.Params, part)
			}
			c.reply(q, accept)
		}
		if got := c.text("100"); got != "accept, accept" {
			t.Error(got)
		}
		if got := notes(); got != "PreToolUse PostToolUse ok" {
			t.Errorf("waiting: %s", got)
		}

		c.call("Form", args, "")
		_, state := c.ended("permission")
		c.call("Form", args, resumes(state, accept))
		for range 2 {
			_, state = c.ended("form")
			c.call("Form", args, formAnswer(state, accept))
		}
		if got := c.outcome(); got != "accept, accept" {
			t.Error(got)
		}
		if got := notes(); got != "PreToolUse asked asked asked PostToolUse ok" {
			t.Errorf("sent again: %s", got)
		}
	})
}

// TestFormState checks that a state of a form counts once and only for its
// call. Without the state, or without an answer under the form's key, there is
// no answer. With a foreign state the call is treated as new.
func TestFormState(t *testing.T) {
	formsOverBoth(t, `{"permissions":{"ask":["Form"]}}`, func(t *testing.T, s *Server, _ func() string, connect connector) {
		const args = `{"ask":"who"}`
		c := connect(t, "")
		start := func() (state string) {
			c.call("Form", args, "")
			_, state = c.ended("permission")
			c.call("Form", args, resumes(state, accept))
			_, state = c.ended("form")
			return state
		}
		state := start()
		flipped := string(rune('A'+(state[0]-'A'+1)%2)) + state[1:]
		for name, again := range map[string]func(){
			"forged":             func() { c.call("Form", args, formAnswer(flipped, accept)) },
			"of other arguments": func() { c.call("Form", `{"ask":"you"}`, formAnswer(state, accept)) },
			"none":               func() { c.call("Form", args, `,"inputResponses":{"form":`+accept+`}`) },
		} {
			again()
			if c.ended("permission"); t.Failed() {
				t.Fatal(name)
			}
		}
		// An answer under another key does not count; the approval carries over to the
		// next round.
		c.call("Form", args, resumes(state, accept))
		f, next := c.ended("form")
		wantForm(t, f, asksWho)
		c.call("Form", args, formAnswer(next, accept))
		if got := c.outcome(); got != "accept" {
			t.Error(got)
		}
		for _, used := range []string{state, next} {
			c.call("Form", args, formAnswer(used, accept))
			c.ended("permission")
		}
		if n := len(s.rounds.records); n != 5 { // one for each question without an answer above
			t.Errorf("%d questions are kept", n)
		}
	})
}

// TestFormForeignState checks that a state of one connection is useless in
// another.
func TestFormForeignState(t *testing.T) {
	s, _ := newEliciting(t, `{"permissions":{"ask":["Form"]}}`)
	a, b := askStdio(t, t.Context(), s, ""), askStdio(t, t.Context(), s, "")
	a.call("Form", `{"ask":"who"}`, "")
	_, state := a.ended("permission")
	a.call("Form", `{"ask":"who"}`, resumes(state, accept))
	_, state = a.ended("form")
	b.call("Form", `{"ask":"who"}`, formAnswer(state, accept))
	b.ended("permission")
	a.call("Form", `{"ask":"who"}`, formAnswer(state, accept))
	a.outcome()
}

// TestFormExpiry checks that a late answer does not count, and neither does the
// earlier approval.
func TestFormExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newEliciting(t, `{"permissions":{"ask":["Form"]}}`)
		c := askStdio(t, t.Context(), s, "")
		c.call("Form", `{"ask":"who"}`, "")
		_, state := c.ended("permission")
		time.Sleep(roundLife)
		c.call("Form", `{"ask":"who"}`, resumes(state, accept))
		_, state = c.ended("form")
		time.Sleep(roundLife + 1)
		c.call("Form", `{"ask":"who"}`, formAnswer(state, accept))
		c.ended("permission")
		c.leave()
	})
}

// TestFormWithoutEnd checks that a call that always asks something new is
// cancelled after maxQuestions questions.
func TestFormWithoutEnd(t *testing.T) {
	s, _ := newEliciting(t, `{}`)
	c := askStdio(t, t.Context(), s, "")
	more := ""
	for range maxQuestions {
		c.call("Form", `{"ask":"who","vary":true}`, more)
		_, state := c.ended("form")
		more = formAnswer(state, accept)
	}
	c.call("Form", `{"ask":"who","vary":true}`, more)
	if got := c.outcome(); got != "cancel" {
		t.Error(got)
	}
}

// TestFormNotShown checks that an invalid form is declined, and that a client
// that cannot be asked is not asked.
func TestFormNotShown(t *testing.T) {
	formsOverBoth(t, `{}`, func(t *testing.T, _ *Server, _ func() string, connect connector) {
		args := `{"ask":"who","schema":"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\"}}}"}`
		c := connect(t, canElicit)
		c.send(callLine(100, "Form", args))
		if got := c.text("100"); got != "decline" {
			t.Error(got)
		}
		c.call("Form", args, "")
		if got := c.outcome(); got != "decline" {
			t.Error(got)
		}
		c = connect(t, `{}`)
		c.send(callLine(100, "Form", args))
		if got := c.text("100"); got != "nobody can be asked" {
			t.Error(got)
		}
	})
}

// TestFormTimesOut checks that a form without an answer is cancelled after the
// timeout.
func TestFormTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, notes := newEliciting(t, `{}`)
		s.AskTimeout = deadline / 2 // next gives up at the deadline
		start := time.Now()
		c := askStdio(t, t.Context(), s, canElicit)
		c.send(callLine(1, "Form", `{"ask":"who"}`))
		q := c.question()
		if got := c.next(); got.Method != "notifications/cancelled" || !strings.Contains(string(got.Params), string(q.ID)) {
			t.Errorf("behind the question: %s %s", got.Method, got.Params)
		}
		if got := c.text("1"); got != "cancel" || notes() != "ok" || time.Since(start) != s.AskTimeout {
			t.Errorf("%s after %v", got, time.Since(start))
		}
		c.leave()
	})
}

// TestFormCancelled checks that a call cancelled while it shows a form ends at
// once, and nothing of the question remains.
func TestFormCancelled(t *testing.T) {
	formsOverBoth(t, `{}`, func(t *testing.T, s *Server, notes func() string, connect connector) {
		ended := watched(s)
		c := connect(t, canElicit)
		c.send(callLine(1, "Form", `{"ask":"who"}`))
		q := c.question()
		c.send(cancelLine(1))
		if n := asks(await(t, ended)); n != 0 {
			t.Errorf("%d answers are waited for", n)
		}
		if got := notes(); got != "cancelled" {
			t.Errorf("audited as %s", got)
		}
		c.reply(q, accept)
		c.send(callLine(2, "Read", `{"file_path":"a.txt"}`))
		for a := c.next(); string(a.ID) != "2"; a = c.next() {
			if a.Method != "notifications/cancelled" { // of the question, over stdio
				t.Fatalf("%s %s %s", a.ID, a.Method, a.Result)
			}
		}
	})
}

// TestFormParams checks that parameters are refused if another reader could
// take something else for the answer to a form.
func TestFormParams(t *testing.T) {
	s, _ := newEliciting(t, `{}`)
	c := askStdio(t, t.Context(), s, "")
	for _, responses := range []string{`{"form":1,"Form":2}`, `{"Form":2}`} {
		c.call("Form", `{"ask":"who"}`, `,"inputResponses":`+responses)
		if got := c.next(); got.Error == nil || !strings.Contains(got.Error.Message, `the key "Form" differs from "form" only by case`) {
			t.Errorf("%s: %+v", responses, got.Error)
		}
	}
}

// TestFormsAreBounded checks that the size of a call's answers counts towards
// the limit.
func TestFormsAreBounded(t *testing.T) {
	r, err := newRounds()
	if err != nil {
		t.Fatal(err)
	}
	a := &rounder{rounds: r, binding: binding{tool: "t"}}
	if err := a.resume("", nil); err != nil {
		t.Fatal(err)
	}
	a.answers[[32]byte{1}] = make(json.RawMessage, 1000)
	a.end(&pipeline.InputRequired{Question: foreign(tools.Form{}), Size: 24})
	if r.bytes != 1024 {
		t.Errorf("%d bytes are counted", r.bytes)
	}
}
