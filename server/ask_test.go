package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-toolset/internal/identity"
	"mcp-toolset/pipeline"
	"mcp-toolset/tools"
)

// askIn is the input of the test tool Ask, which asks before it runs.
type askIn struct {
	Text   string `json:"text" jsonschema:"What to do"`
	Always string `json:"always,omitempty" jsonschema:"What always remembers"`
	Aside  bool   `json:"aside,omitempty" jsonschema:"Ask without a turn"`
	Twice  bool   `json:"twice,omitempty" jsonschema:"Ask once more"`
	Vary   bool   `json:"vary,omitempty" jsonschema:"Ask something else each time"`
}

// newAsking returns a server with two tools that ask, Ask and Other. Instead of the
// pipeline it puts one question for each call, as the pipeline does: when the call has
// its turn. The text of a result holds the reply, and whether the decision was made in
// this request or in the one that it resumes.
func newAsking(t *testing.T, more ...*tools.Tool) *Server {
	t.Helper()
	s, _ := newServer(t, deadline, append(more, build[askIn]("Ask", "Asks."), build[askIn]("Other", "Asks too."))...)
	var asked atomic.Int64
	s.run = func(ctx context.Context, r pipeline.Request) (*tools.Response, error) {
		if r.Tool != "Ask" && r.Tool != "Other" {
			return s.Pipeline.Run(ctx, r)
		}
		return askFirst(ctx, r, &asked)
	}
	return s
}

func askFirst(ctx context.Context, r pipeline.Request, asked *atomic.Int64) (*tools.Response, error) {
	defer r.Ticket.Leave()
	text := func(format string, args ...any) *tools.Response {
		return &tools.Response{Content: []tools.Content{tools.Text{Text: fmt.Sprintf(format, args...)}}}
	}
	if r.Ask == nil {
		return text("cannot be asked"), nil
	}
	var in askIn
	if err := json.Unmarshal(r.Arguments, &in); err != nil {
		return nil, err
	}
	reason := "a rule asks"
	if in.Vary {
		reason = fmt.Sprint("rule ", asked.Add(1))
	}
	decided := "now"
	if r.Resumed == r.Tool {
		decided = "before"
	}
	var resp *tools.Response
	ask := func(ctx context.Context) (bool, error) {
		reply, err := r.Ask(ctx, pipeline.Question{
			Tool: r.Tool, Title: "Do " + in.Text, Input: r.Arguments, Reason: reason, Always: in.Always,
		})
		if needed, ends := err.(*pipeline.InputRequired); ends {
			needed.State = r.Tool
		}
		resp = text("%s allow=%t always=%t decided %s", reply.How, reply.Allow, reply.Always, decided)
		return false, err
	}
	var err error
	if in.Twice {
		if _, err = ask(ctx); err != nil {
			return nil, err
		}
	}
	if in.Aside {
		_, err = ask(ctx)
	} else {
		err = r.Ticket.Run(ctx, ask, func(context.Context) func() { return nil })
	}
	if ctx.Err() != nil {
		resp, err = text("the call was cancelled"), nil
	}
	return resp, err
}

// askClient is a client that can be asked, over one transport.
type askClient struct {
	t        *testing.T
	messages <-chan string     // messages of the server
	send     func(line string) // sends a message; a request's answer comes as a message
	leave    func()            // disconnects
	session  string            // over HTTP, up to 2025-11-25
	last     int               // id of the last call of 2026-07-28
}

// next returns the next message of the server.
func (c *askClient) next() answer {
	c.t.Helper()
	select {
	case line, ok := <-c.messages:
		if !ok {
			c.t.Fatal("the server has closed its output")
		}
		return parse(c.t, line)
	case <-time.After(deadline):
		c.t.Fatal("no message")
		return answer{}
	}
}

// question returns the next message, which must be a question.
func (c *askClient) question() answer {
	c.t.Helper()
	a := c.next()
	if a.Method != "elicitation/create" || !strings.HasPrefix(string(a.ID), `"ask-`) {
		c.t.Fatalf("no question: %+v", a)
	}
	return a
}

