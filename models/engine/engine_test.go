package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/models"
	"mcp-toolset/models/modelstest"
	"mcp-toolset/session"
)

// secret is the key, which must show nowhere.
const secret = "sk-K3y-That-Must-Not-Show"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var providers = []string{"anthropic", "openai"}

// endpointOf returns the endpoint of a server.
func endpointOf(provider, url string) models.Endpoint {
	return models.Endpoint{Provider: provider, URL: url, Name: "m-1", KeyEnv: "KEY", MaxTokens: 1000, Timeout: time.Minute, Price: &models.Price{Input: 1, Output: 10, CacheRead: 0.5, CacheWrite: 2}}
}

func getenv(name string) string { return map[string]string{"KEY": secret + "\n"}[name] }

// engineOf returns an engine that is closed with the test.
func engineOf(t *testing.T, e models.Endpoint) models.Engine {
	g := New(e, Options{Getenv: getenv, Environ: os.Environ()})
	t.Cleanup(func() { g.Close() })
	return g
}

// ask completes a conversation by a server.
func ask(t *testing.T, provider string, s *modelstest.Server, r models.Request) (*models.Response, error) {
	t.Helper()
	e := endpointOf(provider, s.URL)
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	resp, err := models.New(e, engineOf(t, e), models.NewMeter(models.Budget{}, nil), log).Complete(t.Context(), r)
	if shown := fmt.Sprintf("%+v %#v %v %s", resp, err, err, &logged); strings.Contains(shown, secret) {
		t.Errorf("the key shows: %s", shown)
	}
	return resp, err
}

var hello = models.Request{Messages: []models.Message{{Blocks: []models.Block{{Text: "Hello"}}}}}

