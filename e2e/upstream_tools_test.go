//go:build unix

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// fourServers returns the settings of the upstream server in each way to reach it, all
// allowed. The two over HTTP must be running.
func fourServers(modern, legacy string) string {
	return fmt.Sprintf(`{"permissions":{"allow":["mcp__pipe","mcp__oldpipe","mcp__web","mcp__oldweb"]},"mcpServers":{
		"pipe":{"command":"$UPSTREAM","args":["-stderr-noise"]},"oldpipe":{"command":"$UPSTREAM","args":["-legacy"]},
		"web":{"url":%q},"oldweb":{"type":"http","url":%q}}}`, modern, legacy)
}

var fourNames = []string{"pipe", "oldpipe", "web", "oldweb"}

// special lists calls of the special tools with checks of their results.
var special = []struct {
	tool, args string
	ok         func(outcome) bool
}{
	{"echo", `{"a":1.10,"big":123456789012345678901234567890,"text":"<&> ä\u0001","list":[1,"1",null],"nested":{"x":{}}}`, func(o outcome) bool {
		// Any escape of a letter is accepted.
		o.text = strings.NewReplacer(`\u003c`, "<", `\u0026`, "&", `\u003e`, ">").Replace(o.text)
		return o.says(`{"a":1.10,"big":123456789012345678901234567890,"text":"<&> ä\u0001","list":[1,"1",null],"nested":{"x":{}}}`)
	}},
	{"echo", `{}`, func(o outcome) bool { return o.says("{}") }},
	{"big", `{"n":300000}`, func(o outcome) bool {
		return o.says("a line of a long answer") && len(o.text) < 150_000 && strings.Contains(o.text[len(o.text)-1000:]+o.text[:1000], "300000") || o.says("characters")
	}},
	{"image", `{}`, func(o outcome) bool {
		return len(o.blocks) > 0 && o.blocks[0].Type == "image" && o.blocks[0].MIMEType == "image/png" && isPNG(o.blocks[0].Data)
	}},
	{"audio", `{}`, func(o outcome) bool {
		return !o.failed && strings.Contains(o.raw, base64.StdEncoding.EncodeToString([]byte("RIFF\x00"))) && strings.Contains(o.raw, `"audio/wav"`)
	}},
	{"resource", `{}`, func(o outcome) bool {
		return o.says("see below") && slices.ContainsFunc(o.blocks, func(b block) bool {
			return b.Type == "resource" && b.Resource.URI == "memo://embedded" && b.Resource.Text == "# An embedded text" && b.Resource.MIMEType == "text/markdown"
		})
	}},
	{"link", `{}`, func(o outcome) bool { return !o.failed && strings.Contains(o.raw, "memo://text") }},
	{"structured", `{}`, func(o outcome) bool {
		return o.says(`{"count":12345678901234567890,"names":["a","b"]}`)
	}},
	{"fail", `{}`, func(o outcome) bool { return o.fails("there is no such record") }},
	{"refuse", `{}`, func(o outcome) bool { return o.fails("the quota is used up") }},
	{"readonly", `{}`, func(o outcome) bool { return o.says("readonly was called") }},
	{"destroy", `{}`, func(o outcome) bool { return o.says("destroy was called") }},
	{"safe", `{}`, func(o outcome) bool { return o.says("safe was called") }},
	{"odd_name_with_spaces_", `{}`, func(o outcome) bool { return o.says("the odd one was called") }},
	{"long", `{}`, func(o outcome) bool { return o.says("long was called") }},
	{"odd_schema", `{"point":{"x":1,"y":2.50},"either":"abc","maybe":null,"more":["x"]}`, func(o outcome) bool {
		return o.says(`{"point":{"x":1,"y":2.50},"either":"abc","maybe":null,"more":["x"]}`)
	}},
	{"odd_schema", `{"point":{"x":"1","y":2}}`, func(o outcome) bool { return o.fails(`property "point.x" is "1". Send a number.`) }},
	{"odd_schema", `{"either":"abc"}`, func(o outcome) bool { return o.fails("point") }},
	{"echo", `{"a":1,"a":2}`, func(o outcome) bool { return o.fails("twice") }},
	{"nothing", `{}`, func(o outcome) bool { return o.fault != "" || o.failed }},
}

func isPNG(data string) bool {
	raw, err := base64.StdEncoding.DecodeString(data)
	return err == nil && strings.HasPrefix(string(raw), "\x89PNG")
}

