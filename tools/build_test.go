package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

type in struct {
	Word string `json:"word" jsonschema:"A word"`
}

type out struct {
	Echo string `json:"echo" jsonschema:"The word again"`
}

// minimal returns a definition with only the required fields.
func minimal() tools.Def[in, in, out] {
	return tools.Def[in, in, out]{Name: "Echo", Prompt: "Echoes a word.",
		Call: func(_ context.Context, _ *tools.Env, i in) (tools.Result[out], error) {
			return tools.Result[out]{Data: out{i.Word}}, nil
		}}
}

// TestDefaultsAreConservative checks that the server assumes the worst of everything that a
// definition leaves out.
func TestDefaultsAreConservative(t *testing.T) {
	tool := tools.MustBuild(minimal())
	if tool.Hints != (tools.Hints{}) || tool.Title != "Echo" || tool.MaxResultSize != tools.DefaultResultSize ||
		tool.Interrupt != tools.Cancel || tool.Excerpt != tools.ExcerptHead || tool.Loading != tools.LoadAuto {
		t.Errorf("defaults: %+v", tool)
	}
	call, err := tool.Parse(json.RawMessage(`{"word":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	env := toolstest.NewWorkspace(t).Env()
	r := toolstest.Prepare(t, call, env)
	if r.Facts != (tools.Facts{}) || r.Path != "" || r.Summary != "Echo" || r.ClassifierInput() != "" || r.Parts(env) != nil || r.Check(env) != nil {
		t.Errorf("defaults of a call: %+v", r)
	}
	match := r.Matcher(policy.Base{})
	for _, b := range []policy.Behavior{policy.Deny, policy.Ask, policy.Allow} {
		if !match(b, "x") || match(b, "*") || match(b, "") || match(b, "xy") {
			t.Errorf("%s: by default a pattern must equal the first required string property", b)
		}
	}
	resp, err := r.Run(t.Context(), env)
	if err != nil || toolstest.Text(resp) != `{"echo":"x"}` {
		t.Errorf("by default an output is shown as JSON: %+v, %v", resp, err)
	}
}

func TestPathMatcher(t *testing.T) {
	d := minimal()
	d.Path = func(i in) string { return i.Word }
	call, err := tools.MustBuild(d).Parse(json.RawMessage(`{"word":"/w/src/a.go"}`))
	if err != nil {
		t.Fatal(err)
	}
	match := toolstest.Prepare(t, call, toolstest.NewWorkspace(t).Env()).Matcher(policy.Base{Dir: "/w"})
	for pattern, want := range map[string]bool{"src/**": true, "*.go": true, "a.go": true, "other/**": false, "/w/src/a.go/x": false} {
		if match(policy.Allow, pattern) != want || match(policy.Deny, pattern) != want {
			t.Errorf("pattern %s: %v", pattern, !want)
		}
	}
}

// TestOwnMatcher checks that a tool's matcher gets the behavior of the rule and the
// completed input.
func TestOwnMatcher(t *testing.T) {
	d := minimal()
	d.Prepare = func(_ *tools.Env, i in) (in, error) { i.Word += "!"; return i, nil }
	d.Matcher = func(i in) func(policy.Behavior, string) bool {
		return func(b policy.Behavior, pattern string) bool { return b == policy.Deny && pattern == i.Word }
	}
	d.Parts = func(_ *tools.Env, i in) *tools.Parts {
		return &tools.Parts{List: []policy.Part{{Text: "say " + i.Word}}}
	}
	call, err := tools.MustBuild(d).Parse(json.RawMessage(`{"word":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	env := toolstest.NewWorkspace(t).Env()
	r := toolstest.Prepare(t, call, env)
	match := r.Matcher(policy.Base{})
	if !match(policy.Deny, "x!") || match(policy.Ask, "x!") || match(policy.Allow, "x!") || match(policy.Deny, "x") {
		t.Error("the tool's own matcher is not what decides")
	}
	if diff := cmp.Diff(&tools.Parts{List: []policy.Part{{Text: "say x!"}}}, r.Parts(env)); diff != "" {
		t.Errorf("parts (-want +have):\n%s", diff)
	}
}

func TestBuildRefuses(t *testing.T) {
	for want, change := range map[string]func(*tools.Def[in, in, out]){
		`tool "": a name is a letter, then at most 63 letters, digits, _ or -`:    func(d *tools.Def[in, in, out]) { d.Name = "" },
		`tool "a b": a name is a letter, then at most 63 letters, digits, _ or -`: func(d *tools.Def[in, in, out]) { d.Name = "a b" },
		`tool "Echo": Prompt is required`:                                         func(d *tools.Def[in, in, out]) { d.Prompt = " \n" },
		`tool "Echo": Prompt has 2048 bytes; clients cut it at 2048`:              func(d *tools.Def[in, in, out]) { d.Prompt = strings.Repeat("x", 2048) },
		`tool "Echo": Call is required`:                                           func(d *tools.Def[in, in, out]) { d.Call = nil },
		`tool "Echo": SearchHint has 2 words, not 3 to 10`:                        func(d *tools.Def[in, in, out]) { d.SearchHint = "two words" },
		`tool "Echo": MaxResultSize is 999; a preview and its notice need 1000`:   func(d *tools.Def[in, in, out]) { d.MaxResultSize = 999 },
		`tool "Echo": a tool that is always read-only is never destructive`: func(d *tools.Def[in, in, out]) {
			d.IsReadOnly, d.IsDestructive = tools.Always[in](), tools.Always[in]()
		},
		`tool "Echo": alias "Echo" is not a name of its own`: func(d *tools.Def[in, in, out]) { d.Aliases = []string{"Echo"} },
	} {
		d := minimal()
		change(&d)
		if _, err := tools.Build(d); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("MustBuild did not panic")
		}
	}()
	tools.MustBuild(tools.Def[in, in, out]{})
}

// TestBadSchemas checks that a schema that some client cannot read fails when it is made.
func TestBadSchemas(t *testing.T) {
	type undescribed struct {
		A string `json:"a"`
	}
	type open struct {
		A map[string]string `json:"a" jsonschema:"A map"`
	}
	type loose struct {
		A any `json:"a" jsonschema:"Anything"`
	}
	check := func(name string, tool *tools.Tool, want string) {
		t.Helper()
		_, err := tool.InputSchema()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if _, err := tool.Parse(json.RawMessage(`{}`)); err == nil {
			t.Errorf("%s: a call was parsed", name)
		}
	}
	check("undescribed", build[undescribed](), `property "a" has no description`)
	check("open", build[open](), "an object must be closed")
	check("loose", build[loose](), "not one name")
	check("scalar", build[string](), "the root has type string, not object")
}

func build[T any]() *tools.Tool {
	return tools.MustBuild(tools.Def[T, T, out]{Name: "Bad", Prompt: "Bad.",
		Call: func(context.Context, *tools.Env, T) (tools.Result[out], error) { return tools.Result[out]{}, nil }})
}

func TestSchemaTags(t *testing.T) {
	type tagged struct {
		Mode  string   `json:"mode,omitempty" enum:"a,b" default:"\"a\"" jsonschema:"A mode"`
		Count int      `json:"count" minimum:"1" maximum:"9" jsonschema:"A count"`
		Names []string `json:"names,omitempty" jsonschema:"Names"`
		On    *bool    `json:"on,omitempty" jsonschema:"A switch"`
	}
	raw, err := build[tagged]().InputSchema()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{` +
		`"mode":{"type":"string","description":"A mode","default":"a","enum":["a","b"]},` +
		`"count":{"type":"integer","description":"A count","minimum":1,"maximum":9},` +
		`"names":{"type":"array","items":{"type":"string"},"description":"Names"},` +
		`"on":{"type":"boolean","description":"A switch"}},` +
		`"required":["count"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

// TestResolveWorksOnACopy checks that a call can be prepared again after the session has
// changed.
func TestResolveWorksOnACopy(t *testing.T) {
	d := minimal()
	d.Prepare = func(env *tools.Env, i in) (in, error) { i.Word = env.Abs(i.Word); return i, nil }
	d.Path = func(i in) string { return i.Word }
	call, err := tools.MustBuild(d).Parse(json.RawMessage(`{"word":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	env := toolstest.NewWorkspace(t).Env()
	for _, dir := range []string{"/one", "/two"} {
		env.Session.Dir = dir
		if r := toolstest.Prepare(t, call, env); r.Path != dir+"/a" || string(r.Input()) != `{"word":"`+dir+`/a"}` {
			t.Errorf("in %s the path is %s, the input %s", dir, r.Path, r.Input())
		}
	}
}

func TestRegistry(t *testing.T) {
	make := func(name string, change func(*tools.Def[in, in, out])) *tools.Tool {
		d := minimal()
		d.Name = name
		if change != nil {
			change(&d)
		}
		return tools.MustBuild(d)
	}
	list := []*tools.Tool{
		make("Write", nil),
		make("TaskStop", func(d *tools.Def[in, in, out]) { d.Aliases = []string{"KillShell", "KillBash"} }),
		make("Gated", func(d *tools.Def[in, in, out]) { d.Feature = "gates" }),
		make("Broken", func(d *tools.Def[in, in, out]) {
			d.IsEnabled = func() error { return errors.New("this machine has no containment") }
		}),
		make("Denied", nil),
		make("Read", nil),
	}
	gates := tools.Gates{Features: map[string]bool{"gates": false}, Denied: func(t *tools.Tool) (string, bool) { return "denied by rule Denied in /s.json", t.Name == "Denied" }}
	r, err := tools.NewRegistry(list, gates)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range r.Tools() {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"Read", "TaskStop", "Write"}, names); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]tools.Absence{
		{Name: "Broken", Reason: "this machine has no containment"},
		{Name: "Denied", Reason: "denied by rule Denied in /s.json"},
		{Name: "Gated", Reason: "feature gates is off; the user can switch it on with --feature gates=on"},
	}, r.Absent()); diff != "" {
		t.Errorf("absent (-want +got):\n%s", diff)
	}
	if tool, err := r.Lookup("KillBash"); err != nil || tool.Name != "TaskStop" {
		t.Errorf("a former name found %v, %v", tool, err)
	}
	for name, want := range map[string]string{
		"Raed":   `there is no tool "Raed"; the nearest is Read`,
		"zzzzzz": `there is no tool "zzzzzz"; there are: Read, TaskStop, Write`,
		"Denied": `tool "Denied" is not available: denied by rule Denied in /s.json`,
		"Gated":  `tool "Gated" is not available: feature gates is off; the user can switch it on with --feature gates=on`,
		"":       `there is no tool ""; there are: Read, TaskStop, Write`,
	} {
		if _, err := r.Lookup(name); err == nil || err.Error() != want {
			t.Errorf("Lookup(%q): %v, want %s", name, err, want)
		}
	}
	on, err := tools.NewRegistry(list, tools.Gates{Features: map[string]bool{"other": false}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := on.Lookup("Gated"); err != nil {
		t.Errorf("a feature that is not switched off: %v", err)
	}
	if _, err := tools.NewRegistry([]*tools.Tool{list[1], make("KillShell", nil)}, tools.Gates{}); err == nil ||
		err.Error() != "tools TaskStop and KillShell are both called KillShell" {
		t.Errorf("a name taken twice: %v", err)
	}
	if diff := cmp.Diff([]string{"gates"}, tools.Features(list)); diff != "" {
		t.Errorf("features (-want +got):\n%s", diff)
	}
}

// TestDefaults checks that a call gets the default of each property that it does not give,
// and that the zero value can be given.
func TestDefaults(t *testing.T) {
	type input struct {
		On    bool   `json:"on" default:"true" jsonschema:"A switch"`
		Limit int    `json:"limit" minimum:"0" default:"250" jsonschema:"A limit"`
		Mode  string `json:"mode,omitempty" enum:"a,b" default:"\"b\"" jsonschema:"A mode"`
		Fold  bool   `json:"fold,omitempty" default:"false" jsonschema:"Another switch"`
		Side  *int   `json:"side,omitempty" default:"3" jsonschema:"A pointer"`
	}
	tool := build[input]()
	for raw, want := range map[string]string{
		``:               `{"on":true,"limit":250,"mode":"b","side":3}`,
		`{"on":null}`:    `{"on":true,"limit":250,"mode":"b","side":3}`,
		`{"mode":"a"}`:   `{"on":true,"limit":250,"mode":"a","side":3}`,
		`{"fold":true}`:  `{"on":true,"limit":250,"mode":"b","fold":true,"side":3}`,
		`{"side":0}`:     `{"on":true,"limit":250,"mode":"b","side":0}`,
		`{"limit":"7"}`:  `{"on":true,"limit":7,"mode":"b","side":3}`,
		`{"on":"false"}`: `{"on":false,"limit":250,"mode":"b","side":3}`,

		`{"on":false,"limit":0}`: `{"on":false,"limit":0,"mode":"b","side":3}`,
	} {
		for range 2 { // the second time with what hooks see
			call, err := tool.Parse(json.RawMessage(raw))
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			got := string(toolstest.Prepare(t, call, &tools.Env{}).Input())
			if got != want {
				t.Errorf("%s: %s, want %s", raw, got, want)
			}
			raw = got
		}
	}
}

// TestBadDefaults checks that a default is rejected if it could not be applied.
func TestBadDefaults(t *testing.T) {
	type lost struct {
		On bool `json:"on,omitempty" default:"true" jsonschema:"A switch"`
	}
	type invalid struct {
		Limit int `json:"limit" maximum:"9" default:"10" jsonschema:"A limit"`
	}
	type wrong struct {
		Limit int `json:"limit" default:"\"many\"" jsonschema:"A limit"`
	}
	type inner struct {
		On bool `json:"on" default:"true" jsonschema:"A switch"`
	}
	type nested struct {
		List []inner `json:"list,omitempty" jsonschema:"Some"`
	}
	for want, tool := range map[string]*tools.Tool{
		`tool Bad: input schema: property "on": omitempty would turn the zero value into the default`:                          build[lost](),
		`tool Bad: input schema: property "limit": the default is not valid: property "limit" is 10. The most is 9.`:           build[invalid](),
		`tool Bad: input schema: property "limit": the default is not valid: property "limit" is "many". Send a whole number.`: build[wrong](),
		`tool Bad: input schema: property "list": only properties of the input itself have a default`:                          build[nested](),
	} {
		if _, err := tool.InputSchema(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestPreparedType checks that Build accepts only types whose JSON form is that of the input.
func TestPreparedType(t *testing.T) {
	type good struct {
		in
		loud string
	}
	tool, err := tools.Build(tools.Def[in, good, out]{Name: "Echo", Prompt: "Echoes a word.",
		Prepare: func(_ *tools.Env, i in) (good, error) {
			if i.Word == "" {
				return good{}, errors.New("nothing to echo")
			}
			return good{in{i.Word + "?"}, i.Word + "!"}, nil
		},
		Call: func(_ context.Context, _ *tools.Env, g good) (tools.Result[out], error) {
			return tools.Result[out]{Data: out{g.loud}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	call, err := tool.Parse(json.RawMessage(`{"word":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	p := toolstest.Prepare(t, call, &tools.Env{})
	if resp, err := p.Run(t.Context(), &tools.Env{}); string(p.Input()) != `{"word":"x?"}` || err != nil || toolstest.Text(resp) != `{"echo":"x!"}` {
		t.Errorf("%s, %+v, %v", p.Input(), resp, err)
	}
	if call, err = tool.Parse(json.RawMessage(`{"word":""}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := call.Prepare(&tools.Env{}); err == nil || err.Error() != "nothing to echo" {
		t.Error(err)
	}

	type more struct {
		in
		Loud string
	}
	type other struct{ _ string }
	refuse(t, `tool "Bad": Prepare is required, since Prepared is not In`, buildPrepared[good](nil))
	refuse(t, `tool "Bad": field Loud of tools_test.more is not unexported: rules and hooks would take it for a part of the input`, buildPrepared(func(*tools.Env, in) (more, error) { return more{}, nil }))
	refuse(t, `tool "Bad": tools_test.other does not embed tools_test.in`, buildPrepared(func(*tools.Env, in) (other, error) { return other{}, nil }))
}

func buildPrepared[P any](prepare func(*tools.Env, in) (P, error)) error {
	_, err := tools.Build(tools.Def[in, P, out]{Name: "Bad", Prompt: "Bad.", Prepare: prepare,
		Call: func(context.Context, *tools.Env, P) (tools.Result[out], error) { return tools.Result[out]{}, nil }})
	return err
}

func refuse(t *testing.T, want string, err error) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestOpenObject checks that a property of type map[string]any accepts any object, except
// one that two decoders could read differently.
func TestOpenObject(t *testing.T) {
	type input struct {
		Any map[string]any `json:"any,omitempty" jsonschema:"What there is"`
	}
	tool := tools.MustBuild(tools.Def[input, input, out]{Name: "Open", Prompt: "Takes anything.",
		Call: func(_ context.Context, _ *tools.Env, i input) (tools.Result[out], error) {
			return tools.Result[out]{}, nil
		}})
	schema, err := tool.InputSchema()
	const want = `{"type":"object","properties":{"any":{"type":"object","description":"What there is","additionalProperties":true}},"additionalProperties":false}`
	if err != nil || string(schema) != want {
		t.Errorf("%s, %v", schema, err)
	}
	call, err := tool.Parse(json.RawMessage(`{"any":{"a":{"b":[1,null]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(toolstest.Prepare(t, call, toolstest.NewWorkspace(t).Env()).Input()); got != `{"any":{"a":{"b":[1,null]}}}` {
		t.Error(got)
	}
	for raw, want := range map[string]string{
		`{"any":{"a":1,"a":2}}`: `property "any.a" is given twice. Give it once.`,
		`{"any":[]}`:            `property "any" is []. Send an object.`,
		`{"other":1}`:           `unknown property "other". Known properties: any.`,
	} {
		if _, err := tool.Parse(json.RawMessage(raw)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

// TestView checks the catalogue of a profile, and that a replaced tool is on it.
func TestView(t *testing.T) {
	make := func(name, prompt string, aliases ...string) *tools.Tool {
		d := minimal()
		d.Name, d.Prompt, d.Aliases = name, prompt, aliases
		return tools.MustBuild(d)
	}
	r, err := tools.NewRegistry([]*tools.Tool{make("Read", "Reads."), make("Write", "Writes."), make("TaskStop", "Stops.", "KillShell")}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	names := func(p *session.Profile) (out []string) {
		for _, tool := range r.View(p).Tools() {
			out = append(out, tool.Name+" "+tool.Prompt)
		}
		return out
	}
	p := &session.Profile{Name: "p", Tools: []string{"Read", "KillShell"}}
	if diff := cmp.Diff([]string{"Read Reads.", "TaskStop Stops."}, names(p)); diff != "" {
		t.Error(diff)
	}
	if _, err := r.View(p).Lookup("Write"); err == nil || err.Error() != `tool "Write" is not available: the profile p leaves it out` {
		t.Error(err)
	}
	if _, err := r.View(p).Lookup("Wriet"); err == nil || err.Error() != `there is no tool "Wriet"; there are: Read, TaskStop` {
		t.Error(err)
	}
	first := r.View(p)
	if r.View(p) != first || len(r.View(nil).Tools()) != 3 {
		t.Error("the catalogue of a profile is made again, or that of none is not whole")
	}
	changes := 0
	r.OnChange(func() { changes++ })
	if err := r.Replace(make("Read", "Reads more.")); err != nil || changes != 1 {
		t.Errorf("%v, %d changes", err, changes)
	}
	if diff := cmp.Diff([]string{"Read Reads more.", "TaskStop Stops."}, names(p)); diff != "" {
		t.Error(diff)
	}
	if err := r.Replace(make("Read", "Reads.", "Write")); err == nil || len(names(nil)) != 3 || names(nil)[0] != "Read Reads more." {
		t.Errorf("a tool with a name that is taken replaces another: %v", err)
	}
	if err := r.Replace(make("Other", "None.")); err != nil || len(names(nil)) != 3 {
		t.Errorf("%v, %v", err, names(nil))
	}
}