// conversation has everything that a request can have.
var conversation = models.Request{
	System: "Be <brief> & kind.", Cache: true, MaxTokens: 300,
	Tools: []models.Tool{{Name: "Read", Description: "Reads", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"],"additionalProperties":false}`)}},
	Messages: []models.Message{
		{Blocks: []models.Block{{Text: "What is in both?"}, {Image: &models.Image{MIMEType: "image/png", Data: []byte("png")}}}},
		{Assistant: true, Blocks: []models.Block{{Text: "I look."}, {Use: &models.Use{ID: "u1", Name: "Read", Input: json.RawMessage(`{"z":"1"}`)}}, {Use: &models.Use{ID: "u2", Name: "Read", Input: json.RawMessage(`{"z":"2"}`)}}}},
		{Blocks: []models.Block{{Result: &models.Result{ID: "u1", Blocks: []models.Block{{Text: "one"}, {Image: &models.Image{MIMEType: "image/png", Data: []byte("png")}}}}}, {Result: &models.Result{ID: "u2", Failed: true, Blocks: []models.Block{{Text: "two"}}}}, {Text: "Go on."}}},
	},
}

// TestRequest checks the body and headers of requests, in an environment that names other accounts.
func TestRequest(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_ORG_ID", "ANTHROPIC_PROFILE", "ANTHROPIC_WEBHOOK_SIGNING_KEY", "AWS_BEARER_TOKEN_BEDROCK"} {
		t.Setenv(name, "hostile")
	}
	for _, name := range []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1/hostile")
	}
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Hostile: hostile")
	t.Setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "content")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Hostile: hostile")
	for provider, want := range map[string]struct {
		path string
		key  http.Header
		body string
	}{
		"anthropic": {"/v1/messages", http.Header{"X-Api-Key": {secret}, "Anthropic-Version": {"2023-06-01"}}, `{"max_tokens":300,"messages":[` +
			`{"content":[{"text":"What is in both?","type":"text"},{"source":{"data":"cG5n","media_type":"image/png","type":"base64"},"cache_control":{"type":"ephemeral"},"type":"image"}],"role":"user"},` +
			`{"content":[{"text":"I look.","type":"text"},{"id":"u1","input":{"z":"1"},"name":"Read","type":"tool_use"},{"id":"u2","input":{"z":"2"},"name":"Read","type":"tool_use"}],"role":"assistant"},` +
			`{"content":[{"tool_use_id":"u1","is_error":false,"content":[{"text":"one","type":"text"},{"source":{"data":"cG5n","media_type":"image/png","type":"base64"},"type":"image"}],"type":"tool_result"},` +
			`{"tool_use_id":"u2","is_error":true,"content":[{"text":"two","type":"text"}],"type":"tool_result"},{"text":"Go on.","cache_control":{"type":"ephemeral"},"type":"text"}],"role":"user"}],` +
			`"model":"m-1","system":[{"text":"Be \u003cbrief\u003e \u0026 kind.","cache_control":{"type":"ephemeral"},"type":"text"}],` +
			`"tools":[{"input_schema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"],"additionalProperties":false},"name":"Read","description":"Reads"}],"stream":true}`},
		"openai": {"/v1/chat/completions", http.Header{"Authorization": {"Bearer " + secret}}, `{"model":"m-1","messages":[{"role":"system","content":"Be \u003cbrief\u003e \u0026 kind."},` +
			`{"role":"user","content":[{"type":"text","text":"What is in both?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]},` +
			`{"role":"assistant","content":"I look.","tool_calls":[{"id":"u1","type":"function","function":{"name":"Read","arguments":"{\"z\":\"1\"}"}},{"id":"u2","type":"function","function":{"name":"Read","arguments":"{\"z\":\"2\"}"}}]},` +
			`{"role":"tool","content":"one","tool_call_id":"u1"},{"role":"tool","content":"Error: two","tool_call_id":"u2"},` +
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},{"type":"text","text":"Go on."}]}],` +
			`"max_tokens":300,"stream":true,"tools":[{"function":{"name":"Read","description":"Reads","parameters":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"],"additionalProperties":false}},"type":"function"}],"stream_options":{"include_usage":true}}`},
	} {
		s := modelstest.New(t, provider, modelstest.Reply{Text: "x"})
		for range 20 {
			if _, err := ask(t, provider, s, conversation); err != nil {
				t.Fatal(err)
			}
		}
		header := http.Header{"Accept": {"text/event-stream"}, "Content-Type": {"application/json"}, "User-Agent": {userAgent}, "Content-Length": nil}
		for name, value := range want.key {
			header[name] = value
		}
		for _, made := range s.Requests() {
			header["Content-Length"] = []string{fmt.Sprint(len(made.Body))}
			if diff := cmp.Diff(modelstest.Request{Method: "POST", Path: want.path, Header: header, Body: want.body}, made); diff != "" {
				t.Fatalf("%s (-want +have):\n%s", provider, diff)
			}
		}
	}
}

// TestNewer checks which models get max_completion_tokens.
func TestNewer(t *testing.T) {
	for name, want := range map[string]bool{"o3-mini": true, "gpt-5": true, "gpt-6-sol": true, "gpt-4o": false, "llama3": false, "orca": false, "api.openai.com": true, "x.openai.azure.com": true, "openai.com.example.org": false} {
		if newer().MatchString(name) != want {
			t.Error(name)
		}
	}
}

// TestAnswers checks the responses that are made from answers.
func TestAnswers(t *testing.T) {
	long := strings.Repeat("Größe 漢字 \"\\ ", 50)
	use := func(id, input string) models.Use {
		return models.Use{ID: id, Name: "Read", Input: json.RawMessage(input)}
	}
	usage := models.Usage{Input: 25, Output: 15, CacheRead: 7}
	for name, c := range map[string]struct {
		reply modelstest.Reply
		want  models.Response
	}{
		"text": {modelstest.Reply{Text: long, Usage: usage}, models.Response{Stop: models.StopEnd, Usage: usage, Cost: (25 + 150 + 3.5) / 1e6, Blocks: []models.Block{{Text: long}}}},
		"parallel": {modelstest.Reply{Text: "I look.", Uses: []models.Use{use("a", `{"path":"x\"y"}`), use("b", ""), use("c", `{}`)}, Usage: usage}, models.Response{Stop: models.StopTools, Usage: usage, Cost: (25 + 150 + 3.5) / 1e6, Blocks: []models.Block{
			{Text: "I look."}, {Use: &models.Use{ID: "a", Name: "Read", Input: json.RawMessage(`{"path":"x\"y"}`)}}, {Use: &models.Use{ID: "b", Name: "Read", Input: json.RawMessage("{}")}}, {Use: &models.Use{ID: "c", Name: "Read", Input: json.RawMessage("{}")}},
		}}},
		"malformed": {modelstest.Reply{Uses: []models.Use{use("a", `{"path":`), use("b", `["x"]`), use("c", `{"a":1,"a":2}`)}, Usage: usage}, models.Response{Stop: models.StopTools, Usage: usage, Cost: (25 + 150 + 3.5) / 1e6, Blocks: []models.Block{
			{Use: &models.Use{ID: "a", Name: "Read", Input: json.RawMessage("{}"), Malformed: "the input is malformed: it is not JSON: column 9: it ends too early; a quote or bracket is not closed"}},
			{Use: &models.Use{ID: "b", Name: "Read", Input: json.RawMessage("{}"), Malformed: "the input is malformed: it is not an object"}},
			{Use: &models.Use{ID: "c", Name: "Read", Input: json.RawMessage("{}"), Malformed: `the input is malformed: the key "a" is given twice`}},
		}}},
		"cut":           {modelstest.Reply{Text: "I", Uses: []models.Use{use("a", `{"path":"/"`)}, Stop: "max_tokens", Usage: usage}, models.Response{Stop: models.StopLength, Usage: usage, Cost: (25 + 150 + 3.5) / 1e6, Blocks: []models.Block{{Text: "I"}}}},
		"refusal":       {modelstest.Reply{Text: "No.", Stop: "refusal", Usage: usage}, models.Response{Stop: models.StopRefusal, Usage: usage, Cost: (25 + 150 + 3.5) / 1e6, Blocks: []models.Block{{Text: "No."}}}},
		"without usage": {modelstest.Reply{Text: "12345678"}, models.Response{Stop: models.StopEnd, Usage: models.Usage{Input: 2, Output: 2, Estimated: true}, Cost: 22e-6, Blocks: []models.Block{{Text: "12345678"}}}},
		"nothing":       {modelstest.Reply{Usage: usage}, models.Response{Stop: models.StopEnd, Usage: usage, Cost: (25 + 150 + 3.5) / 1e6}},
	} {
		for _, provider := range providers {
			resp, err := ask(t, provider, modelstest.New(t, provider, c.reply), hello)
			c.want.Model = "m-1"
			if diff := cmp.Diff(&c.want, resp); diff != "" || err != nil {
				t.Errorf("%s %s: %v (-want +have):\n%s", provider, name, err, diff)
			}
		}
	}
}

// TestServers checks answers as other servers than that of the provider give them.
func TestServers(t *testing.T) {
	chunk := func(choice string) string { return `data: {"choices":[` + choice + "]}\n\n" }
	for name, c := range map[string]struct{ provider, body, want string }{
		"no index, stop for tools, no [DONE], comments": {"openai", ": PROCESSING\n\n" + strings.Repeat(": PROCESSING\n\n", 400) +
			chunk(`{"index":0,"delta":{"tool_calls":[{"id":"","type":"function","function":{"name":"A","arguments":"{}"}}]}}`) +
			chunk(`{"index":0,"delta":{"tool_calls":[{"id":"x","type":"function","function":{"name":"B","arguments":"{\"b\":"}}]}}`) +
			chunk(`{"index":0,"delta":{"tool_calls":[{"type":"function","function":{"arguments":"1}"}}]}}`) +
			chunk(`{"index":0,"delta":{},"finish_reason":"stop"}`), "tools A {} B {\"b\":1}"},
		"the same id twice": {"openai", chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"A","arguments":""}},{"index":1,"id":"x","function":{"name":"B"}}]},"finish_reason":"tool_calls"}`), "tools A {} B {}"},
		"long names":        {"openai", chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"` + strings.Repeat("i", 300) + `","function":{"name":"A","arguments":"{}"}},{"index":0,"function":{"name":"` + strings.Repeat("n", 300) + `"}}]},"finish_reason":"tool_calls"}`), "tools A {}"},
		"filter":            {"openai", chunk(`{"index":0,"delta":{"content":"a"},"finish_reason":"content_filter"}`), "refusal a"},
		"two choices":       {"openai", chunk(`{"index":1,"delta":{"content":"b"},"finish_reason":"length"},{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`), "end a"},
		"tools without uses, whole input at once, thinking": {"anthropic", `event: message_start
data: {"type":"message_start","message":{"role":"assistant","content":[]}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"more"}}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"A","input":{"a":1}}}

event: future_event
data: {"type":"future_event","index":7}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

`, `tools A {"a":1}`},
	} {
		resp, err := ask(t, c.provider, modelstest.New(t, c.provider, modelstest.Reply{Body: c.body}), hello)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, ids := string(resp.Stop), map[string]bool{}
		for _, b := range resp.Blocks {
			if got += " " + b.Text; b.Use != nil {
				got += b.Use.Name + " " + string(b.Use.Input)
				ids[b.Use.ID] = true
			}
		}
		if uses := strings.Count(got, "{"); got != c.want || len(ids) != uses || ids[""] {
			t.Errorf("%s: %s, ids %v", name, got, ids)
		}
	}
}

