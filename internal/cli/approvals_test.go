//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/consent/approval"
)

// desk is a user's terminal next to a server.
type desk struct {
	t      *testing.T
	server *approval.Store
	state  string
	env    map[string]string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir, err := os.MkdirTemp("", "a") // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	s := approval.New(approval.Config{Folder: state, Server: "/work", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &desk{t: t, server: s, state: state, env: map[string]string{"MCP_TOOLSET_STATE_DIR": state}}
}

var (
	aTime    = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`)
	anAge    = regexp.MustCompile(`\d+ s ago`)
	aProcess = regexp.MustCompile(`(process"?[: ])\d+`)
)

// run runs a command line. It returns the exit code and the output, with fixed times and processes.
func (d *desk) run(args ...string) (code int, out string) {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	code = Main(args, &Host{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: func(k string) string { return d.env[k] },
		Environ: func() []string { return nil }, Unsetenv: func(string) {}, Home: d.state,
	})
	out = stdout.String() + stderr.String()
	if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		d.t.Errorf("%v prints %q", args, out[i:])
	}
	out = strings.ReplaceAll(anAge.ReplaceAllString(aTime.ReplaceAllString(out, "TIME"), "AGE"), d.state, "STATE")
	return code, aProcess.ReplaceAllString(out, "${1}N")
}

// want runs a command line and compares its whole output.
func (d *desk) want(code int, want string, args ...string) {
	d.t.Helper()
	gotCode, got := d.run(args...)
	if gotCode != code {
		d.t.Errorf("%v: exit code %d, want %d", args, gotCode, code)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("%v (-want +got):\n%s", args, diff)
	}
}

