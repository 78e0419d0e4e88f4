package feed

import (
	"sync"

	"mcp-toolset/concurrency"
)

// mostFinished is the number of finished calls that a Ring retains.
const mostFinished = 1000

// Ring retains the last finished calls of a scheduler. The zero value is empty.
type Ring struct {
	mu   sync.Mutex
	list []concurrency.Record // a ring once it is full
	all  uint64               // number of finished calls so far
}

// Add is for concurrency.Config.Left.
func (r *Ring) Add(c concurrency.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) < mostFinished {
		r.list = append(r.list, c)
	} else {
		r.list[r.all%mostFinished] = c
	}
	r.all++
}

// since returns the calls that have finished after the first n, oldest first, and the number of
// all finished calls. whole is false if some of them are no longer retained.
func (r *Ring) since(n uint64) (calls []concurrency.Record, all uint64, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := max(n, r.all-uint64(len(r.list)))
	for i := first; i < r.all; i++ {
		calls = append(calls, r.list[i%mostFinished])
	}
	return calls, r.all, first == n
}
