package bash

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"mcp-toolset/internal/command"
	"mcp-toolset/internal/shellsafe"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// corpora are those of shellsafe.
const corpora = "../../internal/shellsafe/testdata/"

// environment is the circumstances that the corpora mean.
func environment() *tools.Env {
	return &tools.Env{Session: session.View{Dir: "/ws", Roots: []string{"/ws"}}, Home: "/home/u"}
}

func commands(t testing.TB, path string, roots ...string) *command.Commands {
	t.Helper()
	c, err := command.New(command.Config{Roots: roots, State: t.TempDir(), Environ: []string{"PATH=" + path}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// lines are the lines of a corpus but comments, decoded.
func lines(t testing.TB, name string) (out []string) {
	t.Helper()
	data, err := os.ReadFile(corpora + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, decode(t, strings.TrimSuffix(line, "\n")))
		}
	}
	return out
}

// decode undoes the escapes of a corpus.
func decode(t testing.TB, s string) string {
	t.Helper()
	simple := map[byte]string{'n': "\n", 'r': "\r", 't': "\t", '\\': "\\", '"': `"`}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		n := digits[s[i]]
		switch plain, ok := simple[s[i]]; {
		case ok:
			b.WriteString(plain)
		case n == 0:
			b.WriteString(s[i-1 : i+1])
		default:
			v, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			if n == 2 {
				b.WriteByte(byte(v))
			} else {
				b.WriteRune(rune(v))
			}
			i += n
		}
	}
	return b.String()
}

func resolve(t testing.TB, tool *tools.Tool, cmd string) *tools.Resolved {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": cmd})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tool.Parse(args)
	if err != nil {
		t.Fatalf("%q: %v", cmd, err)
	}
	return c.Resolve(environment())
}

func TestFactsOfCorpora(t *testing.T) {
	c := commands(t, "/usr/bin:/bin", "/ws")
	tool := New(Options{Commands: c})[0]
	n := map[string]int{}
	for _, name := range []string{"bash_not_readonly.txt", "more_not_readonly.txt"} {
		for _, cmd := range lines(t, name) {
			n[name]++
			if cmd == "/bin/ls" {
				continue // it is there for a shellsafe that is told of no trusted folder
			}
			if judge(environment(), c, cmd).readOnly() {
				t.Errorf("%q is read-only", cmd)
			}
			if cmd == "" || !utf8.ValidString(cmd) { // no call can have it
				continue
			}
			if f := resolve(t, tool, cmd).Facts; f != (tools.Facts{Destructive: true, OpenWorld: true}) {
				t.Errorf("%q: %+v", cmd, f)
			}
		}
	}
	for _, name := range []string{"bash_readonly.txt", "more_readonly.txt"} {
		for _, cmd := range lines(t, name) {
			n[name]++
			r := resolve(t, tool, cmd)
			moves := slices.ContainsFunc(r.Commands(), func(s string) bool { return s == "cd" || strings.HasPrefix(s, "cd ") })
			if want := (tools.Facts{ReadOnly: true, ConcurrencySafe: !moves}); r.Facts != want {
				t.Errorf("%q: %+v, want %+v", cmd, r.Facts, want)
			}
			if d := r.Check(environment()); d != nil {
				t.Errorf("%q: %+v", cmd, d)
			}
		}
	}
	for name, least := range map[string]int{"bash_not_readonly.txt": 100, "more_not_readonly.txt": 20, "bash_readonly.txt": 50, "more_readonly.txt": 20} {
		if n[name] < least {
			t.Errorf("%s has only %d commands", name, n[name])
		}
	}
}

func TestMoves(t *testing.T) {
	c := commands(t, "/usr/bin:/bin", "/ws")
	tool := New(Options{Commands: c})[0]
	for cmd, want := range map[string]bool{
		"ls": false, "cd sub": true, "ls && cd sub": true, "(cd sub)": true, "pushd sub": true, "popd": true, "echo cd": false, "git -C sub log": false,
	} {
		if got := judge(environment(), c, cmd).moves(); got != want {
			t.Errorf("%s moves: %v", cmd, got)
		}
	}
	if f := resolve(t, tool, "cd sub && ls").Facts; f != (tools.Facts{ReadOnly: true}) {
		t.Errorf("%+v", f)
	}
}

