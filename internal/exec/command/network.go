package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcp-toolset/internal/exec/process"
)

// NetworkMode selects the network of confined commands that may write. Read-only
// commands make no connections.
type NetworkMode string

// The modes of the network.
const (
	Allow NetworkMode = "allow" // that of the server
	Ask   NetworkMode = "ask"   // one of their own for each owner, with Spec.Proxy as the way out
	Deny  NetworkMode = "deny"  // none
)

// promiseNetwork is the promise that commands reach nothing outside of the network of
// their owner.
const promiseNetwork = "network"

// Local connects to a TCP port of the loopback interface in a command's network.
type Local func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)

// NetworkContained returns nil if commands that may write have a network of their own,
// or the reason why they have that of the server although the mode is Ask. In other
// modes, and for a nil receiver, it returns nil.
func (c *Commands) NetworkContained(ctx context.Context) error {
	if c == nil || c.config.Network != Ask {
		return nil
	}
	if err := c.Uncontained(ctx); err != nil {
		return err
	}
	t := c.Report(ctx).Write
	if t.held(promiseNetwork) {
		return nil
	}
	for _, canary := range t.Canaries {
		if canary.Promise == promiseNetwork {
			return errors.New(canary.Detail)
		}
	}
	return errUntried
}

// networked reports whether a command gets the network of its owner. A read-only command does
// if there is one, so that it shows the servers of the session and not those of the machine.
func (c *Commands) networked(s Spec, confined bool, r *Report) bool {
	return c.config.Network == Ask && confined && r.Write.held(promiseNetwork) && (!s.ReadOnly || c.networks.has(s.Owner))
}

// maxNetworks is the limit of networks, each a descriptor, that no command uses.
const maxNetworks = 64

// networks holds the network of each owner. Networks are made on first use. Those that
// no command uses are closed, the least recently used first, when there are more than
// maxNetworks: nothing is in them.
type networks struct {
	runner *process.Runner

	mu     sync.Mutex
	owners map[string]*ownNetwork
	uses   uint64 // counts the uses of all networks
	closed bool
}

// ownNetwork is the network of an owner. networks.mu guards its fields.
type ownNetwork struct {
	*process.Network
	users int    // commands in it
	last  uint64 // networks.uses at its last use
	left  bool   // whether no further command uses it
}

// of returns the network of an owner, with one more user.
func (n *networks) of(ctx context.Context, owner string) (*ownNetwork, error) {
	if own := n.take(owner, nil); own != nil {
		return own, nil
	}
	made, err := n.runner.NewNetwork(ctx)
	if err != nil {
		return nil, err
	}
	own := n.take(owner, made)
	if own == nil {
		return nil, errors.Join(process.ErrClosed, made.Close())
	}
	return own, nil
}

// has reports whether an owner has a network.
func (n *networks) has(owner string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.owners[owner] != nil
}

// take returns the network of an owner, with one more user. If there is none it stores
// made; if there is one, it closes made. It returns nil if there is none, or after close.
func (n *networks) take(owner string, made *process.Network) *ownNetwork {
	n.mu.Lock()
	defer n.mu.Unlock()
	own := n.owners[owner]
	if own != nil && own.Gone() {
		n.leave(owner)
		own = nil
	}
	switch {
	case n.closed || own == nil && made == nil:
		return nil
	case own == nil:
		n.evict()
		own = &ownNetwork{Network: made}
		n.owners[owner] = own
	case made != nil:
		_ = made.Close()
	}
	n.uses++
	own.users++
	own.last = n.uses
	return own
}

// evict closes networks that no command uses until there is room for one more.
func (n *networks) evict() {
	var idle []string
	for owner, own := range n.owners {
		if own.users == 0 {
			idle = append(idle, owner)
		}
	}
	slices.SortFunc(idle, func(a, b string) int { return cmp.Compare(n.owners[a].last, n.owners[b].last) })
	for _, owner := range idle[:max(0, len(idle)-maxNetworks+1)] {
		n.leave(owner)
	}
}

// leave removes the network of an owner and closes it after its last command.
func (n *networks) leave(owner string) {
	own := n.owners[owner]
	if own == nil {
		return
	}
	delete(n.owners, owner)
	if own.left = true; own.users == 0 {
		_ = own.Close()
	}
}

// release removes a user of a network.
func (n *networks) release(own *ownNetwork) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if own.users--; own.users == 0 && own.left {
		_ = own.Close()
	}
}

func (n *networks) forget(owner string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leave(owner)
}

func (n *networks) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for owner := range n.owners {
		n.leave(owner)
	}
}

// Network is the network of a command, which it shares with the commands of its owner.
type Network struct {
	process *process.Process
	own     *process.Network
}

// Network returns the network of a command that runs, or nil if it has that of the server.
func (r *Running) Network() *Network {
	if r.own == nil {
		return nil
	}
	return &Network{r.process, r.own.Network}
}

