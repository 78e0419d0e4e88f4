// Command upstream is an upstream MCP server for tests. It has plain tools in any number,
// special tools that behave well and badly, and two resources. It serves stdio or, with
// -http, streamable HTTP, in both protocol eras or only the older one.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// options holds the flags. Tests block the server and observe it through files, so that
// no test depends on how long anything takes.
type options struct {
	tools        int
	special      bool
	http         string
	legacy       bool
	startDelay   time.Duration
	gate         string
	mark         string
	stderrNoise  bool
	crashAtStart bool
	log          string
	cancelled    string
	changed      string
}

func main() {
	var o options
	flag.IntVar(&o.tools, "tools", 0, "how many plain tools there are: tool_01, tool_02, ...")
	flag.BoolVar(&o.special, "special", true, "whether there are the special tools and the resources")
	flag.StringVar(&o.http, "http", "", "loopback `ADDRESS` to listen on; without it, stdio is served")
	flag.BoolVar(&o.legacy, "legacy", false, "offer nothing newer than protocol 2025-11-25")
	flag.DurationVar(&o.startDelay, "start-delay", 0, "wait so long before the first message is read")
	flag.StringVar(&o.gate, "gate", "", "wait until there is this `FILE` before the first message is read")
	flag.StringVar(&o.mark, "mark", "", "add the process id to this `FILE` before anything else")
	flag.BoolVar(&o.stderrNoise, "stderr-noise", false, "write to stderr at start and with each call")
	flag.BoolVar(&o.crashAtStart, "crash-at-start", false, "say something on stderr and exit with 4")
	flag.StringVar(&o.log, "log", "", "add each message that came to this `FILE`, a line each")
	flag.StringVar(&o.cancelled, "cancelled", "", "add a line to this `FILE` when a call of hang was cancelled")
	flag.StringVar(&o.changed, "changed", "", "if there is this `FILE`, define echo in other words, and a tool more")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "upstream: it takes no arguments")
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

// run serves until its input ends or a signal arrives.
func run(o options) error {
	if o.mark != "" {
		if err := addLine(o.mark, fmt.Sprint(os.Getpid())); err != nil {
			return err
		}
	}
	if o.stderrNoise {
		fmt.Fprintln(os.Stderr, "noise: it starts \x1b[31min red\x1b[0m")
	}
	if o.crashAtStart {
		fmt.Fprintln(os.Stderr, "the database is gone")
		os.Exit(4)
	}
	time.Sleep(o.startDelay)
	for o.gate != "" && !exists(o.gate) {
		time.Sleep(pace)
	}
	s := server.NewMCPServer("upstream", "1.0.0",
		server.WithToolCapabilities(true), server.WithResourceCapabilities(false, false), server.WithElicitation())
	addPlain(s, o.tools)
	if o.special {
		addSpecial(s, o)
		addResources(s)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.http != "" {
		return serveHTTP(ctx, s, o)
	}
	return serveStdio(ctx, s, o)
}

func serveStdio(ctx context.Context, s *server.MCPServer, o options) error {
	stdio := server.NewStdioServer(s)
	server.WithWorkerPoolSize(50)(stdio)
	if o.legacy {
		stdio.SetContextFunc(func(ctx context.Context) context.Context {
			return server.WithSupportedProtocolVersions(ctx, mcp.LegacyProtocolVersions())
		})
	}
	return stdio.Listen(ctx, logged(os.Stdin, o.log), os.Stdout)
}

func serveHTTP(ctx context.Context, s *server.MCPServer, o options) error {
	opts := []server.StreamableHTTPOption{server.WithStateful(true)}
	if o.legacy {
		opts = append(opts, server.WithStreamableHTTPProtocolVersions(mcp.LegacyProtocolVersions()...))
	}
	handler := http.NewServeMux()
	handler.Handle("/mcp", loggedHTTP(server.NewStreamableHTTPServer(s, opts...), o.log))
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.http)
	if err != nil {
		return err
	}
	if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		_ = l.Close()
		return fmt.Errorf("-http is %s, which is reached from other machines", o.http)
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s/mcp\n", l.Addr())
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = web.Close() })
	defer stopped()
	if err := web.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
