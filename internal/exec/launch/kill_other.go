//go:build !unix

package launch

import "os/exec"

// kill kills a process.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
