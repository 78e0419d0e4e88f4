package pipeline

import (
	"context"

	"golang.org/x/sync/semaphore"

	"mcp-toolset/tools"
)

const (
	// budget is the number of bytes that running calls may use together for
	// large inputs.
	budget = 256 << 20
	// largeInput is the size in bytes from which an input counts towards the
	// budget.
	largeInput = 1 << 20
	// copies is the factor for the memory that a large input needs: the input,
	// its text, the file and the texts to compare.
	copies = 4
)

// room is a semaphore over a number of bytes.
type room struct {
	*semaphore.Weighted
	size int64
}

func newRoom(size int64) room { return room{semaphore.NewWeighted(size), size} }

// afford waits, in order of request, until the budget has room for the call's
// input. The caller must call done to release it. A call larger than the budget
// runs alone. There is no deadlock: only running calls acquire room, a call
// that holds room waits for no other call, and a nested call uses the room of
// its outer call.
func (c *call) afford(ctx context.Context) (done func(), err error) {
	size := len(c.Arguments)
	if size < largeInput || c.depth > 0 {
		return func() {}, nil
	}
	want := min(int64(size)*copies, c.p.room.size)
	if err := c.p.room.Acquire(ctx, want); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { c.p.room.Release(want) }, nil
}

// size returns the number of content bytes in a response.
func size(resp *tools.Response) (n int) {
	if resp == nil {
		return 0
	}
	for _, c := range resp.Content {
		switch c := c.(type) {
		case tools.Text:
			n += len(c.Text)
		case tools.Image:
			n += len(c.Data)
		case tools.Audio:
			n += len(c.Data)
		}
	}
	return n
}
