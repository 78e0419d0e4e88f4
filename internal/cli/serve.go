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

	"mcp-toolset/console"
	"mcp-toolset/console/feed"
	"mcp-toolset/internal/memory"
	"mcp-toolset/internal/text/plain"
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
			"DIR ... are the workspace roots; the first is the working directory of the session. The folders that are open in the client replace them, if it names some (MCP roots), as far as they are within DIR ....",
		Example:           "  mcp-toolset stdio ~/src/app\n  mcp-toolset stdio --mode plan --log-file ~/toolset.log ~/src/app ~/src/lib",
		ValidArgsFunction: completeDirs,
		RunE: func(cmd *cobra.Command, args []string) error {
			host.detach()
			c.runs = true
			memory.Limit()
			return c.serveStdio(cmd.Context(), host, args, drain)
		},
	}
	c.add(cmd, host)
	addServe(cmd, &c, &drain)
	flagSection{cmd, inOutput}.on(&c.channel, "channel", "send events as messages of a channel, which begin a turn of the model; Claude Code must be started with --dangerously-load-development-channels")
	flagSection{cmd, inOutput}.on(&c.ordered, "ordered-results", "write answers in the order of the calls, not each as soon as it is ready")
	return cmd
}

// addServe adds the flags of the commands that serve clients.
func addServe(cmd *cobra.Command, c *common, drain *time.Duration) {
	c.approvals = true
	c.audit.add(cmd)
	flagSection{cmd, inDebug}.text(&c.trace, "trace", "", "write the stages of each call to `FILE`, for Perfetto or chrome://tracing")
	flagSection{cmd, inCalls}.text(&c.sessionName, "session-name", "", "`NAME` by which other sessions reach this one with SendMessage; over HTTP that of the first session, later ones get a number (default: the client's name and a number)")
	flagSection{cmd, inCalls}.duration(drain, "drain", 10*time.Second, "the `TIME` that running calls have to finish after the input ends or the server is stopped")
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && (nullErr != nil || !os.SameFile(info, null))
}

// started logs what is served. The digest shows whether a prompt cache of an earlier start is still
// valid.
func (a *app) started(ctx context.Context, transport string) {
	if !a.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	digest, err := a.digest(ctx)
	if err != nil {
		digest = err.Error()
	}
	a.log.Info("serving", "transport", transport, "version", version(), "roots", a.Server.Roots.Paths(),
		"deferral", string(a.deferral()), "tools", len(a.Registry.ListedFor(a.Server.Profile, a.deferral(), nil)), "digest", digest)
}

