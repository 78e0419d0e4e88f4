//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// client is one MCP client over HTTP. A modern one has no session.
type client struct {
	server  *server
	modern  bool
	session string
	last    int // id of the last request
}

// answer is the result of a call of a tool.
type answer struct {
	text   string
	failed bool
}

// call calls a tool. The error is that of the connection or of the protocol,
// or reports an answer to another request.
func (c *client) call(ctx context.Context, tool string, arguments map[string]any) (answer, error) {
	params := map[string]any{"name": tool, "arguments": arguments}
	if c.modern {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	} else if c.session == "" {
		if err := c.initialize(ctx); err != nil {
			return answer{}, err
		}
	}
	body, err := c.post(ctx, "tools/call", tool, params)
	if err != nil {
		return answer{}, err
	}
	var m struct {
		ID     int
		Error  *struct{ Message string }
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return answer{}, fmt.Errorf("answer %.300q: %w", body, err)
	}
	if m.ID != c.last {
		return answer{}, fmt.Errorf("request %d got the answer to %d", c.last, m.ID)
	}
	if m.Error != nil {
		return answer{}, fmt.Errorf("protocol error: %s", m.Error.Message)
	}
	var text strings.Builder
	for _, block := range m.Result.Content {
		text.WriteString(block.Text)
	}
	return answer{text.String(), m.Result.IsError}, nil
}

func (c *client) initialize(ctx context.Context) error {
	_, err := c.post(ctx, "initialize", "", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "soak", "version": "1"},
	})
	if err == nil && c.session == "" {
		err = fmt.Errorf("initialize gave no session")
	}
	return err
}

// end ends the session.
func (c *client) end(ctx context.Context) error {
	r, err := c.request(ctx, http.MethodDelete, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	c.session = ""
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("DELETE: %s", resp.Status)
	}
	return nil
}

func (c *client) request(ctx context.Context, method string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.server.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	return r, nil
}

// post sends a request and returns the message that answers it.
func (c *client) post(ctx context.Context, method, name string, params map[string]any) ([]byte, error) {
	c.last++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	r, err := c.request(ctx, http.MethodPost, body)
	if err != nil {
		return nil, err
	}
	if c.modern {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		r.Header.Set("Mcp-Name", name)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %.300s", resp.Status, text)
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return text, nil
	}
	return lastEvent(text)
}

// lastEvent returns the data of a stream's last event, which is the answer.
func lastEvent(stream []byte) ([]byte, error) {
	_, data, ok := bytes.Cut(stream[max(0, bytes.LastIndex(stream, []byte("data:"))):], []byte("data:"))
	if !ok {
		return nil, fmt.Errorf("the stream ended without an answer: %.300q", stream)
	}
	return bytes.TrimSpace(data), nil
}
