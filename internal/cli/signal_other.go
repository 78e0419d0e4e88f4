//go:build !unix

package cli

import (
	"io"
	"os/exec"
)

// showOnSignal does nothing: this system has no SIGUSR1.
func (a *app) showOnSignal(io.Writer) (stop func()) { return func() {} }

// apart does nothing: a browser is started by a process that ends at once.
func apart(*exec.Cmd) {}
