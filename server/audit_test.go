package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/identity"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/tools"
)

// TestUnknownAudited checks that a call of a tool that is not offered is
// answered with -32602 and logged with its arguments. It covers both
// transports, an optional and a required audit log, and arguments that the
// library does not get.
func TestUnknownAudited(t *testing.T) {
	calls := []struct{ tool, fault, line string }{
		{"Reed", `there is no tool "Reed"; the nearest is Read`, "invalid Reed"},
		{"call", `there is no tool "call"; there are: Read`, "invalid call"},
		{"Gated", "tool \"Gated\" is not available: feature never is off", "refused Gated"},
		{"mcp__shut__echo", "there is no tool \"mcp__shut__echo\": the server shut may not be used: denied by deniedMcpServers in f:1", "invalid mcp__shut__echo"},
		{"mcp__dead__echo", "there is no tool \"mcp__dead__echo\": the server dead is not connected: it ended", "invalid mcp__dead__echo"},
	}
	for required, args := range map[bool]string{false: `{"a":1}`, true: `{"a":"` + strings.Repeat("x", largeArguments) + `"}`} {
		s, _ := newServer(t, time.Second)
		s.Registry.SetServers([]tools.Server{
			{Name: "shut", Prefix: "shut", State: tools.Refused, Note: "denied by deniedMcpServers in f:1"},
			{Name: "dead", Prefix: "dead", State: tools.Failed, Note: "it ended"},
		})
		lines := make(chan string, 100)
		s.Pipeline.AuditRequired = required
		s.Pipeline.Await = func(_ context.Context, tool string) {
			if !strings.HasPrefix(tool, "mcp__dead__") {
				t.Errorf("a server is waited for because of %s", tool)
			}
		}
		s.Pipeline.Audit = func(_ context.Context, e audit.Entry) error {
			if string(e.Input) != args || e.Error == "" || e.Session == "" {
				t.Errorf("%.300s", fmt.Sprintf("%+v", e))
			}
			lines <- e.Outcome + " " + e.Tool
			return nil
		}
		check := func(how, line, wantFault, wantLine string) {
			t.Helper()
			var answer struct {
				Error struct {
					Code    int
					Message string
				}
			}
			if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.Error.Code != -32602 || !strings.HasPrefix(answer.Error.Message, wantFault) {
				t.Errorf("%s: %s, %v; want %s", how, line, err, wantFault)
			}
			if len(lines) != 1 {
				t.Errorf("%s: %s has %d lines in the audit", how, wantLine, len(lines))
				return
			}
			if got := <-lines; got != wantLine {
				t.Errorf("%s: the line is %s, want %s", how, got, wantLine)
			}
		}
		p, w := connect(t, t.Context(), s), serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
		p.send(initialize)
		p.next()
		session := w.session()
		for i, c := range calls {
			p.send("%s", callLine(i, c.tool, args))
			check("stdio", p.next(), c.fault, c.line)
			_, _, body := w.do("POST", w.url, callLine(i, c.tool, args), session)
			check("http", dataOf(body), c.fault, c.line)
			request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, c.tool, args, modernMeta)
			_, _, body = w.do("POST", w.url, request, modern("tools/call", c.tool)...)
			check("modern http", dataOf(body), c.fault, c.line)
		}
		if _, err := p.end(); err != nil {
			t.Error(err)
		}
	}
}

// dataOf returns the last message of a body, which may be a stream of events.
func dataOf(body string) string {
	if i := strings.LastIndex(body, "data: "); i >= 0 {
		body = body[i+len("data: "):]
	}
	return strings.TrimSpace(body)
}
