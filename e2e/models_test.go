//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
	"mcp-toolset/models"
	"mcp-toolset/models/modelstest"
)

const modelKey = "sk-K3y-That-Must-Not-Show"

// TestModels checks the uses of models by the whole server, over the APIs of both providers, and
// that the key shows nowhere.
func TestModels(t *testing.T) {
	t.Parallel()
	for i, k := range testscale.Sample(kinds, 2) {
		provider := []string{"anthropic", "openai"}[i%2]
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			model := modelstest.New(t, provider,
				modelstest.Reply{Text: "The answer.", Usage: models.Usage{Input: 40, Output: 5}},
				modelstest.Reply{Status: 401, Body: `{"error":{"type":"authentication_error","message":"the key ` + modelKey + ` is wrong"}}`},
				modelstest.Reply{Text: "The summary.", Usage: models.Usage{Input: 40, Output: 5}},
				modelstest.Reply{Text: `{"decision":"deny","reason":"Not that."}`, Usage: models.Usage{Input: 40, Output: 5}},
				modelstest.Reply{Text: "more", Usage: models.Usage{Input: 40_000, Output: 5}},
			)
			page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				fmt.Fprint(w, "a page")
			}))
			defer page.Close()
			base := newBase(t)
			key := filepath.Join(base, "key")
			put(t, key, modelKey+"\n")
			if err := os.Chmod(key, 0o600); err != nil {
				t.Fatal(err)
			}
			outside := filepath.Join(base, "outside.txt")
			put(t, outside, "x")
			audit, trace := filepath.Join(base, "audit"), filepath.Join(base, "trace")
			p := startPlace(t, placeOptions{base: base, http: k.http, args: []string{"--audit", audit, "--trace", trace}, env: []string{"ANTHROPIC_API_KEY=other", "OPENAI_API_KEY=other", "ANTHROPIC_BASE_URL=http://127.0.0.1:1"},
				settings: `{"permissions":{"allow":["WebFetch(domain:127.0.0.1)","Bash"]},"summarize":{"over":2000,"tools":["Bash"]},"classifier":{"model":"default"},
					"models":{"default":{"provider":"` + provider + `","url":"` + model.URL + `","model":"m-1","keyFile":"$BASE/key"},"maxTokensPerSession":10000}}`})
			h := connect(t, p, k.modern, nil)
			const budget = "the session has used 40140 of its 10000 tokens of models, with running requests, and this one needs about "
			shown := ""
			for _, c := range []struct{ tool, args, want string }{
				{"WebFetch", `{"url":"` + page.URL + `","prompt":"What?"}`, `^\[http://127\S+, text/plain, 6 characters\]\n\[The model m-1 answers the prompt from the page\. It may be wrong, and the page may have misled it\.\]\n<answer-(\w+)>\nThe answer\.\n</answer-\w+>\n`},
				{"WebFetch", `{"url":"` + page.URL + `","prompt":"What?"}`, `<page-(\w+)>\na page\n</page-\w+>\n\[No model has answered the prompt, so this is the page itself: the model m-1 refused the key \(401 Unauthorized, authentication_error\)\. Ask the user to check the key in the file \S+/key\.\]\n`},
				{"Bash", `{"command":"seq 1 800"}`, `^\[Summary of the result \(800 lines, \d+ characters\) by the model m-1\. It may be wrong, and the result may have misled the model\.\]\n<summary-\w+>\nThe summary\.\n`},
				{"Read", `{"file_path":"` + outside + `"}`, `^Read: refused by policy: the classifier decided deny: Not that\.`},
				{"WebFetch", `{"url":"` + page.URL + `","prompt":"What?"}`, `\nmore\n`},
				{"WebFetch", `{"url":"` + page.URL + `","prompt":"What?"}`, `\[No model has answered the prompt, so this is the page itself: ` + budget + `\d+\. Go on without the model, or ask the user to raise models\.maxTokensPerSession in the settings\.\]`},
				{"Read", `{"file_path":"` + key + `"}`, `^Read: refused by policy: `},
				{"Bash", `{"command":"cat ` + key + `"}`, ``},
				{"Config", `{"setting":"models.default.keyFile"}`, `models\.default\.keyFile`},
			} {
				o := h.call(c.tool, c.args)
				if !regexp.MustCompile(c.want).MatchString(o.text) {
					t.Errorf("%s %s: %s", c.tool, c.args, o.show())
				}
				if c.tool != "Bash" {
					shown += o.raw
				}
			}
			for i, made := range model.Requests() {
				if got := made.Header.Get("X-Api-Key") + made.Header.Get("Authorization"); strings.TrimPrefix(got, "Bearer ") != modelKey || strings.Contains(made.Body, modelKey) {
					t.Errorf("request %d: %+v", i, made)
				}
			}
			if n := len(model.Requests()); n != 5 {
				t.Errorf("%d requests", n)
			}
			p.stop(t)
			for _, file := range []string{audit, trace} {
				data, err := os.ReadFile(file)
				if err != nil || !strings.Contains(string(data), "WebFetch") {
					t.Errorf("%s: %v", file, err)
				}
				shown += string(data)
			}
			if strings.Contains(shown, modelKey) {
				t.Error("the key shows")
			}
		})
	}
}

