package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// TestMentions tests rules on files against strings in the input of a tool of another server.
func TestMentions(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("the inputs hold paths of Unix")
	}
	yes := true
	rules := `{"permissions":{"deny":["Read(**/.env)","Read(secrets/**)","Read(word)","Read(//srv/x/**)","Edit(docs/**)"],"ask":["Read(asked/**)"],"allow":["mcp__maps"]}}`
	for name, declared := range map[string]tools.DeclaredAnnotations{"undeclared": {}, "read-only": {ReadOnly: &yes}} {
		b := wrapping(t, rules, tools.Foreign{Declared: declared})
		b.Home = t.TempDir()
		for _, file := range []string{"secrets/a", "docs/x.md", "asked/f", "plain.txt", "word", ".env"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(b.root, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(b.root, file), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("secrets", filepath.Join(b.root, "link")); err != nil {
			t.Fatal(err)
		}
		docs := policy.Deny
		if name == "read-only" {
			docs = policy.Allow
		}
		for input, want := range map[string]policy.Behavior{
			`{"path":".env"}`: policy.Deny, `{"path":"./.env"}`: policy.Deny, `{"path":"ROOT/.env"}`: policy.Deny, `{"path":"sub/none/.env"}`: policy.Deny, `{"uri":"file://ROOT/.env"}`: policy.Deny, `{"uri":"FILE://localhostROOT/.env"}`: policy.Deny, `{"uri":"file:ROOT/%2eenv"}`: policy.Deny, `{"uri":"file:.env"}`: policy.Deny, `{"uri":"file://./.env"}`: policy.Deny,
			`{"paths":["plain.txt","secrets/a"]}`: policy.Deny, `{"a":{"b":[{"c":"x/../secrets/a"}]}}`: policy.Deny, `{"path":"link/a"}`: policy.Deny, `{"files":{"secrets/a":"content"}}`: policy.Deny, `{"path":" secrets/a "}`: policy.Deny, `{"path":"word"}`: policy.Deny, `{"path":"/srv/x/y"}`: policy.Deny,
			`{"path":".env:1"}`: policy.Deny, `{"path":"ROOT/.env:12:3"}`: policy.Deny, `{"path":"secrets/a#L1-L9"}`: policy.Deny, `{"path":"@.env"}`: policy.Deny, `{"path":"@secrets/a:3-7"}`: policy.Deny, `{"path":"word:3"}`: policy.Deny, `{"uri":"file://ROOT/.env#L1"}`: policy.Deny, `{"path":"@link/a"}`: policy.Deny,
			`{"name":"@scope/.envx"}`: policy.Allow, `{"text":"a: #word"}`: policy.Allow, `{"text":"plain.txt:3"}`: policy.Allow,
			`{"path":"asked/f"}`: policy.Ask, `{"path":"docs/x.md"}`: docs,
			`{"path":"plain.txt"}`: policy.Allow, `{"text":"do not read .env"}`: policy.Allow, `{"secrets":"x"}`: policy.Allow, `{"uri":"https://x.example/.env"}`: policy.Allow, `{"text":"line\n.env"}`: policy.Allow, `{"n":1,"b":true,"z":null}`: policy.Allow, `{}`: policy.Allow, `{"path":"/srv/y"}`: policy.Allow,
		} {
			input = strings.NewReplacer("ROOT", b.root, `"HOME`, `"`+b.Home).Replace(input)
			if e := b.Explain(t.Context(), b.requestIn("mcp__maps__place", input)); e.Decision.Behavior != want {
				t.Errorf("%s, %s: %v (%s), want %v", name, input, e.Decision.Behavior, e.Decision.Reason, want)
			}
		}
		if got, want := b.run(t, t.Context(), "mcp__maps__place", `{"path":".env"}`), "failed: mcp__maps__place: refused by policy: the deny rule Read(**/.env) covers $ROOT/.env. Use another path, or ask the user to change the rule in /etc/test.json:1."; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	// Without rules on files, nothing is looked at.
	b := wrapping(t, `{"permissions":{"deny":["Bash(x)"]}}`, tools.Foreign{})
	if e := b.Explain(t.Context(), b.requestIn("mcp__maps__place", `{"path":".env"}`)); e.Decision.Behavior != policy.Allow {
		t.Errorf("without rules: %+v", e.Decision)
	}
}
