package agents

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"mcp-toolset/models"
	"mcp-toolset/models/modelstest"
)

// player plays the model of a client: it serves the four APIs on one port. Each request with
// tools is passed to the script, which decides the reply. Requests without tools, such as the
// one for a title, get a short text.
type player struct {
	requests chan request
	replies  chan modelstest.Reply
	done     <-chan struct{} // the test has ended
}

// request is a request of a client to its model.
type request struct {
	tools   []tool
	system  string // all texts before the conversation
	results string // the texts after the model's last turn: the results of its calls
	images  int    // pictures among them
}

// tool is a tool that a client offers to its model.
type tool struct {
	Name, Description string
	Deferred          bool // its definition is not in the model's context yet
}

// fewTools is the number of tools up to which a request is not one of the main conversation.
const fewTools = 3

// api describes one API: the ending of its path, the provider that modelstest plays, and how
// requests are read.
type api struct {
	path, provider string
	read           func(body map[string]any) request
}

var apis = []api{
	{"/v1/messages", "anthropic", readMessages},
	{"/responses", "responses", readResponses},
	{"/chat/completions", "openai", readChat},
	{"GenerateContent", "gemini", readGemini},
	{":generateContent", "gemini", readGemini},
}

// ServeHTTP implements http.Handler.
func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := map[string]any{}
	_ = json.Unmarshal(raw, &body)
	for _, a := range apis {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, a.path) {
			continue
		}
		reply := modelstest.Reply{Text: "ok"}
		if req := a.read(body); len(req.tools) > fewTools {
			select {
			case p.requests <- req:
			case <-p.done:
				return
			}
			select {
			case reply = <-p.replies:
			case <-p.done:
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		modelstest.Play(a.provider, reply).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"data":[{"id":"m","object":"model"}],"models":[],"input_tokens":9,"totalTokens":9}`)
}

func readMessages(body map[string]any) (r request) {
	for _, t := range list(body["tools"]) {
		deferred, _ := at(t, "defer_loading").(bool)
		r.tools = append(r.tools, tool{text(at(t, "name")), text(at(t, "description")), deferred})
	}
	r.system = texts(body["system"], &r.images)
	r.after(list(body["messages"]), func(m any) bool { return at(m, "role") == "assistant" })
	return r
}

func readResponses(body map[string]any) (r request) {
	for _, t := range list(body["tools"]) {
		named := list(at(t, "tools")) // a namespace
		if named == nil {
			named = []any{t}
		}
		for _, t := range named {
			r.tools = append(r.tools, tool{Name: text(at(t, "name")), Description: text(at(t, "description"))})
		}
	}
	r.system = texts(body["instructions"], &r.images)
	r.after(list(body["input"]), func(m any) bool {
		kind := text(at(m, "type"))
		return at(m, "role") == "assistant" || kind == "function_call" || kind == "reasoning"
	})
	return r
}

func readChat(body map[string]any) (r request) {
	for _, t := range list(body["tools"]) {
		r.tools = append(r.tools, tool{Name: text(at(t, "function", "name")), Description: text(at(t, "function", "description"))})
	}
	r.after(list(body["messages"]), func(m any) bool { return at(m, "role") == "assistant" })
	return r
}

func readGemini(body map[string]any) (r request) {
	for _, t := range list(body["tools"]) {
		for _, f := range list(at(t, "functionDeclarations")) {
			r.tools = append(r.tools, tool{Name: text(at(f, "name")), Description: text(at(f, "description"))})
		}
	}
	r.system = texts(body["systemInstruction"], &r.images)
	r.after(list(body["contents"]), func(m any) bool { return at(m, "role") == "model" })
	return r
}

// after sets the results to the texts of the messages after the last one of the model, and adds
// the messages before it to the system text if the model has not spoken.
func (r *request) after(messages []any, model func(any) bool) {
	from := 0
	for i, m := range messages {
		if model(m) {
			from = i + 1
		}
	}
	if from == 0 {
		r.system += texts(messages, new(int))
	}
	for _, m := range messages[from:] {
		if from == 0 || at(m, "role") != "system" { // a reminder of the client
			r.results += texts(m, &r.images)
		}
	}
}

// texts returns all texts in a value, a line or more each, and counts the pictures.
func texts(v any, images *int) string {
	var b strings.Builder
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
	case []any:
		for _, e := range v {
			b.WriteString(texts(e, images))
		}
	case map[string]any:
		if kind := text(v["type"]); kind == "image" || kind == "image_url" || kind == "input_image" || v["inlineData"] != nil {
			*images++
			break
		}
		for _, key := range []string{"text", "content", "parts", "output", "functionResponse", "response", "error"} {
			if key != "content" || v["text"] == nil {
				b.WriteString(texts(v[key], images))
			}
		}
	}
	return b.String()
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// at returns the value at a path of keys, or nil.
func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// uses returns the calls of a turn as models make them.
func uses(calls []call, named func(string) string) (out []models.Use) {
	for _, c := range calls {
		out = append(out, models.Use{ID: c.id, Name: named(c.tool), Input: json.RawMessage(c.input)})
	}
	return out
}
