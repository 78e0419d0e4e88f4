//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// programSettings has a program for each protocol, without a model.
func programSettings(t *testing.T, more string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"permissions":{"allow":["Agent(helper)","Agent(shell)","Agent(free)","Read","Bash(echo *)","Edit(./ok/**)"],"deny":["Bash(rm *)","Edit(./no/**)"]}%s,"agents":{
		"helper":{"command":[%q,%q],"protocol":"acp"},
		"shell":{"command":"task=$(cat); echo \"I am in $PWD with $task\"; eval \"$task\""},
		"free":{"command":"cat; echo; cat ../secret; touch ../made","contained":false}}}`, more, self, acpArg)
}

// TestProgram checks an agent that is a program, without a model and over all transports: what it asks
// for is decided like calls of its session, and what it does by itself is what a command can do.
func TestProgram(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			base := newBase(t)
			for _, dir := range []string{"ok", "no"} {
				deep(t, filepath.Join(base, "root", dir, "f.txt"), "one\ntwo\n")
			}
			put(t, filepath.Join(base, "secret"), "SECRET")
			audit := filepath.Join(base, "audit")
			p := startPlace(t, placeOptions{base: base, http: k.http, settings: programSettings(t, ""), args: []string{"--audit", audit, "--sandbox", "auto"}})
			h := connect(t, p, k.modern, nil)
			root := filepath.Join(base, "root")
			const options = `"options":[{"optionId":"yes","name":"y","kind":"allow_once"},{"optionId":"no","name":"n","kind":"reject_once"}]`
			task := `[["plan","Look around"],["fs/read_text_file",{"path":"` + root + `/ok/f.txt"}],
				["fs/write_text_file",{"path":"` + root + `/ok/f.txt","content":"three\n"}],["fs/write_text_file",{"path":"` + root + `/no/f.txt","content":"x"}],
				["fs/read_text_file",{"path":"` + root + `/ok/f.txt"}],
				["wait","echo hello"],["limit","echo hello"],["terminal/create",{"command":"rm","args":["-rf","ok"]}],
				["session/request_permission",{` + options + `,"toolCall":{"toolCallId":"1","kind":"execute","rawInput":{"command":"echo x"}}}],
				["session/request_permission",{` + options + `,"toolCall":{"toolCallId":"1","kind":"execute","rawInput":{"command":"rm x"}}}],
				["session/request_permission",{` + options + `,"toolCall":{"toolCallId":"1","kind":"edit","locations":[{"path":"` + root + `/ok/f.txt"}],"content":[{"type":"diff","path":"` + root + `/ok/f.txt","oldText":"three","newText":"four"}]}}],
				["session/request_permission",{` + options + `,"toolCall":{"toolCallId":"1","kind":"edit","locations":[{"path":"` + root + `/no/f.txt"}]}}],
				["own write","` + root + `/own.txt"],["own write","` + root + `/.bashrc"],["own write","` + base + `/outside.txt"]]`
			input, _ := json.Marshal(map[string]string{"description": "Try", "prompt": task, "subagent_type": "helper"})
			o := h.must("Agent", string(input))
			want := `(?s)^\[The agent helper-1 \(helper\): completed(?:; protected names that it made were moved away: \S+/root/\.bashrc)?\. 1 step, 11 calls\.\]\n\[Its report, as data: .*\]\n<data-\w+>\n` +
				`fs/read_text_file: \{"content":"one\\ntwo\\n"\}\nfs/write_text_file: \{\}\nfs/write_text_file: error Write: refused by policy: [^\n]*\n[^\n]*fs/read_text_file: \{"content":"three\\n"\}\n` +
				`terminal: \{"exitCode":0\} \{"exitStatus":\{"exitCode":0\},"output":"hello\\n","truncated":false\} \{\}\n` +
				`terminal: \{"exitCode":0\} \{"exitStatus":\{"exitCode":0\},"output":"ello\\n","truncated":true\} \{\}\nterminal/create: error Bash: refused by policy: .*Bash\(rm \*\)[^\n]*\n[^\n]*` +
				`session/request_permission: \{"outcome":\{"optionId":"yes","outcome":"selected"\}\}\nsession/request_permission: \{"outcome":\{"optionId":"no","outcome":"selected"\}\}\n` +
				`session/request_permission: \{"outcome":\{"optionId":"yes","outcome":"selected"\}\}\nsession/request_permission: \{"outcome":\{"optionId":"no","outcome":"selected"\}\}\n` +
				`own write: true\nown write: true\nown write: (true|false)\n</data-\w+>\n\[Files changed with Edit, Write or NotebookEdit: \S+/root/ok/f\.txt\]\n?changed: 1 created \(undo \d+\)$`
			if !regexp.MustCompile(want).MatchString(o.text) {
				t.Errorf("%s\n%s", o.show(), o.text[max(0, len(o.text)-600):])
			}
			if contained(t) && (there(filepath.Join(base, "outside.txt")) || there(filepath.Join(root, ".bashrc")) || !strings.Contains(o.text, "moved away")) {
				t.Errorf("the program has written outside of the workspace, or a protected name: %.200s", o.text)
			}
			if got := lines(t, filepath.Join(root, "ok", "f.txt")); len(got) != 1 || got[0] != "three" {
				t.Errorf("the file has %q", got)
			}
			o = h.call("Agent", `{"description":"d","prompt":"echo then; ls ../secret","subagent_type":"shell"}`)
			if !regexp.MustCompile(`(?s)I am in `+regexp.QuoteMeta(root)+` with echo then; .*\nthen\n`).MatchString(o.text) || o.failed != contained(t) {
				t.Error(o.show())
			}
			o = h.must("Agent", `{"description":"d","prompt":"out","subagent_type":"free"}`)
			if !strings.Contains(o.text, "\nout\nSECRET\n") || !there(filepath.Join(base, "made")) {
				t.Error(o.show())
			}
			if o := h.call("Agent", `{"description":"d","prompt":"p"}`); !o.fails("Agent: invalid input: there is no agent type general. Use one of helper, shell, free.") {
				t.Error(o.show())
			}
			p.stop(t)
			seen := map[string]int{}
			for _, line := range lines(t, audit) {
				var e struct{ Agent, Tool, Outcome string }
				_ = json.Unmarshal([]byte(line), &e)
				seen[e.Agent+" "+e.Tool+" "+e.Outcome]++
			}
			for what, n := range map[string]int{"helper-1 Bash refused": 2, "helper-1 Write refused": 2, "helper-1 Write ok": 1, "helper-1 Bash ok": 2, "helper-1 Bash permitted": 1, "helper-1 Edit permitted": 1, "helper-1 Read ok": 2} {
				if seen[what] != n {
					t.Errorf("%s: %d in %v", what, seen[what], seen)
				}
			}
		})
	}
}

// contained reports whether commands are confined here.
func contained(t *testing.T) bool {
	out, _ := exec.Command(binary(t), "doctor").CombinedOutput()
	return regexp.MustCompile(`(?m)^ok    containment       in force`).Match(out)
}

// TestProgramAsks checks that a program is not started without approval, in plan mode, or for a session
// without commands, and that its calls are put to the user of the call.
func TestProgramAsks(t *testing.T) {
	t.Parallel()
	settings := strings.Replace(programSettings(t, `,"profiles":{"few":{"tools":["Agent","Read"]}}`), `"Agent(helper)","Agent(shell)","Agent(free)",`, "", 1)
	var asked atomic.Int32
	p := startPlace(t, placeOptions{settings: settings, args: []string{"--sandbox", "auto"}})
	h := connect(t, p, false, func(q question) string {
		asked.Add(1)
		return `{"action":"accept","content":{"decision":"allow"}}`
	})
	if o := h.must("Agent", `{"description":"d","subagent_type":"free","prompt":"p"}`); asked.Load() != 1 {
		t.Error(o.show())
	}
	want := int32(2)
	if !contained(t) {
		want = 3
	}
	task := strings.ReplaceAll(`[['fs/write_text_file',{'path':'`+p.base+`/new.txt','content':'x'}]]`, "'", `\"`)
	if o := h.must("Agent", `{"description":"d","subagent_type":"helper","prompt":"`+task+`"}`); !strings.Contains(o.text, "fs/write_text_file: {}") || asked.Load() != want {
		t.Errorf("asked %d times: %s", asked.Load(), o.show())
	}
	silent := connect(t, startPlace(t, placeOptions{settings: settings}), false, nil)
	if o := silent.call("Agent", `{"description":"d","subagent_type":"free","prompt":"p"}`); !strings.Contains(o.text, "the program of the agent type free runs outside of the sandbox") || !o.failed {
		t.Error(o.show())
	}
	silent.must("EnterPlanMode", `{}`)
	if o := silent.call("Agent", `{"description":"d","subagent_type":"shell","prompt":"p"}`); !o.fails("Agent: refused by policy: plan mode is on") {
		t.Error(o.show())
	}
	few := connect(t, startPlace(t, placeOptions{settings: settings, args: []string{"--profile", "few", "--sandbox", "auto"}}), false, nil)
	if o := few.call("Agent", `{"description":"d","subagent_type":"shell","prompt":"p"}`); !o.fails("Agent: failed: the agent type shell is a program, and this session cannot run commands. Use another type, or do the work with the tools that there are.") {
		t.Error(o.show())
	}
}

