package server

// ordered is a call whose answer has its place.
type ordered struct {
	m message
	r *request
}

// queue gives the answer of a call its place behind those of earlier ones, if
// answers are wanted in order.
func (c *stdioConn) queue(m message, r *request) {
	if !c.s.Ordered {
		return
	}
	c.orderMu.Lock()
	defer c.orderMu.Unlock()
	r.queued = true
	c.order = append(c.order, ordered{m, r})
}

// finish ends a request that was served, and writes what waited for its answer.
func (c *stdioConn) finish(m message, r *request) {
	if !r.queued {
		c.exit(m, r)
		return
	}
	c.orderMu.Lock()
	defer c.orderMu.Unlock()
	r.finished = true
	if r.skipped {
		c.exit(m, r)
		return
	}
	c.flush()
}

// skip has the answers behind a cancelled call not wait for it.
func (c *stdioConn) skip() {
	if !c.s.Ordered {
		return
	}
	c.orderMu.Lock()
	defer c.orderMu.Unlock()
	c.flush()
}

// flush writes the answers that wait for none any more. A call that was
// cancelled and has not ended yet loses its place.
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
		if wanted && o.r.held != nil {
			c.write(o.r.held)
		}
		c.exit(o.m, o.r)
	}
}
