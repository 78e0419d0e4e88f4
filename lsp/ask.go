package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Ask sends a request after the changes of files, and waits until the server has read the
// project. It returns a note if the answer may be incomplete.
func (c *Client) Ask(ctx context.Context, method string, params, result any) (note string, err error) {
	for try := 1; ; try++ {
		note = c.awaitIdle(ctx)
		c.mu.Lock()
		begun := c.begun
		c.mu.Unlock()
		var raw json.RawMessage
		if err = c.send(ctx, method, params, &raw); err != nil {
			if try == 1 && c.mayRecover(ctx, err) {
				continue
			}
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

// mayRecover waits, if the server answered with an error just after a change, until it has had
// time to read the project again: gopls does that a second after the repair of a go.mod.
func (c *Client) mayRecover(ctx context.Context, err error) bool {
	var answer *serverError
	if !errors.As(err, &answer) || c.lock(ctx) != nil {
		return false
	}
	rest := c.othersTime() - time.Since(c.changedAt)
	c.unlock()
	if rest <= 0 {
		return false
	}
	_, err = c.wait(ctx, nil, rest)
	return err == nil
}

// Doing returns the title of the task that the server began last and has not ended, such as
// indexing, or "".
func (c *Client) Doing() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var last task
	for _, t := range c.tasks {
		if !t.begun.Before(last.begun) {
			last = t
		}
	}
	return last.title
}

// awaitIdle waits until the server has no task that began less than warmTime ago, such as
// indexing: some servers never end one. It returns a note if a task is left, or if the server
// reports that it cannot read the project.
func (c *Client) awaitIdle(ctx context.Context) (note string) {
	for {
		c.mu.Lock()
		news, rest, doing := c.news, time.Until(c.busyUntil), ""
		for _, t := range c.tasks {
			if left := time.Until(t.begun.Add(warmTime)); left > rest {
				rest = left
			}
			doing = t.title
		}
		broken := ""
		for _, text := range c.broken {
			broken = text
		}
		c.mu.Unlock()
		switch {
		case rest > 0:
		case doing != "":
			return fmt.Sprintf("%s is still busy (%s), so this may be incomplete", c.Server.Name, doing)
		case broken != "":
			return fmt.Sprintf("%s reports: %s", c.Server.Name, broken)
		default:
			return ""
		}
		if _, err := c.wait(ctx, news, rest); err != nil {
			return ""
		}
	}
}
