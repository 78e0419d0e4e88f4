//go:build !unix

package launch

import "os/exec"

// Apart does nothing: without process groups, only the command itself is
// killed.
func Apart(*exec.Cmd) {}
