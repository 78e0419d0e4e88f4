package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/tools"
)

const (
	// cancelWait is the time that a program has to stop by itself when its task is cancelled.
	cancelWait = 300 * time.Millisecond
	// maxTerminalOutput is the limit of the output of a terminal in an answer, in bytes.
	maxTerminalOutput = 256 << 10
)

// host handles the requests of a program that speaks the Agent Client Protocol. It is an acp.Client.
// Each request is a call of the agent's session, which the rules decide on.
type host struct {
	r   *Run
	ctx context.Context // ends all requests
	in  *messages

	mu        sync.Mutex
	closed    bool
	handling  sync.WaitGroup // requests
	session   acp.SessionId
	text      tail            // the message that the program writes now
	ended     bool            // the next piece of text begins a new message
	taken     []event.Event   // from the answers to calls
	quiet     map[string]bool // sources of events that the program does not get: its terminals
	terminals map[string]console
	pages     map[string]string // output of Read, by its input
	held      int               // size of pages
}

// converse gives the task to a program by the Agent Client Protocol.
func (r *Run) converse(ctx context.Context, p *Process) ending {
	running, cancel := context.WithCancelCause(ctx)
	h := &host{r: r, ctx: running, text: tail{limit: maxReport}, quiet: map[string]bool{}, terminals: map[string]console{}, pages: map[string]string{}}
	in := newMessages(p.Stdout, h.update)
	h.in = in
	conn := acp.NewClientSideConnection(h, answers{p.Stdin, in}, in)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	close(in.begun)
	result := make(chan ending, 1)
	go func() { result <- h.talk(ctx, conn) }()
	end, talks := gone, true
	select {
	case end = <-result:
		talks = false
	case <-ctx.Done():
		select { // talk sends that the task is cancelled, unless the program does not read
		case <-p.Done():
		case <-time.After(cancelWait):
		}
	}
	if why := in.fault.Load(); why != nil {
		end = ending{task.Failed, "failed: the program was ended: " + *why}
	} else if end == gone && ctx.Err() == nil {
		select {
		case <-p.Done():
			end.detail = "failed: the program " + plain.Line(p.Exit()) + " before it had answered"
		case <-time.After(pipeWait):
		}
	}
	cancel(errors.New("the agent has ended"))
	_ = p.End(programGrace)
	if talks {
		<-result
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.handling.Wait()
	h.flush()
	return end
}

// talk makes a session with a program and gives it the task.
func (h *host) talk(ctx context.Context, conn *acp.ClientSideConnection) ending {
	hello, err := conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientInfo: &acp.Implementation{Name: "mcp-toolset", Version: "1"},
		ClientCapabilities: acp.ClientCapabilities{Fs: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true},
	})
	if err != nil {
		return h.refused(conn, "initialize", err)
	}
	if hello.ProtocolVersion != acp.ProtocolVersionNumber {
		return ending{task.Failed, fmt.Sprintf("failed: the program speaks version %d of the Agent Client Protocol, and not %d", hello.ProtocolVersion, acp.ProtocolVersionNumber)}
	}
	s, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: h.r.a.session.View().Dir, McpServers: []acp.McpServer{}})
	if err != nil {
		return h.refused(conn, "session/new", err)
	}
	h.mu.Lock()
	h.session = s.SessionId
	h.mu.Unlock()
	for prompt := h.r.task(); ; {
		h.r.charge(&models.Response{})
		h.r.step(fmt.Sprintf("step %d: waits for the program", h.r.Used().Steps))
		resp, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: s.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(prompt)}})
		if err != nil {
			return h.refused(conn, "session/prompt", err)
		}
		switch resp.StopReason {
		case acp.StopReasonEndTurn:
		case acp.StopReasonMaxTokens, acp.StopReasonMaxTurnRequests:
			return ending{task.Completed, "ended at a limit of the program (" + string(resp.StopReason) + ")"}
		case acp.StopReasonRefusal:
			return ending{task.Failed, "failed: the program refuses to go on"}
		default:
			return ending{task.Failed, "failed: the program stopped without a report (" + plain.Key(string(resp.StopReason)) + ")"}
		}
		if prompt = h.news(); prompt == "" {
			return ending{task.Completed, "completed"}
		}
		if why := h.r.limit(); why != "" {
			return ending{task.Completed, "ended at the limit of " + why}
		}
	}
}

// news returns the events that the program has not got. The end of a terminal is none: the program
// asks for it.
func (h *host) news() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	more, dropped := h.r.a.r.Events.Take(h.r.a.owner)
	events := slices.DeleteFunc(append(h.taken, more...), func(e event.Event) bool { return h.quiet[e.Source] })
	h.taken = nil
	return h.r.eventText(events, dropped)
}

// gone is the end of a run whose program has closed its output, or has no time left.
var gone = ending{task.Failed, "failed: the program closed its output before it had answered"}

