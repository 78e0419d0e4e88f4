package policy

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// plainLine returns what makes a text unsafe to show.
func plainLine(s string) error {
	if len(s) > 3000 {
		return fmt.Errorf("%d bytes long", len(s))
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("not UTF-8")
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("holds %+q", r)
		}
	}
	return nil
}

// TestTexts checks all texts that a model may see about a decision.
func TestTexts(t *testing.T) {
	long := "/ws/" + strings.Repeat("x", 300)
	for _, c := range []struct{ rules, call, reason, next string }{
		{"", ": x", "the call names no tool", "name the tool to call"},
		{"", "Read /ws/a", "it stays in the workspace, and no rule covers it", ""},
		{"allow Read", "Read /ws/a", "an allow rule covers the call", ""},
		{"", "Read a -> /ws/a", "a is not an absolute path", "write the path from the file-system root"},
		{"", "Read /ws/a -> ?", "where /ws/a leads is not known", "use a path whose folders exist and can be looked into"},
		{"", "Read /etc/passwd", "/etc/passwd is outside the workspace roots (/ws, /lib)",
			"use a path inside the roots, or ask the user to add an allow rule such as Read(//etc/passwd) to /cfg/settings.json"},
		{"", "Write /tmp/a", "/tmp/a is outside the workspace roots (/ws, /lib)",
			"use a path inside the roots, or a command with $TMPDIR for temporary files, or ask the user to add an allow rule such as Edit(//tmp/a) to /cfg/settings.json"},
		{"", "Write /etc/[a]*b ", "/etc/[a]*b  is outside the workspace roots (/ws, /lib)",
			`use a path inside the roots, or ask the user to add an allow rule such as Edit(//etc/\[a]\*b\ ) to /cfg/settings.json`},
		{"", "Read /ws/l -> /etc/passwd", "/etc/passwd, where /ws/l leads, is outside the workspace roots (/ws, /lib)",
			"use a path inside the roots, or name /etc/passwd itself and ask the user to add an allow rule such as Read(//etc/passwd) to /cfg/settings.json"},
		{"", "Read /a\x1b[2J\u202eb", `"/a\x1b[2J\u202eb" is outside the workspace roots (/ws, /lib)`, "use a path inside the roots"},
		{"", "Read /" + strings.Repeat("y", 300), "/" + strings.Repeat("y", 119) + "…" + strings.Repeat("y", 120) + " is outside the workspace roots (/ws, /lib)", "use a path inside the roots"},
		{"", "Read /state/key", "/state/key is in a folder that is closed to all tools", "use a path inside the workspace roots"},
		{"", "Read /ws/l -> /state/key", "/state/key, where /ws/l leads, is in a folder that is closed to all tools", "use a path inside the workspace roots"},
		{"", "Read /proc/self/environ", "/proc/self/environ is in a folder of the kernel (/proc, /sys, /dev)",
			"use an ordinary file, or ask the user to add an allow rule such as Read(//proc/self/environ) to /cfg/settings.json"},
		{"", "Read /proc/self/cwd -> /ws", "/proc/self/cwd is in a folder of the kernel (/proc, /sys, /dev)",
			"use an ordinary file, or ask the user to add an allow rule such as Read(//proc/self/cwd) to /cfg/settings.json"},
		{"allow Edit(//**)", "Write /ws/.mcp-toolset/settings.json", "/ws/.mcp-toolset/settings.json holds settings of this server or is run by its hooks, which no tool changes", "tell the user what to change there"},
		{"deny Read(.env)", "Read /ws/.env", "the deny rule Read(.env) covers /ws/.env", "use another path, or ask the user to change the rule in /cfg/settings.json:1"},
		{"deny Read(.env)", "Read /ws/l -> /ws/.env", "the deny rule Read(.env) covers /ws/.env, where /ws/l leads", "use another path, or ask the user to change the rule in /cfg/settings.json:1"},
		{"deny Read(" + long[4:] + ")", "Read " + long, "the deny rule Read(" + strings.Repeat("x", 115) + "…" + strings.Repeat("x", 119) + ") covers " + long[:120] + "…" + long[len(long)-120:],
			"use another path, or ask the user to change the rule in /cfg/settings.json:1"},
		{"deny Bash(rm*)", "Bash: rm a", "the deny rule Bash(rm*) covers this call", "do it another way, or ask the user to change the rule in /cfg/settings.json:1"},
		{"deny Read", "Grep /ws", "the deny rule Read covers every call of Grep", "do without this tool, or ask the user to change the rule in /cfg/settings.json:1"},
		{"deny mcp__gh", "mcp__gh__x: a", "the deny rule mcp__gh covers every call of mcp__gh__x", "do without this tool, or ask the user to change the rule in /cfg/settings.json:1"},
		{"deny Read([)", "Read /ws/a", "the deny rule Read([) is malformed (a [ in it is not closed), so it covers every path that Read rules can cover",
			"ask the user to correct the rule in /cfg/settings.json:1"},
		{"deny Bash(\x1b[1m", "Bash: a", `the deny rule "Bash(\x1b[1m" is malformed (it opens "(" and does not end in ")"), so it covers every Bash call`,
			"ask the user to correct the rule in /cfg/settings.json:1"},
		{"ask Bash", "Bash: a", "the ask rule Bash covers every call of Bash", "the user can change the rule in /cfg/settings.json:1"},
		{"ask Read(a)", "Read /ws/a", "the ask rule Read(a) covers /ws/a", "the user can change the rule in /cfg/settings.json:1"},
		{"ask Read(!a)", "Read /ws/a", `the ask rule Read(!a) is malformed (a pattern cannot begin with "!"), so it covers every path that Read rules can cover`,
			"the user can change the rule in /cfg/settings.json:1"},
	} {
		var rules []entry
		if list, rule, ok := strings.Cut(c.rules, " "); ok {
			rules = append(rules, entry{list, rule})
		}
		d := New(world(ruleset(rules...))).Decide(request(c.call))
		if d.Reason != c.reason || d.Next != c.next {
			t.Errorf("%s, %s\nwant %s; %s\nhave %s; %s", c.rules, c.call, c.reason, c.next, d.Reason, d.Next)
		}
		if err := plainLine(d.Reason + d.Next); err != nil {
			t.Errorf("%s, %s: %v", c.rules, c.call, err)
		}
	}
}

