// Agents: the time from the end of an answer of the model to the next request, which is that of the
// loop with a call of Read.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	agentRuns   = 10
	agentSteps  = 45 // of a run; the limit is 50
	agentTime   = time.Minute
	agentTarget = 3 // ms of a step
)

// agents holds the times of steps in ms.
type agents struct {
	steps  []float64
	absent string // why nothing was measured
}

func measureAgents(ctx context.Context, ours *side, tmp string, s sample) *agents {
	a := &agents{}
	ctx, cancel := context.WithTimeout(ctx, agentTime)
	defer cancel()
	if err := a.measure(ctx, ours, tmp, s); err != nil {
		a.absent = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return a
}

func (a *agents) measure(ctx context.Context, ours *side, tmp string, s sample) error {
	step, answered := 0, time.Time{}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if step > 0 {
			a.steps = append(a.steps, millis(time.Since(answered)))
		}
		w.Header().Set("Content-Type", "text/event-stream")
		step++
		_, _ = io.WriteString(w, agentAnswer(step, s.path))
		_ = http.NewResponseController(w).Flush()
		answered = time.Now()
	}))
	defer model.Close()
	settings, err := json.Marshal(map[string]any{"models": map[string]any{"default": map[string]any{"provider": "anthropic", "url": model.URL, "model": "m"}}})
	file := filepath.Join(tmp, "agent.json")
	if err := errors.Join(err, os.WriteFile(file, settings, 0o600)); err != nil {
		return err
	}
	other := *ours
	other.argv = []string{ours.argv[0], "stdio", "--settings", file, s.dir}
	c, _, err := other.open(ctx)
	if err != nil {
		return fmt.Errorf("starting %s: %w", ours.name, err)
	}
	defer func() { _ = c.stop() }()
	for range agentRuns {
		step = 0
		answer, _, err := c.call("tools/call", json.RawMessage(`{"name":"Agent","arguments":{"description":"bench","prompt":"Read."}}`))
		if err == nil && !bytes.Contains(answer, fmt.Appendf(nil, "completed. %d steps", agentSteps)) {
			err = fmt.Errorf("the agent answered %.300s", answer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// agentAnswer returns the answer of a model to a step: a call of Read, or the report.
func agentAnswer(step int, path string) string {
	var b strings.Builder
	event := func(name string, fields map[string]any) {
		fields["type"] = name
		data, _ := json.Marshal(fields)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data)
	}
	type object = map[string]any
	block, delta, stop := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": "Done."}, "end_turn"
	if step < agentSteps {
		input, _ := json.Marshal(object{"file_path": path, "offset": step, "limit": 100})
		block, delta, stop = object{"type": "tool_use", "id": fmt.Sprint("u", step), "name": "Read", "input": object{}}, object{"type": "input_json_delta", "partial_json": string(input)}, "tool_use"
	}
	event("message_start", object{"message": object{"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "usage": object{"input_tokens": 100, "output_tokens": 1}}})
	event("content_block_start", object{"index": 0, "content_block": block})
	event("content_block_delta", object{"index": 0, "delta": delta})
	event("content_block_stop", object{"index": 0})
	event("message_delta", object{"delta": object{"stop_reason": stop}, "usage": object{"output_tokens": 10}})
	event("message_stop", object{})
	return b.String()
}

// printAgents prints the median. missed reports whether the target was missed.
func printAgents(w io.Writer, a *agents) (missed bool, err error) {
	if a.absent != "" {
		_, err := fmt.Fprintf(w, "\nAGENTS: not measured: %s\n", a.absent)
		return false, err
	}
	middle := median(a.steps)
	_, err = fmt.Fprintf(w, "\nAGENTS: a step with a call of Read takes %.2f ms (%.2f ms at p95) without the model, target <= %d ms; %d steps.\n", middle, percentile(a.steps, 95), agentTarget, len(a.steps))
	return !(middle <= agentTarget), err
}
