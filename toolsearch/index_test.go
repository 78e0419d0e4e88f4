package toolsearch

import (
	"slices"
	"sync"
	"testing"

	"mcp-toolset/tools"
)

// TestCache checks that the index is reused for the same slice, also by calls at the same
// time, and not for another slice of the same length.
func TestCache(t *testing.T) {
	list := many(t, 50)
	var c cache
	got := make([]*index, 20)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = c.get(list) })
	}
	wg.Wait()
	for _, ix := range got {
		if ix != got[0] || len(ix.docs) != 50 {
			t.Fatal("an index was made twice")
		}
	}
	if c.get(list[:49]) == got[0] {
		t.Error("a shorter list has the same index")
	}
	if now := c.get(list); c.get(slices.Clone(list)) == now {
		t.Error("another list has the same index")
	}
	if ix := c.get(nil); ix != c.get([]*tools.Tool{}) || ix.rank(parse("issue"), 5) != nil {
		t.Error("an empty catalogue finds something")
	}
}

// TestOrder checks that hits do not depend on the order of the tools.
func TestOrder(t *testing.T) {
	list := many(t, 300)
	turned := slices.Clone(list)
	slices.Reverse(turned)
	a, b := newIndex(list), newIndex(turned)
	for _, q := range []string{"issue", "create github isue", "list files", "github0 get", "browser page"} {
		if x, y := a.rank(parse(q), 50), b.rank(parse(q), 50); !slices.Equal(x, y) || len(x) == 0 {
			t.Errorf("%s: %d and %d found, in another order", q, len(x), len(y))
		}
	}
}

// TestWeights checks the effect of a word's place and of how well it matches.
func TestWeights(t *testing.T) {
	tool := func(name, hint, title, prompt, inputs string) *tools.Tool {
		t.Helper()
		made, err := tools.BuildForeign(tools.Foreign{Server: "s", Name: name, Title: title, Prompt: prompt, InputSchema: []byte(`{"type":"object","properties":{` + inputs + `}}`)})
		if err != nil {
			t.Fatal(err)
		}
		made.SearchHint = hint
		return made
	}
	filler := many(t, 100)
	first := func(want, query string, list ...*tools.Tool) {
		t.Helper()
		hits := newIndex(append(list, filler...)).rank(parse(query), 50)
		var got []string
		for _, h := range hits {
			got = append(got, h.Name)
		}
		if len(got) == 0 || got[0] != want {
			t.Errorf("%s: %v, want %s first", query, got, want)
		}
	}
	inName := tool("z_gizmo", "", "", "x", "")
	inHint := tool("z_hint", "gizmo for all", "", "x", "")
	inTitle := tool("z_title", "", "Gizmo", "x", "")
	inFirst := tool("z_first", "", "", "A gizmo.", "")
	inProp := tool("z_prop", "", "", "x", `"gizmo":{}`)
	inRest := tool("a_rest", "", "", "A. B gizmo. C.", "")
	first("z_gizmo", "gizmo", inHint, inRest, inName)
	first("z_hint", "gizmo", inProp, inRest, inHint)
	first("z_title", "gizmo", inProp, inRest, inTitle)
	first("z_first", "gizmo", inProp, inRest, inFirst)
	first("z_prop", "gizmo", inRest, inProp)
	first("z_prop", "gizmos", inRest, inProp)
	first("z_gizmo", "gizmo", tool("a_gizmology", "", "", "x", ""), inName)                                 // an equal name before a longer one
	first("b_gizmology", "gizmol", tool("a_gizmos", "", "", "x", ""), tool("b_gizmology", "", "", "x", "")) // a prefix before a typo
	first("z_gizmo", "gixmo", tool("a_gadget", "", "", "x", ""), inName)
	first("z_gizmo", "gizmo", tool("b_gizmo_with_more_parts", "", "", "x", ""), inName) // all of the name before a part
	first("z_gizmo", "gizmo create", tool("create", "", "", "x", ""), inName)           // rare words before common ones
	if hits := newIndex(append(filler, inFirst, inRest)).rank(parse("+gizmo"), 5); len(hits) != 0 {
		t.Errorf("+gizmo finds %s", hits[0].Name)
	}
	if hits := newIndex(append(filler, inName)).rank(parse("+gixmo"), 5); len(hits) != 0 {
		t.Errorf("+gixmo finds %s", hits[0].Name)
	}
	if hits := newIndex(append(filler, inName)).rank(parse("+gizmos +z"), 5); len(hits) != 1 {
		t.Errorf("+gizmos +z finds %d", len(hits))
	}
}
