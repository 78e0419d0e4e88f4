//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
	"runtime"
)

func errNone() error {
	return fmt.Errorf("sandbox: containment on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Apply fails: there is containment on Linux only.
func Apply(Policy) (Coverage, error) { return Coverage{}, errNone() }

// Within fails: there is containment on Linux only.
func Within(Policy, func(Coverage) error) error { return errNone() }

// Here is empty: there are no namespaces.
func Here() Namespaces { return Namespaces{} }

// Available says that nothing is.
func Available() Coverage { return Coverage{Missing: missing(layers{})} }

// Supported says that this system may be able to contain commands.
const Supported = false
