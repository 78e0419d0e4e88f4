//go:build !linux

package hook

// awaitExit waits until the shell has exited. A process group that is created
// at that moment with the same id would be mistaken for the hook's.
func (p *process) awaitExit() { p.reap() }
