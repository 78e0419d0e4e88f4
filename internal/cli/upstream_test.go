package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/tools"
	"mcp-toolset/upstream/pin"
)

// fakeUpstreams are servers that list the definitions set by a test, once they are connected.
type fakeUpstreams struct {
	t        *testing.T
	host     *Host
	env      map[string]string
	declared []declaredUpstream
	list     map[string][]string // definitions by server; a server without an entry cannot be connected
	refuse   error               // error of making the manager

	only   string // last argument of manage
	waited time.Duration
	woken  int
	open   int // number of managers not closed
}

// connections is a manager of fakeUpstreams.
type connections struct {
	*fakeUpstreams
	connected bool
}

func newUpstreams(t *testing.T) *fakeUpstreams {
	t.Helper()
	f := &fakeUpstreams{t: t, env: map[string]string{}, list: map[string][]string{}}
	f.host = host(t, f.env)
	f.env["MCP_TOOLSET_STATE_DIR"] = filepath.Join(f.host.Dir, "state")
	return f
}

func (f *fakeUpstreams) opener(*Host, *common) (*upstreams, error) {
	return &upstreams{declared: f.declared, manage: func(only string) (upstreamManager, error) {
		if f.refuse != nil {
			return nil, f.refuse
		}
		f.only = only
		f.open++
		return &connections{fakeUpstreams: f}, nil
	}}, nil
}

