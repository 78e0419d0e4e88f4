package toolsearch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"mcp-toolset/tools"
)

// many returns n tools like those of real servers, with some thousands of words.
func many(t testing.TB, n int) []*tools.Tool {
	t.Helper()
	data, err := os.ReadFile("testdata/catalogue.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]struct {
		Name, Title, Description string
		InputSchema              json.RawMessage
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 8000)
	for i := range words {
		for range 2 + rnd.IntN(3) {
			words[i] += string("bcdfghklmnprstvw"[rnd.IntN(16)]) + string("aeiou"[rnd.IntN(5)]) + []string{"", "n", "r", "st"}[rnd.IntN(4)]
		}
	}
	word := func() string { return words[rnd.IntN(len(words))] }
	var list []*tools.Tool
	for round := 0; len(list) < n; round++ {
		for server, defs := range all {
			for _, d := range defs {
				server := fmt.Sprintf("%s%d", server, round)
				extra := make([]string, 20)
				for i := range extra {
					extra[i] = word()
				}
				tool, err := tools.BuildForeign(tools.Foreign{
					Server: server, Name: fmt.Sprintf("mcp__%s__%s_%s", server, strings.ReplaceAll(d.Name, "trigger-long-", ""), word()[:2]+fmt.Sprint(len(list))), Title: d.Title,
					Prompt: d.Description + ". " + strings.Join(extra, " "), InputSchema: d.InputSchema, Loading: tools.LoadDeferred,
				})
				if err != nil {
					t.Fatal(err)
				}
				if list = append(list, tool); len(list) == n {
					return list
				}
			}
		}
	}
	return list
}

// BenchmarkSearch measures a query in 2,000 tools with an existing index.
func BenchmarkSearch(b *testing.B) {
	ix := newIndex(many(b, 2000))
	b.Logf("%d terms, %d forms", len(ix.terms), len(ix.surfaces))
	for _, q := range []string{
		"issue", "create a github issue", "list the files of a directory and read them", "+github3 create issue",
		"screnshot", "craete gihtub isue", "kuberentes deploymnet repositries spreadshet reqest", "zzyzx qwertyuiop",
		"I need a tool that takes a screenshot of the web page in the browser and sends it to a slack channel as a message",
		"s c r e a t", "mcp__github3__create_issue",
	} {
		b.Run(q, func(b *testing.B) {
			for b.Loop() {
				ix.rank(parse(q), 5)
			}
		})
	}
}

// BenchmarkIndex measures making the index of 2,000 tools.
func BenchmarkIndex(b *testing.B) {
	list := many(b, 2000)
	for b.Loop() {
		newIndex(list)
	}
}
