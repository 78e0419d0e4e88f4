package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/tools"
)

// TestProtocolErrors checks the errors that the stdio loop itself returns, and
// that the connection works after each.
func TestProtocolErrors(t *testing.T) {
	s, _ := newServer(t, time.Second)
	p := connect(t, t.Context(), s)
	for send, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not JSON: column 25: the message ends too early; a quote or bracket is not closed"}}`,
		`hello`:                    `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not JSON: column 1: expected a value, found \"h\""}}`,
		`"x"`:                      `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not an object"}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`:                                            `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not part of the protocol; send one message at a time"}}`,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                                              `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"\"jsonrpc\" must be \"2.0\""}}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                           `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an id must be a string or a number"}}`,
		`{"jsonrpc":"2.0","id":[1],"method":"ping"}`:                                            `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an id must be a string or a number"}}`,
		`{"jsonrpc":"2.0","id":2,"method":5}`:                                                   `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"\"method\" must be a string"}}`,
		`{"jsonrpc":"2.0","id":3}`:                                                              `{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the message has neither a method nor a result"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"ping","id":5}`:                                       `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the key \"id\" is given twice"}}`,
		`{"jsonrpc":"2.0","id":6,"Method":"ping"}`:                                              `{"jsonrpc":"2.0","id":6,"error":{"code":-32600,"message":"the key \"Method\" differs from \"method\" only by case"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"Read","Name":"X"}}`:    `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"params: the key \"Name\" differs from \"name\" only by case"}}`,
		`{"jsonrpc":"2.0","id":8,"method":"ping"} {}`:                                           `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not JSON: column 42: expected the end of the message, found \"{\""}}`,
		`{"jsonrpc":"2.0","id":11,"method":"ping","params":{},"paramſ":{}}`:                     `{"jsonrpc":"2.0","id":11,"error":{"code":-32600,"message":"the key \"paramſ\" differs from \"params\" only by case"}}`,
		`{"jsonrpc":"2.0","id":12,"result":{},"method":"ping"}`:                                 `{"jsonrpc":"2.0","id":12,"error":{"code":-32600,"message":"the message has both a method and a result"}}`,
		`{"jsonrpc":"2.0","id":13,"method":"tools/call","params":[]}`:                           `{"jsonrpc":"2.0","id":13,"error":{"code":-32600,"message":"params must be an object"}}`,
		`{"jsonrpc":"2.0","id":14,"method":"tools/call","params":{"name":5}}`:                   `{"jsonrpc":"2.0","id":14,"error":{"code":-32600,"message":"params: name must be a string"}}`,
		`{"jsonrpc":"2.0","id":15,"method":"ping","params":{"_meta":[]}}`:                       `{"jsonrpc":"2.0","id":15,"error":{"code":-32600,"message":"params: _meta must be an object"}}`,
		`{"jsonrpc":"2.0","id":16,"method":"notifications/cancelled","params":{"requestId":1}}`: `{"jsonrpc":"2.0","id":16,"error":{"code":-32601,"message":"Method notifications/cancelled not found"}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}":                             `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not UTF-8"}}`,
		"   \n" + `{"jsonrpc":"2.0","id":17,"method":"ping"}`:                                   `{"jsonrpc":"2.0","id":17,"result":{}}`,
		callLine(9, "Reed", `{}`):                                                               `{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"there is no tool \"Reed\"; the nearest is Read"}}`,
		callLine(10, "Gated", `{}`):                                                             `{"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"tool \"Gated\" is not available: feature never is off; the user can switch it on with --feature never=on"}}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`:                               `{"jsonrpc":"2.0","id":9007199254740993,"result":{}}`,
		`{"jsonrpc":"2.0","id":"1","method":"ping"}` + "\r":                                     `{"jsonrpc":"2.0","id":"1","result":{}}`,
		"\n" + `{"jsonrpc":"2.0","id":"2","method":"ping"}`:                                     `{"jsonrpc":"2.0","id":"2","result":{}}`,
	} {
		p.send("%s", send)
		if got := p.next(); got != want {
			t.Errorf("%s\n got %s\nwant %s", send, got, want)
		}
	}
	if rest, err := p.end(); len(rest) > 0 || err != nil {
		t.Errorf("at the end: %q, %v", rest, err)
	}
}

// TestBurstHalfCancelled sends 200 calls in one write and cancels half of them.
// These are never answered and start no later than their cancel. The others are
// answered.
func TestBurstHalfCancelled(t *testing.T) {
	for _, tool := range []string{"Block", "Wait"} {
		for range burstRuns {
			burst(t, tool)
		}
	}
}

