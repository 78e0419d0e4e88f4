package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"mcp-toolset/models/modelstest"
)

// A script is a txtar file. Its comment begins with lines "KEY: VALUE": clients (names of the
// table in client_test.go), screen (WIDTHxHEIGHT of the client's screen; without it the client
// runs without one), answers (accept: a hook of Claude Code answers all questions). Files below
// work/ and home/ are laid out in the workspace and the home folder. The file "turns" has a line
// for each step:
//
//	> TOOL JSON     a call of a tool of ours in the model's next turn
//	> host:TOOL JSON    a call of a tool of the client
//	say TEXT        text of the model's next turn
//	see REGEXP      the results of the turn match; named groups set variables, used as ${NAME}
//	not REGEXP      they do not match
//	images N        they have so many pictures
//	offered REGEXP  the name and the description of an offered tool match
//	absent REGEXP   no offered tool matches
//	system REGEXP   the text before the conversation matches
//	screen REGEXP   the screen comes to match
//	hidden REGEXP   the screen does not match
//	key KEY...      presses keys, as tmux names them
//	run COMMAND     runs a command of the shell in the workspace, with the product on PATH
//	disk FILE REGEXP    the file of the workspace matches
//	gone FILE       it does not exist
//	as NAME         the steps from here show a capability of docs/clients.md
//
// The first step after a turn that is about its results waits for them.
type script struct {
	name  string
	head  map[string]string
	files []txtar.File
	turns []string
}

// call is a call of a tool that the model makes.
type call struct{ id, tool, input string }

func readScript(t *testing.T, path string) *script {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), head: map[string]string{}}
	for line := range strings.Lines(string(archive.Comment)) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ": "); found && !strings.HasPrefix(line, "#") {
			s.head[key] = value
		}
	}
	for _, f := range archive.Files {
		if f.Name == "turns" {
			s.turns = strings.Split(string(f.Data), "\n")
		} else {
			s.files = append(s.files, f)
		}
	}
	return s
}

// run is one run of a script with one client.
type run struct {
	*testing.T
	*agent
	player  *player
	vars    map[string]string
	pending modelstest.Reply // the turn that is not sent yet
	calls   []call           // of the pending turn
	sent    int              // number of turns
	waiting bool             // a turn is sent and its results are not here
	last    request
	label   string
	shown   map[string]bool // by capability, whether all of its steps held; nil: a step that fails ends the test
}

// patience is the time for a client to do its next step.
const patience = 90 * time.Second

// play lets a client run a script.
func (r *run) play(s *script) {
	r.last = r.next()
	for n, line := range s.turns {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		rest = r.expand(strings.TrimSpace(rest))
		if err := r.step(verb, rest); err != nil {
			r.fail("%s.txtar, turns line %d: %s\n%v", s.name, n+1, line, err)
		}
	}
	r.results()
	r.pending.Text = "done"
	r.send()
}

// fail reports that a step did not hold.
func (r *run) fail(format string, args ...any) {
	if r.shown == nil || r.label == "" {
		r.Fatalf(format+"\n%s", append(args, r.log())...)
	}
	r.shown[r.label] = false
	r.Logf(format, args...)
}

// next returns the next request of the client.
func (r *run) next() request {
	select {
	case req := <-r.player.requests:
		return req
	case <-r.ended:
		r.Fatalf("the client ended early\n%s", r.log())
	case <-time.After(patience):
		r.Fatalf("the client sent nothing for %v\n%s", patience, r.log())
	}
	panic("unreachable")
}

// send sends the pending turn.
func (r *run) send() {
	r.collect()
	r.sent++
	r.pending.Uses = uses(r.calls, func(name string) string {
		if own, found := strings.CutPrefix(name, "host:"); found {
			return own
		}
		return r.client.tool(name)
	})
	select {
	case r.player.replies <- r.pending:
	case <-time.After(patience):
		r.Fatalf("the client does not wait for a reply")
	}
	r.pending, r.calls, r.waiting = modelstest.Reply{}, nil, true
}

