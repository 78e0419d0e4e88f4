package policy

import (
	"strings"
	"testing"
)

// dice makes choices from the bytes of a fuzzer.
type dice struct {
	data []byte
	at   int
}

func (d *dice) roll(n int) int {
	if d.at >= len(d.data) {
		return 0
	}
	d.at++
	return int(d.data[d.at-1]) % n
}

func (d *dice) coin() bool { return d.roll(2) == 1 }

func pick[T any](d *dice, of ...T) T { return of[d.roll(len(of))] }

var fuzzRules = []string{
	"Bash", "Bash(*)", "Bash(a:*)", "Bash(a b*)", "Bash(* b)", "Bash(a", "Bash()", "BashReadOnly(a)", "Shell(a:*)", "Read(.env)", "Read(//ws/**)", "Edit(x)", "Edit(.git/**)", "Read([a)", "Read", "Edit", "*", "mcp__*", "mcp__s", "mcp__s__t(x)", "mcp__s.t__*", "Write(~/x)", "(x)",
}

func (d *dice) path() string {
	return pick(d, "", "a", "/", "/ws", "/ws/x", "/ws/.env", "/ws/.git/config", "/etc/x", "/state/k", "/proc/1/x", "/dev/null", "/ws/../y", "/lib/z", "/home/u/x")
}

func (d *dice) folders() (out []string) {
	for range d.roll(3) {
		out = append(out, d.path())
	}
	return out
}

func (d *dice) parts() *Parts {
	p := &Parts{Unresolved: pick(d, "", "", "why"), Readable: d.folders(), Writable: d.folders(), Edits: d.coin(), Harmless: d.coin()}
	for range d.roll(4) {
		text := pick(d, "a", "a b", "a b c", "x y b", "/bin/a b", "", " ", "a $X")
		name := text[strings.LastIndexByte(text, '/')+1:]
		p.List = append(p.List, Part{
			Text: text, Name: pick(d, name, name, "", "zz"), Allowable: d.coin(), Inner: d.coin(), ReadOnly: d.coin(), UnknownWrites: d.coin(),
			KnownPrefix: pick(d, "", "", "a ", "/bin/a", text), Risk: pick(d, "", "", "it destroys"),
		})
	}
	for range d.roll(4) {
		p.Targets = append(p.Targets, Target{Literal: d.path(), Canonical: d.path(), Access: Access(d.roll(2))})
	}
	return p
}

func (d *dice) request() Request {
	r := Request{
		Tool: pick(d, "Bash", "BashReadOnly", "Read", "Write", "mcp__s__t", ""), Dir: pick(d, "/ws", "", "x", "/"), ReadOnly: d.coin(),
		Readable: d.folders(), Declined: d.roll(8) == 7, Always: d.coin(),
	}
	if d.coin() {
		r.Aliases = []string{"Shell"}
	}
	if d.coin() {
		r.Target = &Target{Literal: d.path(), Canonical: d.path(), Access: Access(d.roll(2))}
	}
	if d.coin() {
		r.Parts = d.parts()
	}
	if d.coin() {
		r.Own = &Decision{Behavior: Behavior(d.roll(3)), Reason: "own", Next: "own"}
	}
	if d.coin() {
		r.Hook = &ExternalDecision{Behavior: Behavior(d.roll(3)), Reason: pick(d, "", "why"), By: pick(d, "", "h")}
	}
	if d.coin() {
		r.Match = func(Behavior, string) bool { return d.coin() }
	}
	return r
}

// FuzzDecide decides arbitrary calls under arbitrary rules in all modes.
func FuzzDecide(f *testing.F) {
	for i := range 64 {
		f.Add(strings.Repeat(string(rune('0'+i)), 40), uint64(i)*2654435761)
	}
	f.Fuzz(func(t *testing.T, seed string, rules uint64) {
		d := &dice{data: []byte(seed)}
		var entries []entry
		onCommands := false
		for i, rule := range fuzzRules {
			if rules>>(2*i)&3 != 0 {
				e := entry{[]string{"deny", "ask", "allow"}[rules>>(2*i)&3-1], rule}
				entries = append(entries, e)
				onCommands = onCommands || e.list != "allow"
			}
		}
		cfg := world(ruleset(entries...))
		cfg.Mode = Mode(pick(d, Modes...))
		p, r := New(cfg), d.request()
		got := p.Decide(r)
		if got.Reason == "" || got.Layer == "" || (got.Next == "") != (got.Behavior == Allow) {
			t.Errorf("%+v", got)
		}
		if got.Open && got.Behavior != Ask && !(got.Behavior == Deny && cfg.Mode == ModeDontAsk) {
			t.Errorf("open: %+v", got)
		}
		if got.Behavior == Ask && cfg.Mode == ModeDontAsk {
			t.Errorf("asked: %+v", got)
		}
		if cfg.Mode == ModePlan && got.Behavior == Allow && !r.ReadOnly {
			t.Errorf("plan allows: %+v", got)
		}
		if cfg.Mode == ModeManual && got.Behavior == Allow && !r.ReadOnly && (r.Parts == nil || !r.Parts.Harmless) && got.Layer != LayerRule && got.Layer != LayerHook && got.Layer != LayerApproval {
			t.Errorf("manual allows: %+v", got)
		}
		if r.Tool == "" || r.Declined {
			if got.Behavior != Deny {
				t.Errorf("%+v", got)
			}
		}
		if parts := r.Parts; parts != nil && parts.Unresolved != "" && got.Behavior == Allow {
			if lenient := cfg.Mode == ModeBypass || parts.Harmless; !lenient {
				t.Errorf("what is not known is allowed: %+v", got)
			}
			if strings.HasPrefix(r.Tool, "Bash") && onCommands && p.lists[Deny].onCommands(&call{r: &r}) {
				t.Errorf("what a rule may deny is allowed: %+v", got)
			}
		}
		for _, target := range targetsOf(&r) {
			if paths.Holds("/state", target.Literal) && len(r.Readable) == 0 && (r.Parts == nil || len(r.Parts.Readable) == 0) && got.Behavior != Deny {
				t.Errorf("a closed folder: %+v", got)
			}
		}
		got.Classified(r.Hook)
	})
}

func targetsOf(r *Request) []Target {
	switch {
	case r.Parts != nil:
		return r.Parts.Targets
	case r.Target != nil:
		return []Target{*r.Target}
	}
	return nil
}
