// Package modelstest plays the APIs of models for tests: streams of the documented shapes, errors,
// and connections that break.
package modelstest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcp-toolset/models"
)

// Reply is the answer to one request.
type Reply struct {
	Text  string
	Uses  []models.Use // Input is sent as it is, even if it is malformed
	Stop  string       // of the API; "" means that of a complete answer
	Usage models.Usage

	Status int // other than 0: an error with Body
	Header http.Header
	Body   string // sent as it is instead of the fields above; "" with Status 0 means to use them
	Cut    int    // other than 0: the connection breaks after so many bytes
	// Endless repeats this after the answer, until the client has gone or Most bytes were sent.
	Endless string
	Most    int
	Hang    bool // sends nothing after the body, and does not end the answer
}

// Request is a request that was made.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         string
}

// Server plays an API. It is an http.Handler, and an http.RoundTripper for tests without a network.
type Server struct {
	URL      string // base URL, as the settings have it; "" without a network
	provider string
	reply    func(Request) Reply

	mu       sync.Mutex
	requests []Request
}

// New starts a server on this machine for a provider: "anthropic" or "openai", or for the APIs of
// agent clients "responses" or "gemini". It sends the replies in order, the last of them again and
// again.
func New(t testing.TB, provider string, replies ...Reply) *Server {
	return NewFunc(t, provider, Play(provider, replies...).reply)
}

// NewFunc is New with a function that returns the reply to each request. One call of it runs at a
// time.
func NewFunc(t testing.TB, provider string, reply func(Request) Reply) *Server {
	s := &Server{provider: provider, reply: reply}
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	if s.URL = server.URL; provider == "openai" {
		s.URL += "/v1"
	}
	return s
}

// Play returns a server without a network, which answers as New does.
func Play(provider string, replies ...Reply) *Server {
	n := 0
	return &Server{provider: provider, reply: func(Request) Reply {
		n++
		return replies[min(n, len(replies))-1]
	}}
}