// TestErrors checks the text of each error, what remains of the answer, and that an error is not
// taken for an answer.
func TestErrors(t *testing.T) {
	const check, later = ". Ask the user to check models in the settings.", ". Try again later, or go on without the model."
	body := `{"type":"error","error":{"type":"some_error","message":"the key ` + secret + ` is wrong"}}`
	status := func(n int, body string) modelstest.Reply {
		return modelstest.Reply{Status: n, Body: body, Header: http.Header{"Location": {"/elsewhere?key=" + secret}, "Retry-After": {"3600"}}}
	}
	whole := modelstest.Reply{Text: "Some text.", Uses: []models.Use{{ID: "a", Name: "Read", Input: json.RawMessage(`{"path":"/"}`)}}}
	cut := func(n int) modelstest.Reply { r := whole; r.Cut = n; return r }
	typed := func(kind string) modelstest.Reply {
		r := whole
		r.Header = http.Header{"Content-Type": {kind}}
		return r
	}
	delta := map[string]string{
		"anthropic": "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + strings.Repeat("more ", 2000) + "\"}}\n\n",
		"openai":    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + strings.Repeat("more ", 2000) + "\"}}]}\n\n",
	}
	start := map[string]string{
		"anthropic": "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hm.\"}}\n\n",
		"openai":    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hm.\"}}]}\n\n",
	}
	failing := map[string]string{
		"anthropic": "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"" + secret + "\"}}\n\n",
		"openai":    "data: {\"error\":{\"message\":\"" + secret + "\",\"type\":\"%s\",\"code\":null}}\n\n",
	}
	api := map[string]string{"anthropic": "the Messages API", "openai": "Chat Completions"}
	for _, provider := range providers {
		for name, c := range map[string]struct {
			reply modelstest.Reply
			want  string
			kind  models.Kind
			left  string
		}{
			"401":            {status(401, body), "refused the key (401 Unauthorized, some_error). Ask the user to check the key in the environment variable KEY.", models.Failed, ""},
			"402":            {status(402, "<html>"), "has no credit left for this key (402 Payment Required). Ask the user to renew the plan, or go on without the model.", models.Failed, ""},
			"404":            {status(404, body), "is not known to its provider (404 Not Found, some_error)" + check, models.Failed, ""},
			"400":            {status(400, `{"error":{"type":"`+secret+`"}}`), "does not accept the request (400 Bad Request)" + check, models.Failed, ""},
			"long":           {status(400, `{"error":{"type":"invalid_request_error","code":"context_length_exceeded"}}`), "takes no conversation of this length (400 Bad Request, context_length_exceeded). Give it less.", models.TooLong, ""},
			"413":            {status(413, ""), "takes no conversation of this length (413 Request Entity Too Large). Give it less.", models.TooLong, ""},
			"429":            {status(429, body), "takes no requests now (429 Too Many Requests, some_error)" + later, models.Busy, ""},
			"529":            {status(529, body), "takes no requests now (529, some_error)" + later, models.Busy, ""},
			"500":            {status(500, strings.Repeat(body, 10_000)), "is not available (500 Internal Server Error)" + later, models.Busy, ""},
			"307":            {status(307, body), "has a URL that redirects, which is not followed (307 Temporary Redirect, some_error)" + check, models.Failed, ""},
			"204":            {status(204, ""), "gave neither an answer nor an error (204 No Content)" + check, models.Failed, ""},
			"type":           {typed("application/json"), "answered with something other than a stream of events" + check, models.Failed, ""},
			"no type":        {typed(";;"), "answered with something other than a stream of events" + check, models.Failed, ""},
			"garbage":        {modelstest.Reply{Body: "<html>" + secret + "</html>\n\n"}, "gave an answer that is not one of " + api[provider] + check, models.Failed, ""},
			"binary":         {modelstest.Reply{Body: "data: \x00\xff\n\nevent: message_start\ndata: [1\n\n"}, "gave an answer that is not one of " + api[provider] + check, models.Failed, ""},
			"deep":           {modelstest.Reply{Body: "event: message_start\ndata: " + strings.Repeat("[", 1<<20) + "\n\n"}, "gave an answer that is not one of " + api[provider] + check, models.Failed, ""},
			"empty":          {modelstest.Reply{Body: "\n"}, "gave an answer that is not one of " + api[provider] + check, models.Failed, ""},
			"ends early":     {modelstest.Reply{Body: start[provider]}, "gave an answer that ends too early" + later, models.Failed, "Hm."},
			"breaks":         {modelstest.Reply{Body: start[provider] + delta[provider], Cut: len(start[provider]) + 20}, "gave an answer that ends too early" + later, models.Failed, "Hm."},
			"cut use":        {cut(map[string]int{"anthropic": 1500, "openai": 1350}[provider]), "gave an answer that ends too early" + later, models.Failed, "Some text."},
			"overloaded":     {modelstest.Reply{Body: start[provider] + fmt.Sprintf(failing[provider], "overloaded_error")}, "broke off its answer (overloaded_error)" + later, models.Busy, "Hm."},
			"error":          {modelstest.Reply{Body: start[provider] + fmt.Sprintf(failing[provider], "other_error")}, "broke off its answer with an error" + later, models.Failed, "Hm."},
			"endless":        {modelstest.Reply{Body: start[provider], Endless: delta[provider]}, "gave an answer of more than 4 MB. Ask for less at once.", models.Failed, "Hm."},
			"endless line":   {modelstest.Reply{Body: "data: ", Endless: strings.Repeat("x", 1<<16)}, "gave an answer of more than 32 MB. Ask for less at once.", models.Failed, ""},
			"endless pings":  {modelstest.Reply{Body: start[provider], Endless: strings.Repeat(": ping\n\n", 1<<13)}, "gave an answer of more than 32 MB. Ask for less at once.", models.Failed, "Hm."},
			"endless in use": {modelstest.Reply{Uses: make([]models.Use, maxUses+1)}, "gave an answer of more than 64 tool uses. Ask for less at once.", models.Failed, ""},
		} {
			if provider == "anthropic" && name == "endless line" {
				c.want = "gave an answer that is not one of the Messages API" + check // the library's limit of a line is 32 MB, too
			}
			resp, err := ask(t, provider, modelstest.New(t, provider, c.reply), hello)
			var e *models.Error
			if !errors.As(err, &e) || err.Error() != "the model m-1 "+c.want || e.Kind != c.kind {
				t.Errorf("%s %s:\n got %v\nwant the model m-1 %s", provider, name, err, c.want)
			}
			if left := ""; resp != nil {
				for _, b := range resp.Blocks {
					if b.Use != nil {
						t.Errorf("%s %s: has a use", provider, name)
					}
				}
				if left = resp.Text(); !strings.HasPrefix(left, c.left) || c.left == "" && left != "" || resp.Usage.Total() == 0 || resp.Stop != "" {
					t.Errorf("%s %s: left %.40q %+v", provider, name, left, resp.Usage)
				}
			} else if c.left != "" {
				t.Errorf("%s %s: nothing is left", provider, name)
			}
		}
	}
}

