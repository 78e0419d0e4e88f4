package server

// ordered is a call with its place in the order of answers.
type ordered struct {
	m message
	r *request
}

// queue gives the answer of a call its place after those of earlier calls, if
// Config.Ordered is set.
func (c *stdioConn) queue(m message, r *request) {
	if !c.s.Ordered {
		return
	}
	c.orderMu.Lock()
	defer c.orderMu.Unlock()
	r.queued = true
	c.order = append(c.order, ordered{m, r})
}

// finish ends a request that was served, and writes the answers that waited for
// it.
func (c *stdioConn) finish(m message, r *request) {
	if !r.queued {
		c.exit(m, r)
		return
	}
	c.orderMu.Lock()
	defer c.orderMu.Unlock()
	r.finished = true
	if r.skipped {
		if r.held != nil {
			r.lost()
		}
		c.exit(m, r)
		return
	}
	c.flush()
}

// skip writes answers that no longer wait because a call was cancelled.
func (c *stdioConn) skip() {
	if !c.s.Ordered {
		return
	}
	c.orderMu.Lock()
	defer c.orderMu.Unlock()
	c.flush()
}

// flush writes the answers that need not wait any more. A cancelled call that
// has not ended yet loses its place.
func (c *stdioConn) flush() {
	for len(c.order) > 0 {
		o := c.order[0]
		c.mu.Lock()
		wanted := c.inflight[o.m.id] == o.r
		if o.r.finished {
			o.r.answering = wanted
		}
		c.mu.Unlock()
		if wanted && !o.r.finished {
			return
		}
		c.order[0] = ordered{}
		c.order = c.order[1:]
		if !o.r.finished {
			o.r.skipped = true
			continue
		}
		switch {
		case o.r.held == nil:
		case wanted:
			c.write(o.r.held)
		default:
			o.r.lost()
		}
		c.exit(o.m, o.r)
	}
}
