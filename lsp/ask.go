package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Ask sends a request after the changes of files, and waits until the server has read the
// project. It returns a note if the answer may be incomplete.
func (c *Client) Ask(ctx context.Context, method string, params, result any) (note string, err error) {
	limit := time.Now().Add(warmTime)
	for try := 1; ; try++ {
		note = c.awaitIdle(ctx, limit)
		c.mu.Lock()
		begun := c.begun
		c.mu.Unlock()
		timeout := fmt.Errorf("it did not answer %s within %v", method, requestTime)
		limited, cancel := context.WithTimeoutCause(ctx, requestTime, timeout)
		var raw json.RawMessage
		err = c.send(limited, method, params, &raw)
		cancel()
		if err != nil {
			return note, err
		}
		// What it found while it was reading the project may be too little.
		c.mu.Lock()
		again := c.begun != begun || len(c.tasks) > 0
		c.mu.Unlock()
		if !again || note != "" || try == maxRepeats {
			return note, json.Unmarshal(raw, result)
		}
	}
}

// awaitIdle waits until the server has no task, such as indexing. It returns a note if that
// takes longer than limit.
func (c *Client) awaitIdle(ctx context.Context, limit time.Time) (note string) {
	timer := time.NewTimer(time.Until(limit))
	defer timer.Stop()
	for {
		c.mu.Lock()
		doing, news, rest := c.doing(), c.news, time.Until(c.busyUntil)
		c.mu.Unlock()
		if doing == "" && rest <= 0 {
			return ""
		}
		var quiet <-chan time.Time
		if doing == "" {
			quiet = time.After(rest)
		}
		select {
		case <-news:
		case <-quiet:
		case <-timer.C:
			return fmt.Sprintf("%s is still busy (%s), so this may be incomplete", c.Server.Name, doing)
		case <-ctx.Done():
			return ""
		}
	}
}

// doing returns what the server does now, or "". c.mu is held.
func (c *Client) doing() string {
	for _, title := range c.tasks {
		return title
	}
	return ""
}