// TestRedirect checks that the key does not follow a redirect.
func TestRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it follows") }))
	defer other.Close()
	for _, provider := range providers {
		for _, status := range []int{301, 302, 303, 307, 308} {
			if _, err := ask(t, provider, modelstest.New(t, provider, modelstest.Reply{Status: status, Header: http.Header{"Location": {other.URL}}}), hello); err == nil {
				t.Error("no error")
			}
		}
	}
}

// TestKeys checks requests without a usable key, and one that needs none.
func TestKeys(t *testing.T) {
	s := modelstest.New(t, "anthropic", modelstest.Reply{Text: "x"})
	for value, want := range map[string]string{
		"":                     "the model m-1 has no key: the environment variable KEY is not set. Ask the user to correct that.",
		"a\nX-Other: b":        "the model m-1 has no key: the environment variable KEY has characters that no key has. Ask the user to correct that.",
		"\x7f" + secret:        "the model m-1 has no key: the environment variable KEY has characters that no key has. Ask the user to correct that.",
		" " + secret + " \r\n": "",
	} {
		e := endpointOf("anthropic", s.URL)
		g := New(e, Options{Getenv: func(string) string { return value }})
		_, err := g.Attempt(t.Context(), hello)
		if got := fmt.Sprint(err); err != nil && got != want || err == nil && want != "" {
			t.Errorf("%q: %s", value, got)
		}
		g.Close()
	}
	if made := s.Requests(); len(made) != 1 || made[0].Header.Get("X-Api-Key") != secret {
		t.Errorf("%+v", made)
	}
	for _, provider := range providers {
		s := modelstest.New(t, provider, modelstest.Reply{Text: "x"}, modelstest.Reply{Status: 403})
		e := endpointOf(provider, s.URL)
		e.KeyEnv = ""
		g := engineOf(t, e)
		if _, err := g.Attempt(t.Context(), hello); err != nil {
			t.Error(err)
		}
		if h := s.Requests()[0].Header; h.Get("Authorization")+h.Get("X-Api-Key") != "" {
			t.Errorf("%v", h)
		}
		_, err := g.Attempt(t.Context(), hello)
		if got := fmt.Sprint(err); got != "the model m-1 needs a key (403 Forbidden). Ask the user to name one with keyEnv or keyFile in models of the settings." {
			t.Error(got)
		}
	}
}