// Requests returns the requests that were made.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// next records a request and returns its reply.
func (s *Server) next(r *http.Request) Reply {
	body, _ := io.ReadAll(r.Body)
	made := Request{r.Method, r.URL.Path, r.Header.Clone(), string(body)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, made)
	return s.reply(made)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reply := s.next(r)
	for name, values := range s.header(reply) {
		w.Header()[name] = values
	}
	w.WriteHeader(max(reply.Status, http.StatusOK))
	if reply.Status == 0 {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	b := s.body(r.Context(), reply)
	buf := make([]byte, 32<<10)
	for {
		n, err := b.Read(buf)
		if _, failed := w.Write(buf[:n]); failed != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// RoundTrip implements http.RoundTripper.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	reply := s.next(r)
	return &http.Response{StatusCode: max(reply.Status, http.StatusOK), Header: s.header(reply), Body: io.NopCloser(s.body(r.Context(), reply)), Request: r}, nil
}

func (s *Server) header(r Reply) http.Header {
	h := http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}
	if r.Status != 0 {
		h.Set("Content-Type", "application/json")
	}
	for name, values := range r.Header {
		h[name] = values
	}
	return h
}

// body is the body of a reply.
func (s *Server) body(ctx context.Context, r Reply) io.Reader {
	text := r.Body
	if text == "" && r.Status == 0 {
		text = s.stream(r)
	}
	b := &body{ctx: ctx, reply: r, Reader: strings.NewReader(text)}
	if r.Cut > 0 {
		b.Reader = strings.NewReader(text[:r.Cut])
	}
	return b
}

type body struct {
	*strings.Reader
	ctx   context.Context
	reply Reply
	sent  int
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.sent += n
	switch {
	case n > 0 || err == nil:
		return n, nil
	case b.ctx.Err() != nil:
		return 0, context.Cause(b.ctx)
	case b.reply.Endless != "" && (b.reply.Most == 0 || b.sent < b.reply.Most):
		b.Reader = strings.NewReader(strings.Repeat(b.reply.Endless, 1+len(p)/len(b.reply.Endless)))
		return b.Read(p)
	case b.reply.Hang:
		<-b.ctx.Done()
		return 0, context.Cause(b.ctx)
	case b.reply.Cut > 0:
		return 0, io.ErrUnexpectedEOF
	}
	return 0, io.EOF
}

// stream returns an answer as the provider sends it.
func (s *Server) stream(r Reply) string {
	switch s.provider {
	case "openai":
		return chatStream(r)
	case "responses":
		return responsesStream(r)
	case "gemini":
		return geminiStream(r)
	}
	return messagesStream(r)
}

func quote(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// pieces cuts a text as models do: in the middle of words and escapes.
func pieces(text string) (out []string) {
	for len([]rune(text)) > 7 {
		r := []rune(text)
		out, text = append(out, string(r[:7])), string(r[7:])
	}
	return append(out, text)
}

// messagesStream returns an answer as the documentation of the Messages API has it.
func messagesStream(r Reply) string {
	var b strings.Builder
	event := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q"+format+"}\n\n", append([]any{name, name}, args...)...)
	}
	usage := fmt.Sprintf(`"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"input_tokens":%d`, r.Usage.CacheWrite, r.Usage.CacheRead, r.Usage.Input)
	id := "msg_1"
	if len(r.Uses) > 0 {
		id = "msg_" + r.Uses[0].ID // clients join messages of the same id
	}
	event("message_start", `,"message":{"id":%s,"type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{%s,"output_tokens":%d}}`, quote(id), usage, min(1, r.Usage.Output))
	event("ping", "")
	index := 0
	if r.Text != "" {
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
		for _, piece := range pieces(r.Text) {
			event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":%s}`, quote(piece))
		}
		event("content_block_stop", `,"index":0`)
		index++
	}
	for _, u := range r.Uses {
		event("content_block_start", `,"index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}`, index, quote(u.ID), quote(u.Name))
		event("content_block_delta", `,"index":%d,"delta":{"type":"input_json_delta","partial_json":""}`, index)
		for _, piece := range pieces(string(u.Input)) {
			event("content_block_delta", `,"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, index, quote(piece))
		}
		event("content_block_stop", `,"index":%d`, index)
		index++
	}
	stop := r.Stop
	if stop == "" {
		if stop = "end_turn"; len(r.Uses) > 0 {
			stop = "tool_use"
		}
	}
	event("message_delta", `,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}`, stop, r.Usage.Output)
	event("message_stop", "")
	return b.String()
}

// chatStream returns an answer as the documentation of Chat Completions has it.
func chatStream(r Reply) string {
	var b strings.Builder
	chunk := func(choices, usage string) {
		fmt.Fprintf(&b, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[%s],\"usage\":%s}\n\n", choices, usage)
	}
	delta := func(delta, finish string) {
		chunk(fmt.Sprintf(`{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}`, delta, finish), "null")
	}
	delta(`"role":"assistant","content":"","refusal":null`, "null")
	if r.Text != "" {
		key := `"content":`
		if r.Stop == "refusal" {
			key = `"refusal":`
		}
		for _, piece := range pieces(r.Text) {
			delta(key+quote(piece), "null")
		}
	}
	for i, u := range r.Uses {
		delta(fmt.Sprintf(`"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]`, i, quote(u.ID), quote(u.Name)), "null")
	}
	for i, u := range r.Uses {
		for _, piece := range pieces(string(u.Input)) {
			delta(fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`, i, quote(piece)), "null")
		}
	}
	stop := r.Stop
	switch {
	case stop == "refusal", stop == "" && len(r.Uses) == 0:
		stop = "stop"
	case stop == "":
		stop = "tool_calls"
	case stop == "max_tokens":
		stop = "length"
	}
	delta("", quote(stop))
	if r.Usage.Total() > 0 {
		chunk("", fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"audio_tokens":0}}`,
			r.Usage.Input+r.Usage.CacheRead, r.Usage.Output, r.Usage.Total(), r.Usage.CacheRead))
	}
	b.WriteString("data: [DONE]\n\n")
	return b.String()
}
