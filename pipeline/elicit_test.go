package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/settings"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// elicit puts each line of its argument to the client's user, like a tool of an upstream
// server that asks, and returns the answers. It changes the session in any case.
func elicit(ctx context.Context, env *tools.Env, in doIn) (tools.Result[doOut], error) {
	r := tools.Result[doOut]{Effect: session.Effect{Dir: filepath.Join(env.Session.Dir, "moved")}}
	if env.Elicit == nil {
		r.Data.Said = "nobody can be asked"
		return r, nil
	}
	var said []string
	for line := range strings.SplitSeq(in.Arg, "\n") {
		reply, err := env.Elicit(ctx, tools.Form{Server: "other", Message: line, Schema: json.RawMessage(`{}`)})
		if err != nil {
			return r, &tools.Recorded{Err: err, Effect: session.Effect{Dir: filepath.Join(env.Session.Dir, "recorded")}}
		}
		said = append(said, reply.Action+string(reply.Content))
	}
	r.Data.Said = strings.Join(said, " ")
	return r, nil
}

// rounds simulates a client that answers with another request. It sends a call
// again with all earlier answers until the call ends.
type rounds struct {
	b        *bench
	ask      bool // whether it answers approval questions
	answered []string
	next     tools.FormReply // the answer to the first unanswered form
	asked    []string        // the questions shown, in order
	kept     any
}

// send sends the call once. Done is whether it did not end with a question.
func (c *rounds) send(t *testing.T, tool, args string) (text string, done bool) {
	t.Helper()
	r := c.b.request(tool, args)
	r.Resumed = c.kept
	permitted := slices.Contains(c.answered, "permission")
	forms := 0
	if c.ask {
		r.Ask = func(_ context.Context, q Question) (Reply, error) {
			if permitted {
				return Reply{Allow: true, How: Accepted}, nil
			}
			c.asked, c.answered = append(c.asked, "permission for "+q.Tool), append(c.answered, "permission")
			return Reply{}, &InputRequired{Question: q}
		}
	}
	have := len(c.answered)
	r.Elicit = func(_ context.Context, f tools.Form) (tools.FormReply, error) {
		forms++
		if n := slices.Index(c.answered, fmt.Sprint("form ", forms)); n >= 0 && n < have {
			return c.next, nil
		}
		c.asked, c.answered = append(c.asked, f.Message+" in "+f.Tool), append(c.answered, fmt.Sprint("form ", forms))
		return tools.FormReply{}, &InputRequired{Question: f}
	}
	resp, err := c.b.Run(t.Context(), r)
	var needed *InputRequired
	switch {
	case errors.As(err, &needed):
		if resp != nil {
			t.Errorf("a call that asks has the answer %+v", resp)
		}
		c.kept = needed.State
		return "", false
	case err != nil:
		t.Fatal(err)
	}
	return joinText(resp.Content), true
}

// all sends the call until it is done.
func (c *rounds) all(t *testing.T, tool, args string) string {
	t.Helper()
	for range 10 {
		if text, done := c.send(t, tool, args); done {
			return text
		}
	}
	t.Fatal("the call asks again and again")
	return ""
}

// TestElicit checks that the tool gets the answer unchanged, and that the form
// names the tool. Without a client that can ask its user, and in nested calls,
// no form is available.
func TestElicit(t *testing.T) {
	b := newBench(t, "")
	for _, want := range []tools.FormReply{{Action: "accept", Content: json.RawMessage(`{"n":12345678901234567890}`)}, {Action: "decline"}, {Action: "cancel"}} {
		r := b.request("Do", `{"do":"elicit","arg":"who"}`)
		r.Elicit = func(_ context.Context, f tools.Form) (tools.FormReply, error) {
			if diff := cmp.Diff(tools.Form{Server: "other", Tool: "Do", Message: "who", Schema: json.RawMessage(`{}`)}, f); diff != "" {
				t.Errorf("the form (-want +got):\n%s", diff)
			}
			return want, nil
		}
		resp, err := b.Run(t.Context(), r)
		if err != nil || joinText(resp.Content[:1]) != want.Action+string(want.Content) {
			t.Errorf("%+v %v", resp, err)
		}
	}
	if got := b.run(t, t.Context(), "Do", `{"do":"elicit","arg":"who"}`); !strings.HasPrefix(got, "nobody can be asked") {
		t.Error(got)
	}
	r := b.request("Do", `{"do":"call","arg":"Do {\"do\":\"elicit\",\"arg\":\"who\"}"}`)
	r.Elicit = func(context.Context, tools.Form) (tools.FormReply, error) {
		t.Error("a call made by a call asks")
		return tools.FormReply{}, nil
	}
	if resp, err := b.Run(t.Context(), r); err != nil || !strings.Contains(joinText(resp.Content), "nobody can be asked") {
		t.Errorf("%+v %v", resp, err)
	}
}

