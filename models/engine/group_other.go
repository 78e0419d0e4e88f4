//go:build !unix

package engine

import "os/exec"

// apart does nothing: without process groups, only the command itself is
// killed.
func apart(*exec.Cmd) {}