func httpCommand(host *Host) *cobra.Command {
	var c common
	var drain time.Duration
	var o httpOptions
	cmd := &cobra.Command{
		Use:   "http [flags] [DIR ...]",
		Short: "Serve many clients over streamable HTTP at /mcp",
		Long: "Serves clients over streamable HTTP at /mcp, with /healthz, webhooks of sessions at /events/NAME and, for requests with the token, /metrics (Prometheus) beside it.\n" +
			"DIR ... are the workspace roots; the first is the working directory of a session.\n\n" +
			"Clients need a bearer token: from --token-file, else MCP_TOOLSET_TOKEN, else one made once for this user. Each start prints how a client connects.\n" +
			"An address that other machines reach needs a token of at least 32 characters, and TLS or --insecure.",
		Example: "  mcp-toolset http ~/src/app\n  mcp-toolset http --addr 127.0.0.1:0 ~/src/app\n" +
			"  mcp-toolset http --addr 0.0.0.0:8808 --token-file token --tls-cert cert.pem --tls-key key.pem DIR",
		ValidArgsFunction: completeDirs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			host.detach()
			if o.principals != "" {
				c.closed = []string{o.tokenFile, o.tokens, o.operatorFile, o.key}
				return o.serveWorkspaces(cmd, host, &c, args, drain)
			}
			// No tool may read or replace the server's own credentials.
			c.closed, c.remote, c.runs = []string{o.tokenFile, o.tokens, o.operatorFile, o.key}, true, true
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
	o.add(flagSection{cmd, inHTTP})
	return cmd
}

type httpOptions struct {
	server.HTTP
	identities
	addr, tokenFile, tokens, operatorFile, cert, key string
	insecure                                         bool // plain HTTP beyond loopback
	principals                                       string
	idle                                             time.Duration // see front.Config
}

func (o *httpOptions) add(in flagSection) {
	in.text(&o.addr, "addr", "127.0.0.1:8808", "listen on `ADDRESS`; port 0 takes a free one")
	in.text(&o.tokenFile, "token-file", "", "`FILE` with the bearer token that clients must send")
	in.text(&o.tokens, "tokens", "", "`FILE` with a line NAME:TOKEN for each user, who have sessions, approvals and schedules of their own; it is read again when it changes")
	in.text(&o.operatorFile, "operator-token-file", "", "`FILE` with the token for /console/ and /metrics, which no client needs; with --tokens these are served only with it")
	in.text(&o.principals, "principals", "", "`FILE` with rules that give each user a workspace: a process with folders, home and state of its own; needs --sandbox on")
	in.duration(&o.idle, "idle", 10*time.Minute, "end the process of a workspace that was not used for `TIME`")
	o.identities.add(in)
	in.on(&o.NoAuth, "no-auth", "serve without a token; on a loopback address only")
	in.list(&o.AllowOrigins, "allow-origin", "web `ORIGIN` that may call, such as https://app.example.com; may be repeated")
	in.list(&o.AllowHosts, "allow-host", "host `NAME` by which clients reach the server, such as mcp.example.com; may be repeated")
	in.text(&o.cert, "tls-cert", "", "serve HTTPS with the certificate in `FILE` (PEM)")
	in.text(&o.key, "tls-key", "", "`FILE` with the certificate's key (PEM)")
	in.on(&o.insecure, "insecure", "serve plain HTTP on an address that other machines reach: only behind a proxy that does TLS, or on a network that no other user can read")
}

// check rejects flags that could never have an effect.
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
	if o.tokens != "" && o.tokenFile != "" {
		return usagef("--tokens has the tokens of all users; leave out --token-file")
	}
	if o.NoAuth && (o.tokens != "" || o.operatorFile != "") {
		return usagef("--no-auth serves without tokens; leave it out, or --tokens and --operator-token-file")
	}
	if err := o.identities.check(o); err != nil {
		return err
	}
	if o.insecure && o.cert != "" {
		return usagef("--insecure serves plain HTTP and --tls-cert HTTPS; leave one of them out")
	}
	return nil
}

// prepared is an HTTP server before it serves.
type prepared struct {
	token           token
	operator, whose string // token of the console and figures, and whose it is; "" for none
	listener        net.Listener
	base            string // address without a path
	endpoint        string // URL of /mcp as clients know it
}

// prepare checks tokens and address, and listens.
func (o *httpOptions) prepare(ctx context.Context, host *Host, a *app, p *prepared) error {
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
	operator, whose, err := o.users(a, token, loopback)
	if err != nil {
		return err
	}
	scheme := "http"
	if o.cert != "" {
		pair, err := o.certificate()
		if err != nil {
			return err
		}
		o.TLS, scheme = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, "https"
	} else if !loopback && !o.insecure {
		return usagef("over plain HTTP the token can be read on the way to %s; use --tls-cert and --tls-key, or --insecure behind a proxy that does TLS", o.addr)
	}
	l, err := o.listen(ctx)
	if err != nil {
		return err
	}
	here := fmt.Sprintf("%s://%s", scheme, l.Addr())
	endpoint, verifiers := o.identify(here+"/mcp", a.log)
	for _, v := range verifiers {
		go v.Follow(ctx)
	}
	*p = prepared{token, operator, whose, l, here, endpoint}
	return nil
}

