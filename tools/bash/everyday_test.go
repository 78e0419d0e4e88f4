package bash

import (
	"os"
	"strings"
	"testing"

	"mcp-toolset/policy"
)

// mostAsked is the limit of everyday commands that ask, in percent.
const mostAsked = 9

// mostAskedOnline is that limit where commands that use the network ask, too.
const mostAskedOnline = 28

// TestEverydayOnline counts the everyday commands that ask where commands have the network of
// the machine.
func TestEverydayOnline(t *testing.T) {
	data, err := os.ReadFile("testdata/everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t)
	s.set(t)
	s.online = true
	n, asked := 0, 0
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		command, _, _ := strings.Cut(line, "\t")
		n++
		if s.decide(t, 0, command).Behavior != policy.Allow {
			asked++
		}
	}
	t.Logf("%d of %d are asked about", asked, n)
	if asked*100 > n*mostAskedOnline {
		t.Errorf("%d of %d are asked about", asked, n)
	}
}

// TestEveryday checks the decisions on common commands of agents, without rules and in
// the sandbox. A command asks only where the table gives a reason, and not often.
func TestEveryday(t *testing.T) {
	data, err := os.ReadFile("testdata/everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t)
	s.set(t)
	n, asked := 0, 0
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		command, why, _ := strings.Cut(line, "\t")
		if strings.Contains(command, "<<") || strings.Contains(command, `\\n`) {
			command = strings.ReplaceAll(command, `\n`, "\n")
		}
		n++
		d := s.decide(t, 0, command)
		if d.Behavior != policy.Allow {
			asked++
		}
		if (d.Behavior != policy.Allow) != (why != "") {
			t.Errorf("everyday.txt:%d: %s: %v (%s)", i+1, command, d.Behavior, d.Reason)
		}
	}
	if n < 175 || asked*100 > n*mostAsked {
		t.Errorf("%d of %d are asked about", asked, n)
	}
}
