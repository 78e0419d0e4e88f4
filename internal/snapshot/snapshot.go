// Package snapshot keeps the content of files as they were read or written, by
// hash, so that a later change of a file can be shown.
package snapshot

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"sync"
)

// Hash is the SHA-256 of a content. The zero Hash is that of an unknown one.
type Hash = [sha256.Size]byte

// Limits of what is kept.
const (
	// MaxFile is the largest content kept, in bytes: hardly any text that people
	// write is larger.
	MaxFile = 8 << 20
	// Total bounds the memory of all content kept, in bytes: hundreds of files. The
	// garbage collector lets a heap grow to twice its content, so this is a fifth of
	// the 100 MB that a server with 100 clients may take.
	Total = 10 << 20
	// overhead is the memory of an item beside its content, in bytes.
	overhead = 200
)

// Cache is content by hash; what was not used for the longest goes first. It is
// safe for concurrent use. A nil Cache keeps nothing.
type Cache struct {
	mu    sync.Mutex
	total int
	used  int
	items map[Hash]*list.Element
	order list.List // of item, the latest used first
}

type item struct {
	hash Hash
	data []byte
}

// New makes a cache of at most total bytes.
func New(total int) *Cache { return &Cache{total: total, items: map[Hash]*list.Element{}} }

// Put keeps data, which must not change any more, unless it is too large.
func (c *Cache) Put(hash Hash, data []byte) {
	if c == nil || len(data) > MaxFile || len(data)+overhead > c.total {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[hash]; ok {
		c.order.MoveToFront(e)
		return
	}
	if cap(data)-len(data) > len(data)/8+bytes.MinRead { // what counts is memory, too
		data = bytes.Clone(data)
	}
	c.items[hash] = c.order.PushFront(item{hash, data})
	c.used += size(data)
	for c.used > c.total {
		e := c.order.Back()
		old := c.order.Remove(e).(item)
		delete(c.items, old.hash)
		c.used -= size(old.data)
	}
}

// size returns the memory that a content takes in the cache, in bytes.
func size(data []byte) int { return cap(data) + overhead }

// Get returns the content with this hash if it is still kept. It must not be
// changed.
func (c *Cache) Get(hash Hash) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[hash]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(item).data, true
}
