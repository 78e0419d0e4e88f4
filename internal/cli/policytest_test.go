package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
)

// TestReadRow covers the meanings and the errors of lines.
func TestReadRow(t *testing.T) {
	for text, want := range map[string]string{
		``: "nothing", " \t\r": "nothing", `# {"tool":`: "nothing", "  # x": "nothing",
		`{"tool":"A","expect":"ask"}`:                               `A "" ask`,
		` {"expect":"deny","why":"so","input":{"b":1},"tool":"A"} `: `A "{\"b\":1}" deny why so`,
		`{"tool":"A","expect":"allow","layer":"path","rule":""}`:    `A "" allow by the layer path by no rule`,
		`{"tool":"A","expect":"deny","rule":"Read(x)"}`:             `A "" deny by the rule Read(x)`,
		`{"tool":"A","expect":"deny","rule":"\u202e"}`:              `A "" deny by the rule \u202e`,
		`{"tool":"A","expect":"maybe"}`:                             `! expect is "maybe"; use allow, ask, deny`,
		`{"tool":"A"}`:                                              `! expect is ""; use allow, ask, deny`,
		`{"tool":"A","expect":"Deny"}`:                              `! expect is "Deny"; use allow, ask, deny`,
		`{"tool":"A","expect":"deny","layer":"hook"}`:               `! layer is "hook"; what can decide here is rule, path, site, mode, read-only, default, tool, sandbox, input`,
		`{"tool":"A","expect":"deny","layer":""}`:                   `! layer is ""; what can decide here is rule, path, site, mode, read-only, default, tool, sandbox, input`,
		`{"expect":"deny"}`:                                         `! the line names no tool; write {"tool": NAME, "input": {...}}`,
		`{"tool":"","expect":"deny"}`:                               `! the line names no tool; write {"tool": NAME, "input": {...}}`,
		`{"tool":null,"expect":"deny"}`:                             `! tool is not a string`,
		`{"tool":"A","expect":1}`:                                   `! expect is not a string`,
		`{"tool":"A","expect":"deny","rule":null}`:                  `! rule is not a string`,
		`{"tool":"A","expect":"deny","why":["x"]}`:                  `! why is not a string`,
		`{"tool":"A","expect":"deny","input":"x"}`:                  `! input is not an object`,
		`{"tool":"A","expect":"deny","input":null}`:                 `! input is not an object`,
		`{"tool":"A","expect":"deny","expct":"x"}`:                  `! there is no key "expct"; did you mean expect?`,
		`{"tool":"A","expect":"deny","Tool":"B"}`:                   `! there is no key "Tool"; did you mean tool?`,
		`{"tool":"A","expect":"deny","something":"x"}`:              `! there is no key "something"; there are tool, input, expect, layer, rule, why`,
		`{"tool":"A","expect":"deny","expect":"deny"}`:              `! the key "expect" is given twice`,
		`{"tool":"A","expect":"deny"} {}`:                           `! the line is not JSON: column 30: expected the end of the line, found "{"`,
		`["A"]`:                                                     `! the line is not an object; write {"tool": NAME, "input": {...}}`,
		"{\"tool\":\"A\xff\"}":                                      `! the line is not UTF-8`,
		`{"tool":"` + strings.Repeat("A", maxLine) + `","expect":"deny","why":"it is very long"}`: `! the line has more than 1048576 bytes`,
	} {
		row, err := readRow(readLine(bufio.NewReader(strings.NewReader(text + "\n"))))
		got := "nothing"
		switch {
		case err != nil:
			got = "! " + err.Error()
		case row != nil:
			got = fmt.Sprintf("%s %q %s", row.tool, row.input, row.wanted())
			if row.why != "" {
				got += " why " + row.why
			}
		}
		if got != want {
			t.Errorf("%.80s:\n got %s\nwant %s", text, got, want)
		}
	}
}

// rules decides on calls by their tool: BEHAVIOR, LAYER and RULE.
func rules(_ context.Context, tool string, input json.RawMessage) pipeline.Explanation {
	e := pipeline.Explanation{Tool: tool, Decision: policy.Decision{Layer: "default", Reason: "a\x1breason " + string(input)}}
	switch tool {
	case "Ask":
		e.Decision.Behavior = policy.Ask
	case "Allow":
		e.Decision.Behavior = policy.Allow
	case "Ruled":
		e.Decision.Layer, e.Decision.Rule, e.Decision.Source, e.Decision.Line = "rule", "Ruled(\u202ex)", "/etc/s.json", 7
	case "Bad":
		e.Decision.Layer, e.Error = "input", "invalid"
	}
	return e
}

