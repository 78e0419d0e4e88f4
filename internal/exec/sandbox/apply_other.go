//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"fmt"
	"runtime"
)

func errNone() error {
	return fmt.Errorf("sandbox: containment on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Within fails: the sandbox works on Linux and macOS only.
func Within(Policy, func() error, func(Coverage) error) error { return errNone() }

// Launcher returns nothing: there is no sandbox.
func Launcher(Policy) []string { return nil }

// CurrentNamespaces returns no namespaces.
func CurrentNamespaces() Namespaces { return Namespaces{} }

// Supported reports whether this system may be able to confine commands.
const Supported = false

// systemLimits are the limits that only this system has.
var systemLimits []string
