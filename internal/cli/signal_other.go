//go:build !unix

package cli

import "io"

// showOnSignal does nothing: there is no such signal.
func (a *app) showOnSignal(io.Writer) (stop func()) { return func() {} }
