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
	for len(c.order) > 0 && c.order[0].r.finished {
		o := c.order[0]
		c.order[0] = ordered{}
		c.order = c.order[1:]
		c.mu.Lock()
		o.r.answering = c.inflight[o.m.id] == o.r
		c.mu.Unlock()
		if o.r.answering && o.r.held != nil {
			c.write(o.r.held)
		}
		c.exit(o.m, o.r)
	}
}
