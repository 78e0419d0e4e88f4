package fetch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/record/store"
)

const (
	// cacheTime is the time for which a page is in the cache.
	cacheTime = 15 * time.Minute
	// cacheSize is the limit of the cached pages, in bytes; cachePages limits their number.
	cacheSize  = 50 << 20
	cachePages = 1000
)

// Page is a page, or the redirect to one of another site. Its body is a file. A page is
// released after use; the file is removed with the last reference.
type Page struct {
	URL      *url.URL          // after redirects within the site
	Redirect *url.URL          // the page is there, at another site, and was not fetched; nil: it was
	Type     string            // media type in lower case; "" if it is missing, malformed or too long
	Params   map[string]string // parameters of the media type
	Size     int64             // bytes of the body
	Fetched  time.Time

	noStore bool
	file    *os.File
	derived derived

	cache *cache
	users int   // guarded by cache.mu
	bytes int64 // of its files; guarded by cache.mu
}

// derived is a text that was made of a page.
type derived struct {
	mu   sync.Mutex
	file *os.File
}

func newRedirect(from, to *url.URL, now time.Time) *Page {
	return &Page{URL: from, Redirect: to, Fetched: now, noStore: true}
}

// File returns the body, for reading at offsets only.
func (p *Page) File() *os.File { return p.file }

// Derive returns the text that f makes of the page. f runs once for a page, unless it
// fails, and its result is stored with the page.
func (p *Page) Derive(f func() (string, error)) (string, error) {
	p.derived.mu.Lock()
	defer p.derived.mu.Unlock()
	if file := p.derived.file; file != nil {
		info, err := file.Stat()
		if err != nil {
			return "", err
		}
		var text strings.Builder
		text.Grow(int(info.Size()))
		_, err = io.Copy(&text, io.NewSectionReader(file, 0, info.Size()))
		return text.String(), err
	}
	text, err := f()
	if err != nil {
		return "", err
	}
	file, err := p.cache.newFile()
	if err != nil {
		return "", err
	}
	if _, err := file.WriteString(text); err != nil {
		return "", errors.Join(err, remove(file))
	}
	p.derived.file = file
	p.cache.grow(p, int64(len(text)))
	return text, nil
}

func (p *Page) retain() {
	if p == nil || p.cache == nil {
		return
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.users++
}

// Release gives up a reference to the page.
func (p *Page) Release() {
	if p == nil || p.cache == nil {
		return
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.cache.drop(p)
}

// cache holds pages. Their files are in a folder of this server, which is removed at its
// end, or by the next server if this one is killed.
type cache struct {
	root string // of the folders of all servers
	now  func() time.Time

	mu     sync.Mutex
	folder *store.Folder // nil: not made yet
	pages  map[string]*Page
	bytes  int64 // of pages
}

// get returns a reference to a page, or nil.
func (c *cache) get(key string) *Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	p := c.pages[key]
	if p != nil {
		p.users++
	}
	return p
}

// add caches a page.
func (c *cache) add(key string, p *Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if former := c.pages[key]; former != nil {
		c.remove(key)
	}
	p.users++
	p.bytes = p.Size
	c.pages[key] = p
	c.bytes += p.bytes
	c.expire()
}

// grow counts further bytes of a page.
func (c *cache) grow(p *Page, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.bytes += n
	for _, q := range c.pages {
		if q == p {
			c.bytes += n
		}
	}
	c.expire()
}

// expire removes the pages that are too old, and the oldest while there are too many. The
// caller must hold the lock.
func (c *cache) expire() {
	for {
		oldest := ""
		for key, p := range c.pages {
			if oldest == "" || p.Fetched.Before(c.pages[oldest].Fetched) {
				oldest = key
			}
		}
		if oldest == "" || c.now().Sub(c.pages[oldest].Fetched) < cacheTime && c.bytes <= cacheSize && len(c.pages) <= cachePages {
			return
		}
		c.remove(oldest)
	}
}

// remove removes a page from the cache. The caller must hold the lock.
func (c *cache) remove(key string) {
	p := c.pages[key]
	delete(c.pages, key)
	c.bytes -= p.bytes
	c.drop(p)
}

// drop gives up a reference. The caller must hold the lock.
func (c *cache) drop(p *Page) {
	if p.users--; p.users > 0 {
		return
	}
	_ = remove(p.file)
	if p.derived.file != nil {
		_ = remove(p.derived.file)
	}
}

func remove(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// create makes the file of a new page. The page has one reference.
func (c *cache) create() (*Page, error) {
	f, err := c.newFile()
	if err != nil {
		return nil, err
	}
	return &Page{file: f, cache: c, users: 1}, nil
}

// newFile makes a file in the folder of this server. The first one makes the folder and
// removes those of servers that were killed.
func (c *cache) newFile() (*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.folder == nil {
		folder, err := store.Own(filepath.Join(c.root, rand.Text()[:12]))
		if err != nil {
			return nil, fmt.Errorf("storing a page: %w", err)
		}
		c.folder = folder
		others, _ := store.Servers(c.root)
		for _, other := range others {
			if other != folder.Path() {
				store.Reclaim(other, func() { clean(other) })
			}
		}
	}
	f, err := os.CreateTemp(c.folder.Path(), "page-")
	if err != nil {
		return nil, fmt.Errorf("storing a page: %w", err)
	}
	return f, nil
}

// clean removes the files of a folder.
func clean(folder string) {
	files, _ := os.ReadDir(folder)
	for _, f := range files {
		_ = os.Remove(filepath.Join(folder, f.Name()))
	}
}

// close removes the folder.
func (c *cache) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.pages {
		c.remove(key)
	}
	if c.folder == nil {
		return nil
	}
	clean(c.folder.Path()) // pages of calls that still run
	return c.folder.Remove()
}