// TestReached checks which addresses are connected to.
func TestReached(t *testing.T) {
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	for url, want := range map[string]string{
		"http://127.0.0.1:1":      "connection refused",
		"http://203.0.113.1":      "which is not near; use https",
		"http://169.254.169.254":  "which is not near; use https",
		"http://[2606:4700::1]:1": "which is not near; use https",
		"https://127.0.0.1:1":     "connection refused",
		secure.URL:                "signed by unknown authority",
	} {
		_, err := engineOf(t, endpointOf("openai", url)).Attempt(t.Context(), hello)
		if got := fmt.Sprint(err); !strings.HasPrefix(got, "the model m-1 cannot be reached: ") || !strings.HasSuffix(got, want+". Ask the user to check the network and models in the settings.") {
			t.Errorf("%s: %s", url, got)
		}
	}
}

// TestRetries checks how long a busy provider is waited for.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		statuses []int
		after    string
		took     time.Duration
		want     string // "": an answer
	}{
		{[]int{0}, "", 0, ""},
		{[]int{429, 529, 500, 0}, "", 7 * time.Second, ""},
		{[]int{529, 0}, "20", 20 * time.Second, ""},
		{[]int{429, 0}, "Sat, 01 Jan 2000 00:00:05 GMT", 5 * time.Second, ""},
		{[]int{503}, "", 15 * time.Second, "the model m-1 takes no requests now (503 Service Unavailable). Try again later, or go on without the model."},
		{[]int{529}, "59", 59 * time.Second, "the model m-1 takes no requests now (529). Try again later, or go on without the model."},
		{[]int{429, 0}, "60", 0, "the model m-1 takes no requests now (429 Too Many Requests). Try again later, or go on without the model."},
		{[]int{429, 0}, "99999999999999", 0, "the model m-1 takes no requests now (429 Too Many Requests). Try again later, or go on without the model."},
		{[]int{401, 0}, "", 0, "the model m-1 refused the key (401 Unauthorized). Ask the user to check the key in the environment variable KEY."},
	} {
		for _, provider := range providers {
			synctest.Test(t, func(t *testing.T) {
				var replies []modelstest.Reply
				for _, status := range c.statuses {
					replies = append(replies, modelstest.Reply{Status: status, Text: "x", Header: http.Header{"Retry-After": {c.after}}})
				}
				resp, took, err := played(t, provider, t.Context(), replies...)
				if got := fmt.Sprint(err); took != c.took || err != nil && got != c.want || err == nil && (c.want != "" || resp.Text() != "x") {
					t.Errorf("%s %v: %v after %v", provider, c.statuses, err, took)
				}
			})
		}
	}
}

