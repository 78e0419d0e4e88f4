package classifier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"mcp-toolset/internal/exec/launch"
	"mcp-toolset/internal/text/plain"
)

const (
	// afterEnd is the timeout for descendants of a command to close its output
	// after it has ended or was killed.
	afterEnd = time.Second
	// mostWords is the size of the stored beginning of a command's standard
	// error, in bytes: enough for an error, but not for a log.
	mostWords = 1 << 10
)

// run passes the question to a command and returns its standard output. It
// returns an error if the command fails. It kills the command's process group
// at the timeout, if the output is too long, or if a descendant holds the
// output open.
func run(ctx context.Context, stage Stage, question []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, stage.Command[0], stage.Command[1:]...)
	cmd.Dir = stage.Dir
	cmd.Stdin = bytes.NewReader(question)
	out := &limited{most: mostAnswer, over: func() { cancel(errLong) }}
	words := &limited{most: mostWords}
	cmd.Stdout, cmd.Stderr = out, words
	cmd.WaitDelay = afterEnd
	launch.Apart(cmd)
	if err := launch.Start(ctx, cmd, nil); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("running %s: %w", stage.Command[0], err)
	}
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, exec.ErrWaitDelay):
		_ = cmd.Cancel()
		return nil, errors.New("it ended, but left something running that holds its output open")
	case err != nil && len(words.text) > 0:
		return nil, fmt.Errorf("running %s: %w: %s", stage.Command[0], err, plain.Line(string(bytes.TrimSpace(words.text))))
	case err != nil:
		return nil, fmt.Errorf("running %s: %w", stage.Command[0], err)
	}
	return out.text, nil
}

// limited stores the beginning of what is written to it.
type limited struct {
	text []byte
	most int
	over func() // called when there is more; may be nil
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.most - len(l.text)
	l.text = append(l.text, p[:min(room, len(p))]...)
	if len(p) > room && l.over != nil {
		l.over()
	}
	return len(p), nil
}
