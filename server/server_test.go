package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/results"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/read"
)

// deadline is the timeout of each wait in these tests.
const deadline = 20 * time.Second

// gate is a pair of test tools: calls of Block and Wait (which may run beside
// other calls) wait until the gate is opened, and every start is recorded.
type gate struct {
	mu      sync.Mutex
	started []string
	open    chan struct{}
	begun   chan string // one per start
}

func newGate() *gate { return &gate{open: make(chan struct{}), begun: make(chan string, 10_000)} }

func (g *gate) starts() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.started)
}

type gateIn struct {
	Name   string `json:"name" jsonschema:"Name of the call"`
	Notify int    `json:"notify,omitempty" jsonschema:"Progress and log messages to send"`
	Cancel bool   `json:"stubborn,omitempty" jsonschema:"Ignore a cancel"`
}

type gateOut struct {
	Name string `json:"name" jsonschema:"Name of the call"`
}

func (g *gate) tool(name string, safe bool) *tools.Tool {
	interrupt := tools.Cancel
	if name == "Finish" {
		interrupt = tools.Finish
	}
	d := tools.Def[gateIn, gateIn, gateOut]{
		Interrupt: interrupt,
		Name:      name, Prompt: "Waits.", Aliases: []string{"Old" + name},
		Call: func(ctx context.Context, env *tools.Env, in gateIn) (tools.Result[gateOut], error) {
			g.mu.Lock()
			g.started = append(g.started, in.Name)
			g.mu.Unlock()
			g.begun <- in.Name
			for i := range in.Notify {
				env.Progress(tools.Progress{Done: float64(i + 1), Total: float64(in.Notify), Message: in.Name})
				env.Log.Error("message", "n", i+1)
			}
			if in.Notify > 0 {
				return tools.Result[gateOut]{Data: gateOut{in.Name}}, nil
			}
			done := ctx.Done()
			if in.Cancel {
				done = nil
			}
			select {
			case <-g.open:
				return tools.Result[gateOut]{Data: gateOut{in.Name}, Effect: session.Effect{Loaded: []string{in.Name}}}, nil
			case <-done:
				return tools.Result[gateOut]{}, ctx.Err()
			}
		},
	}
	if safe {
		d.IsConcurrencySafe, d.IsReadOnly = tools.Always[gateIn](), tools.Always[gateIn]()
	}
	return tools.MustBuild(d)
}

// await receives from a channel, or fails the test at the deadline.
func await[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(deadline + time.Second): // a request has its own deadline with a better message
		t.Fatal("nothing happens")
	}
	return v
}

// newServer returns a server of Read and the tools given, over one root folder.
func newServer(t *testing.T, drain time.Duration, more ...*tools.Tool) (s *Server, root string) {
	t.Helper()
	return newServerFor(t, drain, tools.DeferHints, more...)
}

// newServerFor is like newServer, with a way to offer tools, and with support for
// upstream servers.
func newServerFor(t *testing.T, drain time.Duration, how tools.Deferral, more ...*tools.Tool) (s *Server, root string) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // runs last: no goroutine outlives a transport
	roots, err := workspace.OpenRoots([]string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = roots.Close() })
	root = roots.Paths()[0]
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gated := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Gated", Prompt: "Absent.", Feature: "never",
		Call: func(context.Context, *tools.Env, gateIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{}, nil
		}})
	registry, err := tools.NewRegistry(append(more, read.New(read.Options{Repeat: true}), gated), tools.Gates{Deferral: how, Features: map[string]bool{"never": false, "worktrees": true}})
	if err != nil {
		t.Fatal(err)
	}
	var wake func(context.Context, bool, time.Duration)
	if how != tools.DeferHints {
		wake = func(context.Context, bool, time.Duration) {}
	}
	state := t.TempDir()
	store := results.New(filepath.Join(state, "results"), results.Quota, time.Now)
	t.Cleanup(func() { _ = store.Close() })
	s, err = New(Config{
		Version: "test", WakeListed: wake, Registry: registry, Roots: roots, Results: store, Drain: drain,
		Log: slog.New(slog.DiscardHandler), Scheduler: concurrency.New(concurrency.Config{}),
		Pipeline: pipeline.New(pipeline.Config{
			Registry: registry, Roots: roots, Results: store,
			Rules: pipeline.Rules{Policy: policy.New(policy.Config{Roots: roots.Paths(), Closed: []string{state}})},
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.personTime = 0 // the clients of most tests answer at once
	return s, root
}

// peer is the client end of a stdio connection, at the level of lines.
type peer struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  chan string // lines of the server; closed at its end
	served chan error
}

func connect(t *testing.T, ctx context.Context, s *Server) *peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, in: inW, lines: make(chan string, 10_000), served: make(chan error, 1)}
	go func() {
		err := s.ServeStdio(ctx, inR, outW)
		_ = inR.Close()
		_ = outW.Close()
		p.served <- err
	}()
	go func() {
		defer close(p.lines)
		r := bufio.NewReaderSize(outR, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				p.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	return p
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.t.Fatal(err)
	}
}

// next returns the next line of the server.
func (p *peer) next() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server has closed its output")
		}
		return line
	case <-time.After(deadline):
		p.t.Fatal("no answer")
		return ""
	}
}

// end closes the input and returns the remaining lines of the server.
func (p *peer) end() (rest []string, err error) {
	p.t.Helper()
	_ = p.in.Close()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return rest, <-p.served
			}
			rest = append(rest, line)
		case <-time.After(deadline):
			p.t.Fatal("the server does not end")
		}
	}
}

// answer is a JSON-RPC message of the server.
type answer struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func parse(t *testing.T, line string) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("the server wrote %q: %v", line, err)
	}
	return a
}

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// callLine returns a tools/call message.
func callLine(id any, tool, args string) string {
	raw, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, raw, tool, args)
}

func cancelLine(id any) string {
	raw, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, raw)
}
