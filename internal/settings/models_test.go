package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/models"
)

func TestModels(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	var none *Settings
	if none.Models() != nil || none.Summarize() != nil {
		t.Error("no settings, and models")
	}
	local := &models.Endpoint{Provider: "anthropic", URL: "http://127.0.0.1:11434", Name: "llama", MaxTokens: 8192, Timeout: 2 * time.Minute, Dir: "/cfg"}
	for text, want := range map[string]*models.Config{
		`{}`: nil,
		`{"models":{"default":{"provider":"anthropic","url":"http://127.0.0.1:11434/","model":"llama"}}}`: {Default: local},
		`{"models":{"default":{"provider":"openai","model":"gpt","keyFile":"~/key","maxTokens":100,"timeout":1.5,"price":{"input":1,"output":5,"cacheRead":0.1}},"small":{"provider":"command","command":["./bin/m","-x"],"price":{"input":1,"output":2}},"maxTokensPerSession":1000,"maxCost":0,"maxCostPerDay":2}}`: {
			Default: &models.Endpoint{Provider: "openai", URL: "https://api.openai.com/v1", Name: "gpt", KeyFile: "/home/u/key", MaxTokens: 100, Timeout: 1500 * time.Millisecond, Dir: "/cfg", Price: &models.Price{Input: 1, Output: 5, CacheRead: 0.1, CacheWrite: 1}},
			Small:   &models.Endpoint{Provider: "command", Command: []string{"/cfg/bin/m", "-x"}, Name: "m", MaxTokens: 8192, Timeout: 2 * time.Minute, Dir: "/cfg", Price: &models.Price{Input: 1, Output: 2, CacheRead: 1, CacheWrite: 1}}, Budget: models.Budget{TokensPerSession: 1000, CostPerDay: 2},
		},
	} {
		s, err := Parse([]byte(text), "/cfg/s.json", "/cfg")
		if err != nil || len(s.Warnings()) != 0 {
			t.Errorf("%s: %v, %v", text, err, s.Warnings())
			continue
		}
		if diff := cmp.Diff(want, s.Models()); diff != "" {
			t.Errorf("%s (-want +have):\n%s", text, diff)
		}
	}
	more := parsed(t, "more", `{"models":{"default":{"provider":"anthropic","model":"a"}}}`)
	less := parsed(t, "less", `{"models":{"default":{"provider":"anthropic","model":"b"},"small":{"provider":"command","command":["secret"]},"maxTokensPerSession":5},"summarize":{"tools":["Bash"]}}`)
	m := Merge([]*Settings{more, less})
	if got := m.Models(); got.Default.Name != "a" || got.Small != nil || got.Budget.TokensPerSession != 0 {
		t.Errorf("merged: %+v", got)
	}
	if got := m.Summarize(); got == nil || got.Over != 20_000 || got.Tools[0] != "Bash" {
		t.Errorf("merged: %+v", got)
	}
	if got := entries(t, m); !strings.Contains(got, "less:1 models.default.model = \"b\" (a more authoritative file overrides it)\n") || strings.Contains(got, "secret") {
		t.Error(got)
	}
	if got := parsed(t, "x", `{"classifier":{"model":"small","second":{"model":"default"}}}`).Classifier(); got[0].Model != "small" || got[1].Model != "default" {
		t.Errorf("%+v", got)
	}
}