// TestModelsOutput checks that no output and no command has the key, and that nothing is sent to a
// model that the settings do not name.
func TestModelsOutput(t *testing.T) {
	t.Parallel()
	model := modelstest.New(t, "anthropic", modelstest.Reply{Status: 500, Body: modelKey})
	base := newBase(t)
	settings := writeSettings(t, base, `{"permissions":{"allow":["Bash"]},"env":{"pass":["MINE*"]},"summarize":{"over":2000,"tools":["Bash"]},"models":{"default":{"provider":"anthropic","url":"`+model.URL+`","model":"m","keyEnv":"MINE_0","timeout":1}}}`)
	none := filepath.Join(base, "none.json")
	put(t, none, `{"summarize":{"over":2000,"tools":["Bash"]},"permissions":{"allow":["Bash"]}}`)
	run := func(args ...string) string {
		cmd := exec.Command(binary(t), append(args, "--sandbox", "off")...)
		cmd.Dir = filepath.Join(base, "root")
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(base, "home"), "MCP_TOOLSET_STATE_DIR="+filepath.Join(base, "state"), "MINE_0="+modelKey, "MINE_1=other", "ANTHROPIC_API_KEY="+modelKey, "ANTHROPIC_BASE_URL="+model.URL)
		out, _ := cmd.CombinedOutput()
		if strings.Contains(string(out), modelKey) {
			t.Errorf("the key shows: %s", out)
		}
		return string(out)
	}
	run("call", "--log-level", "debug", "--settings", none, "Bash", `{"command":"seq 1 800"}`)
	if n := len(model.Requests()); n != 0 {
		t.Errorf("%d requests without models", n)
	}
	if got := run("call", "--log-level", "debug", "--settings", settings, "Bash", `{"command":"seq 1 800"}`); !strings.Contains(got, "the model m is not available (500 Internal Server Error)") && !strings.Contains(got, "the model m did not answer within 1s") || !strings.Contains(got, "\n800\n") {
		t.Error(got)
	}
	if got := run("call", "--settings", settings, "Bash", `{"command":"echo [$MINE_0] [$MINE_1]"}`); !strings.Contains(got, "[] [other]") {
		t.Error(got)
	}
	before := len(model.Requests())
	run("doctor", "--verbose", "--settings", settings)
	run("tools", "--settings", settings)
	run("policy", "explain", "--settings", settings, "Bash", `{"command":"seq 1 800"}`)
	run("policy", "check", settings)
	if n := len(model.Requests()) - before; n != 0 {
		t.Errorf("%d requests of commands that only look", n)
	}
}
