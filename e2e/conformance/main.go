// Command conformance is a server for the protocol's conformance suites. It is for tests
// only: it offers the tools that the suites call, served by the transport, pipeline and
// scheduler of the shipped server.
//
// Features of the suites that our tools cannot express (audio, prompts, resources,
// requests to the client) are absent, not simulated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/server"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "loopback `ADDRESS` to listen on; port 0 takes a free one")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "conformance: it takes no arguments")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *addr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// drain is the timeout for running tools at shutdown, longer than any of them runs.
const drain = time.Second

// run serves until ctx ends.
func run(ctx context.Context, addr string) (err error) {
	dir, err := os.MkdirTemp("", "mcp-toolset-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	a, err := assembly.New(assembly.Config{
		Version: "conformance", Tools: fixtureTools(), Roots: []string{dir}, State: filepath.Join(dir, "state"), Drain: drain,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	// There is no token, so other machines must not reach the port.
	if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		_ = l.Close()
		return fmt.Errorf("--addr is %s, which is reached from other machines", addr)
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s/mcp\n", l.Addr())
	return a.Server.ServeHTTP(ctx, l, server.HTTP{NoAuth: true})
}
