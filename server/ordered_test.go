package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/identity"
)

// TestOrderedResults checks that answers come in the order of the calls
// although the calls end in another. Cancelled calls are skipped, even if they
// had ended.
func TestOrderedResults(t *testing.T) {
	slow, fast := newGate(), newGate()
	close(fast.open)
	s, _ := newServer(t, deadline, slow.tool("Slow", true), fast.tool("Fast", true))
	s.Ordered = true
	p := connect(t, t.Context(), s)
	const calls = 999
	var burst []string
	for i := range calls {
		tool := "Fast"
		if i == 0 || i == 500 {
			tool = "Slow"
		}
		burst = append(burst, callLine(i, tool, fmt.Sprintf(`{"name":"%d"}`, i)))
	}
	p.send("%s", strings.Join(burst, "\n"))
	for range calls - 2 {
		await(t, fast.begun)
	}
	p.send("%s", cancelLine(500)) // it is running
	p.send("%s", cancelLine(7))   // it has ended
	p.send("%s", callLine(7, "Fast", `{"name":"again"}`))
	p.send("%s", `{"jsonrpc":"2.0","id":"sync","method":"ping"}`)
	if got := string(parse(t, p.next()).ID); got != `"sync"` {
		t.Fatalf("%s was answered before the first call was done", got)
	}
	close(slow.open)
	var got, want []string
	for i := range calls {
		if i != 7 && i != 500 {
			want = append(want, fmt.Sprintf(`%d {"name":"%d"}`, i, i))
		}
	}
	want = append(want, `7 {"name":"again"}`)
	rest, err := p.end()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range rest {
		a := parse(t, line)
		_, text, _ := strings.Cut(string(a.Result), `"text":"`)
		text, _, _ = strings.Cut(text, `"}`)
		got = append(got, string(a.ID)+" "+strings.ReplaceAll(text, `\`, "")+`"}`)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// TestUnorderedResults checks that without the option each call is answered
// when it ends.
func TestUnorderedResults(t *testing.T) {
	slow, fast := newGate(), newGate()
	close(fast.open)
	s, _ := newServer(t, deadline, slow.tool("Slow", true), fast.tool("Fast", true))
	p := connect(t, t.Context(), s)
	p.send("%s", callLine(1, "Slow", `{"name":"1"}`))
	p.send("%s", callLine(2, "Fast", `{"name":"2"}`))
	if got := string(parse(t, p.next()).ID); got != "2" {
		t.Errorf("the first answer is to %s", got)
	}
	close(slow.open)
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

// TestOverload checks that a call refused for lack of room gets a text that
// asks to send it again, and that this works.
func TestOverload(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, deadline, g.tool("Wait", true))
	s.Scheduler = concurrency.New(concurrency.Config{Queue: 2})
	p := connect(t, t.Context(), s)
	for i := range 3 {
		p.send("%s", callLine(i, "Wait", `{"name":"x"}`))
	}
	const want = `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"too many calls are waiting; send this one again when some are answered"}}`
	if got := p.next(); got != want {
		t.Errorf("over stdio\n got %s\nwant %s", got, want)
	}
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	session := w.session()
	answers := make(chan string, 2)
	for i := range 2 {
		go func() {
			_, _, body := w.do("POST", w.url, callLine(i, "Wait", `{"name":"x"}`), session)
			answers <- body
		}()
	}
	for range 4 {
		await(t, g.begun)
	}
	refusal := `"text":"Wait: refused: too many calls are waiting. Send this one again when some are answered."}],"isError":true`
	if status, _, body := w.do("POST", w.url, callLine(2, "Wait", `{"name":"x"}`), session); status != http.StatusOK || !strings.Contains(body, refusal) {
		t.Errorf("over HTTP: %d %s", status, body)
	}
	close(g.open)
	for range 2 {
		if body := await(t, answers); !strings.Contains(body, `\"name\":\"x\"`) {
			t.Errorf("a call that had room: %s", body)
		}
	}
	if _, _, body := w.do("POST", w.url, callLine(3, "Wait", `{"name":"x"}`), session); strings.Contains(body, "refused") {
		t.Errorf("there is room again, and %s", body)
	}
	p.next()
	p.next()
	p.send("%s", callLine(2, "Wait", `{"name":"x"}`))
	if a := parse(t, p.next()); a.Error != nil {
		t.Errorf("there is room again, and %s", a.Error.Message)
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

// TestMetricsRoute checks that /metrics needs the token, accepts only GET, and
// is absent unless configured.
func TestMetricsRoute(t *testing.T) {
	s, _ := newServer(t, time.Second)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken), Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "figures") })})
	url := strings.TrimSuffix(w.url, "/mcp") + "/metrics"
	for _, tc := range []struct {
		method, header string
		status         int
		body           string
	}{
		{"GET", "X: y", 200, "figures"},
		{"GET", "-Authorization", 401, "missing or wrong bearer token"},
		{"GET", "Authorization: Bearer wrong", 401, "missing or wrong bearer token"},
		{"GET", "Origin: https://evil.example", 403, "this origin may not call"},
		{"POST", "X: y", 404, "not found"},
	} {
		if status, _, body := w.do(tc.method, url, "", tc.header); status != tc.status || !strings.Contains(body, tc.body) {
			t.Errorf("%s with %s: %d %s", tc.method, tc.header, status, body)
		}
	}
	without := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	if status, _, _ := without.do("GET", strings.TrimSuffix(without.url, "/mcp")+"/metrics", ""); status != http.StatusNotFound {
		t.Errorf("without figures: %d", status)
	}
}