// A name of the table is no reason to trust what lies first in PATH, where
// commands may write.
func TestDistrust(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "ls")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		path, command, distrust string
	}{
		{root + ":/usr/bin:/bin", "cat a", ""},
		{root + ":/usr/bin:/bin", "cat a | ls", "ls is in a folder that commands may write to, or of programs that choose others"},
		{root + ":/usr/bin:/bin", `\ls`, "ls is in a folder that commands may write to, or of programs that choose others"},
		{"/usr/bin:/bin:" + root, "ls", ""},
		{"/usr/bin:/bin", "ls", ""},
	} {
		c := commands(t, one.path, root)
		j := judge(environment(), c, one.command)
		if j.distrust != one.distrust || j.readOnly() != (one.distrust == "") {
			t.Errorf("%s, PATH %s: %q, %v", one.command, one.path, j.distrust, j.readOnly())
		}
		if j = judge(environment(), c, file); j.readOnly() {
			t.Error("a path in a root is read-only")
		}
	}
	if err := os.Chmod(file, 0o644); err != nil { // not a program
		t.Fatal(err)
	}
	if j := judge(environment(), commands(t, root+":/usr/bin:/bin", root), "ls"); !j.readOnly() {
		t.Error(j.distrust, j.Reason)
	}
}

func TestCommandPattern(t *testing.T) {
	for _, one := range []struct {
		pattern  string
		yes, not string // separated by |
	}{
		{"npm run build", "npm run build", "npm run|npm run build x|npm run buildx|anpm run build|"},
		{"npm run *", "npm run|npm run build|npm run build --x|npm run ", "npm|npm runner|npm  run"},
		{"npm run:*", "npm run|npm run build|npm run build --x", "npm|npm runner|npm run:x"},
		{"ls*", "ls|ls -l|lsof", "l|als| ls"},
		{"git * main", "git push main|git  main|git a b main", "git main|git push mainx|git push"},
		{"* --version", "node --version|a b --version", "--version|node --versions"},
		{"*", "|a|a b", ""},
		{"a*b*c", "abc|aXbXc|abcbc", "ac|ab|acb|abcd|bc"},
		{"a*a", "aa|aXa", "a"},
		{"git * log *", "git x log y|git x log ", "git x log|git log y"},
		{"a.b", "a.b", "axb"},
		{"a?[b", "a?[b", "axb"},
		{"", "", "a"},
	} {
		match := commandPattern(one.pattern)
		for _, text := range strings.Split(one.yes, "|") {
			if !match(text) {
				t.Errorf("%q does not match %q", one.pattern, text)
			}
		}
		if one.not == "" {
			continue
		}
		for _, text := range strings.Split(one.not, "|") {
			if match(text) {
				t.Errorf("%q matches %q", one.pattern, text)
			}
		}
	}
}

// rule says what a rule makes of a command.
func rule(j *judged, b policy.Behavior, text string) bool {
	return j.matches(b, strings.TrimSuffix(strings.TrimPrefix(text, "Bash("), ")"))
}

func TestRuleCases(t *testing.T) {
	data, err := os.ReadFile(corpora + "rule_cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	c, n := commands(t, "/usr/bin:/bin", "/ws"), 0
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 4 || !strings.HasPrefix(f[1], "Bash(") || strings.HasPrefix(f[2], "any") || f[0] == "rule" || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		j := judge(environment(), c, decode(t, f[2]))
		kind, want := f[0], f[3]
		var got, all bool // got is what the rule says, all that it may be either
		switch kind {
		case "allow":
			got, all = rule(j, policy.Allow, f[1]), strings.Contains(want, " or ")
			if !all && got != (want == "allow") {
				t.Errorf("allow %s %q: %v, want %s", f[1], f[2], got, want)
			}
		case "deny":
			// What is not known is denied where the case asks for a question.
			got = rule(j, policy.Deny, f[1])
			switch {
			case want == "deny" && !got, want == "not denied" && got, want == "ask" && !got:
				t.Errorf("deny %s %q: %v, want %s", f[1], f[2], got, want)
			case want == "deny or ask" && !got:
				t.Errorf("deny %s %q is not seen", f[1], f[2])
			}
			if rule(j, policy.Ask, f[1]) != got {
				t.Errorf("ask %s %q is not as deny", f[1], f[2])
			}
		default:
			t.Errorf("an unknown kind: %s", line)
		}
	}
	if n < 60 {
		t.Errorf("only %d cases", n)
	}
}