// TestUpstreamTools checks that the answers of upstream tools arrive through both doors
// and both transports, in both eras on either side.
func TestUpstreamTools(t *testing.T) {
	t.Parallel()
	settings := fourServers(startUpstreamHTTP(t), startUpstreamHTTP(t, "-legacy"))
	dispatch := []string{"--deferral", "dispatch"}
	web := startPlace(t, placeOptions{http: true, settings: settings, args: []string{"--deferral", "dispatch", "--structured"}})
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			p := web
			if !k.http {
				p = startPlace(t, placeOptions{settings: settings, args: dispatch})
			}
			h := connect(t, p, k.modern, nil)
			for _, server := range fourNames {
				for _, c := range special {
					for name, d := range doors {
						o := h.ask(d, "mcp__"+server+"__"+c.tool, c.args)
						if !c.ok(o) {
							t.Errorf("%s of %s by %s, %s: %s", c.tool, server, name, c.args, o.show())
						}
						// Models get data once, as text, unless programs ask for both.
						if c.tool == "structured" && k.http != strings.Contains(o.raw, `"structuredContent":{"count":12345678901234567890,"names":["a","b"]}`) {
							t.Errorf("structured of %s by %s: %s", server, name, o.show())
						}
					}
				}
			}
		})
	}
}

// TestUpstreamDefinitions checks that definitions are those of their server, except for
// known differences.
func TestUpstreamDefinitions(t *testing.T) {
	t.Parallel()
	settings := fourServers(startUpstreamHTTP(t), startUpstreamHTTP(t, "-legacy"))
	for _, deferral := range []string{"hints", "off"} {
		h := connect(t, startPlace(t, placeOptions{settings: settings, args: []string{"--deferral", deferral}}), false, nil)
		for _, server := range fourNames {
			h.must("mcp__"+server+"__safe", `{}`) // connects
		}
		_, names, tools := h.listed()
		first := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, "mcp__") })
		if first < 0 || slices.ContainsFunc(names[first:], func(n string) bool { return !strings.HasPrefix(n, "mcp__") }) ||
			!slices.IsSorted(names[:first]) || !slices.IsSorted(names[first:]) {
			t.Fatalf("%s: the list is %v", deferral, names)
		}
		if tools["ToolSearch"] != nil || tools["CallTool"] != nil {
			t.Errorf("%s: what is for finding tools is listed: %v", deferral, names)
		}
		for _, server := range fourNames {
			type definition struct {
				Title, Description string
				InputSchema        json.RawMessage
				Annotations        map[string]any
				Meta               map[string]any `json:"_meta"`
			}
			of := func(tool string) (d definition) {
				raw := tools["mcp__"+server+"__"+tool]
				if raw == nil {
					t.Errorf("%s: %s of %s is not listed", deferral, tool, server)
				} else if err := json.Unmarshal(raw, &d); err != nil {
					t.Error(err)
				}
				return d
			}
			if got := string(of("odd_schema").InputSchema); got != oddSchema {
				t.Errorf("%s, %s: the odd schema is\n%s", deferral, server, got)
			}
			if got := of("echo"); got.Description != "Answers with the arguments exactly as they came." || string(got.InputSchema) != `{"type":"object"}` {
				t.Errorf("%s, %s: echo is %+v", deferral, server, got)
			}
			if got := of("long").Description; len(got) > 2048+10 || len(got) < 1900 || !utf8.ValidString(got) || !strings.HasSuffix(got, "… (cut)") {
				t.Errorf("%s, %s: a long description has %d bytes and ends in %q", deferral, server, len(got), got[max(0, len(got)-20):])
			}
			if got := of("destroy").Annotations; got["destructiveHint"] != true {
				t.Errorf("%s, %s: destroy has the annotations %v", deferral, server, got)
			}
			if got := of("readonly").Annotations; got["readOnlyHint"] != true {
				t.Errorf("%s, %s: readonly has the annotations %v", deferral, server, got)
			}
			of("odd_name_with_spaces_")
			if got := of("echo").Meta["anthropic/alwaysLoad"]; got == true {
				t.Errorf("%s, %s: echo is to be loaded at once", deferral, server)
			}
		}
		if deferral == "hints" && !strings.Contains(string(tools["Read"]), `"anthropic/alwaysLoad":true`) {
			t.Errorf("Read is not to be loaded at once: %.300s", tools["Read"])
		}
		// Tools that are not listed can be called all the same.
		if o := h.ask(dispatched, "mcp__pipe__echo", `{"a":1}`); !o.says(`{"a":1}`) {
			t.Errorf("%s: CallTool: %s", deferral, o.show())
		}
		if o := h.call("ToolSearch", `{"query":"select:mcp__pipe__odd_schema"}`); !o.says(`"#/$defs/point"`) {
			t.Errorf("%s: ToolSearch: %s", deferral, o.show())
		}
	}
}

