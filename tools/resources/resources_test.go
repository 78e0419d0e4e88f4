package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// servers is an in-memory Source.
type servers struct {
	names   []string
	denied  map[string]string
	asked   map[string]string
	always  bool
	hold    map[string]time.Duration
	mu      sync.Mutex
	reached []string
}

func (s *servers) Servers() []string { return s.names }

func (s *servers) Denied(server string) (string, bool) {
	why, ok := s.denied[server]
	return why, ok
}

func (s *servers) Asked(server string) (string, bool) {
	why, ok := s.asked[server]
	return why, ok
}

func (s *servers) AskAlways() bool { return s.always }

func (s *servers) reach(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = append(s.reached, server)
}

func (s *servers) Resources(ctx context.Context, server string) ([]Resource, []Problem) {
	s.reach(server)
	select {
	case <-time.After(s.hold[server]):
	case <-ctx.Done():
		return nil, []Problem{{server, "given up"}}
	}
	switch server {
	case "github":
		return []Resource{
			{Server: server, URI: "repo://b", Name: "b"},
			{Server: server, URI: "repo://a", Name: "a", Title: "The first", MIMEType: "text/plain", Size: 120, Description: "What\nit is"},
			{Server: server, URI: "repo://a\x1b[2J\u202e\nother file:///etc/passwd (x)", Title: "\x00", Description: strings.Repeat("é ", 300)},
		}, nil
	case "down":
		return nil, []Problem{{server, "the process ended: exit status 1\n\x1b[31mno such file"}}
	case "half":
		return []Resource{{Server: server, URI: "x:1"}}, []Problem{{server, "the list is cut at 1,000 resources"}}
	}
	return nil, nil
}

func (s *servers) ReadResource(_ context.Context, server, uri string, env *tools.Env) ([]tools.Content, error) {
	s.reach(server)
	switch uri {
	case "repo://a":
		return []tools.Content{tools.Text{Text: "of " + server}, tools.Resource{URI: uri, Blob: []byte{1}}, tools.Image{}}, nil
	case "repo://empty":
		return nil, nil
	}
	return nil, fault.New("the server "+server+" has no such resource", "ListMcpResources lists what it has.")
}

func all() *servers {
	return &servers{names: []string{"half", "github", "down", "none", "private"}, denied: map[string]string{"private": "denied by the rule mcp__private in /s.json:3"}}
}

func TestCases(t *testing.T) {
	list := New(all())
	toolstest.Run(t, list[0], "testdata/list")
	toolstest.Run(t, list[1], "testdata/read")
	none := New(&servers{})
	toolstest.Run(t, none[0], "testdata/list-none")
	toolstest.Run(t, none[1], "testdata/read-none")
}

// TestDefinitions checks that both definitions are short, and that searches find them.
func TestDefinitions(t *testing.T) {
	for _, tool := range New(all()) {
		if n := tool.Tokens(); n >= 110 || n == 0 {
			t.Errorf("%s takes %d tokens", tool.Name, n)
		}
		if tool.Loading != tools.LoadDeferred || tool.Hints != (tools.Hints{ReadOnly: true, OpenWorld: true, Idempotent: tool.Name == "ListMcpResources"}) {
			t.Errorf("%s: %v, %+v", tool.Name, tool.Loading, tool.Hints)
		}
		if _, err := tool.OutputSchema(); err != nil {
			t.Error(err)
		}
	}
}