func TestMatches(t *testing.T) {
	c := commands(t, "/usr/bin:/bin", "/ws")
	for _, one := range []struct {
		command, pattern string
		allow, deny      bool
	}{
		{"npm run build", "npm run build", true, true},
		{"npm run build && npm run build", "npm run build", true, true},
		{"npm run build && npm test", "npm run build", false, true},
		{"npm run build; npm run x", "npm run *", true, true},
		{"timeout 5 npm run build", "npm run *", false, true},
		{"timeout 5 npm run build", "timeout *", true, true},
		{"/usr/bin/npm run build", "npm run *", false, true},
		{"/usr/bin/npm run build", "/usr/bin/npm run *", true, true},
		{"FOO=1 npm run build", "npm run *", false, true},
		{"npm run build > out", "npm run *", false, true},
		{"npm run $X", "npm run *", false, true},
		{"$X npm", "curl *", false, true}, // not known
		{"echo $(curl x)", "curl *", false, true},
		{"echo $(curl x)", "echo *", false, true},
		{"sh -c 'curl x'", "curl:*", false, true},
		{"ls", "curl *", false, false},
		{"unterminated '", "*", false, true},
		{"", "*", false, false},
	} {
		j := judge(environment(), c, one.command)
		if j.matches(policy.Allow, one.pattern) != one.allow || j.matches(policy.Deny, one.pattern) != one.deny || j.matches(policy.Ask, one.pattern) != one.deny {
			t.Errorf("%q, %q: allow %v, deny %v, ask %v", one.command, one.pattern,
				j.matches(policy.Allow, one.pattern), j.matches(policy.Deny, one.pattern), j.matches(policy.Ask, one.pattern))
		}
	}
	var none *judged
	if none.matches(policy.Allow, "*") || !none.matches(policy.Deny, "x") || !none.matches(policy.Ask, "x") || none.readOnly() {
		t.Error("what was not judged is allowed, or not denied")
	}
}

func TestReadOnlyToolFacts(t *testing.T) {
	tool := New(Options{Commands: commands(t, "/usr/bin:/bin")})[1]
	for _, cmd := range []string{"rm -rf /", "ls", "cd x"} {
		r := resolve(t, tool, cmd)
		if r.Facts != (tools.Facts{ReadOnly: true, ConcurrencySafe: true}) || r.Check(environment()) != nil || r.ClassifierInput() != cmd || !slices.Equal(r.Commands(), []string{cmd}) {
			t.Errorf("%s: %+v, %q, %q", cmd, r.Facts, r.ClassifierInput(), r.Commands())
		}
		match := r.Matcher(policy.Base{})
		if !match(policy.Deny, cmd) || match(policy.Deny, cmd+"x") || !match(policy.Allow, cmd) {
			t.Errorf("rules do not see %s", cmd)
		}
	}
}

// stub is a containment as the tests want it.
type stub struct {
	uncontained error
	open        []string
	denied      *bool // what Open was asked
}

func (s stub) Uncontained(context.Context) error { return s.uncontained }

func (s stub) Open(_ context.Context, denied bool) []string {
	*s.denied = denied
	return s.open
}

func TestCheck(t *testing.T) {
	why := errors.New("Landlock is off")
	read, write := &judged{Analysis: &shellsafe.Analysis{ReadOnly: true}}, &judged{Analysis: &shellsafe.Analysis{}}
	distrusted := &judged{Analysis: read.Analysis, distrust: "ls is not ls"}
	const next = "a person can allow it by a rule such as Bash(make *) in the settings"
	for _, one := range []struct {
		name         string
		j            *judged
		s            stub
		reason, next string
	}{
		{"all is well", write, stub{}, "", ""},
		{"read-only", read, stub{uncontained: why, open: []string{"a"}}, "", ""},
		{"uncontained", write, stub{uncontained: why}, "commands are not contained here (Landlock is off), and this one is not known to only read", next + ", or start the server with --sandbox off"},
		{"distrusted", distrusted, stub{uncontained: why}, "commands are not contained here (Landlock is off), and this one is not known to only read", next + ", or start the server with --sandbox off"},
		{"not judged", nil, stub{uncontained: why}, "commands are not contained here (Landlock is off), and this one is not known to only read", next + ", or start the server with --sandbox off"},
		{"open", write, stub{open: []string{"changing x"}}, "this system cannot keep commands from changing x, and this one cannot be shown to keep off them", next + ", or start the server with --sandbox off; mcp-toolset doctor says more"},
		{"open twice", write, stub{open: []string{"changing x", "reading y"}}, "this system cannot keep commands from changing x and reading y, and this one cannot be shown to keep off them", next + ", or start the server with --sandbox off; mcp-toolset doctor says more"},
	} {
		for _, denied := range []bool{true, false} {
			env := environment()
			env.ReadDenied = denied
			asked := denied // Open says otherwise if it is asked otherwise
			one.s.denied = &asked
			d := check(env, one.s, one.j)
			if one.reason == "" {
				if d != nil {
					t.Errorf("%s: %+v", one.name, d)
				}
				continue
			}
			if d == nil || d.Behavior != policy.Ask || d.Reason != one.reason || d.Next != one.next {
				t.Errorf("%s: %+v", one.name, d)
			}
			if asked != denied {
				t.Errorf("%s: Open was asked for denied %v", one.name, asked)
			}
		}
	}
}