// refused returns the end of a run whose request a program has not answered. The message of
// the program is data, and becomes the report if there is none.
func (h *host) refused(conn *acp.ClientSideConnection, method string, err error) ending {
	var e *acp.RequestError
	select {
	case <-conn.Done(): // the error is of the library
		return gone
	default:
		if !errors.As(err, &e) || h.ctx.Err() != nil || h.in.broken.Load() {
			return gone
		}
	}
	h.r.script.add("error", map[string]any{"error": e.Error()})
	if e.Code == -32000 {
		return ending{task.Failed, "failed: the program needs a login; the user can log in with it in a terminal"}
	}
	h.mu.Lock()
	if h.text.written == 0 {
		_, _ = h.text.Write([]byte(cut(e.Error(), mostOfOne)))
	}
	h.mu.Unlock()
	return ending{task.Failed, fmt.Sprintf("failed: the program answered %s with the error %d", method, e.Code)}
}

// update takes an update of a session: text, calls that the program makes by itself, and its plan.
func (h *host) update(params json.RawMessage) {
	var n acp.SessionNotification
	if json.Unmarshal(params, &n) != nil {
		return
	}
	h.mu.Lock()
	mine := n.SessionId == h.session
	h.mu.Unlock()
	switch u := n.Update; {
	case !mine:
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		h.mu.Lock()
		if h.ended {
			h.text, h.ended = tail{limit: maxReport}, false
		}
		_, _ = h.text.Write([]byte(u.AgentMessageChunk.Content.Text.Text))
		h.mu.Unlock()
	case u.ToolCall != nil:
		h.r.quote(h.flush())
		h.show(u.ToolCall.Title)
	case u.Plan != nil:
		h.plan(u.Plan.Entries)
	}
}

// SessionUpdate implements acp.Client. All updates go to update.
func (h *host) SessionUpdate(context.Context, acp.SessionNotification) error { return nil }

// flush records the message that the program has written since the last call, and returns it. The next
// text begins another one.
func (h *host) flush() string {
	h.mu.Lock()
	fresh := !h.ended && h.text.written > 0
	text := h.text
	h.ended = true
	h.mu.Unlock()
	if !fresh {
		return ""
	}
	h.r.reported(&text)
	return text.String()
}

// show reports a step in words of the program, which are data in the log.
func (h *host) show(text string) {
	text = plain.Cut(plain.Line(text), 300)
	h.r.script.add("step", map[string]any{"text": text})
	h.r.quote(text)
	h.r.progress(text)
}

// plan reports how far a program is with its plan.
func (h *host) plan(entries []acp.PlanEntry) {
	done, now := 0, ""
	for _, e := range entries {
		switch {
		case e.Status == acp.PlanEntryStatusCompleted:
			done++
		case e.Status == acp.PlanEntryStatusInProgress && now == "":
			now = ": " + e.Content
		}
	}
	h.show(fmt.Sprintf("plan, %d of %d done%s", done, len(entries), now))
}

// enter begins to handle a request. The caller must call done, and pass it a pointer to its error.
func (h *host) enter(ctx context.Context) (context.Context, func(*error), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, acp.NewRequestCancelled(nil)
	}
	h.handling.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	return ctx, func(err *error) {
		if v := recover(); v != nil {
			h.r.a.r.Log.Error("a request of an agent panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			*err = acp.NewInternalError(nil)
		}
		stop()
		cancel(nil)
		h.handling.Done()
	}, nil
}

// call makes a call of the session for a program, or only has it decided.
func (h *host) call(ctx context.Context, tool string, input any, unrun bool) (*tools.Response, error) {
	r, args, arrive := h.r, raw(input), h.r.a.session.Arrive
	what := tool
	if unrun {
		what = "permission for " + tool
		arrive = func(tool string, args json.RawMessage, ask any) func(context.Context) *tools.Response {
			return r.a.session.Permit(tool, args, ask, r.a.kind.Program.Uncontained)
		}
	}
	if !r.count() {
		return nil, problem("the limit of calls is reached")
	}
	id := randomID()
	r.step("calls " + what)
	r.script.add("call", map[string]any{"id": id, "tool": tool, "input": args, "permission": unrun})
	resp := arrive(tool, args, r.ask())(ctx)
	text := textOf(blocksOf(resp))
	r.script.add("result", map[string]any{"id": id, "failed": resp.Failed, "text": cut(text, mostOfOne)})
	if events, ok := resp.Meta[event.Meta].([]event.Event); ok {
		h.mu.Lock()
		h.taken = append(h.taken, events...)
		h.mu.Unlock()
	}
	if resp.Failed {
		return nil, problem(cut(text, mostOfOne))
	}
	return resp, nil
}

// problem returns an error for a program.
func problem(text string) *acp.RequestError {
	return &acp.RequestError{Code: -32603, Message: text}
}

var _ acp.Client = (*host)(nil)
