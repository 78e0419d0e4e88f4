package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/plain"
	"mcp-toolset/policy"
	"mcp-toolset/server"
)

func stdioCommand(host *Host) *cobra.Command {
	var c common
	var drain time.Duration
	cmd := &cobra.Command{
		Use:   "stdio [flags] [DIR ...]",
		Short: "Serve one client on standard input and output",
		Long: "Serves one client on standard input and output, which carry the protocol only; the log goes to standard error.\n" +
			"DIR ... are the workspace roots; the first is the working directory of the session.",
		ValidArgsFunction: completeDirs,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := c.build(host, args, drain)
			if err != nil {
				return err
			}
			defer a.close()
			if f, ok := host.In.(*os.File); ok && isTerminal(f) {
				a.log.Info("waiting for MCP messages on standard input; this command is meant to be started by an MCP client")
			}
			defer a.showOnSignal(host.Err)()
			a.started(cmd.Context(), "stdio")
			return a.Server.ServeStdio(cmd.Context(), host.In, host.Out)
		},
	}
	c.add(cmd, host)
	addServe(cmd, &c, &drain)
	cmd.Flags().BoolVar(&c.ordered, "ordered-results", false, "write answers in the order of the calls, rather than each as soon as it is there")
	return cmd
}

// addServe adds the flags of the commands that serve clients.
func addServe(cmd *cobra.Command, c *common, drain *time.Duration) {
	c.approvals = true
	c.audit.add(cmd)
	cmd.Flags().StringVar(&c.trace, "trace", "", "write what became of each call to `FILE`, for Perfetto or chrome://tracing")
	cmd.Flags().DurationVar(drain, "drain", 10*time.Second, "how long calls in flight may go on once the input ends or the HTTP server is told to stop")
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && (nullErr != nil || !os.SameFile(info, null))
}

// started logs what is served. The digest tells whether a prompt cache made
// for another start still fits.
func (a *app) started(ctx context.Context, transport string) {
	if !a.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	digest, err := a.digest(ctx)
	if err != nil {
		digest = err.Error()
	}
	a.log.Info("serving", "transport", transport, "version", version(), "roots", a.Server.Roots.Paths(),
		"deferral", string(a.deferral()), "tools", len(a.Registry.Listed(a.deferral(), nil)), "digest", digest)
}

func httpCommand(host *Host) *cobra.Command {
	var c common
	var drain time.Duration
	var o httpOptions
	cmd := &cobra.Command{
		Use:   "http [flags] [DIR ...]",
		Short: "Serve many clients over streamable HTTP at /mcp",
		Long: "Serves clients over streamable HTTP at /mcp, with /healthz and, behind the token, /metrics (Prometheus) beside it.\n" +
			"DIR ... are the workspace roots; the first is the working directory of a session.\n\n" +
			"Clients need a bearer token: from --token-file, else MCP_TOOLSET_TOKEN, else one made once for this user, which is shown when it is made.\n" +
			"An address that other machines reach needs a token of at least 32 characters, and TLS or --insecure.",
		ValidArgsFunction: completeDirs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			// What the server is trusted with, no tool may read or replace.
			c.closed, c.remote = []string{o.tokenFile, o.key}, true
			a, err := c.build(host, args, drain)
			if err != nil {
				return err
			}
			defer a.close()
			defer a.showOnSignal(host.Err)()
			return o.serve(cmd.Context(), host, a)
		},
	}
	c.add(cmd, host)
	addServe(cmd, &c, &drain)
	f := cmd.Flags()
	f.StringVar(&o.addr, "addr", "127.0.0.1:8808", "`ADDRESS` to listen on; port 0 takes a free one")
	f.StringVar(&o.tokenFile, "token-file", "", "`FILE` with the bearer token clients must send")
	f.BoolVar(&o.NoAuth, "no-auth", false, "serve without a token; on a loopback address only")
	f.StringArrayVar(&o.AllowOrigins, "allow-origin", nil, "web `ORIGIN` that may call, such as https://app.example.com; may be given several times")
	f.StringArrayVar(&o.AllowHosts, "allow-host", nil, "host `NAME` the server is reached by, such as mcp.example.com; may be given several times")
	f.StringVar(&o.cert, "tls-cert", "", "serve HTTPS with the certificate in `FILE` (PEM)")
	f.StringVar(&o.key, "tls-key", "", "the certificate's key in `FILE` (PEM)")
	f.BoolVar(&o.insecure, "insecure", false, "serve plain HTTP on an address that other machines reach: only behind a proxy that does TLS, or on a network where nobody else can listen")
	return cmd
}

