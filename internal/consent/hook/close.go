package hook

// Close kills the running hooks with their process trees. Hooks started later
// are killed at once. Close is for a server that exits without waiting for
// hooks to end: processes that were stopped while searching for descendants
// would otherwise stay stopped for ever.
func (r *Runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for p := range r.running {
		p.kill()
	}
	return nil
}

// entered registers a running hook, and kills it if the Runner is closed.
func (r *Runner) entered(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[p] = true
	if r.closed {
		p.kill()
	}
}

// remove removes a hook. It must be called before the id of the hook's process
// group can be reused.
func (r *Runner) remove(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, p)
}
