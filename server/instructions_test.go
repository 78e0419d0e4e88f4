package server

import (
	"fmt"
	"strings"
	"testing"

	"mcp-toolset/tools"
)

// TestInstructions checks that the instructions stay within their limit and
// state exactly the conditions that apply.
func TestInstructions(t *testing.T) {
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprintf("/very/long/path/to/a/workspace/number/%d", i)
	}
	own := []*tools.Tool{finder(), build[listIn]("Read", "Reads.")}
	var servers []tools.Server
	for i := range 40 {
		server := tools.Server{Name: fmt.Sprintf("server-%d", i), State: tools.Idle}
		for j := range i % 3 {
			server.Tools = append(server.Tools, upstreamTool(t, fmt.Sprintf("s%d", i), fmt.Sprintf("tool_%d", j)))
		}
		servers = append(servers, server)
	}
	all := 0
	for n := range 1 << 7 {
		has := func(bit int) bool { return n>>bit&1 == 1 }
		c := Conditions{Sandbox: has(0), Plan: has(1), Asks: has(2), Unordered: has(6)}
		list := own
		if has(3) {
			list = append(own[:2:2], build[listIn]("Bash", "Runs."))
		}
		if has(5) {
			list = append(own[:2:2], build[listIn]("PowerShell", "Runs."))
		}
		how := tools.DeferHints
		if has(4) {
			how = tools.DeferDispatch
		}
		registry, err := tools.NewRegistry(list, tools.Gates{Deferral: how})
		if err != nil {
			t.Fatal(err)
		}
		registry.SetServers(servers)
		for _, roots := range [][]string{{"/w"}, {"/" + strings.Repeat("w", 100)}, many, {"/" + strings.Repeat("w", 4000)}} {
			text := instructions(roots, registry, nil, how, c, MaxInstructions)
			for what, is := range map[string]bool{
				"in a sandbox": c.Sandbox && has(3) && !has(5), "$TMPDIR": has(3) && !has(5), "in PowerShell, without a sandbox": has(5), "$env:TEMP": has(5), "Plan mode is on": c.Plan, "mcp-toolset approve N": c.Asks,
				"found with ToolSearch": has(4), "run as one batch": !c.Unordered, "have no order": c.Unordered, "- " + roots[0] + "\n": len(roots[0]) < 200,
			} {
				if strings.Contains(text, what) != is {
					t.Errorf("%+v, %s, roots %.20s: has %.50q: %v\n%s", c, how, roots[0], what, !is, text)
				}
			}
			if len(text) > MaxInstructions {
				t.Errorf("%+v, %s: %d bytes: %s", c, how, len(text), text)
			}
			// The prompt of a profile has at most 700 bytes.
			if text := instructions(roots, registry, nil, how, c, maxWithProfile-702); len(text) > 2048-702 {
				t.Errorf("with a profile, %+v, %s: %d bytes: %s", c, how, len(text), text)
			}
			all++
		}
	}
	if all != 512 {
		t.Errorf("%d combinations", all)
	}
}

// TestLeftOut checks that instructions do not name tools of features that the client has of its own,
// unless they were switched on.
func TestLeftOut(t *testing.T) {
	plan := build[listIn]("EnterPlanMode", "Plans.")
	plan.Feature, plan.Loading = "plan", tools.LoadDeferred
	for _, on := range []bool{false, true} {
		gates := tools.Gates{Deferral: tools.DeferDispatch}
		if on {
			gates.Features = map[string]bool{"plan": true}
		}
		r, err := tools.NewRegistry([]*tools.Tool{finder(), plan}, gates)
		if err != nil {
			t.Fatal(err)
		}
		for _, has := range [][]string{nil, {"skills", "plan"}} {
			text := instructions([]string{"/w"}, r, nil, tools.DeferDispatch, Conditions{Has: has}, MaxInstructions)
			if strings.Contains(text, "EnterPlanMode") != (on || has == nil) {
				t.Errorf("switched %t, has %v: %s", on, has, text)
			}
		}
	}
}
