package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"mcp-toolset/internal/exec/process"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// modeVar makes the test binary a stdio server.
const modeVar = "UPSTREAM_TEST_MODE"

// failTime is a timeout that only failing tests reach.
const failTime = time.Minute

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == process.Arg {
		os.Exit(process.Serve(nil))
	}
	if mode := os.Getenv(modeVar); mode != "" {
		beServer(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// beServer runs a stdio server made with the library. mode is a comma-separated
// list of words.
func beServer(mode string) {
	has := func(word string) bool { return strings.Contains(","+mode+",", ","+word+",") }
	if has("dies") {
		fmt.Fprintln(os.Stderr, "Error: cannot find module './x'\n    at somewhere\nNode.js v22")
		os.Exit(3)
	}
	if has("deaf") {
		select {}
	}
	if has("garbage") {
		fmt.Println("Welcome to the server!\n{\"jsonrpc\":\"2.0\"}\n[1]")
	}
	in := io.Reader(os.Stdin)
	if has("legacy") || has("fragile") {
		in = withoutDiscover(os.Stdin, has("fragile"), has("mute"), has("vague"))
	}
	srv := fixture()
	_ = mcpserver.NewStdioServer(srv).Listen(context.Background(), in, os.Stdout)
}

// withoutDiscover makes a server react to server/discover as servers did before
// protocol 2026-07-28: with an error, with silence, by exiting, or as to any unknown method with an empty
// result.
func withoutDiscover(in io.Reader, fragile, mute, vague bool) io.Reader {
	r, w := io.Pipe()
	go func() {
		defer w.Close()
		for lines := bufio.NewReader(in); ; {
			text, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.Unmarshal([]byte(text), &m)
			switch {
			case m.Method != "server/discover":
				_, _ = io.WriteString(w, text)
			case fragile:
				os.Exit(1)
			case vague:
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
			case !mute:
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
			}
		}
	}()
	return r
}

// fixture returns a server with tools for all tests.
func fixture() *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("fixture", "1", mcpserver.WithToolCapabilities(true), mcpserver.WithResourceCapabilities(false, false), mcpserver.WithElicitation())
	add := func(name string, f mcpserver.ToolHandlerFunc) {
		s.AddTool(mcp.NewToolWithRawSchema(name, "Tool "+name+".", json.RawMessage(`{"type":"object"}`)), f)
	}
	add("echo", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(string(r.Params.RawArguments)), nil
	})
	add("image", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultImage("a picture", "aGk=", "image/png"), nil
	})
	add("crash", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "fatal error: out of ink")
		os.Exit(7)
		return nil, nil
	})
	add("hang", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		if file, ok := r.GetArguments()["file"].(string); ok {
			_ = os.WriteFile(file, []byte("cancelled"), 0o600)
		}
		return nil, ctx.Err()
	})
	add("pid", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(os.Getpid())), nil
	})
	add("env", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(strings.Join(os.Environ(), "\n")), nil
	})
	add("slow", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": r.Params.Meta.ProgressToken, "progress": i + 1, "total": 3, "message": fmt.Sprint("step ", i+1),
			})
		}
		return mcp.NewToolResultText("done"), nil
	})
	add("change", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(mcp.NewTool("added"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("added"), nil
		})
		return mcp.NewToolResultText("changed"), nil
	})
	add("ask", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		question := mcp.ElicitationParams{Message: "Which colour?", RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"colour": map[string]any{"type": "string"}},
		}}
		if mcpserver.RequestProtocolInfoFromContext(ctx).Modern {
			if answer, ok := r.Params.InputResponses["q"]; ok {
				text, _ := json.Marshal(answer)
				return mcp.NewToolResultText(string(text)), nil
			}
			return mcpserver.NewInputRequestBuilder("state").Elicit("q", question).ToolResult(), nil
		}
		answer, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: question})
		if err != nil {
			return nil, err
		}
		text, _ := json.Marshal(answer)
		return mcp.NewToolResultText(string(text)), nil
	})
	s.AddResource(mcp.NewResource("test://one", "one"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "test://one", MIMEType: "text/plain", Text: "first"}}, nil
	})
	s.AddResource(mcp.NewResource("test://blob", "blob"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.BlobResourceContents{URI: "test://blob", MIMEType: "image/png", Blob: "aGk="}}, nil
	})
	return s
}

// stdioServer returns the test binary as a stdio server.
func stdioServer(t testing.TB, name, mode string) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: name, Prefix: name, Command: self, Env: map[string]string{modeVar: mode}}
}

// board records what a registry received.
type board struct {
	mu   sync.Mutex
	last []tools.Server
	all  int
	bell chan struct{} // closed at the next change
}

func newBoard() *board { return &board{bell: make(chan struct{})} }

func (b *board) set(list []tools.Server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = list
	b.all++
	close(b.bell)
	b.bell = make(chan struct{})
}

// until waits until a condition is met.
func (b *board) until(t testing.TB, is func([]tools.Server) bool) {
	t.Helper()
	late := time.After(failTime)
	for {
		b.mu.Lock()
		ok, bell, last := is(b.last), b.bell, b.last
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-bell:
		case <-late:
			t.Fatalf("it does not come to pass; the state is %+v", last)
		}
	}
}

func (b *board) server(name string) tools.Server {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.last {
		if s.Name == name {
			return s
		}
	}
	return tools.Server{}
}

// tool returns a tool by the name that models use.
func (b *board) tool(name string) *tools.Tool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.last {
		for _, tool := range s.Tools {
			if tool.Name == name {
				return tool
			}
		}
	}
	return nil
}

// begin returns a manager that is closed at the end of the test.
func begin(t testing.TB, c Config) (*Manager, *board) {
	t.Helper()
	b := newBoard()
	c.Registry = b.set
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	c.Log = testLog(t)
	m := New(c)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	m.Begin()
	return m, b
}

func testLog(t testing.TB) *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// testEnv returns the environment of a call.
func testEnv() *tools.Env {
	return &tools.Env{Session: session.View{ID: "s", Principal: "p"}, Progress: func(tools.Progress) {}}
}

// invoke calls a tool of a server as the pipeline does.
func invoke(t testing.TB, m *Manager, server, tool, args string, env *tools.Env) (*tools.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), failTime, errors.New("the call does not return"))
	defer cancel()
	if env == nil {
		env = testEnv()
	}
	return m.find(server).call(ctx, env, tool, json.RawMessage(args))
}

// text returns the text of a response.
func text(t testing.TB, r *tools.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, c := range r.Content {
		if c, ok := c.(tools.Text); ok {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n")
}
