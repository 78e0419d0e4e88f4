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
	const length = 1000
	text := func(letter string) string { return strings.Repeat(letter, length) }
	scale := New(Total)
	put(scale, text("a"))
	one := scale.used
	c := New(2*one + one/2)
	a, b := put(c, text("a")), put(c, text("b"))
	if data, ok := c.Get(a); !ok || string(data) != text("a") {
		t.Errorf("%q, %v", data, ok)
	}
	d := put(c, text("d")) // b is the least recently used
	if _, ok := c.Get(b); ok {
		t.Error("more is kept than fits")
	}
	put(c, text("a")) // a second time
	put(c, text("e"))
	if _, ok := c.Get(a); !ok || c.used != 2*one {
		t.Errorf("what was put again went first; %d bytes are used", c.used)
	}
	if _, ok := c.Get(d); ok {
		t.Error("the least recently used content is kept")
	}
	if _, ok := c.Get(put(c, strings.Repeat("x", 3*length+500))); ok || c.used != 2*one {
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
