package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// traceOf returns the lines of a trace. Each event is "phase id name ms" with optional JSON of args.
func traceOf(events ...string) string {
	b := strings.Builder{}
	b.WriteString("[\n" + `{"name":"process_name","ph":"M","ts":0,"pid":1,"tid":1,"args":{"name":"stdio-1"}}`)
	for _, e := range events {
		var phase, id, name, args string
		var at float64
		_, _ = fmt.Sscan(e, &phase, &id, &name, &at)
		if _, rest, ok := strings.Cut(e, " {"); ok {
			args = `,"args":{` + rest
		}
		fmt.Fprintf(&b, ",\n"+`{"name":%q,"cat":"call","ph":%q,"ts":%v,"pid":1,"tid":1,"id":%q%s}`, name, phase, at*1000, id, args)
	}
	return b.String()
}

// calls is a trace of two calls that end, of which the second is cancelled, and of one without an
// end.
func calls() string {
	return traceOf(
		"b 1 call 0", "b 1 queued 0", "e 1 queued 1", "b 1 decided 1", "e 1 decided 5", "b 1 waits 5", "e 1 waits 6",
		`b 1 running 6 {"title":"Read a"}`, "b 2 call 7", "b 2 queued 7", "b 3 call 8", "b 3 queued 8",
		"e 1 running 16", `e 1 Read 16 {"title":"Read a","ran":true}`,
		"e 2 queued 20", "b 2 decided 20", `e 2 decided 22`, `e 2 Bash 22 {"title":"Run x","cancelled":true}`,
	)
}

// TestSummarize checks the figures of a trace, with and without its end and with garbage between.
func TestSummarize(t *testing.T) {
	want := Summary{
		Calls: 2, Span: 22_000, Cancelled: 1, Unended: 1, Complete: true,
		Tools: []ToolSummary{
			{Tool: "Read", Calls: 1, Total: 10_000, Median: 10_000, Max: 10_000, Waited: 6_000},
			{Tool: "Bash", Calls: 1, Waited: 15_000, Cancelled: 1},
		},
		Lanes:   []LaneSummary{{Lane: "stdio-1", Calls: 3, Total: 10_000, Most: 1}},
		Slowest: []Call{{Tool: "Read", Title: "Read a", Lane: "stdio-1", Ran: 10_000, Waited: 6_000, Stage: "decided"}},
		Ended:   []Call{{Tool: "Bash", Title: "Run x", Lane: "stdio-1", At: 7_000, Waited: 15_000, Stage: "queued", Cancelled: true}},
		Open:    []Call{{Tool: "call", Lane: "stdio-1", At: 8_000, Waited: 14_000, Stage: "queued"}},
	}
	want.Waited = []Call{want.Ended[0], want.Slowest[0]}
	whole := calls() + "\n]\n"
	for _, c := range []struct {
		name, text string
		change     func(*Summary)
	}{
		{"whole", whole, func(*Summary) {}},
		{"of a killed server", calls(), func(s *Summary) { s.Complete = false }},
		{"cut", calls() + ",\n" + `{"name":"process_na`, func(s *Summary) { s.Complete, s.Bad = false, 1 }},
		{"garbage", "\x00\xff\n[]\n{}\nnull\n" + strings.Repeat("x", 3<<20) + "\n" + whole, func(s *Summary) { s.Bad = 5 }},
		{"times of no trace", strings.Replace(whole, "\n]", ",\n"+`{"ph":"b","ts":1e300,"id":"9"},`+"\n"+`{"ph":"e","ts":-1,"id":"1"}`+"\n]", 1), func(s *Summary) { s.Bad = 2 }},
		{"ends without a begin", strings.Replace(whole, "\n]", ",\n"+`{"ph":"e","cat":"call","ts":1,"pid":1,"id":"9","name":"Read"}`+"\n]", 1), func(s *Summary) { s.Left = 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Summarize(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			want := want
			c.change(&want)
			for i := range got.Tools {
				got.Tools[i].ran = nil
			}
			if diff := cmp.Diff(want, *got, cmp.AllowUnexported(ToolSummary{}, LaneSummary{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Error(err)
			}
		})
	}
	for _, text := range []string{"", "[\n]\n", "no trace", `{"a":1}`, strings.Repeat("\x00", 3<<20)} {
		if _, err := Summarize(strings.NewReader(text)); err != errNoTrace {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// TestLongTexts checks that a summary holds no more of a long text than its limit.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("é", maxTextLine/4)
	pr, pw := io.Pipe()
	go func() {
		for i := range 40 {
			_, _ = io.WriteString(pw, traceOf("b "+long+fmt.Sprint(i)+" call 0", fmt.Sprintf("b %d call 0", i), fmt.Sprintf(`b %d running 0 {"title":"%s"}`, i, "x"+long))+"\n")
		}
		_ = pw.Close()
	}()
	s, err := Summarize(pr)
	if err != nil {
		t.Fatal(err)
	}
	if s.Unended != 40 || s.Left != 40 || s.Open[0].Title != "x"+long[:298] {
		t.Errorf("%d, %d left out, %q", s.Unended, s.Left, s.Open[0].Title)
	}
	var m runtime.MemStats
	runtime.GC()
	if runtime.ReadMemStats(&m); m.HeapAlloc > 10<<20 {
		t.Errorf("%d MiB are in use", m.HeapAlloc>>20)
	}
	runtime.KeepAlive(s)
}

// TestMedian checks the median and the limits of lists.
func TestMedian(t *testing.T) {
	var events []string
	for i := range 14 {
		at := i * 100
		events = append(events, fmt.Sprintf("b %d call %d", i, at), fmt.Sprintf("b %d running %d", i, at),
			fmt.Sprintf("e %d running %d", i, at+i), fmt.Sprintf(`e %d Grep %d {"title":"%d"}`, i, at+i, i))
	}
	s, err := Summarize(strings.NewReader(traceOf(events...)))
	if err != nil {
		t.Fatal(err)
	}
	if g := s.Tools[0]; g.Median != 6_500 || g.Max != 13_000 || g.Total != 91_000 {
		t.Errorf("%+v", g)
	}
	if len(s.Slowest) != listed || s.Slowest[0].Title != "13" || s.Slowest[9].Title != "4" || len(s.Waited) != 0 {
		t.Errorf("%+v", s.Slowest)
	}
}

// FuzzSummarize checks that no file makes Summarize fail in another way than errNoTrace.
func FuzzSummarize(f *testing.F) {
	f.Add(calls())
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Summarize(strings.NewReader(text))
		if err != nil && err != errNoTrace {
			t.Fatal(err)
		}
		if err == nil {
			if _, err := json.Marshal(s); err != nil {
				t.Fatal(err)
			}
		}
	})
}
