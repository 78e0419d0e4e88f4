package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is an in-memory stdio server that sends exactly the messages a test defines. It
// has no clock of its own, so that it works in a synctest bubble.
type fake struct {
	modern bool
	tools  []string                                // definitions
	calls  map[string]func(*fakeConn, fakeRequest) // by the tool's name
	other  map[string]func(*fakeConn, fakeRequest) // by method
	caps   string                                  // capabilities; "" means {"tools":{"listChanged":true}}
	stalls bool                                    // read nothing after the first call
	stays  bool                                    // do not end with the input
	refuse func(attempt int) error                 // error of Start; may be nil

	mu    sync.Mutex
	conns []*fakeConn
	seen  []fakeRequest // all requests and notifications
	tries int
}

type fakeRequest struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// fakeConn is one process of a fake.
type fakeConn struct {
	f       *fake
	in      *io.PipeReader
	inW     *io.PipeWriter
	out     *io.PipeWriter
	outR    *io.PipeReader
	errW    *io.PipeWriter
	errR    *io.PipeReader
	writing sync.Mutex
	done    chan struct{}
	once    sync.Once
	how     string
}

func (c *fakeConn) Input() io.WriteCloser { return c.inW }
func (c *fakeConn) Output() io.ReadCloser { return c.outR }
func (c *fakeConn) Errors() io.ReadCloser { return c.errR }
func (c *fakeConn) Done() <-chan struct{} { return c.done }
func (c *fakeConn) Ending() string        { return c.how }
func (c *fakeConn) End(time.Duration) error {
	c.exit("by signal 15 (terminated)")
	return nil
}

// exit ends the process.
func (c *fakeConn) exit(how string) {
	c.once.Do(func() {
		c.how = how
		_ = c.out.Close()
		_ = c.errW.Close()
		_ = c.in.Close()
		close(c.done)
	})
}

// say writes a line.
func (c *fakeConn) say(format string, args ...any) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, _ = fmt.Fprintf(c.out, format+"\n", args...)
}

func (c *fakeConn) answer(r fakeRequest, result string) {
	c.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

func (c *fakeConn) fail(r fakeRequest, code int, message string) {
	text, _ := json.Marshal(message)
	c.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, r.ID, code, text)
}

// start implements Config.Start.
func (f *fake) start(context.Context, Command) (Process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	if f.refuse != nil {
		if err := f.refuse(f.tries); err != nil {
			return nil, err
		}
	}
	c := &fakeConn{f: f, done: make(chan struct{})}
	c.in, c.inW = io.Pipe()
	c.outR, c.out = io.Pipe()
	c.errR, c.errW = io.Pipe()
	f.conns = append(f.conns, c)
	go c.serve()
	return c, nil
}

func (c *fakeConn) serve() {
	defer func() {
		if !c.f.stays {
			c.exit("with exit code 0")
		}
	}()
	for in := bufio.NewReader(c.in); ; {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var r fakeRequest
		_ = json.Unmarshal([]byte(text), &r)
		c.f.mu.Lock()
		c.f.seen = append(c.f.seen, r)
		c.f.mu.Unlock()
		c.handle(r)
	}
}

func (c *fakeConn) handle(r fakeRequest) {
	caps := c.f.caps
	if caps == "" {
		caps = `{"tools":{"listChanged":true}}`
	}
	if f := c.f.other[r.Method]; f != nil {
		go f(c, r)
		return
	}
	switch r.Method {
	case "server/discover":
		if !c.f.modern {
			c.fail(r, -32601, "Method not found")
			return
		}
		c.answer(r, `{"supportedVersions":["2026-07-28"],"capabilities":`+caps+`}`)
	case "initialize":
		c.answer(r, `{"protocolVersion":"2025-11-25","serverInfo":{"name":"fake","version":"1"},"capabilities":`+caps+`}`)
	case "tools/list":
		c.f.mu.Lock()
		list := strings.Join(c.f.tools, ",")
		c.f.mu.Unlock()
		c.answer(r, `{"tools":[`+list+`]}`)
	case "tools/call":
		if c.f.stalls {
			<-c.done
			return
		}
		var p struct{ Name string }
		_ = json.Unmarshal(r.Params, &p)
		if f := c.f.calls[p.Name]; f != nil {
			go f(c, r)
			return
		}
		c.fail(r, -32602, "Unknown tool: "+p.Name)
	}
}

// count returns the number of requests with a method.
func (f *fake) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.seen {
		if r.Method == method {
			n++
		}
	}
	return n
}

// last returns the newest process.
func (f *fake) last() *fakeConn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conns[len(f.conns)-1]
}

// token returns the progress token of a request.
func (r fakeRequest) token() string {
	var p struct {
		Meta struct{ ProgressToken string } `json:"_meta"`
	}
	_ = json.Unmarshal(r.Params, &p)
	return p.Meta.ProgressToken
}

// beginFake returns a manager of one fake with the name x.
func beginFake(t testing.TB, f *fake, c Config) (*Manager, *board) {
	t.Helper()
	c.Start = f.start
	if c.Servers == nil {
		c.Servers = []Server{{Name: "x", Prefix: "x", Command: "fake"}}
	}
	return begin(t, c)
}

// plainTool returns a minimal definition.
func plainTool(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}

// says returns a call handler that answers with a text.
func says(text string) func(*fakeConn, fakeRequest) {
	return func(c *fakeConn, r fakeRequest) {
		c.answer(r, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text))
	}
}
