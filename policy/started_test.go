package policy

import "testing"

// TestStarted checks which words before a command a rule of a preset looks through.
func TestStarted(t *testing.T) {
	for text, want := range map[string]string{
		"timeout 5 a b": "a b", "timeout 1.5m a": "a", "timeout -k 5 -s KILL 10s a": "a", "timeout --signal=KILL --foreground 10 a": "a",
		"nohup a": "a", "nice a": "a", "nice -n 5 a": "a", "nice -n -5 a": "a", "nice -5 a": "a", "stdbuf -oL -e0 a": "a", "nohup nice timeout 5 a": "a",
		"timeout a": "timeout a", "timeout 5": "timeout 5", "timeout 5 -x a": "timeout 5 -x a", "timeout -x 5 a": "timeout -x 5 a", "timeouts 5 a": "timeouts 5 a", "timeout 5 --help": "timeout 5 --help",
		"nohup --version": "nohup --version", "nice --adjustment=5 a": "nice --adjustment=5 a", "sudo a": "sudo a", "env X=1 a": "env X=1 a", "xargs a": "xargs a", "a timeout 5 b": "a timeout 5 b",
	} {
		if got := started(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestPresetOfPart checks that rules of a preset cover commands in loops and their versions, and
// that rules of files do not.
func TestPresetOfPart(t *testing.T) {
	var rules Rules
	for _, text := range []string{"Bash(a *)", "Bash(--version)"} {
		rules.AddPreset(text, Except{}, Origin{})
	}
	rules.AddPreset("Bash(curl *)", Except{Remote: true}, Origin{})
	rules.Append(&[]Rules{fileRules("/s.json", "", entry{"allow", "Bash(b *)"})}[0])
	p := New(Config{Rules: rules, Roots: []string{"/ws"}})
	for text, test := range map[string]struct {
		part Part
		want Behavior
	}{
		"a in a loop": {Part{Text: "a x", Repeated: true}, Allow}, "b in a loop": {Part{Text: "b x", Repeated: true}, Ask}, "a started": {Part{Text: "timeout 5 a x", Allowable: true}, Allow}, "b started": {Part{Text: "timeout 5 b x", Allowable: true}, Ask},
		"wrapped": {Part{Text: "a x"}, Ask}, "a version": {Part{Text: "c --version", Allowable: true}, Allow}, "of a file": {Part{Text: "../c --version", Allowable: true}, Ask}, "with more": {Part{Text: "c x --version", Allowable: true}, Ask},
		"local": {Part{Text: "curl x", Allowable: true, Local: true}, Allow}, "remote": {Part{Text: "curl x", Allowable: true}, Ask}, "only reads": {Part{Text: "ls x", Reads: true}, Ask}, "a risk in a loop": {Part{Text: "a x", Repeated: true, Risk: "it destroys"}, Ask},
	} {
		test.part.Name = test.part.Text
		d := p.Decide(Request{Tool: "Bash", Dir: "/ws", Parts: &Parts{List: []Part{test.part}}, Own: &Decision{Behavior: Ask, Reason: "it is not contained"}})
		if d.Behavior != test.want {
			t.Errorf("%s: %v, %s", text, d.Behavior, d.Reason)
		}
	}
}
