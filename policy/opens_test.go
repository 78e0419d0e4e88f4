package policy

import "testing"

// TestOpens checks for which of the files that a command names the sandbox grants
// access, depending on what allows the call.
func TestOpens(t *testing.T) {
	const command = "Bash$ cp /ws/a /etc/b < /ws/a > /ws/.git/config > /ws/c < /usr/x > /etc/b"
	for _, c := range []struct {
		name  string
		rules []entry
		mode  Mode
		own   *Decision
		edit  func(*Request)
		want  string
	}{
		{name: "asked about", want: "ask: /etc/b /ws/.git/config"},
		{name: "a rule on the command", rules: []entry{{"allow", "Bash"}, {"allow", "Edit(//ws/.git/**)"}}, want: "allow: /ws/.git/config"},
		{name: "rules on the paths", rules: []entry{{"allow", "Edit(//etc/b)"}, {"allow", "Edit(//ws/.git/**)"}}, want: "allow: /etc/b /ws/.git/config"},
		{name: "a rule on one path", rules: []entry{{"allow", "Edit(//etc/b)"}}, want: "ask: /etc/b /ws/.git/config"},
		{name: "for always", edit: func(r *Request) { r.Always = true }, want: "allow: /etc/b /ws/.git/config"},
		{name: "a hook", edit: func(r *Request) { r.Hook = &ExternalDecision{Behavior: Allow} }, want: "allow: /etc/b /ws/.git/config"},
		{name: "denied", rules: []entry{{"deny", "Bash"}}, want: "deny:"},
		{name: "what would be asked about", mode: ModeDontAsk, want: "deny: /etc/b /ws/.git/config"},
		{name: "harmless", edit: func(r *Request) { r.Parts.Harmless = true; r.ReadOnly = true }, want: "allow:"},
		{name: "out of the containment", rules: []entry{{"allow", "Bash"}}, mode: ModeBypass,
			own: &Decision{Behavior: Ask, Layer: LayerSandbox, Reason: "x"}, want: "ask: /etc/b /ws/.git/config"},
	} {
		cfg := world(ruleset(c.rules...))
		cfg.Mode = c.mode
		p, r := New(cfg), request(command)
		r.Own = c.own
		if c.edit != nil {
			c.edit(&r)
		}
		d := p.Decide(r)
		have := d.Behavior.String() + ":"
		for _, o := range d.Opens {
			have += " " + o.Canonical
		}
		if have != c.want {
			t.Errorf("%s: %s, want %s (%s)", c.name, have, c.want, d.Reason)
		}
	}
	// The mode bypassPermissions allows all of them, except protected names.
	cfg := world(Rules{})
	cfg.Mode = ModeBypass
	if d := New(cfg).Decide(request("Bash$ cp < /etc/a > /srv/b")); d.Behavior != Allow || len(d.Opens) != 2 {
		t.Errorf("bypassPermissions: %v", d)
	}
}