func burst(t *testing.T, tool string) {
	g := newGate()
	s, _ := newServer(t, deadline, g.tool("Block", false), g.tool("Wait", true))
	p := connect(t, t.Context(), s)
	var write strings.Builder
	want := map[string]bool{}
	for i := range 200 {
		fmt.Fprintln(&write, callLine(i, tool, fmt.Sprintf(`{"name":"%d"}`, i)))
		if i%2 == 1 {
			fmt.Fprintln(&write, cancelLine(i))
		} else {
			want[fmt.Sprint(i)] = true
		}
	}
	// The answer to the ping shows that all messages before it were handled.
	fmt.Fprintln(&write, `{"jsonrpc":"2.0","id":"sync","method":"ping"}`)
	p.send("%s", strings.TrimSuffix(write.String(), "\n"))
	if got := string(parse(t, p.next()).ID); got != `"sync"` {
		t.Fatalf("an answer to %s before the gate opened", got)
	}
	before := g.starts()
	close(g.open)
	rest, err := p.end()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range rest {
		a := parse(t, line)
		if !want[string(a.ID)] {
			t.Fatalf("%s was answered: %s", a.ID, line)
		}
		delete(want, string(a.ID))
	}
	if len(want) > 0 {
		t.Fatalf("%d calls were not answered", len(want))
	}
	for _, name := range g.starts()[len(before):] {
		if (name[len(name)-1]-'0')%2 == 1 {
			t.Fatalf("the cancelled call %s started late", name)
		}
	}
}

// TestFinishedThoughCancelled checks that a cancelled call that must finish
// completes and has its effect, without an answer.
func TestFinishedThoughCancelled(t *testing.T) {
	g := newGate()
	look := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Look", Prompt: "Looks.",
		Call: func(_ context.Context, env *tools.Env, in gateIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{Data: gateOut{fmt.Sprint(env.Session.Loaded(in.Name))}}, nil
		}})
	s, _ := newServer(t, deadline, g.tool("Finish", false), look)
	p := connect(t, t.Context(), s)
	p.send("%s", callLine(1, "Finish", `{"name":"done"}`))
	await(t, g.begun)
	p.send("%s", cancelLine(1))
	p.send("%s", callLine(2, "Look", `{"name":"done"}`))
	p.send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	p.next() // the cancel has been handled
	close(g.open)
	if got := p.next(); !strings.Contains(got, `"id":2`) || !strings.Contains(got, `true`) {
		t.Errorf("behind the cancelled call: %s", got)
	}
	if rest, err := p.end(); len(rest) > 0 || err != nil {
		t.Errorf("at the end: %q, %v", rest, err)
	}
}

// TestPipedBurst checks that all input before its end is answered, including a
// last line without a newline.
func TestPipedBurst(t *testing.T) {
	s, _ := newServer(t, deadline)
	var in bytes.Buffer
	fmt.Fprintln(&in, initialize)
	for i := range 500 {
		fmt.Fprintln(&in, callLine(i, "Read", `{"file_path":"a.txt"}`))
	}
	in.WriteString(callLine("last", "Read", `{"file_path":"a.txt"}`))
	var out bytes.Buffer
	if err := s.ServeStdio(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for line := range strings.Lines(out.String()) {
		a := parse(t, line)
		if a.Error != nil || !bytes.Contains(a.Result, []byte(`one`)) && string(a.ID) != `"init"` {
			t.Fatalf("answer: %s", line)
		}
		got[string(a.ID)]++
	}
	if len(got) != 502 || got[`"last"`] != 1 || got[`"init"`] != 1 {
		t.Errorf("%d different answers to 502 requests", len(got))
	}
}

// TestOrder checks that an unsafe call runs alone, in the order sent, whatever
// follows it in the same write.
func TestOrder(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, deadline, g.tool("Block", false), g.tool("Wait", true))
	close(g.open)
	p := connect(t, t.Context(), s)
	var write []string
	var want []string
	for i := range 100 {
		write = append(write, callLine(i, "Block", fmt.Sprintf(`{"name":"%d"}`, i)))
		want = append(want, fmt.Sprint(i))
	}
	p.send("%s", strings.Join(write, "\n"))
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, g.starts()); diff != "" {
		t.Errorf("order of starts (-want +got):\n%s", diff)
	}
}

