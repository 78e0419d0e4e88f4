package session

import "testing"

func TestProfileOffers(t *testing.T) {
	off := false
	for _, c := range []struct {
		profile *Profile
		offers  string // names that it offers
		not     string // names that it does not
	}{
		{nil, "Read", ""},
		{&Profile{}, "Read", ""},
		{&Profile{Tools: []string{}}, "", "Read"},
		{&Profile{Tools: []string{"Read"}}, "Read", "read"},
		{&Profile{Disallowed: []string{"Write"}}, "Read", "Write"},
		{&Profile{Tools: []string{"Read", "Write"}, Disallowed: []string{"Write"}}, "Read", "Write"},
		{&Profile{Tools: []string{"mcp__github"}}, "mcp__github__issue", "mcp__githubber__issue"},
		{&Profile{Tools: []string{"mcp__github__list_*"}}, "mcp__github__list_issues", "mcp__github__delete"},
		{&Profile{Tools: []string{"*"}}, "Read", ""},
		{&Profile{Plan: true}, "Write", "ExitPlanMode"},
		{&Profile{Plan: true}, "Write", "EnterPlanMode"},
	} {
		if c.offers != "" && !c.profile.Offers(c.offers) || c.not != "" && c.profile.Offers(c.not) {
			t.Errorf("%+v: %v, %v", c.profile, c.profile.Offers(c.offers), c.profile.Offers(c.not))
		}
	}
	if p := (&Profile{Tools: []string{"KillShell"}}); !p.Offers("TaskStop", "KillShell") {
		t.Error("a former name is not offered")
	}
	s := New(Config{Profile: &Profile{Plan: true}})
	if s.Apply(Effect{Planning: &off}); !s.View().Planning {
		t.Error("plan mode of a profile ends")
	}
	late := New(Config{})
	late.SetProfile(&Profile{Name: "a", Plan: true})
	late.SetProfile(&Profile{Name: "b"})
	if v := late.View(); v.Profile.Name != "a" || !v.Planning {
		t.Errorf("%+v", v.Profile)
	}
}

// TestWithin checks that a profile within another one offers only what both offer.
func TestWithin(t *testing.T) {
	p := &Profile{Tools: []string{"Read", "Write"}, Within: &Profile{Disallowed: []string{"Write"}, Within: &Profile{Tools: []string{"Read", "Write", "Bash"}}}}
	for name, want := range map[string]bool{"Read": true, "Write": false, "Bash": false} {
		if p.Offers(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