// results sends the pending turn, if there is one, and waits for the results of the last one.
func (r *run) results() {
	if r.isPending() {
		r.send()
	}
	r.collect()
}

func (r *run) isPending() bool { return len(r.calls) > 0 || r.pending.Text != "" }

// collect waits for the results of the turn that was sent.
func (r *run) collect() {
	if r.waiting {
		r.waiting = false
		r.last = r.next()
	}
}

func (r *run) step(verb, rest string) error {
	switch verb {
	case ">":
		name, input, _ := strings.Cut(rest, " ")
		if input == "" {
			input = "{}"
		}
		if !json.Valid([]byte(input)) {
			r.Fatalf("%s: the input is no JSON", rest)
		}
		r.collect()
		name, input = r.reach(name, input)
		r.calls = append(r.calls, call{fmt.Sprintf("call_%d_%d", r.sent, len(r.calls)), name, input})
		return nil
	case "say":
		r.collect()
		r.pending.Text = rest
		return nil
	case "screen", "hidden", "key", "run":
		if r.isPending() {
			r.send()
		}
	case "as":
		r.results()
		r.label = rest
		if r.shown != nil {
			r.shown[rest] = true
		}
		return nil
	default:
		r.results()
	}
	switch verb {
	case "see", "not", "system":
		in := r.last.results
		if verb == "system" {
			in = r.last.system
		}
		return r.match(rest, in, verb != "not")
	case "images":
		if got := fmt.Sprint(r.last.images); got != rest {
			return fmt.Errorf("there are %s pictures", got)
		}
	case "offered", "absent":
		var all strings.Builder
		for _, t := range r.last.tools {
			fmt.Fprintf(&all, "%s: %s\n", t.Name, t.Description)
		}
		return r.match(rest, all.String(), verb == "offered")
	case "screen", "hidden":
		return r.onScreen(rest, verb == "screen")
	case "key":
		return r.press(strings.Fields(rest)...)
	case "run":
		cmd := exec.Command("sh", "-c", rest)
		cmd.Dir, cmd.Env = r.work, append(r.env, "PATH="+filepath.Dir(built)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		for _, m := range regexp.MustCompile(`(?m)^set (\w+) (.*)$`).FindAllStringSubmatch(string(out), -1) {
			r.vars[m[1]] = m[2]
		}
	case "disk":
		name, want, _ := strings.Cut(rest, " ")
		data, err := os.ReadFile(filepath.Join(r.work, name))
		if err != nil {
			return err
		}
		return r.match(want, string(data), true)
	case "gone":
		if _, err := os.Lstat(filepath.Join(r.work, rest)); err == nil {
			return fmt.Errorf("it exists")
		}
	default:
		r.Fatalf("unknown step %q", verb)
	}
	return nil
}

// reach returns a call as the model of this client has to make it: by CallTool, if the client
// was not offered the tool.
func (r *run) reach(name, input string) (string, string) {
	if strings.Contains(name, ":") {
		return name, input
	}
	for _, t := range r.last.tools {
		if t.Name == r.client.listed(name) {
			return name, input
		}
	}
	for _, t := range r.last.tools {
		if t.Name == r.client.listed("CallTool") {
			return "CallTool", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, input)
		}
	}
	return name, input
}

// match compares a text with a regular expression, which may match in the middle. Named groups
// set variables.
func (r *run) match(pattern, in string, want bool) error {
	re, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		r.Fatal(err)
	}
	found := re.FindStringSubmatch(in)
	if (found != nil) != want {
		if len(in) > 3000 {
			in = in[:1500] + "\n...\n" + in[len(in)-1500:]
		}
		return fmt.Errorf("in:\n%s", in)
	}
	for i, name := range re.SubexpNames() {
		if name != "" && found != nil {
			r.vars[name] = found[i]
		}
	}
	return nil
}

func (r *run) expand(s string) string {
	for name, value := range r.vars {
		s = strings.ReplaceAll(s, "${"+name+"}", value)
	}
	return s
}
