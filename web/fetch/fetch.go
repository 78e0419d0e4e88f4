// Package fetch gets web pages.
//
// Package dial judges each address of a host before a connection is made to it. Redirects
// within a site are followed; others are reported. A page comes with no cookies and no
// credentials. Bodies are files in a cache, so that a page takes memory only while it is read.
package fetch

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/web/site"
)

// Limits of fetching.
const (
	MaxBody    = 10 << 20         // bytes of a page, decompressed
	maxTime    = 30 * time.Second // from the first connection to the last byte; also of the wait for other fetches
	maxAtOnce  = 8
	maxPerHost = 2
	maxHops    = 10 // redirects
)

// Options configures a Client. The zero value is valid, except Folder.
type Options struct {
	Folder    string              // root of the caches of all servers of the user
	UserAgent string              // "": mcp-toolset
	Getenv    func(string) string // for the variables that name proxies; nil: none
	Resolver  *net.Resolver       // nil: that of Go
	Roots     *x509.CertPool      // nil: those of the system
	Now       func() time.Time    // nil: time.Now
}

// Client gets pages. It is safe for concurrent use.
type Client struct {
	Options
	all   *semaphore.Weighted
	cache cache
	limit time.Duration // maxTime, except in tests

	mu      sync.Mutex
	hosts   map[string]*host
	flights map[string]*flight
}

// host limits the fetches from a host.
type host struct {
	slots *semaphore.Weighted
	users int
}

// New returns a Client. It touches no file and makes no connection.
func New(o Options) *Client {
	if o.UserAgent == "" {
		o.UserAgent = "mcp-toolset"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{
		Options: o, limit: maxTime, all: semaphore.NewWeighted(maxAtOnce), hosts: map[string]*host{}, flights: map[string]*flight{},
		cache: cache{root: o.Folder, now: o.Now, pages: map[string]*Page{}},
	}
}

// Close removes the cache. It is called after the last Get has ended.
func (c *Client) Close() error { return c.cache.close() }

// Request is a page to get.
type Request struct {
	URL       *url.URL  // from site.Parse
	Site      site.Site // from site.Parse
	Principal string    // pages are shared only within a principal

	// Check returns an error unless a connection to the address may be made. The address is
	// invalid if the host cannot be resolved here and a proxy would choose the address.
	Check func(site.Site, netip.Addr) error

	// Local connects to a port of the session's own network. A site of this machine is tried there
	// first, without Check, and its pages are not cached. Session identifies that network. nil: there
	// is none.
	Local   func(ctx context.Context, port uint16) (net.Conn, error)
	Session string
}

// local reports whether the page may be of the session's own network.
func (q Request) local() bool { return q.Local != nil && q.Site.Class() == site.Loopback }

// key identifies the page. The Accept header is the same in every request.
func (q Request) key() string {
	u := *q.URL
	u.Fragment, u.RawFragment = "", ""
	key := q.Principal + "\x00" + u.String()
	if q.local() {
		key += "\x00" + q.Session
	}
	return key
}

// flight is a fetch that runs, for one or more identical requests.
type flight struct {
	cancel  context.CancelFunc
	waiting int           // requests; guarded by Client.mu
	done    chan struct{} // closed when page and err are set
	page    *Page
	err     error
}

// Get returns a page, from the cache if it has it. Identical requests at the same time share
// one fetch. The caller must release the page. The error is a *fault.Fault, the cause of
// ctx, or that of Check.
func (c *Client) Get(ctx context.Context, q Request) (*Page, error) {
	key := q.key()
	if p := c.cache.get(key); p != nil && !q.local() {
		return p, nil
	}
	c.mu.Lock()
	f := c.flights[key]
	if f == nil {
		f = &flight{done: make(chan struct{})}
		var fetching context.Context
		fetching, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
		c.flights[key] = f
		go c.fly(fetching, key, q, f)
	}
	f.waiting++
	c.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-f.done:
		return f.page, f.err
	default:
	}
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		if c.flights[key] == f {
			delete(c.flights, key)
		}
	}
	return nil, context.Cause(ctx)
}

// fly fetches the page of a flight. Each waiting request gets a reference to it.
func (c *Client) fly(ctx context.Context, key string, q Request, f *flight) {
	defer f.cancel()
	page, err := c.fetch(ctx, q)
	if err == nil && !page.noStore && !q.local() {
		c.cache.add(key, page)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flights[key] == f {
		delete(c.flights, key)
	}
	for range f.waiting {
		page.retain()
	}
	page.Release()
	f.page, f.err = page, err
	close(f.done)
}

// fetch fetches a page when there is a slot for it. The caller must release the page.
func (c *Client) fetch(ctx context.Context, q Request) (*Page, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, c.limit, fault.New(
		fmt.Sprintf("%d pages of this server, or %d of %s, are being fetched", maxAtOnce, maxPerHost, q.Site), "Try again later."))
	defer cancel()
	host := c.host(q.Site.Host)
	defer c.leave(q.Site.Host, host)
	for _, slots := range []*semaphore.Weighted{host.slots, c.all} {
		if slots.Acquire(waiting, 1) != nil {
			return nil, context.Cause(waiting)
		}
		defer slots.Release(1)
	}
	late := fault.New(fmt.Sprintf("%s did not send the whole page within %d seconds", q.Site, int(maxTime.Seconds())), "Try again later, or fetch another page.")
	ctx, cancel = context.WithTimeoutCause(ctx, c.limit, late)
	defer cancel()
	page, err := c.request(q).run(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return page, err
}

func (c *Client) host(name string) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[name]
	if h == nil {
		h = &host{slots: semaphore.NewWeighted(maxPerHost)}
		c.hosts[name] = h
	}
	h.users++
	return h
}

func (c *Client) leave(name string, h *host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(c.hosts, name)
	}
}
