//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"mcp-toolset/internal/testscale"
	"os/exec"
	"strings"
	"testing"
)

// TestUpstreamAsks checks that a question of an upstream server in the middle of a call
// reaches the client's user as that server's question, in both eras on either side, and
// that the reply reaches the server unchanged.
func TestUpstreamAsks(t *testing.T) {
	t.Parallel()
	open := fourServers(startUpstreamHTTP(t), startUpstreamHTTP(t, "-legacy"))
	closed := strings.Replace(open, `"allow":["mcp__pipe","mcp__oldpipe","mcp__web","mcp__oldweb"]`, `"ask":["mcp__pipe","mcp__oldpipe","mcp__web","mcp__oldweb"]`, 1)
	for _, k := range kinds {
		for rules, settings := range map[string]string{"allowed": open, "asked about": closed} {
			t.Run(k.name+" "+rules, func(t *testing.T) {
				t.Parallel()
				var forms []question
				permissions := 0
				action := "accept"
				answer := func(q question) string {
					if strings.Contains(q.Message, "\nasks because: ") {
						permissions++
						return `{"action":"accept"}`
					}
					forms = append(forms, q)
					switch {
					case action != "accept":
						return fmt.Sprintf(`{"action":%q}`, action)
					case len(forms) == 2:
						return `{"action":"accept","content":{"colour":"green"}}`
					}
					return `{"action":"accept","content":{"name":"Ann <&> ä","colour":"red"}}`
				}
				h := connect(t, startPlace(t, placeOptions{http: k.http, settings: settings}), k.modern, answer)
				want := 0
				if rules == "asked about" {
					want = 1
				}
				for _, server := range fourNames {
					for name, d := range doors {
						at := server + " by " + name
						action, forms, permissions = "accept", nil, 0
						o := h.ask(d, "mcp__"+server+"__ask", `{}`)
						if !o.says(`{"action":"accept","content":{"colour":"red","name":"Ann \u003c\u0026\u003e ä"}}`) || len(forms) != 1 || permissions != want {
							t.Fatalf("%s: %d forms, %d permissions: %s", at, len(forms), permissions, o.show())
						}
						if m := forms[0].Message; !strings.HasPrefix(m, "The server "+server+" asks (in a call of mcp__"+server+"__ask):\n") || !strings.Contains(m, "> A name and a colour, please.") {
							t.Errorf("%s: the question is %q", at, m)
						}
						var got, asked any
						if json.Unmarshal(forms[0].RequestedSchema, &got) != nil || json.Unmarshal([]byte(`{"type":"object","properties":{"name":{"type":"string","title":"Name","minLength":1},"colour":{"type":"string","enum":["red","green"]}}}`), &asked) != nil || fmt.Sprint(got) != fmt.Sprint(asked) {
							t.Errorf("%s: the form is %s", at, forms[0].RequestedSchema)
						}
						forms, permissions = nil, 0
						o = h.ask(d, "mcp__"+server+"__ask_twice", `{}`)
						if !o.says(`"name":"Ann`) || !o.says(` then {"action":"accept","content":{"colour":"green"}}`) || len(forms) != 2 || permissions != want {
							t.Errorf("%s: %d forms, %d permissions: %s", at, len(forms), permissions, o.show())
						}
						for _, action = range []string{"decline", "cancel"} {
							forms, permissions = nil, 0
							o = h.ask(d, "mcp__"+server+"__ask", `{}`)
							if !o.says(`{"action":"`+action+`","content":null}`) || len(forms) != 1 {
								t.Errorf("%s: %s: %s", at, action, o.show())
							}
						}
					}
				}
			})
		}
		t.Run(k.name+" nobody", func(t *testing.T) {
			t.Parallel()
			h := connect(t, startPlace(t, placeOptions{http: k.http, settings: open}), k.modern, nil)
			for _, server := range fourNames {
				for name, d := range doors {
					// A server may also conclude that the user cannot be asked, and fail.
					if o := h.ask(d, "mcp__"+server+"__ask", `{}`); !o.says(`{"action":"decline","content":null}`) {
						t.Errorf("%s by %s: %s", server, name, o.show())
					}
				}
			}
		})
	}
}

// TestUpstreamPinned checks that a definition other than the pinned one is reported as
// changed. With upstream.pin it is refused from its first call on, until the user has
// reviewed it.
func TestUpstreamPinned(t *testing.T) {
	t.Parallel()
	for _, c := range testscale.Sample([]struct{ http, pin bool }{{false, true}, {false, false}, {true, true}, {true, false}}, 2) {
		t.Run(fmt.Sprintf("http %v pin %v", c.http, c.pin), func(t *testing.T) {
			t.Parallel()
			base := newBase(t)
			settings := fmt.Sprintf(`{"upstream":{"pin":%v},"permissions":{"allow":["mcp__one"]},"mcpServers":{"one":{"command":"$UPSTREAM","args":["-changed","$BASE/changed"]}}}`, c.pin)
			o := placeOptions{http: c.http, settings: settings, base: base, args: []string{"--deferral", "dispatch"}}
			p := startPlace(t, o)
			connect(t, p, false, nil).must("mcp__one__echo", `{}`)
			p.stop(t)
			put(t, base+"/changed", "")
			upstream := func(args ...string) (string, int) {
				cmd := exec.Command(binary(t), append([]string{"upstream"}, args...)...)
				cmd.Env, cmd.Dir = p.cmd.Env, p.root
				out, err := cmd.CombinedOutput()
				if exit, ok := err.(*exec.ExitError); err != nil && !ok {
					t.Fatal(err)
				} else if ok {
					return string(out), exit.ExitCode()
				}
				return string(out), 0
			}
			p = startPlace(t, o)
			h := connect(t, p, false, nil)
			for name, d := range doors {
				for _, tool := range []string{"echo", "added"} {
					got := h.ask(d, "mcp__one__"+tool, `{}`)
					if c.pin && !got.fails("the user", "mcp-toolset upstream diff") || !c.pin && (got.failed || got.fault != "") {
						t.Errorf("%s by %s: %s", tool, name, got.show())
					}
				}
				if got := h.ask(d, "mcp__one__safe", `{}`); !got.says("safe was called") {
					t.Errorf("safe by %s: %s", name, got.show())
				}
			}
			if got := h.call("ToolSearch", `{"query":"select:mcp__one__echo"}`); !got.says("since the user last looked") {
				t.Errorf("the search: %s", got.show())
			}
			p.stop(t)
			file := base + "/settings.json"
			if out, code := upstream("diff", "--settings", file); code != 1 || !strings.Contains(out, "every file you have read") || !strings.Contains(out, "added") {
				t.Errorf("upstream diff: %d %s", code, out)
			}
			if out, code := upstream("diff", "one", "--accept", "--yes", "--settings", file); code > 1 {
				t.Errorf("upstream diff --accept: %d %s", code, out)
			}
			if out, code := upstream("diff", "--settings", file); code != 0 {
				t.Errorf("upstream diff, accepted: %d %s", code, out)
			}
			if out, code := upstream("list", "--settings", file); code != 0 || !strings.Contains(out, "one") {
				t.Errorf("upstream list: %d %s", code, out)
			}
			h = connect(t, startPlace(t, o), false, nil)
			h.must("mcp__one__echo", `{}`)
			h.must("mcp__one__added", `{}`)
		})
	}
}