type httpOptions struct {
	server.HTTP
	addr, tokenFile, cert, key string
	insecure                   bool // plain HTTP beyond loopback
}

// check refuses flags that could never have an effect.
func (o *httpOptions) check() error {
	for _, origin := range o.AllowOrigins {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			return usagef("--allow-origin is %q; use SCHEME://HOST[:PORT] and nothing behind it, as browsers send it", origin)
		}
	}
	for _, name := range o.AllowHosts {
		if name == "" || strings.ContainsAny(name, ":/ ") {
			return usagef("--allow-host is %q; use the name alone, without a port", name)
		}
	}
	if (o.cert == "") != (o.key == "") {
		return usagef("--tls-cert and --tls-key belong together")
	}
	if o.insecure && o.cert != "" {
		return usagef("--insecure serves plain HTTP and --tls-cert HTTPS; leave one of them out")
	}
	return nil
}

func (o *httpOptions) serve(ctx context.Context, host *Host, a *app) error {
	loopback, err := isLoopback(o.addr)
	if err != nil {
		return err
	}
	if !loopback && a.mode == policy.ModeBypass {
		return usagef("the mode bypassPermissions is for loopback addresses only; --addr is %q", o.addr)
	}
	token, err := o.token(host, a, loopback)
	if err != nil {
		return err
	}
	o.Token, o.Metrics = token.value, a.figures.Handler()
	scheme := "http"
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return fmt.Errorf("loading the certificate: %w", err)
		}
		o.TLS, scheme = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, "https"
	} else if !loopback && !o.insecure {
		return usagef("over plain HTTP the token can be read on the way to %s; use --tls-cert and --tls-key, or --insecure behind a proxy that does TLS", o.addr)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	// Calls may take the drain time to end; a second signal does not wait.
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	endpoint := fmt.Sprintf("%s://%s/mcp", scheme, l.Addr())
	fmt.Fprintf(host.Err, "listening on %s\n", endpoint)
	if token.file != "" {
		fmt.Fprintf(host.Err, "the token is in %s\n", plain.Line(token.file))
	}
	if token.made {
		printClientConfig(host.Err, endpoint, token)
	}
	a.started(ctx, "http")
	return a.Server.ServeHTTP(ctx, l, o.HTTP)
}

// printClientConfig shows the user how to connect with a token that was just made.
// Later starts do not show it: standard error often ends in a log.
func printClientConfig(w io.Writer, endpoint string, t token) {
	config, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"toolset": map[string]any{
		"type": "http", "url": endpoint, "headers": map[string]string{"Authorization": "Bearer " + t.value},
	}}}, "", "  ")
	if err != nil {
		panic(err) // strings only
	}
	fmt.Fprintf(w, "for a client's configuration, shown only this once:\n%s\n", config)
}

// isLoopback reports whether an address can be reached from this machine only.
func isLoopback(addr string) (bool, error) {
	h, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false, usagef("--addr is %q; use HOST:PORT, such as 127.0.0.1:8808", addr)
	}
	if ip, err := netip.ParseAddr(h); err == nil {
		return ip.IsLoopback(), nil
	}
	if h == "" {
		return false, nil // every address
	}
	ips, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip", h)
	if err != nil {
		return false, fmt.Errorf("looking up the address to listen on: %w", err)
	}
	return !slices.ContainsFunc(ips, func(ip netip.Addr) bool { return !ip.IsLoopback() }), nil
}
