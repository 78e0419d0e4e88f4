// Many calls at once: ten reads and searches sent together beside the same one
// at a time, and reads of many HTTP clients beside the peer's over stdio.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	batchRounds = 6
	httpClients = 8
	httpReads   = 250 // of each client, in each round
	httpRounds  = 6
	batchTime   = 5 * time.Minute
)

// batchSearches are what is searched for in a batch; as many files are read.
var batchSearches = []string{"errUnlikely", `func \w+Conn\(`, "TODO", "panic(err)", "io.Reader"}

// batches are what batches of calls took.
type batches struct {
	cold, warm []turnsOf // the first of each runs its calls together
	reads      []turnsOf // per second: ours by HTTP, the peer's
	absent     string    // why nothing was measured
}

// measureBatches measures in a tree of source files.
func measureBatches(ctx context.Context, ours, theirs *side, tree string, s sample) *batches {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	b := &batches{}
	err := b.together(ctx, ours, tree)
	if err == nil {
		err = b.manyClients(ctx, ours, theirs, s)
	}
	if err != nil {
		b.absent = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return b
}

// together runs the batch with and without calls beside one another, on servers
// that have just been started and again on the same.
func (b *batches) together(ctx context.Context, ours *side, tree string) error {
	files, err := filepath.Glob(filepath.Join(tree, "src", "net", "http", "*.go"))
	if err != nil || len(files) < len(batchSearches) {
		return errors.Join(err, fmt.Errorf("%s is no Go distribution", tree))
	}
	for _, name := range []string{"ten at once", "--max-concurrency 1"} {
		b.cold = append(b.cold, turnsOf{name: name})
		b.warm = append(b.warm, turnsOf{name: name})
	}
	for range batchRounds {
		for i, most := range []string{"10", "1"} {
			side := *ours
			side.argv = []string{ours.argv[0], "stdio", "--read-dedup=off", "--max-concurrency", most, tree}
			if err := b.round(ctx, &side, files, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *batches) round(ctx context.Context, s *side, files []string, way int) (err error) {
	c, _, err := s.open(ctx)
	if err != nil {
		return fmt.Errorf("starting %s: %w", s.name, err)
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := c.timed(files, &b.cold[way]); err != nil {
		return err
	}
	if err := settle(c); err != nil { // the index is made
		return err
	}
	return c.timed(files, &b.warm[way])
}

func (c *client) timed(files []string, into *turnsOf) error {
	begin := time.Now()
	err := c.batch(files)
	into.ms = append(into.ms, millis(time.Since(begin)))
	return err
}

// batch sends all calls at once and waits for their answers.
func (c *client) batch(files []string) error {
	var all sync.WaitGroup
	errs := make([]error, 2*len(batchSearches))
	send := func(i int, tool string, args map[string]any) {
		all.Go(func() {
			params, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
			if err == nil {
				var line []byte
				if line, _, err = c.call("tools/call", params); err == nil && bytes.Contains(line, []byte(`"isError":true`)) {
					err = fmt.Errorf("%s: %.300s", tool, line)
				}
			}
			errs[i] = err
		})
	}
	for i, pattern := range batchSearches {
		send(2*i, "Read", map[string]any{"file_path": files[i], "limit": 200})
		send(2*i+1, "Grep", grepArgs(pattern, "count", 0))
	}
	all.Wait()
	return errors.Join(errs...)
}

// manyClients reads the sample with many HTTP clients, and as much with the peer.
func (b *batches) manyClients(ctx context.Context, ours, theirs *side, s sample) error {
	server, url, err := serveHTTP(ctx, ours.argv[0], s.dir)
	if err != nil {
		return err
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	b.reads = []turnsOf{{name: fmt.Sprintf("mcp-toolset, %d HTTP clients", httpClients)}}
	var peer *client
	if theirs.absent == "" {
		if peer, _, err = theirs.open(ctx); err != nil {
			return fmt.Errorf("starting %s: %w", theirs.name, err)
		}
		defer func() { _ = peer.stop() }()
		b.reads = append(b.reads, turnsOf{name: fmt.Sprintf("%s, stdio, %d in flight", theirs.name, httpClients)})
	}
	clients := make([]*httpClient, httpClients)
	for i := range clients {
		if clients[i], err = connect(ctx, url); err != nil {
			return err
		}
	}
	for range httpRounds {
		ours, err := perSecond(func(i int) error { return clients[i].read(ctx, ours.read, s.lastLine) })
		if err != nil {
			return err
		}
		b.reads[0].ms = append(b.reads[0].ms, ours)
		if peer == nil {
			continue
		}
		their, err := perSecond(func(int) error {
			line, _, err := peer.call("tools/call", theirs.read)
			if err == nil && !bytes.Contains(line, theirs.marker) {
				err = fmt.Errorf("%s: %.300s", theirs.name, line)
			}
			return err
		})
		if err != nil {
			return err
		}
		b.reads[1].ms = append(b.reads[1].ms, their)
	}
	return nil
}

// perSecond has all clients read, each one thing after another, and counts.
func perSecond(read func(client int) error) (float64, error) {
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	begin := time.Now()
	for i := range httpClients {
		all.Go(func() {
			for range httpReads {
				if err := read(i); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return httpClients * httpReads / time.Since(begin).Seconds(), nil
}

// serveHTTP starts the server for HTTP clients.
func serveHTTP(ctx context.Context, program, dir string) (*exec.Cmd, string, error) {
	cmd := exec.CommandContext(ctx, program, "http", "--addr", "127.0.0.1:0", "--no-auth", "--read-dedup=off", "--log-level", "error", dir)
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, "", fmt.Errorf("starting the HTTP server: %w", err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if !ok {
		_ = cmd.Process.Kill()
		return nil, "", errors.Join(err, fmt.Errorf("the HTTP server says %q", line))
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return cmd, url, nil
}

// httpClient is a session.
type httpClient struct {
	url, session string
	http         http.Client
}

func connect(ctx context.Context, url string) (*httpClient, error) {
	c := &httpClient{url: url}
	r, err := c.post(ctx, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":`+string(initialize)+`}`)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if c.session = r.Header.Get("Mcp-Session-Id"); c.session == "" {
		return nil, fmt.Errorf("no session: %s", r.Status)
	}
	return c, nil
}

func (c *httpClient) post(ctx context.Context, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	return c.http.Do(r)
}

func (c *httpClient) read(ctx context.Context, params json.RawMessage, marker string) error {
	_, err := c.text(ctx, params, marker)
	return err
}

// text makes a call, whose answer must contain the marker, and returns the answer.
func (c *httpClient) text(ctx context.Context, params json.RawMessage, marker string) ([]byte, error) {
	r, err := c.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+string(params)+`}`)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err == nil && !bytes.Contains(body, []byte(marker)) {
		err = fmt.Errorf("the answer %s is %.300s", r.Status, body)
	}
	return body, err
}

// printBatches prints the medians, and how many times longer the calls take one
// at a time.
func printBatches(w io.Writer, b *batches) error {
	if b.absent != "" {
		_, err := fmt.Fprintf(w, "\nMANY CALLS: not measured: %s\n", b.absent)
		return err
	}
	note := fmt.Sprintf("%d batches of %d Reads and %d Greps of each, in turns; a ratio is the median of ten at once / one at a time.", batchRounds, len(batchSearches), len(batchSearches))
	return errors.Join(
		printRows(w, "TEN CALLS, NEW SERVER", b.cold, note),
		printRows(w, "TEN CALLS, LATER", b.warm, note),
		printRates(w, b.reads),
	)
}

func printRates(w io.Writer, rates []turnsOf) error {
	fmt.Fprintf(w, "\n10 KB READS OF %d CLIENTS AT ONCE\n", httpClients)
	for i, r := range rates {
		ratio := ""
		if i > 0 {
			ratio = "  (ours / theirs: " + showRatio("%.2f", rates[0].ms, r.ms) + ")"
		}
		if _, err := fmt.Fprintf(w, "%s: %.0f/s%s\n", r.name, median(r.ms), ratio); err != nil {
			return err
		}
	}
	return nil
}
