package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"mcp-toolset/internal/exec/process"
)

// NetworkMode selects the network of confined commands that may write. Read-only
// commands have none.
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
	uses   uint64 // number of calls of of
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

// attached is the network of a running command.
type attached struct {
	networks *networks
	own      *ownNetwork
	listener net.Listener    // for its proxy; nil: none
	stop     func() []string // ends its proxy
}

// attach gives a command the network of its owner and starts its proxy.
func (c *Commands) attach(ctx context.Context, s Spec) (*attached, error) {
	own, err := c.networks.of(ctx, s.Owner)
	if err != nil {
		return nil, err
	}
	a := &attached{networks: c.networks, own: own}
	if s.Proxy == nil {
		return a, nil
	}
	if a.listener, err = own.Listen(ctx); err != nil {
		c.networks.release(own)
		return nil, fmt.Errorf("starting the proxy of a command: %w", err)
	}
	a.stop = s.Proxy(a.listener, own.Dial)
	return a, nil
}

// detach ends the proxy and returns what it did not reach.
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

// environment returns env with the variables of the command's proxy in place of any
// others. ALL_PROXY names the proxy by http, too: Python's httpx fails for a SOCKS URL
// unless a further package is installed. The variables of single programs take precedence
// over a proxy that the user's files name, which is not reached from here.
func (a *attached) environment(env []string) []string {
	url, java := "", ""
	if a.listener != nil {
		address := a.listener.Addr().(*net.TCPAddr)
		url = "http://" + address.String()
		java = fmt.Sprintf("-Dhttp.proxyHost=%[1]s -Dhttp.proxyPort=%[2]d -Dhttps.proxyHost=%[1]s -Dhttps.proxyPort=%[2]d", address.IP, address.Port)
	}
	proxy := []string{
		"http_proxy=" + url, "HTTP_PROXY=" + url, "https_proxy=" + url, "HTTPS_PROXY=" + url, "all_proxy=" + url, "ALL_PROXY=" + url,
		"npm_config_proxy=" + url, "npm_config_https_proxy=" + url, "YARN_HTTP_PROXY=" + url, "YARN_HTTPS_PROXY=" + url, "PIP_PROXY=" + url, "CARGO_HTTP_PROXY=" + url,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.proxy", "GIT_CONFIG_VALUE_0=" + url,
		"NODE_USE_ENV_PROXY=1",
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(noProxyNames, strings.ToLower(name)) ||
			slices.ContainsFunc(proxy, func(p string) bool { return strings.HasPrefix(p, name+"=") })
	})
	if url == "" {
		return env
	}
	// The JVM reads no variable for its proxy without a message.
	for _, name := range []string{"MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS"} {
		options := java
		env = slices.DeleteFunc(env, func(v string) bool {
			value, ok := strings.CutPrefix(v, name+"=")
			if ok && value != "" {
				options = value + " " + java
			}
			return ok
		})
		proxy = append(proxy, name+"="+options)
	}
	return append(env, proxy...)
}

// noProxyNames lists further variables of proxies, in lower case.
var noProxyNames = []string{"ftp_proxy", "no_proxy", "npm_config_noproxy"}
