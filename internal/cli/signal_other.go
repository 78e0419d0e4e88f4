//go:build !unix

package cli

import "io"

// showOnSignal does nothing: this system has no SIGUSR1.
func (a *app) showOnSignal(io.Writer) (stop func()) { return func() {} }
