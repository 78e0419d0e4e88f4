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

// Within fails: the sandbox works on Linux only.
func Within(Policy, func() error, func(Coverage) error) error { return errNone() }

// CurrentNamespaces returns no namespaces.
func CurrentNamespaces() Namespaces { return Namespaces{} }

// Supported reports whether this system may be able to confine commands.
const Supported = false
