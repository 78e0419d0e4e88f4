//go:build !linux

package process

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
)

// Network is documented with the version for Linux.
type Network struct{ space *os.File }

var errNoNetwork = errors.New("making a network for commands: this system has no network namespaces")

// NewNetwork fails: there are network namespaces on Linux only.
func (r *Runner) NewNetwork(context.Context) (*Network, error) { return nil, errNoNetwork }

// Gone reports true.
func (n *Network) Gone() bool { return true }

// Close does nothing.
func (n *Network) Close() error { return nil }

// Listen fails.
func (n *Network) Listen(context.Context) (net.Listener, error) { return nil, errNoNetwork }

// Dial fails.
func (n *Network) Dial(context.Context, netip.AddrPort) (net.Conn, error) { return nil, errNoNetwork }

// Ports fails.
func (n *Network) Ports(context.Context) ([]uint16, error) { return nil, errNoNetwork }

func (s *supervisor) hosts(n *Network) bool { return n == nil }

func joinNetwork(int) error { return errNoNetwork }

// spawners is a placeholder: there are spawners on Linux only.
type spawners struct{}

func newSpawners() spawners { return spawners{} }

func (r *Runner) closeSpawners() error { return nil }

func (r *Runner) retire(any) {}

// Listening returns none.
func (p *Process) Listening(context.Context, *Network) ([]uint16, error) { return nil, nil }

// searched is a placeholder: there are networks on Linux only.
type searched struct{}