// oddSchema equals the one in e2e/upstream.
const oddSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` +
	`"point":{"$ref":"#/$defs/point"},"either":{"anyOf":[{"type":"string","pattern":"^[a-z]+$"},{"type":"integer"}]},` +
	`"maybe":{"type":["string","null"]},"x-unknown":{"type":"string","x-mark":1}},"required":["point"],"additionalProperties":true,` +
	`"$defs":{"point":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"]}}}`

// TestUpstreamSearch checks that tools can be found in the modes that do not list them,
// and that the error for a wrong name tells how to find the right one. In legacy-list,
// tools that were found join the list of that session only.
func TestUpstreamSearch(t *testing.T) {
	t.Parallel()
	settings := `{"permissions":{"allow":["mcp__pipe"]},"mcpServers":{"pipe":{"command":"$UPSTREAM","args":["-tools","3"]}}}`
	p := startPlace(t, placeOptions{http: true, settings: settings, args: []string{"--deferral", "legacy-list"}})
	h, other := connect(t, p, false, nil), connect(t, p, false, nil)
	_, before, _ := h.listed()
	if !slices.Contains(before, "ToolSearch") || !slices.Contains(before, "CallTool") || slices.ContainsFunc(before, func(n string) bool { return strings.HasPrefix(n, "mcp__") }) {
		t.Errorf("the list is %v", before)
	}
	other.must("mcp__pipe__safe", `{}`) // connects; a search waits for that a short time only
	if o := h.call("ToolSearch", `{"query":"readonly calls at once","max_results":1}`); !o.says("mcp__pipe__readonly") {
		t.Errorf("words: %s", o.show())
	}
	if o := h.call("mcp__pipe__ecko", `{}`); o.text+o.fault == "" || !strings.Contains(o.text+o.fault, "mcp__pipe__echo") || !strings.Contains(o.text+o.fault, "ToolSearch") {
		t.Errorf("a wrong name: %s", o.show())
	}
	_, after, _ := h.listed()
	if want := append(slices.Clone(before), "mcp__pipe__readonly"); !slices.Equal(after, want) {
		t.Errorf("after the search the list is %v", after)
	}
	if _, got, _ := other.listed(); !slices.Equal(got, before) {
		t.Errorf("another session's list is %v", got)
	}
	if _, got, _ := connect(t, p, true, nil).listed(); !slices.Equal(got, before) {
		t.Errorf("a modern client's list is %v", got)
	}
	for _, c := range []struct{ query, want string }{
		{"select:mcp__pipe__tool_02,mcp__pipe__echo", "mcp__pipe__tool_02"},
		{"mcp__pipe__tool_03", "mcp__pipe__tool_03"},
		{"pictur", "mcp__pipe__image"},
		{"notebook cell", "NotebookEdit"},
	} {
		for _, client := range []*host{other, connect(t, p, true, nil)} {
			query, _ := json.Marshal(map[string]any{"query": c.query})
			if o := client.call("ToolSearch", string(query)); !o.says(c.want) {
				t.Errorf("%q: %s", c.query, o.show())
			}
		}
	}
	if o := h.call("ToolSearch", `{"query":"xylophone quartz"}`); o.failed || o.fault != "" || o.text == "" {
		t.Errorf("no hit: %s", o.show())
	}
}

// TestUpstreamResources checks that the resources of servers are listed and read.
func TestUpstreamResources(t *testing.T) {
	t.Parallel()
	settings := fourServers(startUpstreamHTTP(t), startUpstreamHTTP(t, "-legacy"))
	settings = strings.Replace(settings, `"allow":[`, `"allow":["ListMcpResources","ReadMcpResource",`, 1)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			h := connect(t, startPlace(t, placeOptions{http: k.http, settings: settings}), k.modern, nil)
			for name, d := range doors {
				all := h.ask(d, "ListMcpResources", `{}`)
				for _, server := range fourNames {
					if !all.says(server) || strings.Count(all.text, "memo://text") != 4 || strings.Count(all.text, "memo://blob") != 4 {
						t.Fatalf("%s: %s", name, all.show())
					}
					if o := h.ask(d, "ReadMcpResource", fmt.Sprintf(`{"server":%q,"uri":"memo://text"}`, server)); !strings.Contains(o.raw, "what the note says") || o.failed {
						t.Errorf("%s, %s: %s", name, server, o.show())
					}
					if o := h.ask(d, "ReadMcpResource", fmt.Sprintf(`{"server":%q,"uri":"memo://blob"}`, server)); o.failed || !slices.ContainsFunc(o.blocks, func(b block) bool {
						return isPNG(b.Data) || isPNG(b.Resource.Blob)
					}) {
						t.Errorf("%s, %s: %s", name, server, o.show())
					}
				}
				if o := h.ask(d, "ListMcpResources", `{"server":"pip"}`); !o.fails("pipe") {
					t.Errorf("%s: a wrong server: %s", name, o.show())
				}
				if o := h.ask(d, "ReadMcpResource", `{"server":"pipe","uri":"memo://nothing"}`); !o.fails("memo://nothing") {
					t.Errorf("%s: a wrong resource: %s", name, o.show())
				}
			}
		})
	}
}

