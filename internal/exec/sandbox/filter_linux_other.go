//go:build linux && !amd64 && !arm64

package sandbox

import "errors"

// loadFilter fails: there is no table of system calls for this architecture.
func loadFilter(Policy, layers) error { return errors.ErrUnsupported }