// Listening returns the TCP ports on which processes of the command listen, sorted.
func (n *Network) Listening(ctx context.Context) ([]uint16, error) {
	return n.process.Listening(ctx, n.own)
}

// Dial connects to a TCP port of the loopback interface.
func (n *Network) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	return dialLoopback(ctx, n.own, port)
}

// Serves reports whether a command of an owner listens on a TCP port in the owner's network, and
// whether the owner has a network.
func (c *Commands) Serves(ctx context.Context, owner string, port uint16) (served, networked bool) {
	own := c.networks.take(owner, nil)
	if own == nil {
		return false, false
	}
	defer c.networks.release(own)
	ports, err := own.Ports(ctx)
	return err == nil && slices.Contains(ports, port), err == nil
}

// Dial connects to a TCP port of the loopback interface in the network of an owner. It
// fails if the owner has none, or nothing listens there.
func (c *Commands) Dial(ctx context.Context, owner string, port uint16) (net.Conn, error) {
	own := c.networks.take(owner, nil)
	if own == nil {
		return nil, errNoNetwork
	}
	defer c.networks.release(own)
	return dialLoopback(ctx, own.Network, port)
}

var errNoNetwork = errors.New("commands have no network of their own")

// dialLoopback connects to a port of 127.0.0.1 or, if nothing listens there, of ::1.
func dialLoopback(ctx context.Context, n *process.Network, port uint16) (net.Conn, error) {
	conn, err := n.Dial(ctx, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
	if err == nil || ctx.Err() != nil {
		return conn, err
	}
	conn, failed := n.Dial(ctx, netip.AddrPortFrom(netip.IPv6Loopback(), port))
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	return conn, nil
}

// attached is the network of a running command.
type attached struct {
	networks *networks
	own      *ownNetwork
	listener net.Listener    // for its proxy; nil: none
	stop     func() []string // ends its proxy
}

// attach gives a command the network of its owner and, unless it is read-only, starts its
// proxy.
func (c *Commands) attach(ctx context.Context, s Spec) (*attached, error) {
	own, err := c.networks.of(ctx, s.Owner)
	if err != nil {
		return nil, err
	}
	a := &attached{networks: c.networks, own: own}
	if s.Proxy == nil || s.ReadOnly {
		return a, nil
	}
	if a.listener, err = own.Listen(ctx); err != nil {
		c.networks.release(own)
		return nil, fmt.Errorf("starting the proxy of a command: %w", err)
	}
	a.stop = s.Proxy(a.listener, own.Dial)
	return a, nil
}

// detach ends the proxy and returns facts on the hosts that were not reached.
func (a *attached) detach() (unreached []string) {
	if a.listener != nil {
		_ = a.listener.Close()
	}
	if a.stop != nil {
		unreached = a.stop()
	}
	a.networks.release(a.own)
	return unreached
}

// proxyNames lists the variables that name a proxy, or hosts without one, in lower case.
var proxyNames = []string{
	"http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy", "npm_config_proxy", "npm_config_https_proxy", "npm_config_noproxy",
	"yarn_http_proxy", "yarn_https_proxy", "pip_proxy", "cargo_http_proxy",
}

// environment returns env with the variables of the command's proxy in place of others that
// name one. ALL_PROXY names the proxy by http, too: Python's httpx fails for a SOCKS URL
// unless a further package is installed. The variables of single programs take precedence
// over a proxy that the user's files name, which is not reached from here.
func (a *attached) environment(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(proxyNames, strings.ToLower(name))
	})
	if a.listener == nil {
		return env
	}
	address := a.listener.Addr().(*net.TCPAddr)
	url := "http://" + address.String()
	for _, name := range []string{
		"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "npm_config_proxy", "npm_config_https_proxy",
		"YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "PIP_PROXY", "CARGO_HTTP_PROXY",
	} {
		env = append(env, name+"="+url)
	}
	env = append(env, "NODE_USE_ENV_PROXY=1")
	env = withGitSetting(env, "http.proxy", url)
	// The JVM reads no variable for its proxy without a message.
	java := fmt.Sprintf("-Dhttp.proxyHost=%[1]s -Dhttp.proxyPort=%[2]d -Dhttps.proxyHost=%[1]s -Dhttps.proxyPort=%[2]d", address.IP, address.Port)
	for _, name := range []string{"MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS"} {
		env = append(env, name+"="+strings.TrimSpace(value(env, name)+" "+java))
	}
	return lastOfEach(env)
}

// value returns the value of a variable in env, or "".
func value(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			return text
		}
	}
	return ""
}

// withGitSetting adds a setting of git to an environment, in numbered variables.
func withGitSetting(env []string, key, text string) []string {
	count, _ := strconv.Atoi(value(env, "GIT_CONFIG_COUNT"))
	return append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, text), fmt.Sprintf("GIT_CONFIG_COUNT=%d", count+1))
}
