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

// Within fails: there is containment on Linux only.
func Within(Policy, func(Coverage) error) error { return errNone() }

// Here is empty: there are no namespaces.
func Here() Namespaces { return Namespaces{} }

// Supported says that this system may be able to contain commands.
const Supported = false
