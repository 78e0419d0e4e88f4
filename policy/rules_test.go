package policy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestRuleTable(t *testing.T) {
	data, err := os.ReadFile("testdata/rules.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line[0] == '#' {
			continue
		}
		cols := strings.Split(strings.TrimRight(line, "\n"), "\t")
		rule := strings.ReplaceAll(cols[1], `\u200b`, "\u200b")
		cfg := world(ruleset(entry{cols[0], rule}))
		cfg.Roots = []string{"/cwd"}
		p := New(cfg)
		warnings := slices.Concat(cfg.Rules.Warnings(), p.Warnings())
		call := strings.ReplaceAll(strings.ReplaceAll(cols[2], "<cwd>", "/cwd"), "->", " -> ")
		if from, to, ok := strings.Cut(call, " -> "); ok && !strings.HasPrefix(to, "/") {
			call = from + " -> /cwd/" + to
		}
		got := p.Decide(request(call + " @ /cwd"))
		ok := got.Behavior.String() == cols[3]
		switch cols[3] {
		case "ask":
			ok = got.Behavior != Allow
		case "warn":
			ok = len(warnings) > 0
		}
		if !ok {
			t.Errorf("%s %s, %s: %v, want %s (%s); warnings %q", cols[0], cols[1], cols[2], got.Behavior, cols[3], got.Reason, warnings)
		}
	}
}

func TestDeniedTool(t *testing.T) {
	p := New(world(ruleset(
		entry{"deny", "Bash(rm *)"}, entry{"deny", "Shell"}, entry{"deny", "Read(*)"}, entry{"deny", "mcp__gh"},
		entry{"deny", "Web*"}, entry{"deny", "Find("}, entry{"deny", "Move(a)"}, entry{"ask", "Copy"}, entry{"allow", "Bash"})))
	for _, c := range []struct{ tool, alias, rule string }{
		{"Bash", "", ""}, {"Bash", "Shell", "Shell"}, {"Shell", "", "Shell"},
		{"Read", "", "Read(*)"}, {"Grep", "", "Read(*)"}, {"Glob", "", "Read(*)"}, {"Search", "Grep", "Read(*)"},
		{"Edit", "", ""}, {"Write", "", ""}, {"mcp__gh__push", "", "mcp__gh"}, {"mcp__ghost__x", "", ""},
		{"WebFetch", "", ""}, {"Find", "", ""}, {"Move", "", ""}, {"Copy", "", ""},
	} {
		var aliases []string
		if c.alias != "" {
			aliases = []string{c.alias}
		}
		rule, where, denied := p.DeniedTool(c.tool, aliases)
		if rule != c.rule || denied != (c.rule != "") || denied != (where == "/cfg/settings.json:1") {
			t.Errorf("DeniedTool(%s, %q) = %q, %q, %v, want rule %q", c.tool, c.alias, rule, where, denied, c.rule)
		}
	}
	p = New(world(ruleset(entry{"deny", "Bash"})))
	for tool, want := range map[string]bool{"Bash": true, "BashReadOnly": true, "TaskStop": false} {
		if _, _, denied := p.DeniedTool(tool, nil); denied != want {
			t.Errorf("deny Bash: DeniedTool(%s) = %v", tool, denied)
		}
	}
	p = New(world(ruleset(entry{"deny", "BashReadOnly"})))
	if _, _, denied := p.DeniedTool("Bash", nil); denied {
		t.Error("deny BashReadOnly removes Bash")
	}
	p = New(world(ruleset(entry{"deny", "Edit"})))
	for tool, want := range map[string]bool{"Edit": true, "Write": true, "NotebookEdit": true, "Read": false, "Bash": false} {
		if _, _, denied := p.DeniedTool(tool, nil); denied != want {
			t.Errorf("deny Edit: DeniedTool(%s) = %v", tool, denied)
		}
	}
}

// TestDeniedToolDeniesCalls compares DeniedTool with Decide: Decide must deny every
// call of a removed tool.
func TestDeniedToolDeniesCalls(t *testing.T) {
	for _, r := range decisions(t) {
		p, req := New(world(ruleset(r.rules...))), request(r.call)
		if rule, _, denied := p.DeniedTool(req.Tool, req.Aliases); denied {
			if d := p.Decide(req); d.Behavior != Deny {
				t.Errorf("decisions.txt:%d: rule %s removes the tool, and the call is %v", r.line, rule, d.Behavior)
			}
		}
	}
}

// TestMoreRulesNeverLoosen adds random rules of the table. More deny rules must never
// make a decision less strict. More ask rules must never turn a deny into an allow.
// More allow rules must change neither a deny nor a rule's ask.
func TestMoreRulesNeverLoosen(t *testing.T) {
	rows := decisions(t)
	var pool []entry
	for _, r := range rows {
		pool = append(pool, r.rules...)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		for _, r := range rows {
			more := pool[random.IntN(len(pool))]
			req := request(r.call)
			before := New(world(ruleset(r.rules...))).Decide(req)
			after := New(world(ruleset(append(slices.Clone(r.rules), more)...))).Decide(req)
			bad := false
			switch more.list {
			case "deny":
				bad = after.Behavior > before.Behavior
			case "ask":
				bad = after.Behavior == Allow && before.Behavior != Allow || before.Layer == LayerRule && before.Behavior == Deny && after.Behavior != Deny
			case "allow":
				bad = before.Layer == LayerRule && before.Behavior != Allow && after.Behavior != before.Behavior
			}
			if bad {
				t.Errorf("decisions.txt:%d: %s: with %s %s, %v became %v", r.line, r.call, more.list, more.rule, before.Behavior, after.Behavior)
			}
		}
	}
}

