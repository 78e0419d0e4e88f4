package policy

import "testing"

// TestTyped tests rules on what a call types into a program that takes it for commands.
func TestTyped(t *testing.T) {
	curl := Parts{List: []Part{{Text: "cd x", Name: "cd x"}, {Text: "/usr/bin/curl y", Name: "curl y"}}}
	asks := `not every command that it types is known: a reason`
	for _, c := range []struct {
		name        string
		deny, ask   []string
		allow       []string
		typed       *Parts
		want        Behavior
		wantsReason string
	}{
		{"no rules", nil, nil, nil, &curl, Allow, ""},
		{"a deny rule", []string{"Bash(curl *)"}, nil, []string{"TaskInput"}, &curl, Deny, "the deny rule Bash(curl *) covers this call"},
		{"an ask rule", nil, []string{"Bash(curl *)"}, []string{"TaskInput"}, &curl, Ask, "the ask rule Bash(curl *) covers this call"},
		{"another rule", []string{"Bash(wget *)"}, nil, nil, &curl, Allow, ""},
		{"unknown, no rules", nil, nil, nil, &Parts{Incomplete: "a reason"}, Allow, ""},
		{"unknown, with rules", []string{"Bash(wget *)"}, nil, []string{"TaskInput"}, &Parts{Incomplete: "a reason"}, Ask, asks},
		{"unresolved, with rules", nil, []string{"Bash(wget *)"}, nil, &Parts{Unresolved: "a reason", List: curl.List}, Ask, asks},
		{"a possible command", []string{"Bash(curl *)"}, nil, nil, &Parts{List: []Part{{Text: "x curl", Name: "x curl", Possible: []string{"curl y"}}}}, Ask, "x curl may run curl y, which the deny rule Bash(curl *) covers"},
		{"a known beginning", []string{"Bash(git push *)"}, nil, nil, &Parts{List: []Part{{Text: "git $x", Name: "git $x", KnownPrefix: "git ", UnknownWrites: true}}}, Ask, "what git $x does is only known when it runs, and the deny rule Bash(git push *) may cover it"},
		{"a rule on files", []string{"Read(**/x)"}, nil, nil, &Parts{Incomplete: "a reason"}, Allow, ""},
		{"no text for commands", []string{"Bash(curl *)"}, nil, nil, nil, Allow, ""},
	} {
		var rules Rules
		for b, list := range map[Behavior][]string{Deny: c.deny, Ask: c.ask, Allow: c.allow} {
			for _, text := range list {
				rules.Add(b, text, Origin{}, "/w")
			}
		}
		d := New(Config{Rules: rules, Roots: []string{"/w"}}).Decide(Request{Tool: "TaskInput", Dir: "/w", Typed: c.typed})
		if d.Behavior != c.want || c.wantsReason != "" && d.Reason != c.wantsReason {
			t.Errorf("%s: %v, %s", c.name, d.Behavior, d.Reason)
		}
	}
}