// text returns the text of the next message, which must be the result of a call.
func (c *askClient) text(id string) string {
	c.t.Helper()
	a := c.next()
	if string(a.ID) != id || a.Result == nil {
		c.t.Fatalf("no result of %s: %s %s %s %+v", id, a.ID, a.Method, a.Params, a.Error)
	}
	return resultText(c.t, a)
}

func resultText(t *testing.T, a answer) string {
	t.Helper()
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(a.Result, &r); err != nil || len(r.Content) != 1 {
		t.Fatalf("the result %s: %v", a.Result, err)
	}
	return r.Content[0].Text
}

// reply answers a question.
func (c *askClient) reply(to answer, result string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, to.ID, result))
}

const canElicit = `{"elicitation":{}}`

func initLine(capabilities string) string {
	return strings.Replace(initialize, `"capabilities":{}`, `"capabilities":`+capabilities, 1)
}

// askStdio connects a client over stdio that declares its capabilities.
func askStdio(t *testing.T, ctx context.Context, s *Server, capabilities string) *askClient {
	t.Helper()
	p := connect(t, ctx, s)
	var once sync.Once
	c := &askClient{t: t, messages: p.lines, send: func(line string) { p.send("%s", line) }, leave: func() {
		once.Do(func() {
			if _, err := p.end(); err != nil {
				t.Error(err)
			}
		})
	}}
	t.Cleanup(c.leave)
	if capabilities != "" {
		c.send(initLine(capabilities))
		c.next()
	}
	return c
}

// askHTTP connects a client over HTTP. Each message is a request of its own; the messages
// on their streams are merged.
func askHTTP(t *testing.T, w *web, capabilities string) *askClient {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	messages := make(chan string, 1000)
	var posts sync.WaitGroup
	c := &askClient{t: t, messages: messages}
	c.leave = func() {
		cancel()
		posts.Wait()
	}
	t.Cleanup(c.leave)
	c.send = func(line string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "POST", w.url, strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+goodToken)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if c.session != "" {
			r.Header.Set("Mcp-Session-Id", c.session)
		}
		m, _ := readMessage([]byte(line))
		if m.method == "" {
			readPost(w.client, r, messages) // handled when this returns, as over stdio
			return
		}
		if m.modern() {
			for _, h := range modern("tools/call", toolName(t, line)) {
				name, value, _ := strings.Cut(h, ": ")
				r.Header.Set(name, value)
			}
		}
		posts.Go(func() { readPost(w.client, r, messages) })
	}
	if capabilities != "" {
		status, header, body := w.do("POST", w.url, initLine(capabilities))
		if status != http.StatusOK {
			t.Fatalf("initialize: %d %s", status, body)
		}
		c.session = header.Get("Mcp-Session-Id")
	}
	return c
}

func toolName(t *testing.T, line string) string {
	t.Helper()
	var m struct{ Params struct{ Name string } }
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	return m.Params.Name
}

// readPost passes on the messages in the response to a POST: events or one object.
func readPost(client *http.Client, r *http.Request, messages chan<- string) {
	resp, err := client.Do(r)
	if err != nil {
		return // the test has disconnected
	}
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		if body, _ := io.ReadAll(resp.Body); len(body) > 0 {
			messages <- string(body)
		}
		return
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, isData := strings.CutPrefix(lines.Text(), "data: "); isData {
			messages <- data
		}
	}
}

// overBoth runs a test over either transport.
func overBoth(t *testing.T, test func(t *testing.T, s *Server, connect func(t *testing.T, capabilities string) *askClient)) {
	t.Run("stdio", func(t *testing.T) {
		s := newAsking(t)
		test(t, s, func(t *testing.T, capabilities string) *askClient {
			return askStdio(t, t.Context(), s, capabilities)
		})
	})
	t.Run("http", func(t *testing.T) {
		s := newAsking(t)
		w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
		test(t, s, func(t *testing.T, capabilities string) *askClient { return askHTTP(t, w, capabilities) })
	})
}