func (d *desk) pend(r approval.Request) int {
	d.t.Helper()
	n, err := d.server.Pend(r)
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

func runCommand(command string) approval.Request {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return approval.Request{
		Session: "s", Tool: "Bash", Title: "Run the tests", Dir: "/work/sub", Root: "/work", Input: input,
		Reason: "the ask rule Bash covers it", Subject: approval.Subject{Kind: "command", Value: command, Dir: "/work/sub"},
	}
}

// TestApprovals follows a user from the first question on.
func TestApprovals(t *testing.T) {
	d := newDesk(t)
	d.want(0, "Nothing waits for an approval.\n", "approvals")
	if _, err := os.Lstat(d.state); err == nil {
		t.Error("looking made the state folder")
	}
	d.want(1, "mcp-toolset: nothing is waiting: the server that asked has ended, or its request has expired; let the model send the call again\n", "approve", "1")

	first := runCommand("npm test && echo 'a\\nb'\n")
	d.pend(first)
	once := approval.Request{
		Session: "s", Principal: "http", Client: "Cur\x1b[2Jsor", Tool: "Write", Root: "/work", Once: "a rule asks each time", Reason: "the ask rule Edit(*.txt) covers /work/a.txt",
		Input:   json.RawMessage(`{"file_path":"/work/a.txt","content":"` + strings.Repeat(`long \u001b[2J `, 20) + "\u202e\u009b\u007f\u2028\U000e0041" + `"}`),
		Subject: approval.Subject{Kind: "path", Access: "Edit", Value: "/work/a.txt"},
	}
	d.pend(once)
	long := strings.Repeat(`long \u001b[2J `, 20) + `\u202e\u009b\u007f\u2028\udb40\udc41`
	writing := `Approval 2, pending since TIME, until TIME
  tool       Write
  workspace  /work
  asked by   Cur\x1b[2Jsor (process N), as it calls itself
  user       http
  server     /work
  why        the ask rule Edit(*.txt) covers /work/a.txt
  --always   is not on offer: a rule asks each time, so it cannot be always allowed; approve it without --always
  input
    {
      "file_path": "/work/a.txt",
      "content": "` + long + `"
    }

Decide with ` + "`mcp-toolset approve 2` or `mcp-toolset deny 2`.\n"
	d.want(0, "1  Bash   npm test && echo 'a\\nb'  (the ask rule Bash covers it)                  AGE\n"+
		"2  Write  /work/a.txt              (the ask rule Edit(*.txt) covers /work/a.txt)  AGE\n"+
		"\n`mcp-toolset approvals N` shows one in full. Decide with `mcp-toolset approve N`, `mcp-toolset approve N --always` or `mcp-toolset deny N`.\n", "approvals")
	d.want(0, `Approval 1, pending since TIME, until TIME
  tool       Bash
  title      Run the tests
  folder     /work/sub
  workspace  /work
  asked by   process N
  server     /work
  why        the ask rule Bash covers it
  --always   also allows Bash: command "npm test && echo 'a\\nb'\n" in the folder /work/sub, in the workspace /work
  input      {"command":"npm test \u0026\u0026 echo 'a\\nb'\n"}

Decide with `+"`mcp-toolset approve 1`, `mcp-toolset approve 1 --always` or `mcp-toolset deny 1`.\n", "approvals", "1")
	d.want(0, writing, "approvals", "2")
	d.want(1, "mcp-toolset: there is no approval 7; pending: 1, 2\n", "approvals", "7")
	d.want(1, "mcp-toolset: there is no approval 7; pending: 1, 2\n", "approve", "7")

	d.want(1, "mcp-toolset: a rule asks each time, so it cannot be always allowed; approve it without --always\n", "approve", "--always", "2")
	d.want(0, "Approved 1: Bash, Run the tests. The same call, sent again in the next 15 minutes, runs once.\n", "approve", "1")
	if _, out := d.run("approvals", "1"); !strings.HasPrefix(out, "Approval 1, approved and not used yet, until TIME\n") || strings.Contains(out, "Decide") {
		t.Errorf("one that is given is shown as\n%s", out)
	}
	if d.server.Take(first) == 0 {
		t.Error("not taken")
	}
	d.want(0, "Declined 2: Write.\n", "deny", "2")
	d.pend(runCommand("make"))
	d.want(0, `Approved 3: Bash, Run the tests. The same call, sent again in the next 15 minutes, runs once.
Always allowed: Bash: command "make" in the folder /work/sub, in the workspace /work. `+"`mcp-toolset approvals --forget 1` takes it back.\n", "approve", "3", "--always")
	if d.server.Take(runCommand("make")) == 0 || !d.server.Always("", "Bash", runCommand("make").Subject, "/work") {
		t.Error("not allowed")
	}
	d.want(0, `Nothing waits for an approval.

Declined, until the conversation ends or `+"`mcp-toolset approvals --lift N`"+`:
  2    changes to "/work/a.txt", at TIME, server /work

Always allowed, until `+"`mcp-toolset approvals --forget N`"+`:
  1    Bash: command "make" in the folder /work/sub, workspace /work, since TIME
`, "approvals")
	d.want(0, `{"servers":1,"approvals":[],"declined":[{"number":2,"server":"/work","process":N,"since":"TIME","tool":"Edit","subject":{"kind":"path","access":"Edit","value":"/work/a.txt"}}],`+
		`"always":[{"number":1,"tool":"Bash","kind":"command","value":"make","dir":"/work/sub","roots":["/work"],"when":"TIME"}],"problems":[]}`+"\n", "approvals", "--json")
	d.want(0, "No longer declined: changes to \"/work/a.txt\".\n", "approvals", "--lift", "2")
	d.want(1, "mcp-toolset: nothing was declined by number 2; `mcp-toolset approvals` has the numbers\n", "approvals", "--lift", "2")
	d.want(1, "mcp-toolset: nothing is always allowed by number 3, only by 1; `mcp-toolset approvals` lists them\n", "approvals", "--forget", "3")
	d.want(0, "No longer allowed: Bash: command \"make\" in the folder /work/sub.\n", "approvals", "--forget", "1")
	d.want(1, "mcp-toolset: nothing is always allowed\n", "approvals", "--forget", "1")
	if is, _ := d.server.Declined("s", once.Tool, once.Subject); is || d.server.Always("", "Bash", runCommand("make").Subject, "/work") {
		t.Error("lifting and forgetting did nothing")
	}
	d.want(0, "Nothing waits for an approval.\n", "approvals")
}

// Programs get each input as JSON.
func TestApprovalsJSON(t *testing.T) {
	d := newDesk(t)
	r := runCommand("x")
	r.Input = json.RawMessage("{\"a\": [1,\n2.50, \"<\u202e\\u0000>\U000e0041\"]}")
	d.pend(r)
	code, out := d.run("approvals", "--json", "1")
	if want := `"input":{"a":[1,2.50,"<\u202e\u0000>\udb40\udc41"]}`; code != 0 || !strings.Contains(out, want) {
		t.Errorf("%s is not in\n%s", want, out)
	}
	var got struct {
		Approvals []struct{ Input struct{ A []any } }
	}
	if err := json.Unmarshal([]byte(strings.Replace(out, `"process":N`, `"process":1`, 1)), &got); err != nil || len(got.Approvals) != 1 || got.Approvals[0].Input.A[2] != "<\u202e\x00>\U000e0041" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestApprovalsCut checks that the list has one line for each approval, whatever it holds, and that
// a single approval is shown whole.
func TestApprovalsCut(t *testing.T) {
	d := newDesk(t)
	long := strings.Repeat("é", 5000)
	r := runCommand(strings.Repeat("x", 100) + "\nrm -rf /")
	r.Input, r.Title, r.Reason = json.RawMessage(`"`+long+`"`), strings.Repeat("t", 5000), strings.Repeat("r", 500)+"\n"
	d.pend(r)
	two := runCommand("true\n\trm -rf /\x1b")
	two.Reason = ""
	d.pend(two)
	d.pend(approval.Request{
		Session: "s", Tool: "Read", Root: "/work", Input: json.RawMessage(`{}`), Reason: "/" + strings.Repeat("d", 100) + "/file is outside",
		Subject: approval.Subject{Kind: "path", Access: "Read", Value: "/" + strings.Repeat("d", 100) + "/file"},
	})
	_, out := d.run("approvals")
	want := "1  Bash  " + strings.Repeat("x", 59) + "…  (" + strings.Repeat("r", 79) + "…)  AGE\n2  Bash  true…"
	last := "3  Read  …" + strings.Repeat("d", 54) + "/file  (is outside)"
	if !strings.HasPrefix(out, want) || !strings.Contains(out, "\n"+last) || strings.Count(out, "\n") != 5 {
		t.Errorf("the list is\n%s", out)
	}
	if _, out = d.run("approvals", "1"); !strings.Contains(out, `    "`+long+"\"\n") || !strings.Contains(out, r.Title) {
		t.Errorf("one is shown as\n%s", out)
	}
}

// TestApprovalsPreview checks that the block shows the change instead of the input, and identifies
// the input if the change is not complete. The list has neither.
func TestApprovalsPreview(t *testing.T) {
	d := newDesk(t)
	r := approval.Request{
		Session: "s", Tool: "Write", Root: "/work", Input: json.RawMessage(`{}`), Reason: "x", Preview: "/etc/hosts, what changes:\n-a\n+b\x1b\u202e\n",
		Subject: approval.Subject{Kind: "path", Access: "Edit", Value: "/etc/hosts"},
	}
	d.pend(r)
	block := func(change string) string {
		return "Approval 1, pending since TIME, until TIME\n  tool       Write\n  workspace  /work\n  asked by   process N\n  server     /work\n  why        x\n" +
			"  --always   also allows changes to \"/etc/hosts\", in the workspace /work\n  change\n" + change +
			"\nDecide with `mcp-toolset approve 1`, `mcp-toolset approve 1 --always` or `mcp-toolset deny 1`.\n"
	}
	d.want(0, block("    /etc/hosts, what changes:\n    -a\n    +b\\x1b\\u202e\n"), "approvals", "1")
	// The file has changed since, and the same call is sent again.
	r.Preview, r.Partial = "/etc/hosts, what changes:\n-c\n+b\n", true
	if n := d.pend(r); n != 1 {
		t.Errorf("the preview is bound: approval %d", n)
	}
	d.want(0, block("    /etc/hosts, what changes:\n    -c\n    +b\n  SHA-256    44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a of the whole input, which `mcp-toolset approvals --json 1` prints\n"), "approvals", "1")
	if _, out := d.run("approvals"); strings.Contains(out, "+b") || strings.Count(out, "\n") != 3 {
		t.Error(out)
	}
	d.want(0, "Approved 1: Write. The same call, sent again in the next 15 minutes, runs once.\nAlways allowed: changes to \"/etc/hosts\", in the workspace /work. `mcp-toolset approvals --forget 1` takes it back.\n", "approve", "1", "--always")
	if r.Preview = ""; d.server.Take(r) == 0 {
		t.Error("not taken")
	}
}

// The commands fail in a command of a tool, whatever their arguments.
func TestApprovalsInCommand(t *testing.T) {
	d := newDesk(t)
	d.pend(runCommand("x"))
	d.env["MCP_TOOLSET_COMMAND"] = "1"
	for _, args := range [][]string{{"approvals"}, {"approvals", "--json"}, {"approvals", "1"}, {"approvals", "--lift", "1"}, {"approvals", "--forget", "1"}, {"approve", "1"}, {"approve", "1", "--always"}, {"deny", "1"}} {
		d.want(1, "mcp-toolset: this runs as a command of a tool (MCP_TOOLSET_COMMAND is set); only the user can approve calls, in a terminal of their own\n", args...)
	}
	if d.server.Take(runCommand("x")) != 0 {
		t.Error("granted")
	}
}

func TestApprovalsUsage(t *testing.T) {
	d := newDesk(t)
	for want, lines := range map[string][]string{
		"%s takes the number of an approval; `mcp-toolset approvals` has the numbers":  {"approve", "deny", "approve 1 2", "deny 1 2"},
		`%q is no number of an approval; ` + "`mcp-toolset approvals` has the numbers": {"approve x", "deny 0", "approvals 1x", "approve 99999999999999999999"},
		"approvals takes one of N, --lift N and --forget N":                            {"approvals 1 2", "approvals --lift 1 1", "approvals --lift 1 --forget 1", "approvals --lift 1 --json"},
		`--lift is "x"; use a number`:                                                  {"approvals --lift x"},
		"unknown flag --alway; did you mean --always?":                                 {"approve 1 --alway"},
	} {
		for _, line := range lines {
			args := strings.Fields(line)
			text := want
			if strings.Contains(want, "%s") {
				text = fmt.Sprintf(want, args[0])
			} else if strings.Contains(want, "%q") {
				text = fmt.Sprintf(want, args[1])
			}
			d.want(2, "mcp-toolset: "+text+"\n", args...)
		}
	}
	if _, err := os.Lstat(d.state); err == nil {
		t.Error("a wrong command line made the state folder")
	}
	d.env["MCP_TOOLSET_STATE_DIR"] = "relative"
	d.want(1, "mcp-toolset: MCP_TOOLSET_STATE_DIR is relative; it must be an absolute path\n", "approve", "1")
}

// A file of "always" entries that cannot be trusted is reported.
func TestApprovalsProblem(t *testing.T) {
	d := newDesk(t)
	r := runCommand("make")
	if err := d.server.Remember(r); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(d.state, "approvals", "always.json"), 0o666); err != nil {
		t.Fatal(err)
	}
	d.want(0, "Nothing waits for an approval.\n\nProblem: nothing is always allowed: reading STATE/approvals/always.json: other users can write to it; see what is in it and make its mode 600\n", "approvals")
}
