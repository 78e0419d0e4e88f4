// Package snapshot caches the contents of files as they were read or written,
// by hash, so that a later change of a file can be shown.
package snapshot

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"sync"
)

// Hash is the SHA-256 of a content. The zero Hash means an unknown content.
type Hash = [sha256.Size]byte

// Limits of the cache.
const (
	// MaxFile is the limit of one content, in bytes. Hardly any hand-written text is
	// larger.
	MaxFile = 8 << 20
	// Total is the memory limit of all contents, in bytes: enough for hundreds
	// of files. The garbage collector lets a heap grow to twice its content, so
	// this is a fifth of the 100 MB that a server with 100 clients may use.
	Total = 10 << 20
	// overhead is the memory of an item in addition to its content, in bytes.
	overhead = 200
)

// Cache maps hashes to file contents. It evicts the least recently used. It is
// safe for concurrent use. A nil Cache stores nothing.
type Cache struct {
	mu    sync.Mutex
	total int
	used  int
	items map[Hash]*list.Element
	order list.List // of item, most recently used first
}

type item struct {
	hash Hash
	data []byte
}

// New returns a cache limited to total bytes.
func New(total int) *Cache { return &Cache{total: total, items: map[Hash]*list.Element{}} }

// Put stores data under its hash. The caller must not modify data afterwards.
// Put ignores data that is larger than MaxFile or than the cache.
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
	if cap(data)-len(data) > len(data)/8+bytes.MinRead { // unused capacity counts as memory too
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

// size returns the memory of a content in the cache, in bytes.
func size(data []byte) int { return cap(data) + overhead }

// Get returns the content with this hash, if it is cached. The caller must not
// modify it.
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
