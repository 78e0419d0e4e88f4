package tools_test

import (
	"context"
	"fmt"
	"testing"

	"mcp-toolset/tools"
)

// TestLater checks that a tool that may be offered later is offered once it is enabled, and
// that listeners are called once. Tools of upstream servers stay.
func TestLater(t *testing.T) {
	var why error
	type in struct{}
	tool := tools.MustBuild(tools.Def[in, in, in]{Name: "Extra", Prompt: "Extra.", IsEnabled: func() error { return why },
		Call: func(context.Context, *tools.Env, in) (tools.Result[in], error) { return tools.Result[in]{}, nil }})
	for _, c := range []struct {
		first error
		comes bool
	}{{fmt.Errorf("not tried: %w", tools.ErrLater), true}, {fmt.Errorf("never"), false}} {
		why = c.first
		r, err := tools.NewRegistry([]*tools.Tool{simple("Read", tools.LoadAlways), tool}, tools.Gates{})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		r.OnChange(func() { told++ })
		place := foreign(t, tools.Foreign{})
		r.SetServers([]tools.Server{{Name: "maps", Tools: []*tools.Tool{place}}})
		r.Refresh() // still not enabled
		if len(r.Tools()) != 2 || told != 1 || r.Later() != c.comes {
			t.Fatalf("%v: %d tools, told %d times, later %v", c.first, len(r.Tools()), told, r.Later())
		}
		why = nil
		r.Refresh()
		r.Refresh()
		_, err = r.Lookup("Extra")
		if _, gone := r.Lookup(place.Name); (err == nil) != c.comes || gone != nil || (told == 2) != c.comes {
			t.Errorf("%v: then %v, %v, told %d times", c.first, err, gone, told)
		}
		why = c.first
		if r.Refresh(); c.comes && len(r.Tools()) != 3 {
			t.Error("a tool that was offered is gone")
		}
		if r.SetServers(nil); c.comes && len(r.Tools()) != 2 {
			t.Error("it went with the other servers")
		}
	}
}
