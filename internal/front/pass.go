package front

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/event/trigger"
	"mcp-toolset/internal/identity"
)

// writeTime is the time in which a client must receive one part of an answer.
const writeTime = 30 * time.Second

// kept lists the headers of a request that a workspace gets, besides those of MCP. Tokens are in none.
var kept = []string{"Accept", "Content-Type", "Last-Event-Id", "User-Agent", trigger.Header, "Content-Encoding"}

func header(r *http.Request, by identity.Principal) http.Header {
	h := http.Header{}
	for name, values := range r.Header {
		if slices.Contains(kept, name) || strings.HasPrefix(name, "Mcp-") {
			h[name] = values
		}
	}
	by.Pass(h)
	return h
}

// errNotSent means that a process takes no connections any more.
var errNotSent = errors.New("connecting to a workspace")

// pass passes a request on to a process, and its answer back while it arrives. It returns false, and
// does not answer, if the process takes no connections any more.
func (f *Front) pass(w http.ResponseWriter, r *http.Request, p process, by identity.Principal, path string, body []byte) (sent bool) {
	out := (&http.Request{
		Method: r.Method, URL: &url.URL{Scheme: "http", Host: "workspace", Path: path}, Header: header(r, by),
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(r.Context())
	in, err := p.roundTrip(out)
	if errors.Is(err, errNotSent) {
		return false
	}
	if err != nil {
		if r.Context().Err() == nil {
			f.Log.Warn("a workspace did not answer", "error", err.Error())
			f.refuse(w, body, &refusal{reason: "ended", status: http.StatusServiceUnavailable, code: codeOverload, wait: time.Second,
				text: "the workspace ended before this was done; look at what is done before sending it again"})
		}
		return true
	}
	defer in.Body.Close()
	for name, values := range in.Header {
		if name != "Connection" && name != "Date" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(in.StatusCode)
	if err := relay(w, in); err != nil && r.Context().Err() == nil {
		f.Log.Debug("an answer of a workspace was not passed on as a whole", "error", err.Error())
		panic(http.ErrAbortHandler) // the client must not take it for complete
	}
	return true
}

// relay copies the body of an answer. What is not known to end soon is sent on as it arrives.
func relay(w http.ResponseWriter, in *http.Response) error {
	rc := http.NewResponseController(w)
	bounded := func(write func() error) error {
		_ = rc.SetWriteDeadline(time.Now().Add(writeTime))
		defer func() { _ = rc.SetWriteDeadline(time.Time{}) }() // over HTTP/2 it would end the stream
		return write()
	}
	streams := in.ContentLength < 0
	if streams {
		if err := bounded(rc.Flush); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
	}
	part := make([]byte, 32<<10)
	for {
		n, err := in.Body.Read(part)
		if n > 0 {
			if err := bounded(func() error {
				_, err := w.Write(part[:n])
				if err == nil && streams {
					err = rc.Flush()
				}
				return err
			}); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ask sends a request of the front itself to a process.
func ask(ctx context.Context, p process, path string, body any) (string, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://workspace"+path, bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	in, err := p.roundTrip(r)
	if err != nil {
		return "", err
	}
	defer in.Body.Close()
	text, err := io.ReadAll(io.LimitReader(in.Body, 1<<10))
	if err == nil && in.StatusCode != http.StatusOK {
		err = errors.New(in.Status)
	}
	return string(text), err
}

// catch holds the text of an answer with status 401, which the guard gives.
type catch struct {
	http.ResponseWriter
	caught bool
	text   strings.Builder
}

func (c *catch) WriteHeader(status int) {
	if c.caught = status == http.StatusUnauthorized; c.caught {
		clear(c.Header())
		return
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *catch) Write(p []byte) (int, error) {
	if c.caught {
		return c.text.Write(bytes.TrimSpace(p))
	}
	return c.ResponseWriter.Write(p)
}

// Unwrap gives the controller of the response what it needs.
func (c *catch) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func cutTwo(path string) (first, second string, ok bool) {
	first, second, ok = strings.Cut(path, "/")
	return first, second, ok && second != "" && !strings.Contains(second, "/")
}

func contains(list []string, one string) bool { return slices.Contains(list, one) }

// stored returns the property key of the records in a file of durable records in a state folder,
// which is a workspace's and not trusted. It returns nothing if the file cannot be used.
func stored(stateDir, file, list, key string) (out []string) {
	const most = 4 << 20
	f, err := openPlain(filepath.Join(stateDir, file))
	if err != nil {
		return nil
	}
	defer f.Close()
	var content map[string]json.RawMessage
	var records []map[string]any
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil || json.Unmarshal(data, &content) != nil || json.Unmarshal(content[list], &records) != nil {
		return nil
	}
	for _, r := range records {
		if s, ok := r[key].(string); ok {
			out = append(out, s)
		}
	}
	return out
}
