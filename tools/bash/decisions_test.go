package bash

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/policy"
)

// row holds a command of testdata/decisions.txt.
type row struct {
	line          int
	tool          int
	command, want string
}

// block holds rows with the same rules and mode.
type block struct {
	rules       []entry
	mode        policy.Mode
	uncontained bool
	secrets     bool // whether the settings pass on a secret
	exposed     bool
	rows        []row
}

// decisions reads the table.
func decisions(t testing.TB) (blocks []*block) {
	t.Helper()
	data, err := os.ReadFile("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b *block
	for i, line := range strings.Split(string(data), "\n") {
		def, rule := strings.CutPrefix(line, "= ")
		mode, set := strings.CutPrefix(line, "! mode ")
		uncontained, secrets, exposed := line == "! uncontained", line == "! secrets", line == "! exposed"
		if (rule || set || uncontained || secrets || exposed) && (b == nil || len(b.rows) > 0) {
			b = &block{}
			blocks = append(blocks, b)
		}
		switch {
		case line == "" || line[0] == '#':
		case rule:
			if list, text, ok := strings.Cut(def, " "); ok {
				b.rules = append(b.rules, entry{list, text})
			}
		case uncontained:
			b.uncontained = true
		case secrets:
			b.secrets = true
		case exposed:
			b.exposed = true
		case set:
			b.mode = policy.Mode(mode)
		default:
			command, want, ok := strings.Cut(line, "\t")
			if !ok {
				t.Fatalf("decisions.txt:%d: no tab", i+1)
			}
			r := row{line: i + 1, want: want}
			command, ro := strings.CutPrefix(command, "ro: ")
			if ro {
				r.tool = 1
			}
			r.command = decode(t, command)
			b.rows = append(b.rows, r)
		}
	}
	return blocks
}

// use sets up the scene for a block, with other rules if rules are given.
func (s *scene) use(t testing.TB, b *block, rules []entry) {
	s.mode, s.uncontained, s.exposed = b.mode, b.uncontained, b.exposed
	if passes := s.commands.PassesSecrets(); b.secrets && !passes {
		s.withCommands(commandsWithSecret(t, s.ws))
	} else if !b.secrets && passes {
		s.withCommands(commands(t, "/usr/bin:/bin", s.ws))
	}
	s.set(t, rules...)
}

func TestDecisions(t *testing.T) {
	s, n := newScene(t), 0
	for _, b := range decisions(t) {
		s.use(t, b, b.rules)
		for _, r := range b.rows {
			n++
			d := s.decide(t, r.tool, s.expand(r.command))
			if got := show(d); got != r.want {
				t.Errorf("decisions.txt:%d: %s: %s, want %s (%s)", r.line, r.command, got, r.want, d.Reason)
			}
			if d.Reason == "" || (d.Next == "") != (d.Behavior == policy.Allow) {
				t.Errorf("decisions.txt:%d: %s: reason %q, next %q", r.line, r.command, d.Reason, d.Next)
			}
		}
	}
	if n < 500 {
		t.Errorf("only %d decisions", n)
	}
}

// TestEveryRuleMatters deletes the deny and ask rules of the table, one at a time, and
// checks that the decision on at least one row of the block changes.
func TestEveryRuleMatters(t *testing.T) {
	s, n := newScene(t), 0
	for _, b := range decisions(t) {
		for i, gone := range b.rules {
			if gone.list == "allow" {
				continue
			}
			n++
			s.use(t, b, slices.Delete(slices.Clone(b.rules), i, i+1))
			if !slices.ContainsFunc(b.rows, func(r row) bool { return show(s.decide(t, r.tool, s.expand(r.command))) != r.want }) {
				t.Errorf("decisions.txt:%d: deleting %s %s changes nothing", b.rows[0].line, gone.list, gone.rule)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d rules deleted", n)
	}
}
