package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-toolset/models/modelstest"
)

// call is a call of a tool that the model makes.
type call struct{ id, tool, input string }

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
	heard   []string          // the results of each turn
	shown   map[string]string // by capability, the reason why the client does not have it; "": it has it
}

// patience is the time for a client to do its next step.
const patience = 5 * time.Minute

// reading is the time that a person takes to read a dialog, at least: the server takes a faster no
// for one of the client.
const reading = 500 * time.Millisecond

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
			r.Fatalf("%s.txtar, turns line %d: %s\n%v\n%s", s.name, n+1, line, err, r.log())
		}
	}
	r.results()
	r.pending.Text = "done"
	r.send()
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
		r.heard = append(r.heard, r.last.results)
	}
}

// prompt types a prompt on the screen, and presses Enter until the client sends a request.
func (r *run) prompt(text string) error {
	if err := r.pressUntil(text, text); err != nil {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err := r.press("Enter"); err != nil {
			return err
		}
		select {
		case r.last = <-r.player.requests:
			r.waiting = false
			return nil
		case <-time.After(2 * time.Second):
		}
	}
	return fmt.Errorf("the client sends no request")
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
	case "turn":
		r.results()
		return nil
	case "say":
		r.collect()
		r.pending.Text = rest
		return nil
	case "screen", "hidden", "key", "press", "prompt", "run":
		if r.isPending() {
			r.send()
		}
	case "as":
		r.results()
		name, reason, _ := strings.Cut(rest, ": ")
		r.shown[name] = reason
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
		time.Sleep(reading)
		return r.press(strings.Fields(rest)...)
	case "press":
		time.Sleep(reading)
		key, pattern, _ := strings.Cut(rest, " until ")
		return r.pressUntil(key, pattern)
	case "prompt":
		return r.prompt(rest)
	case "run":
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", rest)
		cmd.Dir, cmd.Env = r.work, append(r.env, "PATH="+filepath.Dir(built)+":"+os.Getenv("PATH"))
		cmd.WaitDelay = time.Second
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
