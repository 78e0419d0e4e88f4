package hook

// Close kills the hooks that still run, with what they started; none runs from
// then on. It is for a server that exits: that does not wait until they have
// ended, and what it had stopped to find its kin would stay stopped for ever.
func (r *Runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for p := range r.running {
		p.kill()
	}
	return nil
}

// entered notes that a hook runs, and kills it if that is too late.
func (r *Runner) entered(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[p] = true
	if r.closed {
		p.kill()
	}
}

// left is called before the number of the hook's group may be another's.
func (r *Runner) left(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, p)
}
