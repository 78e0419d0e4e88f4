package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"mcp-toolset/console"
	"mcp-toolset/console/feed"
	"mcp-toolset/internal/consent/socket"
	"mcp-toolset/internal/identity"
	"mcp-toolset/internal/memory"
	"mcp-toolset/internal/text/plain"
)

func consoleCommand(host *Host) *cobra.Command {
	var noOpen bool
	o := httpOptions{addr: "127.0.0.1:0"}
	cmd := &cobra.Command{
		Use:   "console [flags]",
		Short: "Show all running servers in the browser: approvals, calls, changes, rules",
		Long: "Serves a page on this machine for all running servers of this user, and opens it in the default browser, until it is interrupted.\n" +
			"It shows calls and questions that wait for the user and takes the answers. It also shows running and finished calls, changes of files, rules, and audit logs.\n" +
			"The address works once, within 60 seconds. Press Enter for a new one.",
		Example:           "  mcp-toolset console\n  mcp-toolset console --no-open --addr 127.0.0.1:8810",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := approvalsFolder(host)
			if err != nil {
				return err
			}
			if err := socket.CheckSelf(); err != nil {
				return err
			}
			loopback, err := isLoopback(o.addr)
			if err != nil {
				return err
			}
			if !loopback {
				return usagef("--addr is %q; the console is for this machine only: use 127.0.0.1 and a port", o.addr)
			}
			l, err := o.listen(cmd.Context())
			if err != nil {
				return err
			}
			memory.Limit()
			return serveConsole(cmd.Context(), host, l, folder, !noOpen)
		},
	}
	in := flagSection{cmd, ""}
	in.text(&o.addr, "addr", o.addr, "listen on `HOST:PORT`, which must be of this machine; port 0 is a free one")
	in.on(&noOpen, "no-open", "only print the address, and open no browser")
	return cmd
}

// serveConsole serves the console of all servers until ctx ends.
func serveConsole(ctx context.Context, host *Host, l net.Listener, folder string, open bool) error {
	addr := l.Addr().(*net.TCPAddr)
	c := console.New(console.Config{
		Servers: func() (map[string]feed.Source, error) {
			folders, err := socket.Servers(folder)
			all := map[string]feed.Source{}
			for _, at := range folders {
				s := feed.Remote{Folder: at}
				all[s.ID()] = s
			}
			return all, err
		},
		Host:   func(name string) bool { return ownHost(name, addr.Port) },
		Cookie: fmt.Sprint(addr.Port),
		Hint:   "Press Enter in the terminal of mcp-toolset console for a new link.",
	})
	srv := &http.Server{
		Handler: c, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	link := func() {
		url := "http://" + addr.String() + c.Link()
		fmt.Fprintf(host.Out, "%s\n", url)
		if open {
			if err := openBrowser(url); err != nil {
				fmt.Fprintf(host.Err, "mcp-toolset: no browser could be opened (%s); open the address yourself\n", plain.Line(err.Error()))
			}
		}
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	fmt.Fprintln(host.Err, "the console is open until you press Ctrl-C; Enter prints a new address, which works once within 60 seconds")
	link()
	go func() {
		in := bufio.NewScanner(host.In)
		for in.Scan() && ctx.Err() == nil {
			link()
		}
	}()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serving the console: %w", err), c.Close())
	case <-ctx.Done():
	}
	_ = c.Close()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if srv.Shutdown(stop) != nil {
		_ = srv.Close()
	}
	return nil
}

// ownHost reports whether a Host header names this machine and a port. Anything else may be the name
// of a foreign page that resolves to this machine.
func ownHost(name string, port int) bool {
	h, p, err := net.SplitHostPort(name)
	if err != nil || p != fmt.Sprint(port) {
		return false
	}
	ip, err := netip.ParseAddr(h)
	return h == "localhost" || err == nil && ip.IsLoopback()
}

// newConsole returns the console of an HTTP server, for these servers only.
// It logs in with a token of whose; "" for none.
func newConsole(token, whose string, addr net.Addr, servers console.Servers) *console.Console {
	_, port, _ := net.SplitHostPort(addr.String())
	c := console.Config{
		Servers: servers,
		Cookie:  port,
		Whose:   whose,
		Hint:    "Start the server again for a new link, or run mcp-toolset console on its machine.",
	}
	if token != "" {
		one := identity.NewOne(token)
		c.Token = func(given string) bool {
			_, ok := one.Find(given)
			return ok
		}
	}
	return console.New(c)
}