// TestEarlyStart checks that a call is answered while the next line is half
// written.
func TestEarlyStart(t *testing.T) {
	s, _ := newServer(t, deadline)
	p := connect(t, t.Context(), s)
	next := callLine(2, "Read", `{"file_path":"a.txt"}`)
	p.send("%s", callLine(1, "Read", `{"file_path":"a.txt"}`))
	if _, err := io.WriteString(p.in, next[:20]); err != nil {
		t.Fatal(err)
	}
	if a := parse(t, p.next()); string(a.ID) != "1" {
		t.Errorf("first answer: %+v", a)
	}
	p.send("%s", next[20:])
	if a := parse(t, p.next()); string(a.ID) != "2" {
		t.Errorf("second answer: %+v", a)
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

// TestNotificationsComeFirst checks that progress and log messages of a call
// are written before its answer, in old and new protocols, and only if
// requested.
func TestNotificationsComeFirst(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, deadline, g.tool("Block", false))
	p := connect(t, t.Context(), s)
	p.send(initialize)
	p.next()
	legacy := `{"progressToken":"tok"}`
	modern := `{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info"}`
	for i, meta := range []string{legacy, modern} {
		p.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Block","arguments":{"name":"n","notify":20},"_meta":%s}}`, i, meta)
		var progress, logs int
		for {
			a := parse(t, p.next())
			switch a.Method {
			case "notifications/progress":
				progress++
				if want := fmt.Sprintf(`"progress":%d`, progress); !strings.Contains(string(a.Params), want) {
					t.Errorf("progress %s, want %s", a.Params, want)
				}
				continue
			case "notifications/message":
				logs++
				continue
			}
			if string(a.ID) != fmt.Sprint(i) || progress != 20 || logs != 20 {
				t.Errorf("answer %s after %d progress and %d log notifications", a.ID, progress, logs)
			}
			break
		}
	}
	p.send("%s", callLine("quiet", "Block", `{"name":"n","notify":3}`))
	for {
		a := parse(t, p.next())
		if a.Method == "notifications/progress" {
			t.Error("progress without a token")
		}
		if a.Method == "" {
			break
		}
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

// TestDiscoverBeforeInitialize checks a client of the new protocol, which
// discovers first and never initializes.
func TestDiscoverBeforeInitialize(t *testing.T) {
	s, _ := newServer(t, deadline)
	p := connect(t, t.Context(), s)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	p.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`, meta)
	if a := parse(t, p.next()); !strings.Contains(string(a.Result), `"2026-07-28"`) {
		t.Errorf("discover: %+v", a)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{%s,"notifications":{"toolsListChanged":true}}}`, meta)
	if a := parse(t, p.next()); a.Method != "notifications/subscriptions/acknowledged" {
		t.Errorf("the first message of a listen stream: %+v", a)
	}
	p.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{%s,"name":"Read","arguments":{"file_path":"a.txt"}}}`, meta)
	for {
		if a := parse(t, p.next()); string(a.ID) == "3" {
			if !strings.Contains(string(a.Result), "two") {
				t.Errorf("call: %s", a.Result)
			}
			break
		}
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

// TestFormerNames checks that a call by a former name reaches the tool, which
// is listed only under its present name.
func TestFormerNames(t *testing.T) {
	g := newGate()
	close(g.open)
	s, _ := newServer(t, deadline, g.tool("Block", false))
	p := connect(t, t.Context(), s)
	p.send("%s", callLine(1, "OldBlock", `{"name":"x"}`))
	if a := parse(t, p.next()); a.Error != nil || !strings.Contains(string(a.Result), `x`) {
		t.Errorf("call by a former name: %+v", a)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if a := parse(t, p.next()); strings.Contains(string(a.Result), "OldBlock") || !strings.Contains(string(a.Result), `"Block"`) {
		t.Errorf("list: %s", a.Result)
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

func TestLimitsOfAConnection(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, deadline, g.tool("Block", false))
	p := connect(t, t.Context(), s)
	var write strings.Builder
	for i := range maxInFlight {
		fmt.Fprintln(&write, callLine(i, "Block", `{"name":"x"}`))
	}
	p.send("%s%s", write.String(), callLine(5, "Block", `{"name":"x"}`))
	if a := parse(t, p.next()); a.Error == nil || a.Error.Message != "a request with this id is still in flight; use another id" || string(a.ID) != "5" {
		t.Errorf("an id in flight: %+v", a)
	}
	p.send("%s", callLine("more", "Block", `{"name":"x"}`))
	if a := parse(t, p.next()); a.Error == nil || a.Error.Code != codeOverload || a.Error.Message != "1000 requests are in flight; send this one again when some are answered" {
		t.Errorf("one request too many: %+v", a)
	}
	close(g.open)
	for range maxInFlight {
		p.next()
	}
	p.send("%s", callLine(5, "Block", `{"name":"x"}`))
	if a := parse(t, p.next()); a.Error != nil {
		t.Errorf("an id used again after its answer: %+v", a)
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

// TestLongLines checks that a line up to the limit is served. A longer line is
// refused without being stored, and the connection continues.
func TestLongLines(t *testing.T) {
	s, _ := newServer(t, deadline)
	if s.maxLine != 64<<20 {
		t.Errorf("the limit is %d bytes", s.maxLine)
	}
	s.maxLine = 1 << 20         // the real limit takes the race detector half a minute
	pad := func(n int) string { // a message of n bytes
		const head, tail = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"pad":"`, `"}}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	p := connect(t, t.Context(), s)
	p.send("%s", pad(s.maxLine))
	if a := parse(t, p.next()); a.Error != nil {
		t.Errorf("a line of the limit: %+v", a)
	}
	for _, n := range []int{s.maxLine + 1, s.maxLine + 200<<10} {
		p.send("%s", pad(n))
		want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message is longer than 1 MiB and was dropped"}}`
		if got := p.next(); got != want {
			t.Errorf("a line of %d bytes: %s", n, got)
		}
	}
	before := heap()
	if _, err := io.Copy(p.in, io.LimitReader(zeroes{}, 256<<20)); err != nil {
		t.Fatal(err)
	}
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("an endless line takes %d MB", grown>>20)
	}
	p.send("")
	p.next()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if a := parse(t, p.next()); a.Error != nil {
		t.Errorf("after long lines: %+v", a)
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestDrain checks that after the end of input calls in progress have the drain
// time, and are then cancelled before the server ends.
func TestDrain(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, 50*time.Millisecond, g.tool("Block", false))
	p := connect(t, t.Context(), s)
	p.send("%s", callLine(1, "Block", `{"name":"never"}`))
	await(t, g.begun)
	rest, err := p.end()
	if err != nil || len(rest) > 1 {
		t.Errorf("the end: %q, %v", rest, err)
	}
}