func (o *httpOptions) serve(ctx context.Context, host *Host, a *app) error {
	var p prepared
	if err := o.prepare(ctx, host, a, &p); err != nil {
		return err
	}
	o.Triggers = a.Triggers
	link := ""
	if p.operator != "" || o.NoAuth {
		page := newConsole(p.operator, p.whose, p.listener.Addr(), func() (map[string]feed.Source, error) { return map[string]feed.Source{"this": a.Feed}, nil })
		defer context.AfterFunc(ctx, func() { _ = page.Close() })() // its streams would delay the end
		defer page.Close()
		o.Console, o.Metrics, link = page, a.figures.Handler(), page.Link()
	}
	if o.named != nil {
		go o.named.Follow(ctx, a.log, func() { a.Server.EndPrincipals(o.named.Valid) })
	}
	// Calls may take the drain time to end. A second signal ends the process immediately.
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	a.Triggers.ServedAt(strings.TrimSuffix(p.endpoint, "/mcp"))
	o.announce(host, p, link)
	a.Appear()
	memory.Limit()
	a.started(ctx, "http")
	return a.Server.ServeHTTP(ctx, p.listener, o.HTTP)
}

// announce shows how clients connect. link is the one-time path of the console; "" for none.
func (o *httpOptions) announce(host *Host, p prepared, link string) {
	base, token, operator, whose := p.base, p.token, p.operator, p.whose
	endpoint := p.endpoint
	fmt.Fprintf(host.Err, "listening on %s/mcp\n", base)
	if token.file != "" {
		fmt.Fprintf(host.Err, "the token is in %s\n", plain.Line(token.file))
	}
	printClientConfig(host.Err, endpoint, token, o.tokens, o.issuers)
	later := ""
	if operator != "" {
		later = "; later " + base + console.Path + " with the token of the " + whose
	}
	if link != "" {
		fmt.Fprintf(host.Err, "console for a browser: %s%s (works once, for 60 seconds%s)\n", base, link, later)
	}
}

// printClientConfig shows the user how to connect. Only the start that makes the token shows it,
// since standard error often ends in a log; others name its place. users is the file with the tokens
// of users, if there is one. Clients get their tokens from issuers, if there are some.
func printClientConfig(w io.Writer, endpoint string, t token, users string, issuers []string) {
	server := map[string]any{"type": "http", "url": endpoint}
	about, shell := "", "" // the token for a shell
	switch {
	case issuers != nil:
		about = "; users sign in at " + plain.Line(strings.Join(issuers, ", "))
	case users != "":
		about, shell = "; TOKEN is the user's, in "+plain.Line(users), "TOKEN"
	case t.value == "":
	case t.made:
		about, shell = " with the token, shown only this once", "$(cat "+shellWord(t.file)+")"
		server["headers"] = map[string]string{"Authorization": "Bearer " + t.value}
	case t.file != "":
		about, shell = "; TOKEN is the content of "+plain.Line(t.file), "$(cat "+shellWord(t.file)+")"
	default:
		about, shell = "; TOKEN is the value of MCP_TOOLSET_TOKEN", "$MCP_TOOLSET_TOKEN"
	}
	add := "claude mcp add --transport http toolset " + endpoint
	if shell != "" {
		add += ` --header "Authorization: Bearer ` + shell + `"`
		if !t.made {
			server["headers"] = map[string]string{"Authorization": "Bearer TOKEN"}
		}
	}
	config, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"toolset": server}}, "", "  ")
	if err != nil {
		panic(err) // strings can always be encoded
	}
	fmt.Fprintf(w, "for Claude Code: %s\nfor the configuration of another client%s:\n%s\n", add, about, config)
}

// shellWord returns a path as one word within double quotes and $( ) of a shell.
func shellWord(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-+,:@%\\", r) && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z')
	}) {
		return "'" + strings.ReplaceAll(plain.Line(path), "'", `'\''`) + "'"
	}
	return path
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
		return false, usagef("--addr is %q; the host is not known: %w", addr, err)
	}
	return !slices.ContainsFunc(ips, func(ip netip.Addr) bool { return !ip.IsLoopback() }), nil
}
