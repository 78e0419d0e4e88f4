package policy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world returns the Config of the decision tables.
func world(rules Rules) Config {
	return Config{
		Rules: rules, AddTo: "/cfg/settings.json", Roots: []string{"/ws", "/lib"}, Closed: []string{"/state"}, Home: "/home/u",
		KnownTools: []string{"Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "Write"},
	}
}

// entry is a rule and the name of its list.
type entry struct{ list, rule string }

// ruleset returns the rules of one settings file.
func ruleset(entries ...entry) Rules { return fileRules("/cfg/settings.json", "/cfg", entries...) }

// fileRules returns the rules of a settings file with a root. All of them are on the first
// line.
func fileRules(file, root string, entries ...entry) (r Rules) {
	for _, e := range entries {
		r.Add(named(e.list), e.rule, Origin{file, 1}, root)
	}
	return r
}

// row is one call of a decision table with the expected decision.
type row struct {
	line  int
	rules []entry
	call  string
	want  string // "behavior" for a decision by a rule, or "behavior:layer"
	rule  string
}

// decisions reads testdata/decisions.txt.
func decisions(t testing.TB) []row {
	t.Helper()
	data, err := os.ReadFile("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	var rules []entry
	open := false // rules may be added to the block
	for i, line := range strings.Split(string(data), "\n") {
		if def, ok := strings.CutPrefix(line, "= "); ok {
			if !open {
				rules, open = nil, true
			}
			if list, rule, ok := strings.Cut(def, " "); ok {
				rules = append(rules, entry{list, rule})
			}
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		open = false
		cols := append(strings.Split(line, "\t"), "")
		rows = append(rows, row{line: i + 1, rules: rules, call: cols[0], want: cols[1], rule: cols[2]})
	}
	return rows
}

// TestAs checks that a call under the rules of another tool is decided as a call of that one,
// except that rules on itself may make it stricter.
func TestAs(t *testing.T) {
	rules := [][]entry{
		nil, {{"deny", "Bash"}}, {{"ask", "Bash"}}, {{"allow", "Bash"}}, {{"allow", "Bash(make *)"}}, {{"ask", "Bash(make *)"}},
		{{"deny", "Bash(rm *)"}, {"allow", "Bash"}}, {{"deny", "Bash("}}, {{"deny", "Edit(out/**)"}, {"allow", "Bash(cp *)"}},
	}
	for _, command := range []string{"make test", "rm x", "make; rm x", "cp < /etc/a > /ws/out/b", "cp < /ws/a > /srv/b"} {
		for _, mode := range []Mode{"", ModePlan, ModeManual, ModeAcceptEdits, ModeBypass, ModeDontAsk} {
			for _, list := range rules {
				call := request("Bash$ " + command)
				call.Aliases = nil
				as := call
				as.Tool, as.As = "Monitor", "Bash"
				decide := func(r Request, more ...entry) Decision {
					cfg := world(ruleset(append(slices.Clone(list), more...)...))
					cfg.Mode = mode
					return New(cfg).Decide(r)
				}
				want, got := decide(call), decide(as)
				if want.Behavior != got.Behavior || want.Layer != got.Layer || want.Rule != got.Rule {
					t.Errorf("%s with %v in mode %q is %v by %s, under another name %v by %s", command, list, mode, want.Behavior, want.Rule, got.Behavior, got.Rule)
				}
				for _, rule := range []string{"Monitor", "Monitor(*)", "Monitor(" + command + ")"} {
					if got := decide(as, entry{"allow", rule}); got.Behavior != want.Behavior {
						t.Errorf("%s with %v and allow %s in mode %q is %v, want %v", command, list, rule, mode, got.Behavior, want.Behavior)
					}
				}
				if got := decide(as, entry{"ask", "Monitor"}); got.Behavior > Ask {
					t.Errorf("%s with %v and ask Monitor in mode %q is %v", command, list, mode, got.Behavior)
				}
				if got := decide(as, entry{"deny", "Monitor"}); got.Behavior != Deny {
					t.Errorf("%s with %v and deny Monitor in mode %q is %v", command, list, mode, got.Behavior)
				}
			}
		}
	}
}

// edits lists the tools of the tables that change their path.
var edits = map[string]bool{"Edit": true, "Write": true, "NotebookEdit": true, "Patch": true}

// former maps tools of the tables to their former names.
var former = map[string][]string{"Bash": {"Shell"}, "Edit": {"Replace"}, "mcp__srv__my_tool": {"mcp__srv__my.tool"}}

// request parses a call of a table.
func request(call string) Request {
	call, dir, ok := strings.Cut(call, " @ ")
	if !ok {
		dir = "/ws"
	}
	tool, path, ok := strings.Cut(call, " ")
	if tool == "Bash$" {
		return Request{Tool: "Bash", Aliases: former["Bash"], Dir: dir, Parts: partsOf(path)}
	}
	r := Request{Dir: dir, Readable: []string{"/state/results/s1"}}
	if name, isText := strings.CutSuffix(tool, ":"); isText || !ok {
		r.Tool = name
		r.Match = func(_ Behavior, pattern string) bool {
			prefix, star := strings.CutSuffix(pattern, "*")
			return pattern == path || star && strings.HasPrefix(path, prefix)
		}
	} else {
		r.Tool = tool
		r.Target = &Target{Literal: path, Canonical: path}
		if from, to, ok := strings.Cut(path, " -> "); ok {
			*r.Target = Target{Literal: from, Canonical: strings.TrimPrefix(to, "?")}
		}
		if edits[tool] {
			r.Target.Access = Edit
		}
	}
	r.Aliases = former[r.Tool]
	return r
}

// partsOf parses a list of commands separated by ";". Each command may be followed by
// the files it reads or changes: "<" or ">" and a path.
func partsOf(text string) *Parts {
	p := &Parts{}
	for command := range strings.SplitSeq(text, "; ") {
		words := strings.Fields(command)
		for len(words) > 1 && (words[len(words)-2] == "<" || words[len(words)-2] == ">") {
			t := Target{Literal: words[len(words)-1], Canonical: words[len(words)-1]}
			if words[len(words)-2] == ">" {
				t.Access = Edit
			}
			p.Targets = append(p.Targets, t)
			words = words[:len(words)-2]
		}
		part := Part{Text: strings.Join(words, " "), Allowable: true}
		part.Name = part.Text[strings.LastIndexByte(words[0], '/')+1:]
		p.List = append(p.List, part)
	}
	return p
}

func (r row) check(t *testing.T, got Decision) {
	t.Helper()
	behavior, layer, ok := strings.Cut(r.want, ":")
	if !ok {
		layer = LayerRule
	}
	source := ""
	if layer == LayerRule {
		source = "/cfg/settings.json:1"
	}
	want := fmt.Sprintf("%s %s %q %s", behavior, layer, r.rule, source)
	if have := fmt.Sprintf("%s %s %q %s", got.Behavior, got.Layer, got.Rule, got.Location()); have != want {
		t.Errorf("decisions.txt:%d: %s\nwant %s\nhave %s (%s)", r.line, r.call, want, have, got.Reason)
	}
	if got.Reason == "" || (got.Next == "") != (got.Behavior == Allow) {
		t.Errorf("decisions.txt:%d: %s: reason %q, next %q", r.line, r.call, got.Reason, got.Next)
	}
}

func TestDecisions(t *testing.T) {
	rows := decisions(t)
	if len(rows) < 150 {
		t.Fatalf("only %d decisions", len(rows))
	}
	for _, r := range rows {
		p, req := New(world(ruleset(r.rules...))), request(r.call)
		got := p.Decide(req)
		r.check(t, got)
		if req.Target != nil {
			again := p.CheckPath(req.Tool, req.Aliases, *req.Target, req.Dir, req.Readable)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("decisions.txt:%d: %s: CheckPath decides otherwise (-Decide +CheckPath):\n%s", r.line, r.call, diff)
			}
		}
	}
}

func TestDecideWithoutMatcher(t *testing.T) {
	p := New(world(ruleset(entry{"deny", "Fetch(x)"}, entry{"ask", "Look(x)"}, entry{"allow", "Make(x)"}, entry{"deny", "Read(x)"})))
	for tool, want := range map[string]string{"Fetch": "deny rule", "Look": "ask rule", "Make": "allow default", "Read": "deny rule", "Grep": "allow default"} {
		if d := p.Decide(Request{Tool: tool, Dir: "/ws"}); fmt.Sprint(d.Behavior, " ", d.Layer) != want {
			t.Errorf("%s: %v %s, want %s", tool, d.Behavior, d.Layer, want)
		}
	}
	// The pattern of the rule can be matched with the path of a call.
	p = New(world(ruleset(entry{"deny", "Write(x)"})))
	for path, want := range map[string]Behavior{"/ws/x": Deny, "/ws/y": Allow} {
		if d := p.CheckPath("Write", nil, Target{Literal: path, Canonical: path, Access: Edit}, "/ws", nil); d.Behavior != want {
			t.Errorf("Write %s: %v, want %v", path, d.Behavior, want)
		}
	}
}

func TestZeroValuesRefuse(t *testing.T) {
	var d Decision
	if d.Behavior != Deny || d.Behavior.String() != "deny" {
		t.Errorf("zero decision is %v", d.Behavior)
	}
	p := New(Config{})
	if d := p.Decide(Request{}); d.Behavior != Deny {
		t.Errorf("zero request: %v", d.Behavior)
	}
	if d := p.Decide(Request{Tool: "Read", Target: &Target{}}); d.Behavior != Deny {
		t.Errorf("zero target: %v", d.Behavior)
	}
	if d := p.Decide(Request{Tool: "Read", Target: &Target{Literal: "/a", Canonical: "/a"}}); d.Behavior == Allow {
		t.Errorf("no roots: %v", d.Behavior)
	}
}

func TestConfigFolders(t *testing.T) {
	p := New(Config{Roots: []string{"", "rel", "/ws/", "/ws"}, Closed: []string{"", "/ws/.state/"}})
	for path, want := range map[string]Behavior{"/ws/a": Allow, "/ws": Allow, "/rel": Ask, "/": Ask, "/ws/.state/k": Deny, "/ws/.state2": Allow} {
		if d := p.CheckPath("Read", nil, Target{Literal: path, Canonical: path, Access: Read}, "", nil); d.Behavior != want {
			t.Errorf("%s: %v, want %v", path, d.Behavior, want)
		}
	}
	p = New(Config{Roots: []string{"/"}})
	for path, want := range map[string]Behavior{"/a": Allow, "/": Allow, "/proc/1": Deny, "/sys": Deny, "/dev/x": Deny, "/device": Allow} {
		if d := p.CheckPath("Read", nil, Target{Literal: path, Canonical: path, Access: Read}, "/", nil); d.Behavior != want {
			t.Errorf("root /: %s: %v, want %v", path, d.Behavior, want)
		}
	}
}

// TestUnknownHome checks rules that begin at an unknown home folder.
func TestUnknownHome(t *testing.T) {
	decide := func(tool string, a Access, rules ...entry) string {
		cfg := world(ruleset(rules...))
		cfg.Home = ""
		d := New(cfg).CheckPath(tool, nil, Target{Literal: "/ws/a", Canonical: "/ws/a", Access: a}, "/ws", nil)
		return fmt.Sprint(d.Behavior, " ", d.Layer)
	}
	for _, c := range []struct {
		have, want string
	}{
		{decide("Read", Read, entry{"deny", "Read(~/x)"}), "deny rule"},
		{decide("Write", Edit, entry{"deny", "Write(~/x)"}), "deny rule"},
		{decide("Edit", Edit, entry{"ask", "Edit(~/x)"}), "ask rule"},
		{decide("Read", Read, entry{"allow", "Read(~/x)"}), "allow default"},
		{decide("Read", Read, entry{"deny", "Edit(~/x)"}), "allow default"},
	} {
		if c.have != c.want {
			t.Errorf("%s, want %s", c.have, c.want)
		}
	}
}