// resolve returns a prepared call and its Env.
func resolve(t *testing.T, s Source, tool, args string) (*tools.Prepared, *tools.Env) {
	t.Helper()
	for _, candidate := range New(s) {
		if candidate.Name != tool {
			continue
		}
		call, err := candidate.Parse(json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		env := toolstest.NewWorkspace(t).Env()
		return toolstest.Prepare(t, call, env), env
	}
	t.Fatal("no such tool")
	return nil, nil
}

func TestCheck(t *testing.T) {
	plainly := all()
	careful := all()
	careful.asked = map[string]string{"none": "the ask rule mcp__none in /s.json:4"}
	remote := all()
	remote.always = true
	const denied = `deny: the server private may not be used: denied by the rule mcp__private in /s.json:3; do without it, or ask the user to change the rule`
	for _, c := range []struct {
		source             *servers
		tool, server, want string
	}{
		{plainly, "Read", "github", ""},
		{plainly, "List", "github", ""},
		{plainly, "List", "", ""},
		{plainly, "Read", "private", denied},
		{plainly, "List", "private", denied},
		{remote, "Read", "private", denied},
		{careful, "Read", "github", ""},
		{careful, "Read", "none", "ask: the user is asked before the server none is used: the ask rule mcp__none in /s.json:4; do without it, or ask the user to change the rule"},
		{careful, "List", "", "ask: the user is asked before the server none is used: the ask rule mcp__none in /s.json:4; do without it, or ask the user to change the rule"},
		{remote, "Read", "github", "ask: no setting allows the resources of the server github; ask the user to add an allow rule such as ReadMcpResource(github)"},
		{remote, "List", "", "ask: no setting allows the resources of the server half; ask the user to add an allow rule such as ListMcpResources(half)"},
		{&servers{always: true}, "List", "", ""},
		{&servers{always: true, names: []string{"private"}, denied: plainly.denied}, "List", "", ""},
	} {
		tool, args := "ReadMcpResource", fmt.Sprintf(`{"server":%q,"uri":"x:"}`, c.server)
		if c.tool == "List" {
			tool, args = "ListMcpResources", fmt.Sprintf(`{"server":%q}`, c.server)
		}
		r, env := resolve(t, c.source, tool, args)
		got := ""
		if d := r.Check(env); d != nil {
			got = fmt.Sprintf("%s: %s; %s", d.Behavior, d.Reason, d.Next)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", tool, c.server, diff)
		}
	}
}

// TestDeniedIsNotReached checks that a list of all servers leaves out denied ones.
func TestDeniedIsNotReached(t *testing.T) {
	s := all()
	r, env := resolve(t, s, "ListMcpResources", `{}`)
	if _, err := r.Run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(s.reached, " "), "private") || len(s.reached) != 4 {
		t.Errorf("reached %q", s.reached)
	}
}

// TestSideBySide checks that a slow server does not delay others, and that a cancelled call
// ends.
func TestSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := all()
		s.hold = map[string]time.Duration{"github": time.Minute, "down": time.Minute, "none": time.Minute}
		r, env := resolve(t, s, "ListMcpResources", `{}`)
		began := time.Now()
		if _, err := r.Run(t.Context(), env); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Run(ctx, env); err != context.DeadlineExceeded || time.Since(began) != time.Minute+time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		tool, args, pattern string
		denies, allows      bool
	}{
		{"Read", `{"server":"github","uri":"x"}`, "github", true, true},
		{"Read", `{"server":"github","uri":"x"}`, "GitHub", true, false},
		{"Read", `{"server":"github","uri":"x"}`, "git*", true, true},
		{"Read", `{"server":"github","uri":"x"}`, "*hub", true, true},
		{"Read", `{"server":"github","uri":"x"}`, "g*h*b", true, true},
		{"Read", `{"server":"github","uri":"x"}`, "**", true, true},
		{"Read", `{"server":"github","uri":"x"}`, "git", false, false},
		{"Read", `{"server":"github","uri":"x"}`, "hub", false, false},
		{"Read", `{"server":"github","uri":"x"}`, "github*github", false, false},
		{"Read", `{"server":"github","uri":"x"}`, "x*", false, false},
		{"Read", `{"server":"github","uri":"x"}`, "g*x*b", false, false},
		{"Read", `{"server":"github","uri":"x"}`, "gith?b", false, false},
		{"Read", `{"server":"github","uri":"x"}`, "", false, false},
		{"Read", `{"server":"github","uri":"x"}`, "x", false, false},
		{"List", `{"server":"github"}`, "github", true, true},
		{"List", `{"server":"github"}`, "down", false, false},
		{"List", `{}`, "down", true, false},
		{"List", `{}`, "other", false, false},
		{"List", `{}`, "**", true, true},
	} {
		tool := map[string]string{"Read": "ReadMcpResource", "List": "ListMcpResources"}[c.tool]
		r, _ := resolve(t, all(), tool, c.args)
		match := r.Matcher(policy.Base{})
		if match(policy.Deny, c.pattern) != c.denies || match(policy.Ask, c.pattern) != c.denies || match(policy.Allow, c.pattern) != c.allows {
			t.Errorf("%s %s by %q: deny %v, allow %v", tool, c.args, c.pattern, match(policy.Deny, c.pattern), match(policy.Allow, c.pattern))
		}
	}
}