func TestModelsErrors(t *testing.T) {
	for text, want := range map[string]string{
		`true`: `models: want an object, have a boolean`,
		`{}`:   `models: it has no default; add the model that is used`,
		`{"small":{"provider":"anthropic","model":"a"}}`: `models: it has no default; add the model that is used`,
		`{"default":1}`:                                                                       `models.default: want an object, have a number`,
		`{"default":{}}`:                                                                      `models.default: it has no provider; add one of anthropic, openai, command`,
		`{"default":{"provider":"google"}}`:                                                   `models.default.provider: want one of anthropic, openai, command, have google`,
		`{"default":{"provider":1}}`:                                                          `models.default.provider: want a string, have a number`,
		`{"default":{"provider":"anthropic"}}`:                                                `models.default: it has no model; add the name by which the provider knows it`,
		`{"default":{"provider":"anthropic","model":""}}`:                                     `models.default.model: want a text, have the string ""`,
		`{"default":{"provider":"anthropic","model":"a\u001b"}}`:                              `models.default.model: want a name of at most 200 visible characters`,
		`{"default":{"provider":"command"}}`:                                                  `models.default: the provider command needs command; add a program with its arguments`,
		`{"default":{"provider":"command","command":["a"],"keyEnv":"A"}}`:                     `models.default.keyEnv: the provider command has no keyEnv; take it out`,
		`{"default":{"provider":"openai","model":"a","command":["a"]}}`:                       `models.default.command: the provider openai has no command; take it out`,
		`{"default":{"provider":"openai","model":"a","command":[]}}`:                          `models.default.command: want a program and its arguments, or a text for sh, have an array without a program`,
		`{"default":{"provider":"openai","model":"a","keyEnv":"A","keyFile":"b"}}`:            `models.default: it has both keyEnv and keyFile; take one out`,
		`{"default":{"provider":"openai","model":"a","keyEnv":"sk-ant-secret"}}`:              `models.default.keyEnv: want the name of an environment variable in capitals, have another text; the key itself does not belong here`,
		`{"default":{"provider":"openai","model":"a","url":"ftp://x"}}`:                       `models.default.url: want a URL such as https://search.example.com, have ftp://x`,
		`{"default":{"provider":"openai","model":"a","url":"https://u:p@x"}}`:                 `models.default.url: it has a user or password; name a variable or file that has them, with keyEnv or keyFile`,
		`{"default":{"provider":"openai","model":"a","url":"http://8.8.8.8"}}`:                `models.default.url: 8.8.8.8 is not in a private network; use https`,
		`{"default":{"provider":"openai","model":"a","url":"https://x/v1/chat/completions"}}`: `models.default.url: want the base URL, without /chat/completions at the end: https://x/v1`,
		`{"default":{"provider":"anthropic","model":"a","url":"https://x/a/v1/messages/"}}`:   `models.default.url: want the base URL, without /v1/messages at the end: https://x/a`,
		`{"default":{"provider":"anthropic","model":"a","url":"https://x/v1"}}`:               `models.default.url: want the base URL, without /v1 at the end: https://x`,
		`{"default":{"provider":"anthropic","model":"a","maxTokens":1.5}}`:                    `models.default.maxTokens: want a whole number from 1 to 200000, have a number 1.5`,
		`{"default":{"provider":"anthropic","model":"a","timeout":"1"}}`:                      `models.default.timeout: want a number from 1 to 1800, have the string 1`,
		`{"default":{"provider":"anthropic","model":"a","price":{"input":1}}}`:                `models.default.price: it needs input and output; add the price of a million tokens of each`,
		`{"default":{"provider":"anthropic","model":"a","price":{"input":-1,"output":1}}}`:    `models.default.price.input: want a number from 0 to 1000000, have a number -1`,
		`{"default":{"provider":"anthropic","model":"a"},"maxCost":5}`:                        `models: maxCost needs the price of default; add price with input and output to it`,
		`{"default":{"provider":"anthropic","model":"a"},"maxCostPerDay":5}`:                  `models: maxCostPerDay needs the price of default; add price with input and output to it`,
		`{"default":{"provider":"anthropic","model":"a"},"maxTokensPerSession":0}`:            `models.maxTokensPerSession: want a whole number from 1 to 1099511627776, have a number 0`,
	} {
		_, err := Parse([]byte("{\n\"models\": "+text+"}"), "f", "/cfg")
		if full := "parsing settings f: line 2: " + want; err == nil || err.Error() != full {
			t.Errorf("%s:\nhave %v\nwant %s", text, err, full)
		}
	}
	for text, want := range map[string]string{
		`{"summarize":{}}`:                                          `summarize: it has no tools; add the names of those whose results are summarized`,
		`{"summarize":{"tools":["A"],"over":10}}`:                   `summarize.over: want a whole number from 2000 to 10000000, have a number 10`,
		`{"summarize":1}`:                                           `summarize: want an object, have a number`,
		`{"classifier":{"model":"big"}}`:                            `classifier.model: want "default" or "small", have the string big`,
		`{"classifier":{"model":"small","url":"http://127.0.0.1"}}`: `classifier: it has both model and url; take one out`,
	} {
		if _, err := Parse([]byte(text), "f", "/cfg"); err == nil || err.Error() != "parsing settings f: line 1: "+want {
			t.Errorf("%s: %v", text, err)
		}
	}
	s := parsed(t, "f", `{"models":{"default":{"provider":"anthropic","model":"a","key":"secret","price":{"input":1,"output":2,"x":3}},"Small":{}},"summarize":{"tools":["A"],"Over":1}}`)
	want := []string{"f:1: models.default.key: unknown key, ignored", "f:1: models.default.price.x: unknown key, ignored", "f:1: models.Small: unknown key, ignored; did you mean models.small?", "f:1: summarize.Over: unknown key, ignored; did you mean summarize.over?"}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Error(diff)
	}
	if got := entries(t, s); strings.Contains(got, "secret") {
		t.Error(got)
	}
}

// TestModelsOfProject checks that no project, trusted or not, selects who gets contents and keys.
func TestModelsOfProject(t *testing.T) {
	s := parsed(t, "f", `{"models":{"default":{"provider":"anthropic","model":"a","url":"https://evil.example","keyEnv":"AWS_KEY"}},"summarize":{"tools":["Read"]},"features":{"x":true}}`)
	s.withoutUsersOnly()
	if s.Models() != nil || s.Summarize() != nil || s.Tightened().Models() != nil || len(s.Loosens()) != 1 {
		t.Errorf("%+v %+v", s.Models(), s.Loosens())
	}
	if diff := cmp.Diff([]string{"f:1: models: a project cannot set it, ignored; set it in your own settings", "f:1: summarize: a project cannot set it, ignored; set it in your own settings"}, s.Warnings()); diff != "" {
		t.Error(diff)
	}
}