func (f *fakeUpstreams) store() *pin.Store {
	f.t.Helper()
	s, err := pinStore(f.host)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (c *connections) WakeAll(_ context.Context, most time.Duration) {
	c.connected, c.waited, c.woken = true, most, c.woken+1
	for name, list := range c.list {
		var raw []json.RawMessage
		for _, text := range list {
			raw = append(raw, json.RawMessage(text))
		}
		if _, err := c.store().Update(name, "config", raw); err != nil {
			c.t.Error(err)
		}
	}
}

func (c *connections) Servers() []tools.Server {
	var out []tools.Server
	for _, d := range c.declared {
		s := tools.Server{Name: d.Name}
		list, ok := c.store().Cached(d.Name, "config")
		if ok {
			changed := c.store().Changed(d.Name, "config")
			for _, raw := range list {
				var tool tools.Tool
				if err := json.Unmarshal(raw, &struct{ Name *string }{&tool.Name}); err != nil {
					c.t.Fatal(err)
				}
				tool.Notice = changed[tool.Name]
				s.Tools = append(s.Tools, &tool)
			}
		}
		switch {
		case c.list[d.Name] == nil && c.connected:
			s.State, s.Note = tools.Failed, "connection refused\x1b[2J; it is tried again in 4s"
		case c.connected:
			s.State = tools.Ready
		}
		out = append(out, s)
	}
	return out
}

func (c *connections) Close() error {
	c.open--
	return nil
}

// run runs a command line. It returns the exit code and the output, with fixed times.
func (f *fakeUpstreams) run(args ...string) (code int, out string) {
	f.t.Helper()
	stdout, stderr := &bytes.Buffer{}, &bytes.Buffer{}
	f.host.Out, f.host.Err = stdout, stderr
	root := newRoot(f.host)
	for _, cmd := range root.Commands() {
		if cmd.Name() == "upstream" {
			root.RemoveCommand(cmd)
		}
	}
	root.AddCommand(upstreamCommand(f.host, f.opener))
	root.SetArgs(append([]string{"upstream"}, args...))
	root.SetOut(stdout)
	root.SetErr(stderr)
	code = exitStatus(f.host, root.ExecuteContext(f.t.Context()))
	if f.open != 0 {
		f.t.Errorf("%v left %d managers open", args, f.open)
	}
	out = stdout.String() + stderr.String()
	if strings.ContainsAny(out, "\x1b\u202e\x00\r") {
		f.t.Errorf("%v prints %q", args, out)
	}
	return code, regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`).ReplaceAllString(out, "TIME")
}

func (f *fakeUpstreams) want(code int, want string, args ...string) {
	f.t.Helper()
	gotCode, got := f.run(args...)
	if gotCode != code {
		f.t.Errorf("%v: exit code %d, want %d", args, gotCode, code)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%v (-want +got):\n%s", args, diff)
	}
}

const (
	echoTool = `{"name":"echo","description":"Says it again.\nAs it is.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`
	addTool  = `{"name":"add","description":"Adds.","inputSchema":{"type":"object"}}`
)

// two returns two servers, one of which cannot be connected.
func two(t *testing.T) *fakeUpstreams {
	f := newUpstreams(t)
	f.declared = []declaredUpstream{
		{Name: "everything", Command: []string{"npx", "-y", "a b", "${TOKEN}", "x\x1b[2J", ""}},
		{Name: "web", URL: "https://me:pass@${HOST}/mcp?key=secret#frag"},
	}
	f.list["everything"] = []string{echoTool, addTool}
	return f
}

func TestUpstreamList(t *testing.T) {
	f := newUpstreams(t)
	f.want(exitOK, "There are no other servers: no settings that hold here have mcpServers.\n", "list")
	f = two(t)
	f.want(exitOK, `SERVER      STATE  TOOLS  CHANGED  STARTED WITH
everything  idle   -      -        npx -y "a b" ${TOKEN} x\x1b[2J ""
web         idle   -      -        https://...@${HOST}/mcp?...#...
`, "list")
	if f.woken != 0 || f.only != "" {
		t.Error("listing connects")
	}
	if _, err := os.Lstat(f.env["MCP_TOOLSET_STATE_DIR"]); err == nil {
		t.Error("listing made the state folder")
	}
	f.want(exitError, `SERVER      STATE   TOOLS  CHANGED  STARTED WITH
everything  ready   2      0        npx -y "a b" ${TOKEN} x\x1b[2J ""
web         failed  -      -        https://...@${HOST}/mcp?...#...

web: connection refused\x1b[2J; it is tried again in 4s
`, "list", "--connect")
	if f.woken != 1 || f.waited != 30*time.Second {
		t.Errorf("connected %d times, for at most %v", f.woken, f.waited)
	}
	f.list["everything"] = []string{echoTool, strings.Replace(addTool, "Adds", "Sends", 1)}
	f.env["MCP_TIMEOUT"] = "1500"
	f.run("list", "--connect")
	if f.waited != 1500*time.Millisecond {
		t.Error(f.waited)
	}
	f.declared = f.declared[:1]
	if code, out := f.run("list", "--connect"); code != exitOK {
		t.Errorf("all servers are connected, exit code %d: %s", code, out)
	}
	if _, err := f.store().Update("old\x1b", "config", nil); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(f.env["MCP_TOOLSET_STATE_DIR"], "upstream/x.json")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.want(exitOK, `SERVER      STATE  TOOLS  CHANGED  STARTED WITH
everything  idle   2      1        npx -y "a b" ${TOKEN} x\x1b[2J ""

`+"`mcp-toolset upstream diff` shows what changed."+`
Remembered, and not in these settings: old\x1b. `+"`mcp-toolset upstream forget SERVER`"+` drops one.
Problem: reading `+bad+`: it is damaged: unexpected end of JSON input
`, "list")
}

// changedListing is a later listing of the server of two: a description and a schema differ, one
// tool is new and one is gone.
var changedListing = []string{
	`{"name":"echo","description":"Says it again.\nAnd sends it \u001b[2J\u202e away.","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"more":{"type":"string"}}},"annotations":{"readOnlyHint":true}}`,
	`{"name":"new\u001b","title":"T","description":"{}","inputSchema":{"type":"object"}}`,
}

const changedShown = `everything: changed since the user last looked, at TIME:

  echo: its description, input schema and annotations changed
    description
       Says it again.
      -As it is.
      +And sends it \x1b[2J\u202e away.
    inputSchema
       {
         "properties": {
      +    "more": {
      +      "type": "string"
      +    },
           "text": {
             "type": "string"
           }
    annotations
      +{
      +  "readOnlyHint": true
      +}

  new\x1b: it is new
    title
      +T
    description
      +{}
    inputSchema
      +{
      +  "type": "object"
      +}

  add: it is gone

`

func TestUpstreamDiff(t *testing.T) {
	f := newUpstreams(t)
	f.want(exitOK, "There are no other servers: no settings that hold here have mcpServers.\n", "diff")
	f = two(t)
	f.want(exitOK, "everything: nothing changed since TIME.\n", "diff", "everything")
	if f.only != "everything" || f.woken != 1 {
		t.Errorf("connected %q, %d times", f.only, f.woken)
	}
	down := "web: it is not connected (failed, connection refused\\x1b[2J; it is tried again in 4s), so what it has now is not known.\n"
	f.want(exitError, "everything: nothing changed since TIME.\n"+down, "diff")
	f.list["everything"] = changedListing
	f.want(exitError, changedShown, "diff", "everything")
	f.want(exitError, changedShown+down, "diff")
	f.want(exitError, changedShown+"mcp-toolset: there is no terminal to ask at; look at it and run this with --yes\n", "diff", "everything", "--accept")
	f.want(exitError, changedShown, "diff", "everything")
	f.want(exitOK, changedShown+"everything: this counts as looked at now.\n", "diff", "everything", "--accept", "--yes")
	f.want(exitOK, "everything: nothing changed since TIME.\n", "diff", "everything", "--accept", "--yes")
	f.want(exitOK, "everything: nothing changed since TIME.\n", "diff", "everything")

	// The changes seen of a server that cannot be connected now are shown too.
	f.list["everything"] = []string{echoTool}
	f.run("list", "--connect")
	delete(f.list, "everything")
	code, out := f.run("diff", "everything")
	if code != exitError || !strings.Contains(out, "  echo: its description") || !strings.Contains(out, "everything: it is not connected (failed") {
		t.Errorf("%d, %s", code, out)
	}
	// Accepting then works; the failed connection is still reported.
	if code, out = f.run("diff", "everything", "--accept", "--yes"); code != exitError || !strings.Contains(out, "counts as looked at now") {
		t.Errorf("%d, %s", code, out)
	}
	f.refuse = errors.New("the manager failed")
	f.want(exitError, "mcp-toolset: the manager failed\n", "diff")
}

// TestUpstreamDiffWhole checks that no part of a change is left out, however long, and that values
// that read alike are still shown.
func TestUpstreamDiffWhole(t *testing.T) {
	for name, c := range map[string]struct {
		was, is string
		lines   []string
	}{
		"one long line":  {`"` + strings.Repeat("a", 9000) + `"`, `"` + strings.Repeat("a", 9000) + ` evil"`, []string{"-" + strings.Repeat("a", 9000), "+" + strings.Repeat("a", 9000) + " evil"}},
		"many lines":     {`"` + strings.Repeat(`a\n`, 3000) + `"`, `"` + strings.Repeat(`b\n`, 3000) + `evil"`, []string{"+b", "+evil"}},
		"too many":       {`"x"`, `"` + strings.Repeat(`some line\n`, 40000) + `evil"`, []string{"-x", "+evil"}},
		"far apart":      {`"` + strings.Repeat(`a\n`, 30) + `"`, `"x\n` + strings.Repeat(`a\n`, 30) + `y"`, []string{"+x", "@@ line 29 @@", "+y"}},
		"half a pair":    {`"\ud800"`, `"\ud801"`, []string{`-"\ud800"`, `+"\ud801"`}},
		"no longer text": {`"[\n  1\n]"`, `[1]`, []string{`-"[\n  1\n]"`, "+[1]"}},
		"empty":          {`""`, `"x"`, []string{"-", "+x"}},
	} {
		f := two(t)
		f.list["everything"] = []string{`{"name":"echo","description":` + c.was + `}`}
		f.run("diff", "everything")
		f.list["everything"] = []string{`{"name":"echo","description":` + c.is + `}`}
		code, out := f.run("diff", "everything")
		rest := out
		for _, line := range c.lines {
			var found bool
			if _, rest, found = strings.Cut("\n"+rest, "\n      "+line+"\n"); code != exitError || !found {
				t.Errorf("%s: %d, %q is not in\n%.300s", name, code, line, out)
			}
		}
	}
}

func TestUpstreamForget(t *testing.T) {
	f := two(t)
	f.want(exitError, "mcp-toolset: nothing is remembered of a server \"everything\"; `mcp-toolset upstream list` names those that there are\n", "forget", "everything")
	f.run("diff")
	f.want(exitError, "mcp-toolset: nothing is remembered of a server \"everythin\"; did you mean everything?\n", "forget", "everythin")
	f.list["everything"] = changedListing
	f.want(exitOK, "Nothing is remembered of the server everything any more.\n", "forget", "everything")
	f.want(exitOK, "everything: nothing changed since TIME.\n", "diff", "everything")
}

// TestUpstreamInCommand checks that a command of a tool can neither accept nor forget.
func TestUpstreamInCommand(t *testing.T) {
	f := two(t)
	f.run("diff")
	f.list["everything"] = changedListing
	f.env["MCP_TOOLSET_COMMAND"] = "1"
	for _, args := range [][]string{{"diff", "--accept", "--yes"}, {"diff", "--accept"}, {"forget", "everything"}} {
		f.want(exitError, "mcp-toolset: this was started by a tool of the server; ask the user to run it\n", args...)
	}
	f.want(exitError, changedShown, "diff", "everything")
}

func TestUpstreamUsage(t *testing.T) {
	f := two(t)
	for want, lines := range map[string][]string{
		"upstream diff takes one server: mcp-toolset upstream diff SERVER": {"diff a b"},
		"--yes is for --accept": {"diff --yes"},
		"upstream forget takes one server: mcp-toolset upstream forget SERVER": {"forget", "forget a b"},
		`the settings have no server "everythin"; did you mean everything?`:    {"diff everythin"},
		`the settings have no server "zzzzz"; there are everything, web`:       {"diff zzzzz"},
		`unknown command "lits"; did you mean list?`:                           {"lits"},
		"unknown flag --acept; did you mean --accept?":                         {"diff --acept"},
		`upstream list takes no arguments; leave out "x"`:                      {"list x"},
	} {
		for _, line := range lines {
			f.want(exitUsage, "mcp-toolset: "+want+"\n", strings.Fields(line)...)
		}
	}
	if f.woken != 0 {
		t.Error("a wrong command line connects")
	}
	f.declared = nil
	f.want(exitUsage, "mcp-toolset: the settings have no server \"web\"; no settings that hold here have mcpServers\n", "diff", "web")
	f.env["MCP_TOOLSET_STATE_DIR"] = "relative"
	f.want(exitError, "mcp-toolset: MCP_TOOLSET_STATE_DIR is relative; it must be an absolute path\n", "list")
	if code, out := f.run(); code != exitOK || !strings.Contains(out, "forget") {
		t.Errorf("%d, %s", code, out)
	}
}
