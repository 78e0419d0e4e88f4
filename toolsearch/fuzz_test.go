package toolsearch_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
	"mcp-toolset/toolsearch"
)

// FuzzQuery checks that a search has the same answer twice, has at most the requested
// number of hits, and returns only existing tools and none twice. A tool's name finds the
// tool first, and so does select:.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"create issue", "select:Read,mcp__time__convert_time", "select:", "+slack +", "craete isue", "the", "日本 größe İ", "\xff\xfe", "+mcp__github__",
		"a_b-c.d CamelCase", "ies ed ing s", "select:a,,b", "Read", "x\u202e\x1b[31m", "s c r e e n shot",
	} {
		f.Add(q, 5)
	}
	all := registry(f, upstream(f)...).Catalogue()
	o := toolsearch.Options{Catalogue: func(*session.Profile) *tools.Catalogue { return all }}
	tool, other := toolsearch.New(o), toolsearch.New(o)
	f.Fuzz(func(t *testing.T, query string, most int) {
		if !utf8.ValidString(query) {
			return // refused before
		}
		most = 1 + max(most, -most, 0)%50
		resp, err := ask(t, tool, args(query, most))
		again, err2 := ask(t, other, args(query, most))
		if err != nil || err2 != nil {
			if err == nil || err2 == nil || err.Error() != err2.Error() {
				t.Fatalf("%q: %v, then %v", query, err, err2)
			}
			return
		}
		text := toolstest.Text(resp)
		if text != toolstest.Text(again) || text == "" || !utf8.ValidString(text) {
			t.Fatalf("%q:\n%q\nthen\n%q", query, text, toolstest.Text(again))
		}
		var out toolsearch.Output
		structured(t, resp, &out)
		var found []string
		for _, h := range out.Tools {
			found = append(found, h.Name)
		}
		found = append(found, out.More...)
		if sorted := slices.Sorted(slices.Values(found)); len(slices.Compact(sorted)) != len(found) {
			t.Fatalf("%q finds a tool twice: %v", query, found)
		}
		if len(query) < 7 && len(found) > most {
			t.Fatalf("%q finds %d, not %d", query, len(found), most)
		}
		for _, name := range found {
			if hit, err := all.Lookup(name); err != nil || hit.Finder {
				t.Fatalf("%q finds %s: %v", query, name, err)
			}
		}
		if want, err := all.Lookup(query); err == nil && !want.Finder && found[0] != want.Name {
			t.Fatalf("%q finds %v first", query, found)
		}
		i := max(most, len(query)) % len(all.Tools())
		if want := all.Tools()[i]; !want.Finder {
			resp, err := ask(t, tool, args("select:"+want.Name, 1))
			if err != nil || !strings.HasPrefix(toolstest.Text(resp), want.Name) {
				t.Fatalf("select:%s: %v, %v", want.Name, resp, err)
			}
		}
	})
}

// ask runs a search in an empty environment.
func ask(t *testing.T, tool *tools.Tool, args string) (*tools.Response, error) {
	call, err := tool.Parse(json.RawMessage(args))
	if err != nil {
		return nil, err
	}
	env := &tools.Env{}
	prepared, err := call.Prepare(env)
	if err != nil {
		return nil, err
	}
	return prepared.Run(t.Context(), env)
}