// played completes a conversation without a network.
func played(t *testing.T, provider string, ctx context.Context, replies ...modelstest.Reply) (*models.Response, time.Duration, error) {
	e := endpointOf(provider, "https://models.example.com")
	g := New(e, Options{Getenv: getenv})
	switch g := g.(type) {
	case *messages:
		g.client.transport = modelstest.Play(provider, replies...)
	case *completions:
		g.client.transport = modelstest.Play(provider, replies...)
	}
	began := time.Now()
	resp, err := models.New(e, g, models.NewMeter(models.Budget{}, nil), slog.New(slog.DiscardHandler)).Complete(ctx, hello)
	return resp, time.Since(began), err
}

// TestTime checks that an answer that does not end is ended by the time limit, or by its caller.
func TestTime(t *testing.T) {
	for _, provider := range providers {
		for name, reply := range map[string]modelstest.Reply{"silent": {Body: "\n", Hang: true}, "stalls": {Text: "x", Hang: true, Cut: 150}} {
			synctest.Test(t, func(t *testing.T) {
				_, took, err := played(t, provider, t.Context(), reply)
				if took != time.Minute || fmt.Sprint(err) != "the model m-1 did not answer within 1m0s. Ask for less at once, or go on without the model." {
					t.Errorf("%s %s: %v after %v", provider, name, err, took)
				}
				cause := errors.New("cancelled")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(3*time.Second, func() { cancel(cause) })
				if _, took, err := played(t, provider, ctx, reply); took != 3*time.Second || !errors.Is(err, cause) {
					t.Errorf("%s %s: %v after %v", provider, name, err, took)
				}
			})
		}
	}
}