// TestElicitAgain checks that a call that asks while it runs ends and is sent
// again, any number of times. Hooks run once before and once after it, the user
// approves once, and only the last run has effects.
func TestElicitAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		rules, args string
		asked       []string
		outcomes    string
	}{
		"one":            {`{}`, `{"do":"elicit","arg":"who"}`, []string{"who in Do"}, "asked ok"},
		"two":            {`{}`, `{"do":"elicit","arg":"who\nwhat"}`, []string{"who in Do", "what in Do"}, "asked asked ok"},
		"the same twice": {`{}`, `{"do":"elicit","arg":"who\nwho"}`, []string{"who in Do", "who in Do"}, "asked asked ok"},
		"and permission": {`{"ask":["Do"]}`, `{"do":"elicit","arg":"who\nwhat"}`, []string{"permission for Do", "who in Do", "what in Do"}, "asked asked asked ok"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, `{"permissions":`+tc.rules+`}`)
			all := b.audited(nil)
			events := ""
			b.hooks(t, func(event hook.Event, _ hook.Input) hook.Verdict {
				events += string(event) + " "
				return hook.Verdict{Context: []string{"heard"}}
			}, "PreToolUse", "PostToolUse", "PostToolUseFailure")
			c := &rounds{b: b, ask: true, next: tools.FormReply{Action: "accept"}}
			for {
				text, done := c.send(t, "Do", tc.args)
				if done {
					if !strings.HasPrefix(text, "accept") || strings.Count(text, "heard") != 2 {
						t.Error(text)
					}
					break
				}
				if dir := b.session.View().Dir; dir != b.root || strings.Contains(events, "Post") {
					t.Fatalf("a call that asks leaves the session in %s, hooks %s", dir, events)
				}
			}
			if diff := cmp.Diff(tc.asked, c.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if events != "PreToolUse PostToolUse " || b.session.View().Dir != b.root+"/moved" {
				t.Errorf("hooks: %s, folder: %s", events, b.session.View().Dir)
			}
			outcomes := make([]string, 0, len(*all))
			for _, e := range *all {
				outcomes = append(outcomes, e.Outcome)
			}
			if got := strings.Join(outcomes, " "); got != tc.outcomes {
				t.Errorf("audited as %s, want %s", got, tc.outcomes)
			}
		})
	}
}

// TestElicitWithGrant checks that an approval by number lets the call run once,
// including all questions it asks. The next call needs another approval.
func TestElicitWithGrant(t *testing.T) {
	b := newBench(t, asks)
	folder := b.approvals(t)
	const args = `{"do":"elicit","arg":"who\nwhat","path":"/outside"}`
	if got := b.ask(t, "Do", args, nil); !strings.Contains(got, "approval 1 is pending") {
		t.Fatal(got)
	}
	if _, err := approval.Approve(t.Context(), folder, 1, false); err != nil {
		t.Fatal(err)
	}
	c := &rounds{b: b, next: tools.FormReply{Action: "accept"}}
	if got := c.all(t, "Do", args); got != "accept accept" {
		t.Error(got)
	}
	c = &rounds{b: b}
	if got := c.all(t, "Do", args); !strings.Contains(got, "is pending") || len(c.asked) > 0 {
		t.Errorf("another call: %s, asked %q", got, c.asked)
	}
}

// TestElicitAgreedToThis checks that an approval holds only for the same input
// and the same reason to ask.
func TestElicitAgreedToThis(t *testing.T) {
	const args = `{"do":"elicit","arg":"who","path":"ask.txt"}`
	for name, change := range map[string]func(b *bench) (args string){
		"another input": func(*bench) string { return `{"do":"elicit","arg":"you","path":"ask.txt"}` },
		"another reason": func(b *bench) string {
			set, err := settings.Parse([]byte(`{"permissions":{"ask":["Do"]}}`), "/etc/test.json", "/etc")
			if err != nil {
				t.Fatal(err)
			}
			b.rules.Load().Policy = policy.New(policy.Config{Rules: set.Rules(), AddTo: set.Source(), Roots: []string{b.root}})
			return args
		},
	} {
		b := newBench(t, asks)
		c := &rounds{b: b, ask: true}
		for range 2 {
			if _, done := c.send(t, "Do", args); done {
				t.Fatal("nothing was asked")
			}
		}
		c.answered = nil // so that only the pipeline's State lets it run
		again := change(b)
		if _, done := c.send(t, "Do", again); done || len(c.asked) != 3 || c.asked[2] != "permission for Do" {
			t.Errorf("%s: asked %q", name, c.asked)
		}
	}
	c := &rounds{b: newBench(t, asks), ask: true}
	for range 2 {
		c.send(t, "Do", args)
	}
	c.answered = nil
	if c.send(t, "Do", args); len(c.asked) != 3 || c.asked[2] != "who in Do" {
		t.Errorf("the same call: asked %q", c.asked)
	}
}

