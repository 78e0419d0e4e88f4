package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/anthropics/anthropic-sdk-go"

	"mcp-toolset/internal/exec/launch"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
)

// afterEnd is the timeout for descendants of a command to close its output after its end.
const afterEnd = time.Second

// command is the engine of a program. It gets the body of a request of the Messages API on its
// standard input, without "stream", and writes the body of the response, one JSON object.
type command struct {
	models.Endpoint
	Options
}

// Close does nothing: a command ends with its attempt.
func (c *command) Close() error { return nil }

// Attempt implements models.Engine. It kills the process group of the command when ctx ends or the
// answer is too large.
func (c *command) Attempt(ctx context.Context, r models.Request) (*models.Response, error) {
	request, err := json.Marshal(params(c.Endpoint, r))
	if err != nil {
		return nil, malformed(c.Endpoint)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, c.Command[0], c.Command[1:]...)
	out := &capped{over: func() { cancel(tooLarge(c.Endpoint, "4 MB")) }}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.WaitDelay = c.Dir, c.Environ, bytes.NewReader(request), out, afterEnd
	launch.Apart(cmd)
	name := plain.Line(filepath.Base(c.Command[0]))
	err = launch.Start(ctx, cmd, nil)
	if err == nil {
		if err = cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
			_ = cmd.Cancel() // it left something that holds the output open
			err = nil
		}
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &exit):
		return nil, failure(c.Endpoint, models.Failed, "failed: the command "+name+" ended with "+exit.Error(), checkSettings)
	case err != nil:
		return nil, failure(c.Endpoint, models.Failed, "failed: the command "+name+" cannot be run", checkSettings)
	}
	var message anthropic.Message
	if json.Unmarshal(out.text, &message) != nil || message.Role != "assistant" {
		return nil, malformed(c.Endpoint)
	}
	a := new(answer)
	a.stop = stopOf(string(message.StopReason))
	for _, b := range message.Content {
		switch b.Type {
		case "text":
			a.add(a.begin(false), b.Text)
		case "tool_use":
			p := a.begin(true)
			p.call(b.ID, b.Name)
			a.add(p, string(b.Input))
		}
	}
	u := message.Usage
	a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
	if err := a.tooLarge(c.Endpoint); err != nil {
		return nil, err
	}
	if a.stop == "" {
		return a.partial(), dropped(c.Endpoint)
	}
	return a.response(), nil
}

// capped is a writer that stores the first maxAnswer bytes.
type capped struct {
	text []byte
	over func() // called when there is more
}

func (c *capped) Write(p []byte) (int, error) {
	room := maxAnswer - len(c.text)
	c.text = append(c.text, p[:min(room, len(p))]...)
	if len(p) > room {
		c.over()
	}
	return len(p), nil
}
