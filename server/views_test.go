package server

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/identity"
	"mcp-toolset/tools"
)

const viewsDeclared = `"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}`

// viewRequests are requests of which a client without the extension must not notice it.
var viewRequests = []struct{ method, params string }{
	{"resources/list", ""}, {"resources/templates/list", ""}, {"tools/list", ""},
	{"tools/call", `"name":"Shown","arguments":{"word":"x"}`}, {"resources/read", `"uri":"ui://mcp-toolset/diff"`},
}

// TestViews checks that views are for clients that declare the extension with the MIME type, over
// both transports and in both eras, and that the answers to others are the same as without views.
func TestViews(t *testing.T) {
	def := tools.Def[listIn, listIn, gateOut]{Name: "Shown", Prompt: "Is shown.", SearchHint: "is shown in a view", View: tools.ViewDiff,
		Call: func(_ context.Context, _ *tools.Env, in listIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{Data: gateOut{in.Word}, Meta: map[string]any{"mcp-toolset/hunks": []int{}}}, nil
		}}
	with := tools.MustBuild(def)
	def.View = tools.NoView
	without := tools.MustBuild(def)

	type answers func(t *testing.T, capabilities string) map[string]string
	stdio := func(tool *tools.Tool) answers {
		return func(t *testing.T, capabilities string) map[string]string {
			s, root := newServer(t, deadline, tool)
			p := connect(t, t.Context(), s)
			p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{%s},"clientInfo":{"name":"x","version":"1"}}}`, capabilities)
			got := map[string]string{"initialize": strings.ReplaceAll(p.next(), root, "$ROOT")}
			for i, r := range viewRequests {
				p.send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, i+2, r.method, r.params)
				got[r.method] = p.next()
			}
			return got
		}
	}
	http := func(tool *tools.Tool) answers {
		return func(t *testing.T, capabilities string) map[string]string {
			s, root := newServer(t, deadline, tool)
			w, got := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)}), map[string]string{}
			_, header, body := w.do("POST", w.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{%s},"clientInfo":{"name":"x","version":"1"}}}`, capabilities))
			got["initialize"] = strings.ReplaceAll(body, root, "$ROOT")
			for _, r := range viewRequests {
				_, _, got[r.method] = w.do("POST", w.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":{%s}}`, r.method, r.params), "Mcp-Session-Id: "+header.Get("Mcp-Session-Id"))
			}
			return got
		}
	}
	stateless := func(tool *tools.Tool) answers {
		return func(t *testing.T, capabilities string) map[string]string {
			s, _ := newServer(t, deadline, tool)
			w, got := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)}), map[string]string{}
			meta := strings.Replace(modernMeta, `clientCapabilities":{`, `clientCapabilities":{`+capabilities, 1)
			for _, r := range viewRequests {
				params := strings.TrimPrefix(r.params+","+meta, ",")
				name := regexp.MustCompile(`"(?:name|uri)":"([^"]*)"`).FindStringSubmatch(r.params)
				_, _, body := w.do("POST", w.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":{%s}}`, r.method, params), modern(r.method, append(name, "", "")[1])...)
				got[r.method] = regexp.MustCompile(`,?"mcp-toolset/session":"[A-Z2-7]*"`).ReplaceAllString(body, "")
			}
			return got
		}
	}
	for name, with := range map[string][2]answers{
		"stdio": {stdio(with), stdio(without)}, "http": {http(with), http(without)}, "stateless": {stateless(with), stateless(without)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, none := range []string{"", `"extensions":{}`, `"extensions":{"io.modelcontextprotocol/ui":{}}`, `"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}`, `"extensions":{"io.modelcontextprotocol/ui":7}`} {
				got := with[0](t, none)
				if diff := cmp.Diff(with[1](t, ""), got); diff != "" {
					t.Errorf("{%s} gets other answers (-without +with views):\n%s", none, diff)
				}
				for method, body := range got {
					if strings.Contains(body, "ui://") != (method == "resources/read") || method == "resources/read" && !strings.Contains(body, "the client shows no ui://mcp-toolset/diff") {
						t.Errorf("{%s}: %s: %s", none, method, body)
					}
				}
			}
			got, want := with[0](t, viewsDeclared), with[1](t, "")
			for _, same := range []string{"initialize", "tools/call", "resources/templates/list"} {
				if got[same] != want[same] {
					t.Errorf("%s: %s, not %s", same, got[same], want[same])
				}
			}
			if !strings.Contains(got["tools/list"], `"ui":{"resourceUri":"ui://mcp-toolset/diff"}`) || strings.Count(got["tools/list"], "ui://") != 1 {
				t.Errorf("tools/list: %s", got["tools/list"])
			}
			if strings.Count(got["resources/list"], "text/html;profile=mcp-app") != len(tools.Views) {
				t.Errorf("resources/list: %s", got["resources/list"])
			}
			if body := got["resources/read"]; !strings.Contains(body, `"connectDomains":[]`) || !strings.Contains(body, "ui/initialize") || strings.Contains(body, "permissions") {
				t.Errorf("resources/read: %s", body)
			}
		})
	}
}

// TestViewsApart checks that the list of a client with views changes none of the others.
func TestViewsApart(t *testing.T) {
	s, _ := newServer(t, deadline, tools.MustBuild(tools.Def[listIn, listIn, gateOut]{Name: "Shown", Prompt: "Is shown.", SearchHint: "is shown in a view", View: tools.ViewDiff,
		Call: func(context.Context, *tools.Env, listIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{}, nil
		}}))
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	list := func(capabilities string) string {
		meta := strings.Replace(modernMeta, `clientCapabilities":{`, `clientCapabilities":{`+capabilities, 1)
		_, _, body := w.do("POST", w.url, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{`+meta+`}}`, modern("tools/list", "")...)
		return body
	}
	before, with, after := list(""), list(viewsDeclared), list("")
	if before != after || with == after {
		t.Errorf("%s\n%s\n%s", before, with, after)
	}
}

// TestViewPages checks that pages are small, load nothing, and put no text into the page as HTML.
func TestViewPages(t *testing.T) {
	for _, v := range tools.Views {
		page := viewPage(v.View, nil)
		if len(page) > 30<<10 {
			t.Errorf("%s has %d bytes", v.View, len(page))
		}
		for _, not := range []string{"http://", "https://", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "tools/call", "ui/message", "ui/open-link", "fetch(", "import(", "src=", "href=", "draw = ,"} {
			if strings.Contains(page, not) {
				t.Errorf("%s contains %s", v.View, not)
			}
		}
	}
	if _, err := json.Marshal(viewMeta); err != nil {
		t.Error(err)
	}
}