// TestStop checks that the server ends soon when told to stop, even with a call
// that ignores its cancel and a client that does not read: it waits for nothing.
func TestStop(t *testing.T) {
	g := newGate()
	defer close(g.open)
	s, _ := newServer(t, time.Hour, g.tool("Block", false), g.tool("Wait", true))
	ctx, stop := context.WithCancel(t.Context())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	defer inW.Close()
	defer outR.Close()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(ctx, inR, outW) }()
	fmt.Fprintln(inW, callLine(1, "Wait", `{"name":"listens"}`))
	fmt.Fprintln(inW, callLine(2, "Wait", `{"name":"does not","stubborn":true}`))
	fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":3,"method":"ping"}`) // its answer finds no reader
	await(t, g.begun)
	await(t, g.begun)
	stop()
	if err := await(t, served); err != nil {
		t.Error(err)
	}
}

// TestClientVanishes checks that the server ends with the reason when it cannot
// write any more.
func TestClientVanishes(t *testing.T) {
	s, _ := newServer(t, deadline)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	gone := errors.New("broken pipe")
	_ = outR.CloseWithError(gone)
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(t.Context(), inR, outW) }()
	fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	if err := await(t, served); !errors.Is(err, gone) {
		t.Errorf("ended with %v", err)
	}
	_ = inW.Close()
}

// TestTwoConnections checks that two clients of one server do not disturb each
// other, with equal ids and a cancel of one.
func TestTwoConnections(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, deadline, g.tool("Wait", true))
	a, b := connect(t, t.Context(), s), connect(t, t.Context(), s)
	for _, p := range []*peer{a, b} {
		p.send("%s", callLine(1, "Wait", `{"name":"x"}`))
	}
	await(t, g.begun)
	await(t, g.begun)
	a.send("%s", cancelLine(1))
	a.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	a.next()
	close(g.open)
	if got := parse(t, b.next()); string(got.ID) != "1" {
		t.Errorf("the other client's call: %+v", got)
	}
	restA, errA := a.end()
	restB, errB := b.end()
	if len(slices.Concat(restA, restB)) > 0 || errA != nil || errB != nil {
		t.Errorf("at the end: %q %v, %q %v", restA, errA, restB, errB)
	}
}