// TestCommand checks models that are commands.
func TestCommand(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no sh")
	}
	const message = `{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"a","name":"Read","input":{"z":"1"}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`
	at := filepath.Join(t.TempDir(), "request")
	t.Setenv("CANARY", secret)
	for script, want := range map[string]string{
		"cat > " + at + "; echo '" + message + "'":                    "Hi tools 3+4",
		"cat >/dev/null; echo '" + message + "'; sleep 1000 & exit 0": "Hi tools 3+4",
		"echo $CANARY >&2; exit 3":                                    "the model m-1 failed: the command sh ended with exit status 3. Ask the user to check models in the settings.",
		"echo '{}'":                                                   "the model m-1 gave an answer that is not one of the Messages API. Ask the user to check models in the settings.",
		"echo $CANARY":                                                "the model m-1 gave an answer that is not one of the Messages API. Ask the user to check models in the settings.",
		"echo '" + strings.Replace(message, `"tool_use","usage"`, `null,"usage"`, 1) + "'": "the model m-1 gave an answer that ends too early. Try again later, or go on without the model.",
		"yes": "the model m-1 gave an answer of more than 4 MB. Ask for less at once.",
	} {
		e := models.Endpoint{Provider: "command", Command: []string{"sh", "-c", script}, Name: "m-1", MaxTokens: 1000, Timeout: time.Minute}
		resp, err := models.New(e, engineOf(t, e), models.NewMeter(models.Budget{}, nil), slog.New(slog.DiscardHandler)).Complete(t.Context(), conversation)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s %s %d+%d", resp.Text(), resp.Stop, resp.Usage.Input, resp.Usage.Output)
		}
		if got != want {
			t.Errorf("%s: %s", script, got)
		}
	}
	data, err := os.ReadFile(at)
	if err != nil || !strings.HasPrefix(string(data), `{"max_tokens":300,"messages":[{"content":[{"text":"What is in both?"`) {
		t.Errorf("%s %v", data, err)
	}
	e := models.Endpoint{Provider: "command", Command: []string{"no-such-command"}, Name: "m-1", MaxTokens: 1000}
	if _, err := engineOf(t, e).Attempt(t.Context(), hello); fmt.Sprint(err) != "the model m-1 failed: the command no-such-command cannot be run. Ask the user to check models in the settings." {
		t.Error(err)
	}
	e.Command = []string{"sh", "-c", "sleep 1000 & wait"}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := engineOf(t, e).Attempt(ctx, hello); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestBudget checks the budgets of sessions and principals.
func TestBudget(t *testing.T) {
	const tokens = "the session has used 40 of its 41 tokens of models, with running requests, and this one needs about 2. Go on without the model, or ask the user to raise models.maxTokensPerSession in the settings."
	reply := modelstest.Reply{Text: "x", Usage: models.Usage{Input: 10, Output: 10}}
	s := modelstest.New(t, "anthropic", reply)
	e := endpointOf("anthropic", s.URL)
	make := func(b models.Budget) (models.Model, *models.Meter) {
		meter := models.NewMeter(b, nil)
		return models.New(e, engineOf(t, e), meter, slog.New(slog.DiscardHandler)), meter
	}
	of := func(principal, id string) models.Request {
		r := hello
		r.Owner = session.Owner{Principal: principal, Session: id}
		return r
	}
	m, meter := make(models.Budget{TokensPerSession: 41})
	check := func(r models.Request, want string) {
		t.Helper()
		_, err := m.Complete(t.Context(), r)
		if got := fmt.Sprint(err); err != nil && got != want || err == nil && want != "" {
			t.Errorf("%s", got)
		}
	}
	check(of("p", "1"), "")
	check(of("p", "1"), "")
	check(of("p", "1"), tokens)
	check(of("p", "2"), "")
	meter.Forget(of("p", "1").Owner)
	check(of("p", "1"), "")
	if made := s.Requests(); !strings.HasPrefix(made[0].Body, `{"max_tokens":39,`) || !strings.HasPrefix(made[1].Body, `{"max_tokens":19,`) || len(made) != 4 {
		t.Errorf("%v", made)
	}
	m, _ = make(models.Budget{TokensPerSession: 500})
	var done sync.WaitGroup
	var answered atomic.Int32
	for range 60 {
		done.Go(func() {
			for range 3 {
				if _, err := m.Complete(t.Context(), of("p", "1")); err == nil {
					answered.Add(1)
				}
			}
		})
	}
	done.Wait()
	if n := answered.Load(); n == 0 || n > 25 {
		t.Errorf("%d answers of 20 tokens for 500", n)
	}
	m, _ = make(models.Budget{Cost: 220e-6 + 1e-6}) // an answer costs 110e-6
	check(of("p", "1"), "")
	check(of("p", "2"), "")
	check(of("p", "3"), "models have cost 0.0002 of at most 0.000221 since the server started, with running requests, and this one costs more than is left. Go on without the model, or ask the user to raise models.maxCost in the settings.")
	check(of("q", "1"), "")
}