// TestUpstreamProgress checks that progress reaches the caller, that a cancelled call is
// cancelled at the server, and that read-only calls run concurrently.
func TestUpstreamProgress(t *testing.T) {
	t.Parallel()
	base := newBase(t)
	args := []string{"-cancelled", base + "/cancelled", "-log", base + "/log"}
	modern := startUpstreamHTTP(t, append(args, "-mark", base+"/web")...)
	legacy := startUpstreamHTTP(t, append(args, "-legacy")...)
	settings := strings.ReplaceAll(fourServers(modern, legacy), `"args":[`, `"args":["-cancelled","$BASE/cancelled","-log","$BASE/log",`)
	p := startPlace(t, placeOptions{settings: settings, base: base})
	h := connect(t, p, false, nil)
	cancelled := 0
	for _, server := range fourNames {
		for name, d := range doors {
			before := len(h.notified("notifications/progress"))
			until := fmt.Sprintf("%s/until-%s-%s", base, server, name)
			_, answer := h.begin(d, "mcp__"+server+"__slow", fmt.Sprintf(`{"until":%q}`, until))
			becomes(t, server+" says three times how far it is, by "+name, func() bool {
				n := 0
				for _, m := range h.notified("notifications/progress")[before:] {
					if strings.Contains(string(m.Params), "step ") {
						n++
					}
				}
				return n >= 3
			})
			put(t, until, "")
			if o := outcomeOf(h.await(answer)); !o.says("slow is done") {
				t.Errorf("%s by %s: %s", server, name, o.show())
			}

			begun := func() int { return len(lines(t, base+"/cancelled.begun")) }
			before = begun()
			id, _ := h.begin(d, "mcp__"+server+"__hang", `{}`)
			becomes(t, "the call of hang is at "+server, func() bool { return begun() > before })
			h.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id), "", "")
			cancelled++
			becomes(t, "the call of hang is cancelled at "+server+", by "+name, func() bool { return len(lines(t, base+"/cancelled")) >= cancelled })

			var together []<-chan message
			for range 3 {
				_, answer := h.begin(d, "mcp__"+server+"__readonly", `{"together":3}`)
				together = append(together, answer)
			}
			for _, answer := range together {
				if o := outcomeOf(h.await(answer)); !o.says("readonly was called") {
					t.Fatalf("together at %s by %s: %s", server, name, o.show())
				}
			}
		}
	}
}

// TestUpstreamChanges checks that a change of a server's list changes ours and notifies
// clients that listen.
func TestUpstreamChanges(t *testing.T) {
	t.Parallel()
	settings := fourServers(startUpstreamHTTP(t), startUpstreamHTTP(t, "-legacy"))
	for _, server := range fourNames {
		h := connect(t, startPlace(t, placeOptions{settings: settings, args: []string{"--deferral", "hints"}}), false, nil)
		later := "mcp__" + server + "__later"
		h.must("mcp__"+server+"__change", `{}`)
		becomes(t, "the client is told of the change at "+server, func() bool {
			if len(h.notified("notifications/tools/list_changed")) == 0 {
				return false
			}
			_, names, _ := h.listed()
			return slices.Contains(names, later)
		})
		h.must(later, `{}`)
	}
}