// TestUnnamedText checks the text about protected files that a call changes without naming them.
func TestUnnamedText(t *testing.T) {
	const end = "; protected names decide what programs run or trust"
	const next = "leave these files out, or ask the user to run it or to add allow rules such as Edit(//ws/.npmrc) to /cfg/settings.json"
	for _, tt := range []struct {
		files        []string
		rules        []entry
		reason, next string
	}{
		{[]string{".npmrc"}, nil, "git would change /ws/.npmrc" + end, next},
		{[]string{".npmrc", ".vscode/a", "x"}, nil, "git would change /ws/.npmrc and /ws/.vscode/a" + end, next},
		{[]string{".npmrc", ".vscode/a"}, []entry{{"allow", "Edit(//ws/.vscode/**)"}, {"allow", "Bash"}}, "git would change /ws/.npmrc" + end, next},
		{strings.Fields(".npmrc .vscode/a .vscode/b .vscode/c .vscode/d .vscode/e .vscode/f .vscode/g .vscode/h .vscode/i .vscode/j .vscode/k"), nil,
			"git would change /ws/.npmrc, /ws/.vscode/a, /ws/.vscode/b, /ws/.vscode/c, /ws/.vscode/d, /ws/.vscode/e, /ws/.vscode/f, /ws/.vscode/g, /ws/.vscode/h, /ws/.vscode/i and 2 more" + end, next},
	} {
		r := request("Bash$ git x")
		for _, file := range tt.files {
			r.Parts.Targets = append(r.Parts.Targets, Target{Literal: "/ws/" + file, Canonical: "/ws/" + file, Access: Edit, By: "git"})
		}
		if d := New(world(ruleset(tt.rules...))).Decide(r); d.Behavior != Ask || d.Reason != tt.reason || d.Next != tt.next {
			t.Errorf("%v\nwant %s; %s\nhave %s; %s", tt.files, tt.reason, tt.next, d.Reason, d.Next)
		}
	}
}

func TestTextsWithoutSettings(t *testing.T) {
	for _, c := range []struct {
		roots        []string
		reason, next string
	}{
		{nil, "/a cannot be used: there are no workspace roots", "ask for a workspace root, or ask the user to add an allow rule such as Read(//a) to the settings file"},
		{[]string{"/w1", "/w2", "/w3", "/w4", "/w5"}, "/a is outside the workspace roots (/w1, /w2, /w3, and 2 more)",
			"use a path inside the roots, or ask the user to add an allow rule such as Read(//a) to the settings file"},
	} {
		d := New(Config{Roots: c.roots}).CheckPath("Read", nil, Target{Literal: "/a", Canonical: "/a", Access: Read}, "/", nil)
		if d.Reason != c.reason || d.Next != c.next {
			t.Errorf("roots %q\nwant %s; %s\nhave %s; %s", c.roots, c.reason, c.next, d.Reason, d.Next)
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[fmt.Stringer]string{Deny: "deny", Ask: "ask", Allow: "allow", Read: "Read", Edit: "Edit"} {
		if got.String() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