// TestElicitCancelled checks that a call cancelled while its user is asked ends
// as cancelled.
func TestElicitCancelled(t *testing.T) {
	b := newBench(t, "")
	all := b.audited(nil)
	ctx, cancel := context.WithCancel(t.Context())
	r := b.request("Do", `{"do":"elicit","arg":"who"}`)
	r.Elicit = func(ctx context.Context, _ tools.Form) (tools.FormReply, error) {
		cancel()
		<-ctx.Done()
		return tools.FormReply{}, context.Cause(ctx)
	}
	resp, err := b.Run(ctx, r)
	if err != nil || joinText(resp.Content) != "Do: cancelled: the call was cancelled" || (*all)[0].Outcome != audit.Cancelled {
		t.Errorf("%+v %v %+v", resp, err, *all)
	}
}

// TestElicitHoldsNoSlot checks that a call that waits for the user's answer
// gives its slot to others.
func TestElicitHoldsNoSlot(t *testing.T) {
	b := newBench(t, "")
	b.lane = concurrency.New(concurrency.Config{PerLane: 1, Total: 1}).NewLane("")
	asked, answer, done := make(chan struct{}), make(chan struct{}), make(chan string)
	r := b.request("Look", `{"do":"elicit","arg":"who"}`)
	r.Elicit = func(context.Context, tools.Form) (tools.FormReply, error) {
		close(asked)
		<-answer
		return tools.FormReply{Action: "accept"}, nil
	}
	go func() {
		resp, err := b.Run(t.Context(), r)
		done <- fmt.Sprint(joinText(resp.Content), err)
	}()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got := b.run(t, ctx, "Look", `{"do":"x","arg":"beside"}`); got != "beside" {
		t.Error(got)
	}
	close(answer)
	if got := <-done; got != "accept<nil>" {
		t.Error(got)
	}
}

// TestElicitWrapped checks that a form in a call of a wrapping tool names the
// inner tool.
func TestElicitWrapped(t *testing.T) {
	b := wrapping(t, `{"permissions":{"ask":["mcp__maps"]}}`, tools.Foreign{
		Call: func(ctx context.Context, env *tools.Env, _ json.RawMessage) (*tools.Response, error) {
			reply, err := env.Elicit(ctx, tools.Form{Server: "maps", Message: "where"})
			if err != nil {
				return nil, err
			}
			return &tools.Response{Content: []tools.Content{tools.Text{Text: reply.Action}}}, nil
		},
	})
	c := &rounds{b: b, ask: true, next: tools.FormReply{Action: "accept"}}
	if got := c.all(t, "Wrap", `{"name":"mcp__maps__place","args":{}}`); got != "accept" {
		t.Error(got)
	}
	if diff := cmp.Diff([]string{"permission for mcp__maps__place", "where in mcp__maps__place"}, c.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestElicitNotShared checks that questions and answers of one session do not
// reach an identical call of another session.
func TestElicitNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, concurrency.Config{})
		registry, err := tools.NewRegistry([]*tools.Tool{doer("Find", func(d *tools.Def[doIn, doIn, doOut]) {
			d.IsReadOnly, d.IsConcurrencySafe, d.Shared = tools.Always[doIn](), tools.Always[doIn](), tools.Always[doIn]()
		})}, tools.Gates{})
		if err != nil {
			t.Fatal(err)
		}
		c.Registry = registry
		var wg sync.WaitGroup
		got := make([]string, 3)
		for i, elicit := range []func(context.Context, tools.Form) (tools.FormReply, error){
			func(context.Context, tools.Form) (tools.FormReply, error) {
				time.Sleep(time.Second)
				return tools.FormReply{}, &InputRequired{}
			},
			func(context.Context, tools.Form) (tools.FormReply, error) {
				time.Sleep(time.Second)
				return tools.FormReply{Action: "accept"}, nil
			},
			nil,
		} {
			ticket, err := c.lanes[i].Arrive()
			if err != nil {
				t.Fatal(err)
			}
			r := Request{Tool: "Find", Arguments: json.RawMessage(`{"do":"elicit","arg":"who"}`), Session: c.sessions[i], Ticket: ticket, Log: c.logger, Elicit: elicit}
			wg.Go(func() {
				resp, err := c.Run(t.Context(), r)
				if got[i] = fmt.Sprint(pending(err)); resp != nil {
					got[i] = joinText(resp.Content)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if diff := cmp.Diff([]string{"true", "accept", "nobody can be asked"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