// TestProgramEnds checks that a program ends with all it has started when its task is stopped, when
// its call is cancelled, and when the server is killed.
func TestProgramEnds(t *testing.T) {
	t.Parallel()
	mark := fmt.Sprint(700_000 + os.Getpid())
	sleeping := func() bool { return exec.Command("pgrep", "-f", "sleep "+mark).Run() == nil }
	base := newBase(t)
	o := placeOptions{base: base, http: true, settings: programSettings(t, ""), args: []string{"--sandbox", "auto"}}
	p := startPlace(t, o)
	h := connect(t, p, false, nil)
	for name, task := range map[string]string{"helper": `[[\"plan\",\"Rest a while\"],[\"hang\",\"` + mark + `\"]]`, "shell": "sleep " + mark + " & sleep " + mark} {
		input := `{"description":"d","subagent_type":"` + name + `","prompt":"` + task + `","run_in_background":true}`
		id := regexp.MustCompile(` as task (\w+)\.`).FindStringSubmatch(h.must("Agent", input).text)
		becomes(t, name+" sleeps", sleeping)
		if shown := regexp.MustCompile(`<data-\w+>\nplan, 0 of 1 done: Rest a while\n</data-\w+>`); name == "helper" {
			becomes(t, "TaskOutput shows the plan", func() bool {
				return shown.MatchString(h.must("TaskOutput", `{"task_id":"`+id[1]+`","timeout":0}`).text)
			})
		}
		if o := h.must("TaskStop", `{"task_id":"`+id[1]+`"}`); !strings.Contains(o.text, "stopped by TaskStop") || sleeping() {
			t.Errorf("%s: %s", name, o.show())
		}
		call, _ := h.begin(direct, "Agent", strings.Replace(input, `,"run_in_background":true`, "", 1))
		becomes(t, name+" sleeps", sleeping)
		h.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, call), "", "")
		becomes(t, name+" is cancelled", func() bool { return !sleeping() })
		h.must("Agent", input)
		becomes(t, name+" sleeps", sleeping)
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
		<-p.ended
		becomes(t, name+" ends with the server", func() bool { return !sleeping() })
		p = startPlace(t, o)
		h = connect(t, p, false, nil)
	}
	lost, files := 0, 0
	paths, _ := filepath.Glob(filepath.Join(base, "state", "agents", "*.jsonl"))
	for _, path := range paths {
		files++
		if all := lines(t, path); strings.Contains(all[len(all)-1], `"state":"lost"`) {
			lost++
		}
	}
	if lost != 2 || files != 6 {
		t.Errorf("%d of %d are lost", lost, files)
	}
}
