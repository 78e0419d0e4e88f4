package bash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// corpora lists the corpora of package shellsafe.
const corpora = "../../internal/exec/shellsafe/testdata/"

// environment holds the folders that the corpora assume.
func environment() *tools.Env {
	return &tools.Env{Session: session.View{Dir: "/ws", Roots: []string{"/ws"}}, Home: "/home/u"}
}

func commands(t testing.TB, path string, roots ...string) *command.Commands {
	t.Helper()
	return configured(t, command.Config{Roots: roots, Environ: []string{"PATH=" + path}})
}

// commandsWithSecret returns commands that inherit a secret by the settings.
func commandsWithSecret(t testing.TB, roots ...string) *command.Commands {
	t.Helper()
	return configured(t, command.Config{Roots: roots, Environ: []string{"PATH=/usr/bin:/bin", "API_KEY=x"}, Pass: []string{"API_*"}})
}

func configured(t testing.TB, config command.Config) *command.Commands {
	t.Helper()
	config.State = t.TempDir()
	c, err := command.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// lines returns the decoded lines of a corpus without comments.
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

// decode decodes the escapes of a corpus.
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

func parse(t testing.TB, tool *tools.Tool, cmd string) *tools.Call {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": cmd})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tool.Parse(args)
	if err != nil {
		t.Fatalf("%q: %v", cmd, err)
	}
	return c
}

func resolve(t testing.TB, tool *tools.Tool, cmd string) *tools.Prepared {
	t.Helper()
	return toolstest.Prepare(t, parse(t, tool, cmd), environment())
}

func TestFactsOfCorpora(t *testing.T) {
	c := commands(t, "/usr/bin:/bin", "/ws")
	tool := New(Options{Commands: c})[0]
	n := map[string]int{}
	for _, name := range []string{"bash_not_readonly.txt", "more_not_readonly.txt"} {
		for _, cmd := range lines(t, name) {
			n[name]++
			if cmd == "/bin/ls" {
				continue // a case for a shellsafe without trusted folders
			}
			if judge(environment(), c, cmd).readOnly() {
				t.Errorf("%q is read-only", cmd)
			}
			if cmd == "" || !utf8.ValidString(cmd) || shellsafe.Normalize(cmd) != cmd { // no call can contain it
				continue
			}
			r, err := parse(t, tool, cmd).Prepare(environment())
			if err != nil {
				continue // refused as invalid
			}
			f := r.Facts
			if f.Destructive = false; f != (tools.Facts{OpenWorld: true}) {
				t.Errorf("%q: %+v", cmd, f)
			}
		}
	}
	for _, name := range []string{"bash_readonly.txt", "more_readonly.txt"} {
		for _, cmd := range lines(t, name) {
			n[name]++
			r := resolve(t, tool, cmd)
			moves := slices.ContainsFunc(r.Parts(environment()).List, func(p policy.Part) bool { return p.Name == "cd" || strings.HasPrefix(p.Name, "cd ") })
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

// A known name does not make a program trusted that is first in PATH, in a folder that
// commands may write to.
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
		{root + ":/usr/bin:/bin", "make && ls", "ls is in a folder that commands may write to, or of programs that choose others"},
		{root + ":/usr/bin:/bin", "make; cat a", ""},
	} {
		c := commands(t, one.path, root)
		j := judge(environment(), c, one.command)
		if j.distrust != one.distrust || j.readOnly() != (one.distrust == "" && !strings.Contains(one.command, "make")) {
			t.Errorf("%s, PATH %s: %q, %v", one.command, one.path, j.distrust, j.readOnly())
		}
		if j = judge(environment(), c, file); j.readOnly() {
			t.Error("a path in a root is read-only")
		}
	}
	if err := os.Chmod(file, 0o644); err != nil { // not executable
		t.Fatal(err)
	}
	if j := judge(environment(), commands(t, root+":/usr/bin:/bin", root), "ls"); !j.readOnly() {
		t.Error(j.distrust, j.Reason)
	}
}

// TestDestructive checks the annotation of a call, which is known before the call runs.
func TestDestructive(t *testing.T) {
	tool := New(Options{Commands: commands(t, "/usr/bin:/bin", "/ws")})[0]
	for cmd, want := range map[string]bool{
		"ls": false, "make": false, "rm x": false, "rm -rf x": true, "ls; git push -f": true, "sudo rm -r x": true, "$X": true, "ls '": true,
	} {
		if cmd == "ls '" { // refused as invalid before its annotations are asked for
			if j := judge(environment(), commands(t, "/usr/bin:/bin", "/ws"), cmd); !j.destructive() {
				t.Errorf("%s: not destructive", cmd)
			}
			continue
		}
		if f := resolve(t, tool, cmd).Facts; f.Destructive != want {
			t.Errorf("%s: destructive is %v", cmd, f.Destructive)
		}
	}
	var none *judged
	if !none.destructive() || none.readOnly() || none.parts(nil, nil, "", true).Unresolved == "" {
		t.Error("what was not judged is trusted")
	}
}

func TestReadOnlyToolFacts(t *testing.T) {
	tool := New(Options{Commands: commands(t, "/usr/bin:/bin")})[1]
	for _, cmd := range []string{"rm -rf /", "ls", "cd x"} {
		r := resolve(t, tool, cmd)
		if r.Facts != (tools.Facts{ReadOnly: true, ConcurrencySafe: true}) || r.Check(environment()) != nil || r.ClassifierInput() != cmd {
			t.Errorf("%s: %+v, %q", cmd, r.Facts, r.ClassifierInput())
		}
		p := r.Parts(environment())
		if len(p.List) != 1 || p.List[0].Text != cmd || !p.List[0].ReadOnly || p.List[0].Risk != "" || !p.Harmless {
			t.Errorf("%s: %+v", cmd, p)
		}
	}
}

// TestUnnamedTexts checks the text of ask decisions about contents that a command does
// not name.
func TestUnnamedTexts(t *testing.T) {
	denied := false
	for _, one := range []struct {
		command      string
		harmless     bool
		reason, next string
	}{
		{"git log -p", false, "git log -p may print versions of files that the rule Read(**/.env) covers", "name one file as REV:PATH, or ask the user to allow it"},
		{"grep -r x .", false, "this system cannot keep commands from files that the rule Read(**/.env) covers, and grep -r x . may read one", "use Grep or Read, name each file that the command reads, or ask the user to allow it"},
		{"python3 x.py", true, "this system cannot keep commands from files that the rule Read(**/.env) covers, and this command may read one", "use Grep or Read, name each file that the command reads, or ask the user to allow it"},
	} {
		env := environment()
		env.Commands.ReadRule = "Read(**/.env)"
		d := check(env, stub{exposed: true, denied: &denied}, judge(env, commands(t, "/usr/bin:/bin", "/ws"), one.command), one.harmless)
		if d == nil || d.Behavior != policy.Ask || d.Reason != one.reason || d.Next != one.next {
			t.Errorf("%s: %+v", one.command, d)
		}
	}
}

// Both tools ask about contents that a call does not name.
func TestUnnamedIsAsked(t *testing.T) {
	for _, tool := range New(Options{Commands: commands(t, "/usr/bin:/bin", "/ws")}) {
		env := environment()
		if d := resolve(t, tool, "git log -p").Check(env); d != nil {
			t.Errorf("%s, without rules: %+v", tool.Name, d)
		}
		env.Commands.ReadRule = "Read(.env)"
		if d := resolve(t, tool, "git log -p").Check(env); d == nil || d.Behavior != policy.Ask {
			t.Errorf("%s: %+v", tool.Name, d)
		}
	}
}

// stub implements containment for the tests.
type stub struct {
	uncontained error
	open        []string
	denied      *bool // the argument of the last call of Open
	exposed     bool
	mode        command.Mode
	network     error // why commands have the network of the machine
}

func (s stub) NetworkContained(context.Context) error { return s.network }

func (s stub) Uncontained(context.Context) error { return s.uncontained }

func (s stub) Sandboxed() command.Mode { return s.mode }

func (s stub) Exposed(context.Context) bool { return s.exposed }

func (s stub) Open(_ context.Context, denied bool) []string {
	*s.denied = denied
	return s.open
}

func TestCheck(t *testing.T) {
	why := errors.New("Landlock is off")
	read, write := &judged{Analysis: &shellsafe.Analysis{ReadOnly: true}}, &judged{Analysis: &shellsafe.Analysis{}}
	distrusted := &judged{Analysis: read.Analysis, distrust: "ls is not ls"}
	online := &judged{Analysis: &shellsafe.Analysis{Commands: []shellsafe.Command{{Text: "curl x", Name: "curl", Words: []string{"curl", "x"}}}}}
	const next = "ask the user to allow it"
	for _, one := range []struct {
		name         string
		j            *judged
		s            stub
		reason, next string
	}{
		{"all is well", write, stub{}, "", ""},
		{"read-only", read, stub{uncontained: why, open: []string{"a"}}, "", ""},
		{"uncontained", write, stub{uncontained: why}, "commands are not contained here (Landlock is off), and this one is not known to only read", next},
		{"distrusted", distrusted, stub{uncontained: why}, "commands are not contained here (Landlock is off), and this one is not known to only read", next},
		{"not judged", nil, stub{uncontained: why}, "commands are not contained here (Landlock is off), and this one is not known to only read", next},
		{"network", online, stub{}, "", ""},
		{"network of the machine", online, stub{network: why}, "curl x uses the network, and commands have that of this machine (Landlock is off)", `ask the user to allow it or to set "network": "allow"`},
		{"no use of it", write, stub{network: why}, "", ""},
		{"open", write, stub{open: []string{"changing x"}}, "this system cannot keep commands from changing x, and this one cannot be shown to keep off them", "see mcp-toolset doctor, and " + next},
		{"open twice", write, stub{open: []string{"changing x", "reading y"}}, "this system cannot keep commands from changing x and reading y, and this one cannot be shown to keep off them", "see mcp-toolset doctor, and " + next},
	} {
		for _, denied := range []bool{true, false} {
			env := environment()
			env.Commands.ReadDenied = denied
			asked := denied // Open overwrites this if it is called
			one.s.denied = &asked
			d := check(env, one.s, one.j, false)
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

// TestCheckElsewhere checks calls that a program outside of the sandbox makes by itself: they are decided
// as without a sandbox, whatever the sandbox of this server does.
func TestCheckElsewhere(t *testing.T) {
	const outside = "commands are not contained here (the program that asks runs outside of the sandbox), and this one is not known to only read"
	git := &judged{Analysis: &shellsafe.Analysis{ReadOnly: true, GitDirs: []string{"/w"}}}
	for _, one := range []struct {
		name   string
		j      *judged
		reason string
	}{
		{"a command", &judged{Analysis: &shellsafe.Analysis{}}, outside},
		{"one that only reads", &judged{Analysis: &shellsafe.Analysis{ReadOnly: true}}, ""},
		{"git, whose text is not ours", git, outside},
	} {
		env := environment()
		denied := false
		if d := check(env, stub{denied: &denied}, one.j, false); d != nil {
			t.Errorf("%s, contained: %+v", one.name, d)
		}
		env.Commands.Uncontained = true
		switch d := check(env, stub{denied: &denied}, one.j, false); {
		case d == nil && one.reason != "", d != nil && (d.Behavior != policy.Ask || d.Reason != one.reason):
			t.Errorf("%s: %+v", one.name, d)
		}
	}
}

// TestSyntax checks that a text that both the parser and bash reject is invalid input.
// A text that bash would run is valid even if the parser fails on it, and so is one
// that the parser does not see.
func TestSyntax(t *testing.T) {
	c := commands(t, os.Getenv("PATH"), "/ws")
	if !strings.HasPrefix(filepath.Base(c.Shell()), "bash") {
		t.Skipf("bash is not installed; the shell is %q", c.Shell())
	}
	for _, tool := range New(Options{Commands: c}) {
		for cmd, want := range map[string]string{
			`echo "unterminated`:        "line 1, column 6: reached EOF without closing quote `\"`",
			"if then":                   "line 1, column 1: ",
			"echo a\necho )":            "line 2, column 6: ",
			"echo $(":                   "line 1, column 6: ",
			"rm -rf /; 'x":              "line 1, column 11: ",
			"cat <<EOF\nx":              "", // bash accepts the end of the text as the end of the document
			"shopt -s extglob\nls !(x)": "",
			"sh -c 'if then'":           "", // the outer command is valid
			"echo x \\":                 "", // the parser does not see it
			"echo \"x\r":                "",
			"ls":                        "",
		} {
			_, err := parse(t, tool, cmd).Prepare(environment())
			if text := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(text, want) {
				t.Errorf("%s: %q: %v, want %q", tool.Name, cmd, err, want)
			}
		}
	}
	if c := commands(t, "/usr/bin:/bin", "/ws"); c.Malformed("touch " + filepath.Join(t.TempDir(), "x") + "; exit 1") {
		t.Error("the script was run")
	}
}

// TestSignals checks that only kill with process numbers runs outside the sandbox, and
// not with a number of this server.
func TestSignals(t *testing.T) {
	c := commands(t, "/usr/bin:/bin", "/ws")
	number := strconv.Itoa(1 << 23) // no process has this number
	for text, want := range map[string]bool{
		"kill N": true, "kill -9 N": true, "kill -s KILL N N": true, "kill -- N": true, "kill -0 N; kill -KILL N": true, "kill -1 N": true,
		"kill -9 -1": false, "kill -9 N -1": false, "kill -9 -- -N N": false, "kill -9 -N": false, "kill -9 0 N": false, "kill -0 -9 N": false, "kill -0 -s 9 N": false,
		"kill -s 0 -n 9 N": false, "kill %1 N": false, "kill N $X": false, "kill N >/tmp/f": false, "kill N </tmp/f": false, "kill N <<< $(id)": false,
		"kill N; id": false, "kill() { id; }; kill N": false, "X=$(id) kill N": false, "/ws/kill N": false, "env kill N": false,
		"kill OWN": false, "kill N OWN": false, "kill 000OWN": false,
	} {
		text = strings.NewReplacer("OWN", strconv.Itoa(os.Getpid()), "N", number).Replace(text)
		if got := judge(environment(), c, text).signals(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	kill := judge(environment(), c, "kill "+number)
	for mode, denied := range map[command.Mode]bool{command.Auto: false, command.On: true} {
		asked := false
		d := check(environment(), stub{mode: mode, denied: &asked}, kill, false)
		if got := d != nil && d.Behavior == policy.Deny; got != denied {
			t.Errorf("--sandbox %s: %+v", mode, d)
		}
	}
}
