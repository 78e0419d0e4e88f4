package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// longTool returns a tool with a long result.
func longTool(text string, fail bool) *tools.Tool {
	return tools.MustBuild(tools.Def[doIn, doIn, struct{}]{
		Name: "Long", Prompt: "p", IsReadOnly: tools.Always[doIn](), IsConcurrencySafe: tools.Always[doIn](),
		Call: func(context.Context, *tools.Env, doIn) (tools.Result[struct{}], error) {
			return tools.Result[struct{}]{Failed: fail}, nil
		},
		Render: func(struct{}) []tools.Content {
			return []tools.Content{tools.Text{Text: text}, tools.Image{MIMEType: "image/png"}}
		},
	})
}

// TestSummary checks which results a model summarizes, and what the client gets then.
func TestSummary(t *testing.T) {
	whole := "begin\n" + strings.Repeat("line of text\n", 20_000) + "end\n"
	normal := strings.Repeat("x\n", 1500)
	for name, c := range map[string]struct {
		text  string
		tools []string
		err   error
		fail  bool
		want  bool
	}{
		"long":         {text: whole, tools: []string{"Other", "Long"}, want: true},
		"within limit": {text: normal, tools: []string{"Long"}, want: true},
		"failed":       {text: normal, tools: []string{"Long"}, fail: true, want: true},
		"not listed":   {text: whole, tools: []string{"Other"}},
		"short":        {text: normal[:2000], tools: []string{"Long"}},
		"model fails":  {text: whole, tools: []string{"Long"}, err: errors.New("no")},
	} {
		plainAnswer := func(s Summaries) (string, *tools.Response, string) {
			b := newBench(t, "")
			b.Summaries = s
			registry, err := tools.NewRegistry([]*tools.Tool{longTool(c.text, c.fail)}, tools.Gates{})
			if err != nil {
				t.Fatal(err)
			}
			b.Registry = registry
			resp, err := b.Run(t.Context(), b.request("Long", `{"do":"x"}`))
			if err != nil {
				t.Fatal(err)
			}
			text := joinText(resp.Content)
			path := ""
			if at := regexp.MustCompile(`The whole result is in (\S+);`).FindStringSubmatch(text); at != nil {
				data, err := os.ReadFile(at[1])
				if err != nil {
					t.Fatal(err)
				}
				path, text = string(data), strings.ReplaceAll(text, at[1], "$PATH")
			}
			return text, resp, path
		}
		asked := 0
		got, resp, stored := plainAnswer(Summaries{Over: 2000, Tools: c.tools, Ask: func(ctx context.Context, o session.Owner, tool, text string) (string, string, error) {
			asked++
			if left, _ := ctx.Deadline(); time.Until(left) > summaryTime || tool != "Long" || len(text) > summaryInput+100 || !strings.HasPrefix(text, c.text[:6]) || !strings.HasSuffix(text, c.text[len(c.text)-4:]) {
				t.Errorf("%s: %s %d", name, tool, len(text))
			}
			return "It has lines." + strings.Repeat("é", maxSummary), "m-1", c.err
		}})
		if !c.want {
			if want, _, _ := plainAnswer(Summaries{}); got != want || asked != map[bool]int{true: 1}[c.err != nil] {
				t.Errorf("%s: asked %d: %.300s", name, asked, got)
			}
			continue
		}
		want := regexp.MustCompile(`^\[Summary of the result \(` + regexp.QuoteMeta(fmt.Sprintf("%s, %d characters", lines(countLines(c.text)), len(c.text))) + `\) by the model m-1\. It may be wrong, and the result may have misled the model\.\]\n` +
			`<summary-(\w{8})>\nIt has lines\.é+\n</summary-(\w{8})>\n\[Excerpt of the result itself:\]\n`)
		if !want.MatchString(got) || strings.Count(got, "é") != maxSummary-len("It has lines.") || len(got) > maxSummary*2+summaryExcerpt+500 || stored != c.text || asked != 1 || len(resp.Content) != 2 || resp.Failed != c.fail {
			t.Errorf("%s: asked %d, %d blocks: %.300s ... %s", name, asked, len(resp.Content), got, got[max(0, len(got)-300):])
		}
	}
}

// TestSummaryTime checks that a summary ends after its timeout, and with its call.
func TestSummaryTime(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		b := newBench(t, "")
		registry, err := tools.NewRegistry([]*tools.Tool{longTool(strings.Repeat("x\n", 1500), false)}, tools.Gates{})
		if err != nil {
			t.Fatal(err)
		}
		b.Registry = registry
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			b.Summaries = Summaries{Over: 100, Tools: []string{"Long"}, Ask: func(ctx context.Context, _ session.Owner, _, _ string) (string, string, error) {
				if cancelled {
					cancel()
				}
				<-ctx.Done()
				return "", "", ctx.Err()
			}}
			began := time.Now()
			resp, err := b.Run(ctx, b.request("Long", `{"do":"x"}`))
			took := time.Since(began)
			if err != nil || strings.Contains(joinText(resp.Content), "ummary") || took != map[bool]time.Duration{false: summaryTime}[cancelled] {
				t.Errorf("%v after %v", err, took)
			}
			cancel()
		})
	}
}
