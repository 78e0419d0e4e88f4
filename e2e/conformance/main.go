// Command conformance is the server that the protocol's conformance suites are
// run against. It is for tests only: it offers the tools the suites ask for,
// served by the very transport, pipeline and scheduler of the shipped server.
//
// What the suites want and a tool of ours cannot express (audio, prompts,
// resources, requests to the client) is absent, not faked.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

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

// run serves until ctx ends.
func run(ctx context.Context, addr string) (err error) {
	dir, err := os.MkdirTemp("", "mcp-toolset-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f, err := build(dir, os.Stderr)
	if err != nil {
		return err
	}
	defer func() {
		if failed := f.close(); err == nil {
			err = failed
		}
	}()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	// Nobody is asked for a token, so nobody else may reach the port.
	if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		_ = l.Close()
		return fmt.Errorf("--addr is %s, which is reached from other machines", addr)
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s/mcp\n", l.Addr())
	return f.server.ServeHTTP(ctx, l, server.HTTP{NoAuth: true})
}
