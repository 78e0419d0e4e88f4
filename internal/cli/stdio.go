package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"mcp-toolset/internal/exec/worktree"
	"mcp-toolset/server"
)

// serveStdio serves the client on standard input and output. The server is built first, so
// that a mistake is reported at once. Then the first message of the client tells whether it
// has workspace folders of its own.
func (c *common) serveStdio(ctx context.Context, host *Host, args []string, drain time.Duration) error {
	c.carry = new(worktree.Carry)
	roots, err := c.workspaceDirs(host, args)
	wide, tooWide := errors.AsType[*wideError](err)
	if err != nil && !tooWide {
		return err
	}
	roots = slices.Clone(roots)
	a, err := c.buildFor(host, roots, drain)
	if err != nil {
		return err
	}
	if f, ok := host.In.(*os.File); ok && isTerminal(f) {
		a.log.Info("waiting for MCP messages on standard input; this command is meant to be started by an MCP client")
	}
	begin, err := firstLine(ctx, host.In)
	if err != nil {
		return errors.Join(err, a.close())
	}
	in := &server.Input{Begin: begin, Rest: host.In}
	line, _, _ := bytes.Cut(begin, []byte("\n"))
	asks := hasRoots(line)
	if !asks && !tooWide {
		return a.serveStdio(ctx, host, in, host.Out)
	}
	var remedy error
	if tooWide {
		remedy = usageError{noWorkspace(wide)}
	}
	served := a.Server.Roots.Paths()
	var bounds []string
	if c.rootsFrom == fromCommandLine {
		bounds = served
	}
	r := &relay{
		asks: asks, log: a.log, limit: rootsTime, roots: served, remedy: remedy, out: lockedWriter{w: host.Out},
		choose: chooser(bounds, served, host.Home, remedy),
		serve: func(ctx context.Context, roots []string, in io.Reader, out io.Writer) error {
			b := a
			if a = nil; b == nil {
				c.rootsFrom = "client"
				if b, err = c.buildFor(host, slices.Clone(roots), drain); err != nil {
					return err
				}
			}
			return b.serveStdio(ctx, host, in, out)
		},
	}
	return r.run(ctx, bufio.NewReaderSize(in, 64<<10))
}

// serveStdio serves one client and closes the server.
func (a *app) serveStdio(ctx context.Context, host *Host, in io.Reader, out io.Writer) error {
	defer a.close()
	defer a.showOnSignal(host.Err)()
	a.started(ctx, "stdio")
	a.Appear()
	return a.Server.ServeStdio(ctx, in, out)
}

// firstLine reads until the input has a whole line, and returns everything read. It returns
// less at the end of the input, and when ctx ends.
func firstLine(ctx context.Context, in io.Reader) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var data []byte
		buf := make([]byte, 4<<10)
		for len(data) <= maxClientLine {
			n, err := in.Read(buf)
			data = append(data, buf[:n]...)
			if err != nil || bytes.IndexByte(buf[:n], '\n') >= 0 {
				if err == io.EOF {
					err = nil
				}
				done <- result{data, err}
				return
			}
		}
		done <- result{data, nil} // the server refuses it
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, nil
	}
}