// TestTable covers the output and the verdict for a table.
func TestTable(t *testing.T) {
	const table = `# comment

{"tool":"Ask","expect":"ask"}
{"tool":"Ask","expect":"allow","why":"people\n must work"}
{"tool":"Allow","expect":"allow","layer":"default","rule":""}
{"tool":"Allow","expect":"allow","layer":"read-only"}
{"tool":"Ruled","expect":"deny","rule":"Ruled(\u202ex)","layer":"rule"}
{"tool":"Ruled","expect":"deny","rule":"Ruled(y)","input":{"b":1}}
{"tool":"Ruled","expect":"deny","rule":""}
{"tool":"Bad","expect":"deny"}
{"tool":"Bad","expect":"deny","layer":"input"}
{"tool":"Bad","expect":"allow","layer":"input"}`
	const want = `t:4: Ask: expected allow, found ask by the layer default
  reason  a\x1breason 
  why     people\n must work
t:6: Allow: expected allow by the layer read-only, found allow by the layer default
  reason  a\x1breason 
t:8: Ruled: expected deny by the rule Ruled(y), found deny by the rule Ruled(\u202ex) of /etc/s.json:7
  reason  a\x1breason {"b":1}
t:9: Ruled: expected deny by no rule, found deny by the rule Ruled(\u202ex) of /etc/s.json:7
  reason  a\x1breason 
t:10: Bad: expected deny, found a call that is not valid, deny by the layer input
  reason  a\x1breason 
t:12: Bad: expected allow by the layer input, found a call that is not valid, deny by the layer input
  reason  a\x1breason 
t: 6 of 10 not as expected
`
	rows, wrong, err := readTable(t.Context(), strings.NewReader(table))
	if err != nil || wrong != nil {
		t.Fatal(wrong, err)
	}
	var out bytes.Buffer
	x := tableTest{explainer: explainer{explain: rules, out: &out}, name: "t"}
	if err := x.run(t.Context(), rows); err != exitCode(exitError) {
		t.Errorf("not as expected: %v", err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	out.Reset()
	if err := x.run(t.Context(), rows[:1]); err != nil || out.String() != "t: all 1 as expected\n" {
		t.Errorf("as expected: %v, %q", err, &out)
	}
	lost := errors.New("lost")
	x.out = broken{lost}
	if err := x.run(t.Context(), rows[:1]); !errors.Is(err, lost) {
		t.Errorf("nobody reads it: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	x.out, x.explain = &out, func(ctx context.Context, tool string, input json.RawMessage) pipeline.Explanation {
		cancel()
		return rules(ctx, tool, input)
	}
	out.Reset()
	if err := x.run(ctx, rows); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("cancelled: %v, %q", err, &out)
	}
}

// TestLoadTable checks that an invalid table is a wrong command line, and that each malformed line
// is named.
func TestLoadTable(t *testing.T) {
	row := `{"tool":"A","expect":"deny"}` + "\n"
	filler := strings.Repeat("#"+strings.Repeat("x", 1<<16-2)+"\n", maxTable>>16-1)
	for name, c := range map[string]struct {
		table string
		rows  int
		want  string // part of the error and of the output
	}{
		"rows":      {row + "\n# x\r\n" + row, 2, ""},
		"no end":    {row + strings.TrimSpace(row), 2, ""},
		"empty":     {"\n# x\n", 0, "reading the table $FILE: there is no row in it"},
		"malformed": {row + "\nx\n" + row + "{}\n", 0, "exit code 2mcp-toolset: $FILE:3: the line is not JSON: column 1: expected a value, found \"x\"\nmcp-toolset: $FILE:5: the line names no tool; write {\"tool\": NAME, \"input\": {...}}\n"},
		"the most":  {filler + row, 1, ""},
		"too long":  {filler + row + filler[:1<<17], 0, "reading the table $FILE: it is longer than 10485760 bytes"},
	} {
		h := host(t, nil)
		file := filepath.Join(h.Dir, "table\x1b.jsonl")
		if err := os.WriteFile(file, []byte(c.table), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, arg := range []string{filepath.Base(file), "-"} {
			h.In, h.Err = strings.NewReader(c.table), &bytes.Buffer{}
			shown, rows, err := loadTable(t.Context(), h, arg)
			got, expected := "", strings.ReplaceAll(c.want, "$FILE", map[string]string{"-": "standard input"}[arg])
			if arg != "-" {
				expected = strings.ReplaceAll(c.want, "$FILE", `table\x1b.jsonl`)
			}
			if err != nil {
				got = err.Error() + fmt.Sprint(h.Err)
			} else if strings.Contains(shown, "\x1b") {
				t.Errorf("%s: the name is %q", name, shown)
			}
			var usage usageError
			if got != expected || len(rows) != c.rows || err != nil && !errors.As(err, &usage) && err != exitCode(exitUsage) {
				t.Errorf("%s, %q: %d rows\n got %s\nwant %s", name, arg, len(rows), got, expected)
			}
		}
	}
	h := host(t, nil)
	h.In, h.Err = strings.NewReader(strings.Repeat("x\n", maxWrong+3)), &bytes.Buffer{}
	if _, _, err := loadTable(t.Context(), h, "-"); err != exitCode(exitUsage) || strings.Count(fmt.Sprint(h.Err), "\n") != maxWrong+1 || !strings.HasSuffix(fmt.Sprint(h.Err), "and 3 further lines of standard input\n") {
		t.Errorf("many: %v, %v", err, h.Err)
	}
	var usage usageError
	if _, _, err := loadTable(t.Context(), h, "missing"); !errors.As(err, &usage) {
		t.Errorf("missing: %v", err)
	}
	lost := errors.New("lost")
	h.In = io.MultiReader(strings.NewReader(row), broken{lost})
	if _, _, err := loadTable(t.Context(), h, "-"); !errors.As(err, &usage) || err.Error() != "reading the table standard input: lost" {
		t.Errorf("a stream that breaks: %v", err)
	}
	in, send := io.Pipe()
	defer send.Close()
	ctx, cancel := context.WithCancel(t.Context())
	h.In = in
	cancel()
	if _, _, err := loadTable(ctx, h, "-"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
