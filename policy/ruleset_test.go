package policy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRestrictingNeverLoosens checks that the deny and ask rules of a project, added to
// the rules of the user, make no decision of the tables less strict.
func TestRestrictingNeverLoosens(t *testing.T) {
	rows := decisions(t)
	for i, r := range rows {
		var all []entry
		for j := range 7 {
			all = append(all, rows[(i*31+j*57)%len(rows)].rules...)
		}
		user, project := ruleset(r.rules...), ruleset(all...)
		both := project.Restricting()
		both.Append(&user)
		req := request(r.call)
		before, after := New(world(user)).Decide(req), New(world(both)).Decide(req)
		if after.Behavior > before.Behavior {
			t.Errorf("decisions.txt:%d: %s is %s, and with a project's file %s (%s)", r.line, r.call, before.Behavior, after.Behavior, after.Reason)
		}
	}
}

// TestBoundPatterns checks what HidingRules returns for patterns that begin at the root of
// their file.
func TestBoundPatterns(t *testing.T) {
	all := fileRules("/one/s.json", "/one", entry{"deny", "Read(/a/b)"}, entry{"deny", "Read(/*.key)"}, entry{"deny", "Read(/c/*.key)"}, entry{"deny", "Read(//d/*)"}, entry{"deny", "Read(//*/e)"})
	two := fileRules("/two/s.json", "/two", entry{"deny", "Read(/a)"})
	all.Append(&two)
	p := New(Config{Rules: all, Roots: []string{"/ws"}})
	sorted := func(paths []string) []string { slices.Sort(paths); return paths }
	if diff := cmp.Diff([]string{"/one/a/b", "/two/a"}, sorted(p.HidingRules("/ws", true).Named(Read))); diff != "" {
		t.Errorf("by name (-want +have):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/d", "/one/c"}, sorted(p.HidingRules("/ws", true).Below(Read))); diff != "" {
		t.Errorf("below (-want +have):\n%s", diff)
	}
	// The rules of a settings file do not name the folders above it, even if these have
	// protected names or are kernel folders.
	for root, call := range map[string]string{"/ws/.claude/tree": "Edit /ws/.claude/tree/.git/config", "/proc/self": "Read /proc/self/environ"} {
		p := New(world(fileRules("s.json", root, entry{"allow", "Edit(/**)"})))
		if d := p.Decide(request(call)); d.Behavior == Allow {
			t.Errorf("%s is allowed by %s", call, d.Rule)
		}
	}
	// If the root of the file is unknown, a rule on files covers all files, and a rule on
	// another tool covers what the tool's matcher reports.
	rules := fileRules("s.json", "", entry{"deny", "Patch(/x)"}, entry{"deny", "Edit(/x)"}, entry{"allow", "Read(/x)"})
	p = New(world(rules))
	for call, want := range map[string]string{"Patch /ws/y": "Edit(/x)", "Read /ws/x": "", "Bash: x": ""} {
		if d := p.Decide(request(call)); d.Rule != want {
			t.Errorf("%s: %s by %q, want by %q", call, d.Behavior, d.Rule, want)
		}
	}
	if w := rules.Warnings(); len(w) < 2 || w[0] != "deny rule Edit(/x) in s.json:1 is malformed (the folder it begins at is not known): it covers every path that Edit rules can cover" {
		t.Errorf("%q", w)
	}
}

func TestUnknownTools(t *testing.T) {
	rules := ruleset(entry{"deny", "bash"}, entry{"deny", "Grep"}, entry{"deny", "Read(x)"}, entry{"deny", "mcp__a__b"}, entry{"deny", "~"})
	p := New(Config{Rules: rules, KnownTools: []string{"Bash"}})
	want := []string{
		`deny rule ~ in /cfg/settings.json:1 is malformed ('~' cannot be in the name of a tool): it has no effect`,
		`/cfg/settings.json:1: the deny rule names bash, which is not a tool here; did you mean Bash?`,
		`deny rule Grep in /cfg/settings.json:1 names Grep, which is not a tool here`,
	}
	if diff := cmp.Diff(want, slices.Concat(rules.Warnings(), p.Warnings())); diff != "" {
		t.Errorf("warnings (-want +have):\n%s", diff)
	}
}

// TestClaudeTools checks that no tool of Claude Code is a fault.
func TestClaudeTools(t *testing.T) {
	for _, tool := range claudeTools {
		r := fileRules("/s", "/", entry{"deny", tool})
		if faults := r.Faults([]string{tool + "x"}); faults != nil {
			t.Errorf("%s: %s", tool, faults)
		}
	}
}

// TestNarrowRules checks the warnings about rules that cover less than they seem to.
func TestNarrowRules(t *testing.T) {
	rules := ruleset(
		entry{"deny", "Write(secrets/**)"}, entry{"deny", "Grep(a)"}, entry{"ask", "Glob(b)"}, entry{"deny", "NotebookEdit(c)"},
		entry{"deny", "Write(d)"}, entry{"ask", "Edit(d)"}, entry{"deny", "Write"}, entry{"deny", "Grep(*)"},
		entry{"deny", "Bash(git  push *)"}, entry{"allow", "BashReadOnly(ls   -l)"}, entry{"deny", "Bash(git push *)"}, entry{"deny", "PowerShell(a  b)"})
	want := []string{
		`deny rule Write(secrets/**) in /cfg/settings.json:1 covers only Write; Edit(secrets/**) covers every tool that changes the file`,
		`deny rule Grep(a) in /cfg/settings.json:1 covers only Grep; Read(a) covers every tool that reads the file`,
		`deny rule NotebookEdit(c) in /cfg/settings.json:1 covers only NotebookEdit; Edit(c) covers every tool that changes the file`,
		`deny rule Bash(git  push *) in /cfg/settings.json:1 has blanks in a row, and covers only words that hold them; write Bash(git push *)`,
		`deny rule PowerShell(a  b) in /cfg/settings.json:1 has blanks in a row, and covers only words that hold them; write PowerShell(a b)`,
		`ask rule Glob(b) in /cfg/settings.json:1 covers only Glob; Read(b) covers every tool that reads the file`,
		`allow rule BashReadOnly(ls   -l) in /cfg/settings.json:1 has blanks in a row, and covers only words that hold them; write BashReadOnly(ls -l)`,
	}
	if diff := cmp.Diff(want, rules.Warnings()); diff != "" {
		t.Errorf("warnings (-want +have):\n%s", diff)
	}
}