// TestBudgetPerDay checks the cost per day, which two servers count together.
func TestBudgetPerDay(t *testing.T) {
	reply := modelstest.Reply{Text: "x", Usage: models.Usage{Input: 10, Output: 10}}
	s := modelstest.New(t, "anthropic", reply)
	e := endpointOf("anthropic", s.URL)
	state := t.TempDir()
	var day atomic.Int64
	server := func() models.Model {
		now := func() time.Time { return time.Date(2026, 3, 1+int(day.Load()), 12, 0, 0, 0, time.Local) }
		days := models.NewDays(440e-6+1e-6, state, filelock.New(filepath.Join(state, "locks")), now) // an answer costs 110e-6
		return models.New(e, engineOf(t, e), models.NewMeter(models.Budget{}, days), slog.New(slog.DiscardHandler))
	}
	one, two := server(), server()
	check := func(m models.Model, principal, want string) {
		t.Helper()
		r := hello
		r.Owner = session.Owner{Principal: principal, Session: "1"}
		_, err := m.Complete(t.Context(), r)
		if got := fmt.Sprint(err); err != nil && got != want || err == nil && want != "" {
			t.Errorf("%s", got)
		}
	}
	const spent = "models have cost 0.0004 of at most 0.000441 today, with running requests, and this one costs more than is left. Go on without the model, or ask the user to raise models.maxCostPerDay in the settings."
	for _, m := range []models.Model{one, two, one, two} {
		check(m, "p", "")
	}
	check(one, "p", spent)
	check(two, "p", spent)
	check(server(), "p", spent)
	check(one, "q", "")
	if made := s.Requests(); len(made) != 5 {
		t.Errorf("%d requests", len(made))
	}
	day.Add(1)
	check(two, "p", "")
	path := filepath.Join(state, "costs.json")
	if data, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(data), `{"version":1,"day":"2026-03-02","costs":{"p":0.000`) {
		t.Errorf("%s %v", data, err)
	}
	for _, text := range []string{`{"version":1,"day":"2026-03-02"}`, "{"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if text != "{" {
			check(one, "p", "")
		}
	}
	check(one, "p", "the cost of models per day was not counted: the durable costs were not used: reading "+path+": it is damaged: unexpected end of JSON input. Go on without the model, or ask the user to look at "+path+".")
}

// BenchmarkStep makes step 30 of a loop, with 3 uses in each step and results of 2 KB. It includes
// the server.
func BenchmarkStep(b *testing.B) {
	for _, provider := range providers {
		b.Run(provider, func(b *testing.B) {
			var uses []models.Use
			r := models.Request{System: strings.Repeat("s", 8<<10), Cache: true, Tools: make([]models.Tool, 30), Messages: hello.Messages}
			for i := range r.Tools {
				r.Tools[i] = models.Tool{Name: fmt.Sprint("T", i), Description: strings.Repeat("d", 800), Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}
			}
			for i := range 3 {
				uses = append(uses, models.Use{ID: fmt.Sprint("u", i), Name: "T1", Input: json.RawMessage(`{"path":"/a/file"}`)})
			}
			for range 30 {
				var asked, answered models.Message
				asked.Assistant = true
				for i := range uses {
					asked.Blocks = append(asked.Blocks, models.Block{Use: &uses[i]})
					answered.Blocks = append(answered.Blocks, models.Block{Result: &models.Result{ID: uses[i].ID, Blocks: []models.Block{{Text: strings.Repeat("r", 2<<10)}}}})
				}
				r.Messages = append(r.Messages, asked, answered)
			}
			s := modelstest.New(b, provider, modelstest.Reply{Text: "I look.", Uses: uses, Usage: models.Usage{Input: 9, Output: 9}})
			e := endpointOf(provider, s.URL)
			g := New(e, Options{Getenv: getenv})
			defer g.Close()
			m := models.New(e, g, models.NewMeter(models.Budget{}, nil), slog.New(slog.DiscardHandler))
			for b.Loop() {
				if resp, err := m.Complete(b.Context(), r); err != nil || len(resp.Blocks) != 4 {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestNoUse checks that a request can forbid the use of tools.
func TestNoUse(t *testing.T) {
	for provider, want := range map[string]string{"anthropic": `"tool_choice":{"type":"none"}`, "openai": `"tool_choice":"none"`} {
		for _, no := range []bool{false, true} {
			s := modelstest.New(t, provider, modelstest.Reply{Text: "x"})
			r := models.Request{Messages: []models.Message{{Blocks: []models.Block{{Text: "x"}}}}, Tools: []models.Tool{{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}}, NoUse: no}
			if _, err := ask(t, provider, s, r); err != nil {
				t.Fatal(err)
			}
			if body := s.Requests()[0].Body; strings.Contains(body, want) != no {
				t.Errorf("%s %v: %s", provider, no, body)
			}
		}
	}
}
