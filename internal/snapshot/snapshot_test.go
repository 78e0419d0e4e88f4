package snapshot

import (
	"crypto/sha256"
	"strings"
	"testing"
)

func put(c *Cache, s string) Hash {
	h := sha256.Sum256([]byte(s))
	c.Put(h, []byte(s))
	return h
}

func TestCache(t *testing.T) {
	c := New(10)
	a, b := put(c, "aaaa"), put(c, "bbbb")
	if data, ok := c.Get(a); !ok || string(data) != "aaaa" {
		t.Errorf("%q, %v", data, ok)
	}
	d := put(c, "dddd") // b was not used for the longest
	if _, ok := c.Get(b); ok {
		t.Error("more is kept than fits")
	}
	put(c, "aaaa") // a second time
	put(c, "eeee")
	if _, ok := c.Get(a); !ok || c.used != 8 {
		t.Errorf("what was kept again went first; %d bytes are used", c.used)
	}
	if _, ok := c.Get(d); ok {
		t.Error("what was not used for the longest is kept")
	}
	if _, ok := c.Get(put(c, strings.Repeat("x", 11))); ok || c.used != 8 {
		t.Errorf("what is too large is kept; %d bytes are used", c.used)
	}
	if _, ok := New(Total).Get(put(New(Total), strings.Repeat("x", MaxFile+1))); ok {
		t.Error("a file over the limit is kept")
	}
}

func TestNilCache(t *testing.T) {
	var c *Cache
	if _, ok := c.Get(put(c, "a")); ok {
		t.Error("no cache keeps something")
	}
}