// TestEveryRuleMatters deletes the rules that decide rows of the table, one at a time.
// Each deletion must change the decision of at least one row of the block. Otherwise
// no row tests the rule.
func TestEveryRuleMatters(t *testing.T) {
	blocks := map[string][]row{}
	for _, r := range decisions(t) {
		if len(r.rules) > 0 {
			blocks[fmt.Sprint(r.rules)] = append(blocks[fmt.Sprint(r.rules)], r)
		}
	}
	deleted := 0
	for _, rows := range blocks {
		for i, gone := range rows[0].rules {
			p := New(world(ruleset(slices.Delete(slices.Clone(rows[0].rules), i, i+1)...)))
			decides, flips := false, false
			for _, r := range rows {
				decides = decides || r.rule == gone.rule
				d := p.Decide(request(r.call))
				flips = flips || d.Rule != r.rule
			}
			if gone.list == "deny" && gone.rule != "(x)" && !decides {
				t.Errorf("decisions.txt:%d: no row is decided by deny %s", rows[0].line, gone.rule)
			}
			if decides && !flips {
				t.Errorf("decisions.txt:%d: deleting %s %s changes nothing", rows[0].line, gone.list, gone.rule)
			}
			if decides {
				deleted++
			}
		}
	}
	if deleted < 75 {
		t.Errorf("only %d rules deleted", deleted)
	}
}

// TestSampleDenyRules is TestEveryRuleMatters for a settings file like those of users,
// whose rules interact. Without one of its deny rules, the call of that rule must no
// longer be denied.
func TestSampleDenyRules(t *testing.T) {
	sample := map[string]string{
		"Read(.env)":                 "Read /ws/a/.env",
		"Read(**/*.pem)":             "Edit /lib/tls/key.pem",
		"Read(~/.ssh/**)":            "Read /home/u/.ssh/id",
		"Read(//etc/s*)":             "Grep /etc/shadow",
		"Read(/private)":             "Read /cfg/private/x",
		"Read(./d0)":                 "Read /ws/d0",
		"Read(p/q)":                  "Grep /ws/p/q",
		"Read(a0/**/z)":              "Read /ws/a0/b/c/z",
		"Read(k?y)":                  "Read /ws/kay",
		"Read([0-9].txt)":            "Read /ws/5.txt",
		"Read({b,c})":                "Read /ws/{b,c}",
		"Read(s\\*1)":                "Read /ws/s*1",
		"Read(lnk)":                  "Read /ws/x -> /ws/lnk",
		"Edit(vendor/)":              "Write /ws/x/vendor/a.go",
		"Edit(/ops/**)":              "Edit /cfg/ops/a",
		"Edit(//srv/**)":             "Write /srv/n",
		"Edit(~/notes)":              "Edit /home/u/notes",
		"Edit(gen-*)":                "Bash$ make > /ws/gen-1",
		"Read(token)":                "Bash$ cat < /ws/token",
		"Read(seal)":                 "Bash$ touch > /ws/seal",
		"Read(./tmp/[!a]*)":          "Read /ws/tmp/b1",
		"Write(vault/**)":            "Write /ws/vault/x",
		"Grep(logs)":                 "Grep /ws/logs",
		"WebSearch":                  "WebSearch: x",
		"TodoWrite(*)":               "TodoWrite: x",
		"WebFetch(domain:evil.com*)": "WebFetch: domain:evil.com",
		"Bash(curl:*)":               "Bash$ curl",
		"Bash(npm run *)":            "Bash$ npm run build",
		"Bash(npm ci)":               "Bash$ npm ci",
		"Bash(ls*)":                  "Bash$ lsof",
		"Bash(git * main)":           "Bash$ git push main",
		"Bash(* --version)":          "Bash$ node --version",
		"Bash(*x*y)":                 "Bash$ a xx y",
		"Bash(/opt/t:*)":             "Bash$ /opt/t a",
		"Bash(wget:*)":               "Bash$ /usr/bin/wget a",
		"Bash(dd *)":                 "Bash$ echo; dd a; echo",
		"Shell(rm*)":                 "Bash$ rm x",
		"mcp__gh":                    "mcp__gh__push: x",
		"mcp__db__*":                 "mcp__db__get: x",
		"mcp__fs__write":             "mcp__fs__write: x",
		"mcp__web__get(evil*)":       "mcp__web__get: evil.com",
		"NotebookEdit":               "NotebookEdit /ws/n",
		"Glob([a)":                   "Glob /ws/q",
		"Find(":                      "Find: x",
		"Old(":                       "Old: y",
	}
	if len(sample) < 40 {
		t.Fatalf("only %d rules", len(sample))
	}
	base := []entry{{"allow", "Read(//**)"}, {"allow", "Edit(//**)"}, {"allow", "Bash"}}
	for rule, call := range sample {
		var all, rest []entry
		for other := range sample {
			all = append(all, entry{"deny", other})
			if other != rule {
				rest = append(rest, entry{"deny", other})
			}
		}
		with := New(world(ruleset(append(all, base...)...))).Decide(request(call))
		without := New(world(ruleset(append(rest, base...)...))).Decide(request(call))
		if with.Behavior != Deny || with.Rule != rule || without.Behavior != Allow {
			t.Errorf("%s: with %s %v by %q, without it %v (%s)", call, rule, with.Behavior, with.Rule, without.Behavior, without.Reason)
		}
	}
}
