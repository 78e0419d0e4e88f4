package policy

import (
	"strings"
	"testing"
)

// someSecrets reports files below some folders of /ws, /out and /state as secrets.
// Those with the value false are not Known.
type someSecrets struct{}

func (someSecrets) Secret(path string) (Secret, bool) {
	for name, known := range map[string]bool{"/ws/.ssh": true, "/ws/.npmrc": true, "/out/.ssh": true, "/ws/.config/foo": false, "/state/results": false} {
		if paths.Holds(name, path) {
			return Secret{name, "private keys", known}, true
		}
	}
	return Secret{}, false
}

func (someSecrets) Below(folder string) bool { return paths.Holds("/ws", folder) }

// TestSecrets checks that the user is asked about any access to a file that may hold
// credentials, unless a rule names the file or the mode bypasses questions.
func TestSecrets(t *testing.T) {
	for _, c := range []struct {
		call  string
		allow string
		mode  Mode
		asks  bool
	}{
		{call: "Read /ws/.ssh/key", asks: true},
		{call: "Edit /ws/.ssh/key", asks: true},
		{call: "Write /ws/.config/foo/new", asks: true},
		{call: "NotebookEdit /ws/.config/foo/n.ipynb", asks: true},
		{call: "Grep /ws/.config/foo", asks: true},
		{call: "Read /ws/link -> /ws/.ssh/key", asks: true},
		{call: "Read /ws/.ssh/key -> /ws/keys/key", asks: true},
		{call: "Read /ws/.config/bar"},
		{call: "Grep /ws"},
		{call: "Read /state/results/s1/a"}, // the session's own result
		{call: "Write /ws/.config/foo/new", mode: ModeAcceptEdits, asks: true},
		{call: "Read /ws/.ssh/key", mode: ModeBypass},
		{call: "Read /ws/.ssh/key", allow: "Read", asks: true},
		{call: "Read /ws/.ssh/key", allow: "Read(//**)", asks: true},
		{call: "Read /ws/.ssh/key", allow: "Read(//ws/**)", asks: true},
		{call: "Read /ws/.ssh/key", allow: "Read(//ws/.s*/**)", asks: true},
		{call: "Read /ws/.config/foo/a", allow: "Read(//ws/.config/**)", asks: true},
		{call: "Read /ws/.ssh/key", allow: "Read(//ws/.ssh/**)"},
		{call: "Read /ws/.ssh/key", allow: "Read(**/key)"},
		{call: "Read /ws/.config/foo/a", allow: "Read(//ws/.config/foo/**)"},
		{call: "Write /ws/.npmrc", allow: "Edit(.npmrc)"}, // also a protected name
		{call: "Write /ws/.ssh/key", allow: "Edit(**/key)", asks: true},
		{call: "Read /out/.ssh/key", allow: "Read(//out/**)", asks: true},
		{call: "Read /out/.ssh/key", allow: "Read(//out/.ssh/**)"},
	} {
		var rules []entry
		if c.allow != "" {
			rules = []entry{{"allow", c.allow}}
		}
		cfg := world(ruleset(rules...))
		cfg.Mode, cfg.Secrets = c.mode, someSecrets{}
		p, req := New(cfg), request(c.call)
		for _, d := range []Decision{p.Decide(req), p.CheckPath(req.Tool, nil, *req.Target, req.Dir, req.Readable)} {
			if (d.Behavior == Ask && d.Secret) != c.asks || !c.asks && d.Behavior != Allow {
				t.Errorf("%s with %q, %s: %s (%s)", c.call, c.allow, c.mode, d.Behavior, d.Reason)
			}
		}
		if _, left := p.SecretPath(req.Tool, nil, req.Target.Canonical, req.Dir, req.Readable); left != c.asks && !strings.Contains(c.call, "->") && req.Target.Access == Read {
			t.Errorf("%s with %q, %s: left out of a search: %v", c.call, c.allow, c.mode, left)
		}
	}
}

// TestSecretText checks the text of a question about a secret.
func TestSecretText(t *testing.T) {
	cfg := world(Rules{})
	cfg.Secrets = someSecrets{}
	p := New(cfg)
	for call, want := range map[string]string{
		"Read /ws/.ssh/key":  "/ws/.ssh/key may hold credentials (private keys)",
		"Read /out/.ssh/key": "/out/.ssh/key is outside the workspace roots (/ws, /lib) and may hold credentials (private keys)",
	} {
		d := p.Decide(request(call))
		if d.Reason != want || d.Layer != LayerPath || !d.Open {
			t.Errorf("%s: %+v", call, d)
		}
	}
	// The user is also asked about a command that names it.
	d := p.Decide(Request{Tool: "Bash", Dir: "/ws", Parts: &Parts{List: []Part{{Text: "x", Name: "x"}}, Targets: []Target{{Literal: "/ws/.ssh/key", Canonical: "/ws/.ssh/key"}}}})
	if d.Behavior != Ask || !d.Secret {
		t.Errorf("a command: %+v", d)
	}
}
