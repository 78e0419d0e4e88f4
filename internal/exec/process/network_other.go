//go:build !linux

package process

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
)

// Network is documented with the version for Linux.
type Network struct{ space *os.File }

var errNoNetwork = fmt.Errorf("making a network for commands: this system has no network namespaces")

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

func (s *supervisor) hosts(n *Network) bool { return n == nil }

func joinNetwork(int) error { return errNoNetwork }

// nests is a placeholder: there are nurseries on Linux only.
type nests struct{}

func newNests() nests { return nests{} }

func (r *Runner) closeNests() error { return nil }

func (r *Runner) retire(any) {}
