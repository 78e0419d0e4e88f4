package pipeline

import (
	"context"

	"golang.org/x/sync/semaphore"

	"mcp-toolset/tools"
)

const (
	// budget is how many bytes the calls that run may take together for large
	// inputs, largeInput how long one is for it to count, and copies what it takes
	// beside itself: the input, the text in it, the file, and what is compared.
	budget     = 256 << 20
	largeInput = 1 << 20
	copies     = 4
)

// room is a budget of bytes.
type room struct {
	*semaphore.Weighted
	size int64
}

func newRoom(size int64) room { return room{semaphore.NewWeighted(size), size} }

// afford waits until there is room for the input of the call, in the order of
// asking, and returns what gives the room back. A call that is larger than the
// budget runs alone. Only calls that run ask, and what holds room waits for no
// other call; a call made by another one has its room: so no two wait for each other.
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

// size returns the number of bytes in a response.
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
