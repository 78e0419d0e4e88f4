//go:build !linux

package hook

// awaitExit waits until the shell has exited. A process group that somebody
// makes at that moment under the same number would be taken for the hook's.
func (p *process) awaitExit() { p.reap() }
