package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

const placeSchema = `{"type":"object","properties":{"city":{"type":"string","pattern":"^[A-Z]"},"n":{"type":["integer","null"]},"near":{"$ref":"#/$defs/p"}},"required":["city"],"$defs":{"p":{"type":"object","properties":{"x":{"type":"number"}}}}}`

func foreign(t *testing.T, f tools.Foreign) *tools.Tool {
	t.Helper()
	if f.Name == "" {
		f.Name = "mcp__maps__place"
	}
	if f.Server == "" {
		f.Server = "maps"
	}
	if f.InputSchema == nil {
		f.InputSchema = json.RawMessage(placeSchema)
	}
	tool, err := tools.BuildForeign(f)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// TestForeignInput checks that the schema is passed on and enforced unchanged, that no
// value is converted, and that arguments which two decoders could read differently are
// rejected.
func TestForeignInput(t *testing.T) {
	tool := foreign(t, tools.Foreign{})
	if schema, err := tool.InputSchema(); err != nil || string(schema) != placeSchema {
		t.Errorf("the schema is %s, %v", schema, err)
	}
	for _, c := range []struct{ args, want string }{
		{`{"city":"Ulm"}`, ""},
		{`{"city":"Ulm","n":12345678901234567890,"more":{"a":[1.50]}}`, ""}, // the object is open, and numbers are unchanged
		{`{"city":"Ulm","n":null}`, ""},
		{`{"city":"ulm"}`, "the arguments do not fit the tool's input schema"},
		{`{"n":1}`, `required property "city" is missing`},
		{``, `required property "city" is missing`},
		{`null`, `required property "city" is missing`},
		{`{"city":"Ulm","n":"1"}`, `property "n" is "1"`},
		{`{"city":"Ulm","near":{"x":"far"}}`, `property "near.x" is "far"`},
		{`{"city":"Ulm","city":"Aix"}`, `property "city" is given twice`},
		{`{"city":"Ulm","near":{"x":1,"x":2}}`, `property "near.x" is given twice`},
		{`{"city":"Ulm","l":[{"a":1},{"b":1,"b":2}]}`, `property "l[1].b" is given twice`},
		{`{"city":"\ud800"}`, "the arguments hold half of a surrogate pair"},
		{"{\"city\":\"U\xff\"}", "the arguments are not valid UTF-8"},
		{`[1]`, "the arguments are not an object"},
		{`{"city":"Ulm"} {}`, "the arguments go on after their closing brace"},
		{`{"city":`, "the arguments are not valid JSON"},
		{`{"city":"Ulm","l":` + strings.Repeat("[", 5_000_000) + strings.Repeat("]", 5_000_000) + `}`, "the arguments are nested more than 1000 deep"},
	} {
		call, err := tool.Parse(json.RawMessage(c.args))
		if c.want != "" {
			var fault *tools.Fault
			if !errors.As(err, &fault) || !strings.HasPrefix(fault.Fact, c.want) || fault.Next == "" {
				t.Errorf("%.100s: %v, want %q and a next step", c.args, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		} else if got := toolstest.Prepare(t, call, &tools.Env{}).Input(); string(got) != c.args {
			t.Errorf("%s became %s", c.args, got)
		}
	}
	// A schema that cannot be used here is for the upstream server to enforce.
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"$ref":"https://example.com/s"}},"required":["b"]}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"(?<=x)y"}}}`,
	} {
		if _, err := foreign(t, tools.Foreign{InputSchema: json.RawMessage(schema)}).Parse(json.RawMessage(`{"a":"b"}`)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
	for _, bad := range []string{`{}`, `{"type":"string"}`, `[]`, ``, `{"type":"object"`} {
		if _, err := tools.BuildForeign(tools.Foreign{Name: "mcp__a__b", InputSchema: json.RawMessage(bad)}); err == nil {
			t.Errorf("the schema %s was taken", bad)
		}
	}
}

// TestForeignFacts checks that of a server's annotations only read-only is trusted, and
// only for concurrency.
func TestForeignFacts(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		said                        tools.DeclaredAnnotations
		safe, destructive, destroys bool
	}{
		{tools.DeclaredAnnotations{}, false, true, true},
		{tools.DeclaredAnnotations{ReadOnly: &yes}, true, false, false},
		{tools.DeclaredAnnotations{ReadOnly: &yes, Destructive: &yes}, true, false, false},
		{tools.DeclaredAnnotations{ReadOnly: &no}, false, true, true},
		{tools.DeclaredAnnotations{Destructive: &no}, false, false, false},
		{tools.DeclaredAnnotations{Destructive: &yes}, false, true, true},
	} {
		tool := foreign(t, tools.Foreign{Declared: c.said, InputSchema: json.RawMessage(`{"type":"object"}`)})
		call, err := tool.Parse(nil)
		if err != nil {
			t.Fatal(err)
		}
		got := toolstest.Prepare(t, call, &tools.Env{}).Facts
		if got.ReadOnly || got.ConcurrencySafe != c.safe || got.Destructive != c.destructive || c.said.DestructiveHint() != c.destroys {
			t.Errorf("%+v: %+v", c.said, got)
		}
		match := toolstest.Prepare(t, call, &tools.Env{}).Matcher(policy.Base{})
		if !match(policy.Deny, "x") || !match(policy.Ask, "x") || match(policy.Allow, "x") {
			t.Error("a pattern that nobody understands allows, or does not deny or ask")
		}
	}
}

// TestServers checks that tools of upstream servers come and go after our own, whose order
// does not change, and that listeners are called after every change.
func TestServers(t *testing.T) {
	own := []*tools.Tool{simple("Read", tools.LoadAlways), simple("Write", tools.LoadAlways)}
	denied := func(t *tools.Tool) (string, bool) {
		return "denied by rule mcp__maps__secret", t.Name == "mcp__maps__secret"
	}
	r, err := tools.NewRegistry(own, tools.Gates{Denied: denied, Deferral: tools.DeferDispatch})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	r.OnChange(func() { told++ })
	place, route := foreign(t, tools.Foreign{}), foreign(t, tools.Foreign{Name: "mcp__maps__a_route"})
	secret := foreign(t, tools.Foreign{Name: "mcp__maps__secret"})
	again := foreign(t, tools.Foreign{Name: "mcp__maps__place", Server: "other"})
	maps := tools.Server{Name: "maps", State: tools.Ready, Tools: []*tools.Tool{place, route, secret}}
	if errs := r.SetServers([]tools.Server{maps, {Name: "other", Tools: []*tools.Tool{again}}}); len(errs) != 1 {
		t.Errorf("a name that is taken: %v", errs)
	}
	if got := names(r.Tools()); got != "Read Write mcp__maps__a_route mcp__maps__place" {
		t.Errorf("the tools are %s", got)
	}
	if got, err := r.Lookup("mcp__maps__place"); err != nil || got != place {
		t.Errorf("the first server that has a name keeps it: %v, %v", got, err)
	}
	var unknown *tools.UnknownTool
	if _, err := r.Lookup("mcp__maps__secret"); !errors.As(err, &unknown) || unknown.Absent != secret {
		t.Errorf("a tool that a rule removes: %v", err)
	}
	if list := r.Tools(); told != 1 || &r.Tools()[0] != &list[0] {
		t.Errorf("told %d times", told)
	}
	before := r.Tools()
	maps.State, maps.Note = tools.Failed, "it ended"
	r.SetServers([]tools.Server{maps})
	if told != 1 || &before[0] != &r.Tools()[0] || r.Catalogue().Servers()[0].Note != "it ended" {
		t.Error("a server's state is not a change of tools, but seen")
	}
	r.SetServers(nil)
	if told != 2 || names(r.Tools()) != "Read Write" || names(before) != "Read Write mcp__maps__a_route mcp__maps__place" {
		t.Errorf("told %d times of %s", told, names(r.Tools()))
	}
}

// TestListed checks that the list depends on the deferral, never on upstream servers, and
// that Lookup finds every tool in any case.
func TestListed(t *testing.T) {
	big := strings.Repeat("word ", 400) // 500 tokens
	finder := tools.MustBuild(tools.Def[struct{}, struct{}, struct{}]{Name: "ToolSearch", Prompt: "Finds.", Loading: tools.LoadAlways, Finder: true, Call: nothing})
	list := []*tools.Tool{simple("Always", tools.LoadAlways), simple("Auto", tools.LoadAuto), simple("Late", tools.LoadDeferred), finder}
	heavy := append(list[:4:4], tools.MustBuild(tools.Def[struct{}, struct{}, struct{}]{Name: "Heavy", Prompt: big, Call: nothing}))
	for range 5 {
		heavy = append(heavy, tools.MustBuild(tools.Def[struct{}, struct{}, struct{}]{Name: "Heavy" + string(rune('A'+len(heavy))), Prompt: big, Call: nothing}))
	}
	found := func(name string) bool { return name == "Late" || name == "mcp__maps__place" }
	for _, c := range []struct {
		how    tools.Deferral
		list   []*tools.Tool
		loaded func(string) bool
		want   string
	}{
		{tools.DeferHints, list, nil, "Always Auto Late mcp__maps__place"},
		{tools.DeferOff, list, nil, "Always Auto Late mcp__maps__place"},
		{tools.DeferDispatch, list, nil, "Always Auto ToolSearch"},
		{tools.DeferLegacyList, list, nil, "Always Auto ToolSearch"},
		{tools.DeferLegacyList, list, found, "Always Auto Late ToolSearch mcp__maps__place"},
		{tools.DeferDispatch, heavy, nil, "Always ToolSearch"},
	} {
		r, err := tools.NewRegistry(c.list, tools.Gates{Deferral: c.how})
		if err != nil {
			t.Fatal(err)
		}
		r.SetServers([]tools.Server{{Name: "maps", Tools: []*tools.Tool{foreign(t, tools.Foreign{Prompt: big, Loading: tools.LoadDeferred})}}})
		if got := names(r.Listed(c.how, c.loaded)); got != c.want {
			t.Errorf("%s: %s, want %s", c.how, got, c.want)
		}
		if _, err := r.Lookup("mcp__maps__place"); err != nil {
			t.Errorf("%s: %v", c.how, err)
		}
	}
}

// TestUnknownNames checks that the error for a wrong name suggests the nearest names, and a
// search for others if ToolSearch is offered.
func TestUnknownNames(t *testing.T) {
	for _, c := range []struct {
		how        tools.Deferral
		name, want string
	}{
		{tools.DeferHints, "Raed", `there is no tool "Raed"; the nearest is Read`},
		{tools.DeferHints, "x", `there is no tool "x"; there are: Read, mcp__maps__place`},
		{tools.DeferDispatch, "mcp__maps__plase", `there is no tool "mcp__maps__plase"; the nearest is mcp__maps__place. Find others with ToolSearch {"query": "maps plase"}`},
		{tools.DeferDispatch, "createPullRequest", `there is no tool "createPullRequest". Find others with ToolSearch {"query": "create pull request"}`},
		{tools.DeferDispatch, "___", `there is no tool "___"; there are: Read, mcp__maps__place`},
	} {
		r, err := tools.NewRegistry([]*tools.Tool{simple("Read", tools.LoadAlways)}, tools.Gates{Deferral: c.how})
		if err != nil {
			t.Fatal(err)
		}
		r.SetServers([]tools.Server{{Name: "maps", Tools: []*tools.Tool{foreign(t, tools.Foreign{})}}})
		if _, err := r.Lookup(c.name); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

// TestUnknownOfHosts checks the advice for tools of other hosts. No name leads to a tool
// that changes something, unless it is a misspelling of that tool.
func TestUnknownOfHosts(t *testing.T) {
	readOnly := func(name string) *tools.Tool {
		return tools.MustBuild(tools.Def[struct{}, struct{}, struct{}]{Name: name, Prompt: "Does it.", IsReadOnly: tools.Always[struct{}](), Call: nothing})
	}
	files := []*tools.Tool{readOnly("Read"), readOnly("Glob"), readOnly("Grep"), simple("Write", tools.LoadAlways), simple("Edit", tools.LoadAlways)}
	all := append(files[:5:5], simple("Bash", tools.LoadAlways), readOnly("TaskOutput"))
	windows := append(files[:5:5], simple("PowerShell", tools.LoadAlways), readOnly("TaskOutput"))
	for _, c := range []struct {
		list       []*tools.Tool
		how        tools.Deferral
		name, want string
	}{
		{windows, "", "run_command", `there is no tool "run_command"; use PowerShell`},
		{windows, "", "LS", `there is no tool "LS"; use Glob, or PowerShell with ls`},
		{windows, "", "Monitor", `there is no tool "Monitor"; start the command with PowerShell and run_in_background; TaskOutput waits for it`},
		{all, "", "PowerShell", `there is no tool "PowerShell"; use Bash`},
		{all, "", "LS", `there is no tool "LS"; use Glob, or Bash with ls`},
		{files, "", "list_directory", `there is no tool "list_directory"; use Glob`},
		{all, "", "TodoWrite", `there is no tool "TodoWrite"; there is no work list here; keep the list in your answer`},
		{all, tools.DeferDispatch, "TaskCreate", `there is no tool "TaskCreate"; there is no work list here; keep the list in your answer. Find others with ToolSearch {"query": "task create"}`},
		{all, "", "MultiEdit", `there is no tool "MultiEdit"; send one Edit for each change; they run in the order in which they are sent`},
		{all, "", "NotebookRead", `there is no tool "NotebookRead"; use Read`},
		{all, "", "WebFetch", `there is no tool "WebFetch"; nothing here reads web pages except Bash with curl, if commands may use the network`},
		{files, "", "WebFetch", `there is no tool "WebFetch"; nothing here reads web pages; ask the user for the content`},
		{all, "", "web_search", `there is no tool "web_search"; nothing here searches the web; ask the user`},
		{all, "", "Task", `there is no tool "Task"; there are no other agents here; do the work with the tools that you have`},
		{all, "", "AskUserQuestion", `there is no tool "AskUserQuestion"; ask the user in your answer`},
		{all, "", "Skill", `there is no tool "Skill"; there are no skills here; if the skill is a file, read it`},
		{all, "", "Monitor", `there is no tool "Monitor"; start the command with Bash and run_in_background; TaskOutput waits for it`},
		{all, "", "CronCreate", `there is no tool "CronCreate"; nothing here runs at a later time; ask the user`},
		{append(all[:7:7], readOnly("CronCreate")), "", "ScheduleWakeup", `there is no tool "ScheduleWakeup"; use CronCreate`},
		{all, "", "Config", `there is no tool "Config"; no tool changes the settings; ask the user`},
		{all, "", "StructuredOutput", `there is no tool "StructuredOutput"; give the result in your answer`},
		{all, "", "EnterWorktree", `there is no tool "EnterWorktree"; use Bash with git worktree`},
		{files, "", "EnterWorktree", `there is no tool "EnterWorktree"; there are: Edit, Glob, Grep, Read, Write`},
		{all, "", "NoteWrite", `there is no tool "NoteWrite"; there are: Bash, Edit, Glob, Grep, Read, TaskOutput, Write`},
		{all, tools.DeferDispatch, "MultiEdit", `there is no tool "MultiEdit"; send one Edit for each change; they run in the order in which they are sent`},
		{all, tools.DeferDispatch, "WebFetch", `there is no tool "WebFetch"; nothing here reads web pages except Bash with curl, if commands may use the network`},
		{all, "", "Writ", `there is no tool "Writ"; the nearest is Write`},
		{all, "", "Eidt", `there is no tool "Eidt"; the nearest is Edit`},
		{all, "", "Exit", `there is no tool "Exit"; there are: Bash, Edit, Glob, Grep, Read, TaskOutput, Write`},
		{all, "", "FileRead", `there is no tool "FileRead"; the nearest is Read`},
		{all, "", "place", `there is no tool "place"; the nearest is mcp__maps__place`},
		{all, "", "places", `there is no tool "places"; there are: Bash, Edit, Glob, Grep, Read, TaskOutput, Write, mcp__maps__place`},
		{all, "", "fetch", `there is no tool "fetch"; the nearest is mcp__maps__fetch`},
	} {
		r, err := tools.NewRegistry(c.list, tools.Gates{Deferral: c.how})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(c.want, "mcp__maps__") {
			name := "mcp__maps__place"
			if strings.HasSuffix(c.want, "fetch") {
				name = "mcp__maps__fetch"
			}
			r.SetServers([]tools.Server{{Name: "maps", Tools: []*tools.Tool{foreign(t, tools.Foreign{Name: name})}}})
		}
		if _, err := r.Lookup(c.name); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

// TestCase checks that a name in another case finds its tool.
func TestCase(t *testing.T) {
	r, err := tools.NewRegistry([]*tools.Tool{simple("Read", tools.LoadAlways), simple("TodoWrite", tools.LoadDeferred)}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read", "READ", "todowrite"} {
		if tool, err := r.Lookup(name); err != nil || !strings.EqualFold(tool.Name, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnknownOfServer checks that the error for a tool of an unavailable server contains
// the reason.
func TestUnknownOfServer(t *testing.T) {
	r, err := tools.NewRegistry([]*tools.Tool{simple("Read", tools.LoadAlways)}, tools.Gates{Deferral: tools.DeferDispatch})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		state tools.ServerState
		note  string
		want  string
	}{
		{tools.Failed, "it ended with exit code 1; it is tried again in 8 s", "there is no tool \"mcp__m_p__x\": the server m.p is not connected: it ended with exit code 1; it is tried again in 8 s"},
		{tools.Idle, "", "there is no tool \"mcp__m_p__x\": the server m.p is not connected"},
		{tools.Pending, "", "there is no tool \"mcp__m_p__x\": the server m.p is being connected; send the call again in a moment"},
		{tools.Refused, "denied by deniedMcpServers in /etc/s.json:3", "there is no tool \"mcp__m_p__x\": the server m.p may not be used: denied by deniedMcpServers in /etc/s.json:3"},
		{tools.Ready, "", "there is no tool \"mcp__m_p__x\". Find others with ToolSearch {\"query\": \"m p x\"}"},
	} {
		r.SetServers([]tools.Server{{Name: "m.p", Prefix: "m_p", State: c.state, Note: c.note}})
		if _, err := r.Lookup("mcp__m_p__x"); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", c.state, err, c.want)
		}
	}
}

// TestUnknownOfKnown checks that the tools of a server are known before it is started, so
// that a name that none of them has gets a suggestion.
func TestUnknownOfKnown(t *testing.T) {
	r, err := tools.NewRegistry([]*tools.Tool{simple("Read", tools.LoadAlways)}, tools.Gates{Deferral: tools.DeferDispatch})
	if err != nil {
		t.Fatal(err)
	}
	r.SetServers([]tools.Server{{Name: "maps", Prefix: "maps", State: tools.Idle, Tools: []*tools.Tool{foreign(t, tools.Foreign{})}}})
	const want = `there is no tool "mcp__maps__palce"; the nearest is mcp__maps__place. Find others with ToolSearch {"query": "maps palce"}`
	if _, err := r.Lookup("mcp__maps__palce"); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestNameWords(t *testing.T) {
	for name, want := range map[string]string{
		"NotebookEdit": "notebook edit", "mcp__github__create_pull_request": "github create pull request", "getHTTPServer": "get http server",
		"read.file-2": "read file 2", "mcp__": "", "": "", "ABC": "abc", "éCole": "é cole",
	} {
		if got := strings.Join(tools.NameWords(name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func nothing(context.Context, *tools.Env, struct{}) (tools.Result[struct{}], error) {
	return tools.Result[struct{}]{}, nil
}

func simple(name string, how tools.Loading) *tools.Tool {
	return tools.MustBuild(tools.Def[struct{}, struct{}, struct{}]{Name: name, Prompt: "Does it.", Loading: how, Call: nothing})
}

func names(list []*tools.Tool) string {
	var out []string
	for _, t := range list {
		out = append(out, t.Name)
	}
	return strings.Join(out, " ")
}

// TestAliasTaken checks that a tool stays available if its alias, its name at its server,
// is the name of another tool. Rules still use the alias.
func TestAliasTaken(t *testing.T) {
	var list []*tools.Tool
	for _, f := range []tools.Foreign{{Name: "mcp__m__a_b", Aliases: []string{"mcp__m__a.b"}}, {Name: "mcp__m__a_b_0011aabb", Aliases: []string{"mcp__m__a_b"}}} {
		f.Server, f.Prompt, f.InputSchema = "m", "d", json.RawMessage(`{"type":"object"}`)
		tool, err := tools.BuildForeign(f)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tool)
	}
	r, err := tools.NewRegistry(nil, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	if errs := r.SetServers([]tools.Server{{Name: "m", Tools: list}}); errs != nil || len(r.Tools()) != 2 {
		t.Errorf("%v, %d tools", errs, len(r.Tools()))
	}
	for i, name := range []string{"mcp__m__a_b", "mcp__m__a_b_0011aabb"} {
		if got, err := r.Lookup(name); got != list[i] {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
