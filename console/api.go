package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"mcp-toolset/console/feed"
	"mcp-toolset/internal/text/plain"
)

const (
	// maxStreams is the limit of streams of events.
	maxStreams = 20
	// maxBody is the limit of the body of a request, in bytes.
	maxBody = 4 << 20
	// heartbeat is the interval of events on a stream without others, and writeWithin the timeout
	// for a reader to take one.
	heartbeat   = 15 * time.Second
	writeWithin = 30 * time.Second
)

// gets and posts list the requests of the API. posts has the operation of the feed of each.
var (
	gets  = []string{"stream", "approval", "task", "session", "change", "policy", "suggest", "audit"}
	posts = map[string]string{"approval": "decide", "reply": "reply", "stop": "stop", "undo": "undo", "explain": "explain"}
)

// api serves the API.
func (c *Console) api(w http.ResponseWriter, r *http.Request, name string) {
	login := c.logins.find(r, c.cookieName())
	if login == nil {
		c.outside(w, r)
		return
	}
	get, post := slices.Contains(gets, name), posts[name]
	switch {
	case !get && post == "":
		c.fail(w, r, &feed.Error{Status: http.StatusNotFound, Fact: "there is no request " + strconv.Quote(name), Next: "Reload the page."})
	case r.Method == http.MethodGet && name == "stream":
		c.stream(w, r)
	case r.Method == http.MethodGet && get:
		c.ask(w, r, name, queryJSON(r.URL.Query()))
	case r.Method == http.MethodPost && post != "":
		c.change(w, r, login, post)
	case post == "":
		c.method(w, r, http.MethodGet)
	case !get:
		c.method(w, r, http.MethodPost)
	default:
		c.method(w, r, "GET, POST")
	}
}

// change serves a request that changes something.
func (c *Console) change(w http.ResponseWriter, r *http.Request, login *login, op string) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		c.fail(w, r, &feed.Error{Status: http.StatusUnsupportedMediaType, Fact: "Content-Type must be application/json", Next: "Reload the page."})
		return
	}
	if !login.allows(r.Header.Get("X-Console")) {
		writeJSON(w, http.StatusForbidden, map[string]string{"error": "the request has no valid header X-Console", "next": c.Hint, "code": "token"})
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		c.fail(w, r, feed.Invalid(fmt.Sprintf("the body of a request has at most %d bytes", maxBody), "Make it shorter."))
		return
	}
	c.ask(w, r, op, data)
}

// queryJSON returns the parameters of a query as JSON. Numbers become numbers.
func queryJSON(q url.Values) json.RawMessage {
	out := map[string]any{}
	for name := range q {
		text := q.Get(name)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && numeric[name] {
			out[name] = n
		} else {
			out[name] = text
		}
	}
	return encode(out)
}

// numeric lists the parameters of queries that are numbers.
var numeric = map[string]bool{"number": true, "from": true, "n": true, "before": true, "limit": true}

// ask passes a request to its server.
func (c *Console) ask(w http.ResponseWriter, r *http.Request, op string, params json.RawMessage) {
	var to struct {
		Server string `json:"server"`
	}
	if err := json.Unmarshal(params, &to); err != nil {
		c.fail(w, r, feed.Invalid("the request is not a JSON object", "Reload the page."))
		return
	}
	if op == "audit" && to.Server == "" {
		c.auditAll(w, r, params)
		return
	}
	sources, err := c.Servers()
	source := sources[to.Server]
	if err != nil {
		c.fail(w, r, &feed.Error{Status: http.StatusInternalServerError, Fact: plain.Line(err.Error()), Next: "Look at the state folder."})
		return
	}
	if source == nil {
		c.fail(w, r, &feed.Error{Status: http.StatusNotFound, Fact: "the server does not run any more", Next: "Look at the list of servers."})
		return
	}
	result, err := source.Ask(r.Context(), op, params)
	var refused *feed.Error
	switch {
	case errors.As(err, &refused):
		c.fail(w, r, refused)
	case err != nil:
		c.fail(w, r, &feed.Error{Status: http.StatusInternalServerError, Fact: plain.Line(err.Error()), Next: "Try again."})
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(result)
	}
}

// stream sends events until the client, its login or the console ends.
func (c *Console) stream(w http.ResponseWriter, r *http.Request) {
	s := c.hub.join()
	if s == nil {
		c.fail(w, r, &feed.Error{Status: http.StatusTooManyRequests, Fact: fmt.Sprintf("%d pages of the console are open already", maxStreams), Next: "Close one of them."})
		return
	}
	defer c.hub.leave(s)
	rc := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var out []byte
		select {
		case <-r.Context().Done():
			return
		case <-c.ended.Done():
			return
		case <-beat.C:
			out = []byte("event: beat\ndata: {}\n\n")
		case <-s.ready:
			for _, m := range c.hub.take(s) {
				out = fmt.Appendf(out, "id: %d\nevent: %s\ndata: %s\n\n", m.id, m.event, m.data)
			}
		}
		if c.logins.find(r, c.cookieName()) == nil {
			return
		}
		_ = rc.SetWriteDeadline(time.Now().Add(writeWithin))
		if _, err := w.Write(out); err != nil {
			return
		}
		if rc.Flush() != nil {
			return
		}
	}
}
