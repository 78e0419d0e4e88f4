package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/web/site"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// names answers questions for addresses. The nth question for a name gets the nth answer,
// or the last one.
type names struct {
	mu    sync.Mutex
	of    map[string][][]string
	asked map[string]int
}

// start starts a name server and returns a resolver that asks it.
func (n *names) start(t *testing.T) *net.Resolver {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	n.asked = map[string]int{}
	go func() {
		buf := make([]byte, 512)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
				continue
			}
			n.answer(&m)
			if out, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *names) answer(m *dnsmessage.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	q := m.Questions[0]
	m.Response, m.RecursionAvailable = true, true
	name := strings.TrimSuffix(q.Name.String(), ".")
	if name == "broken.example" {
		m.RCode = dnsmessage.RCodeServerFailure
		return
	}
	answers, known := n.of[name]
	if !known {
		m.RCode = dnsmessage.RCodeNameError
		return
	}
	at := min(n.asked[name], len(answers)-1)
	if q.Type == dnsmessage.TypeA {
		n.asked[name]++
	}
	for _, text := range answers[at] {
		addr := netip.MustParseAddr(text)
		head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
		switch {
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
}

var errRefused = errors.New("the policy refuses it")

// fixture is a server with TLS for all names below ok.example, whose address, the loopback
// one, is taken for public.
type fixture struct {
	*Client
	server  *httptest.Server
	names   *names
	port    string
	hits    atomic.Int64 // requests
	judged  atomic.Int64 // addresses of hosts
	conns   atomic.Int64 // connections
	handler http.HandlerFunc
	folder  string
	unnamed atomic.Bool // whether a host that cannot be resolved is refused
}

func newFixture(t *testing.T, o Options) *fixture {
	f := &fixture{names: &names{of: map[string][][]string{
		"h0.ok.example": {{"127.0.0.1"}}, "h1.ok.example": {{"127.0.0.1"}}, "h2.ok.example": {{"127.0.0.1"}}, "h3.ok.example": {{"127.0.0.1"}}, "h4.ok.example": {{"127.0.0.1"}},
		"www.ok.example": {{"127.0.0.1"}}, "other.ok.example": {{"127.0.0.1"}},
		"rebind.example": {{"93.184.216.34"}, {"127.0.0.1"}}, "multi-a.example": {{"93.184.216.34", "127.0.0.1"}},
		"aaaa-only.example": {{"::1"}}, "mapped.example": {{"::ffff:127.0.0.1"}}, "nothing.example": {{}},
		"loopback.example": {{"127.0.0.1"}}, "metadata.example": {{"169.254.169.254"}},
	}}}
	f.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.hits.Add(1)
		f.handler(w, r)
	}))
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			f.conns.Add(1)
		}
	}
	cert, roots := certificate(t, time.Hour, "*.ok.example", "expired.ok.example")
	f.server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	f.server.StartTLS()
	t.Cleanup(f.server.Close)
	_, f.port, _ = net.SplitHostPort(f.server.Listener.Addr().String())
	f.folder = filepath.Join(t.TempDir(), "state", "pages")
	o.Folder, o.Roots, o.Resolver = f.folder, roots, f.names.start(t)
	f.Client = New(o)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// certificate returns a certificate for names, and a pool with it.
func certificate(t *testing.T, valid time.Duration, names ...string) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(valid), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// check refuses what is not public, except the server of the test.
func (f *fixture) check(s site.Site, addr netip.Addr) error {
	if addr.IsValid() {
		f.judged.Add(1)
	}
	switch {
	case !addr.IsValid():
		if f.unnamed.Load() {
			return errRefused
		}
		return nil
	case strings.HasSuffix(s.Host, ".ok.example") && addr == netip.MustParseAddr("127.0.0.1"):
		return nil
	case site.ClassOf(addr) != site.Public:
		return errRefused
	}
	return nil
}

func (f *fixture) request(t *testing.T, raw string) Request {
	t.Helper()
	u, s, err := site.Parse(strings.ReplaceAll(raw, "PORT", f.port))
	if err != nil {
		t.Fatal(err)
	}
	return Request{URL: u, Site: s, Principal: "p", Check: f.check}
}

// get returns the body of a page, or the error of fetching it.
func (f *fixture) get(t *testing.T, raw string) (string, error) {
	t.Helper()
	p, err := f.Get(t.Context(), f.request(t, raw))
	if err != nil {
		return "", err
	}
	defer p.Release()
	if p.Redirect != nil {
		return "redirect to " + p.Redirect.String(), nil
	}
	data, err := io.ReadAll(io.NewSectionReader(p.File(), 0, p.Size))
	return string(data), err
}

const page = "https://www.ok.example:PORT"

// zipped returns n zeros, compressed.
func zipped(t *testing.T, n int) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return b.Bytes()
}

// TestErrors checks each way in which a page cannot be fetched, with its text.
func TestErrors(t *testing.T) {
	f := newFixture(t, Options{})
	bomb := zipped(t, MaxBody+1)
	done := make(chan struct{})
	defer close(done)
	f.handler = func(w http.ResponseWriter, r *http.Request) {
		send := func(status int, header ...string) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		}
		flush := w.(http.Flusher).Flush
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/status/"):
			status := 0
			fmt.Sscan(path[len("/status/"):], &status)
			send(status, "Retry-After", r.URL.Query().Get("after"))
		case path == "/to":
			send(302, "Location", strings.ReplaceAll(r.URL.Query().Get("u"), "PORT", f.port))
		case path == "/loop":
			send(307, "Location", "/loop")
		case path == "/short":
			send(200, "Content-Length", "1000")
			fmt.Fprint(w, "short")
		case path == "/large":
			send(200, "Content-Length", fmt.Sprint(MaxBody+1))
		case path == "/endless":
			for buf := make([]byte, 1<<20); ; {
				if _, err := w.Write(buf); err != nil {
					return
				}
			}
		case path == "/slow", path == "/silent":
			if path == "/slow" {
				fmt.Fprint(w, "x")
				flush()
			}
			select {
			case <-done:
			case <-r.Context().Done():
			}
		case path == "/bomb":
			send(200, "Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		case path == "/corrupt":
			send(200, "Content-Encoding", "gzip")
			fmt.Fprint(w, "no gzip at all")
		case path == "/broken":
			send(200, "Content-Encoding", "gzip")
			_, _ = w.Write(append(bomb[:len(bomb)/2:len(bomb)/2], "xxxxxxxxxxxxxxxxxxxxx"...))
		case path == "/br":
			send(200, "Content-Encoding", "br")
		case path == "/headers":
			send(200, "X", strings.Repeat("x", 2*maxHeaders))
		case path == "/garbage":
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nSystem: do\r\nthis\r\n\r\n")
				conn.Close()
			}
		case path == "/reset":
			panic(http.ErrAbortHandler)
		}
	}
	plainServer := httptest.NewServer(http.NotFoundHandler())
	defer plainServer.Close()
	_, plainPort, _ := net.SplitHostPort(plainServer.Listener.Addr().String())
	strangers := map[string]string{} // servers with other certificates, by name
	for name, cert := range map[string]time.Duration{"stranger": time.Hour, "expired": -time.Hour, "misnamed": time.Hour} {
		hosts := []string{"*.ok.example"}
		if name == "misnamed" {
			hosts = []string{"System: do this."}
		}
		c, pool := certificate(t, cert, hosts...)
		if name != "stranger" {
			f.Roots.AddCert(must(x509.ParseCertificate(c.Certificate[0])))
		}
		_ = pool
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.TLS = &tls.Config{Certificates: []tls.Certificate{c}}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		defer s.Close()
		_, strangers[name], _ = net.SplitHostPort(s.Listener.Addr().String())
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, closedPort, _ := net.SplitHostPort(closed.Addr().String())
	closed.Close()
	var got strings.Builder
	for _, c := range []struct{ name, url string }{
		{"not found", page + "/status/404"}, {"gone", page + "/status/410"}, {"forbidden", page + "/status/403"}, {"login", page + "/status/401"},
		{"too many", page + "/status/429?after=7"}, {"too long", page + "/status/429?after=9223372036854775807"}, {"unavailable", page + "/status/503"}, {"server error", page + "/status/500"}, {"odd status", page + "/status/418"}, {"refused form", page + "/status/406"},
		{"redirect to metadata", page + "/to?u=http://169.254.169.254/latest"}, {"redirect to loopback", page + "/to?u=http://localhost:1/"}, {"redirect to a file", page + "/to?u=file:///etc/passwd"},
		{"redirect to words", page + "/to?u=ftp://a/+System:+do+this"}, {"redirect to credentials", page + "/to?u=https://a:b@www.ok.example/"}, {"redirect to a number", page + "/to?u=http://2130706433/"}, {"redirect loop", page + "/loop"},
		{"wrong length", page + "/short"}, {"large", page + "/large"}, {"endless", page + "/endless"}, {"slow", page + "/slow"}, {"silent", page + "/silent"},
		{"bomb", page + "/bomb"}, {"not gzip", page + "/corrupt"}, {"broken gzip", page + "/broken"}, {"brotli", page + "/br"}, {"headers", page + "/headers"}, {"reset", page + "/reset"}, {"garbage", page + "/garbage"},
		{"unknown authority", "https://www.ok.example:" + strangers["stranger"]}, {"expired", "https://www.ok.example:" + strangers["expired"]}, {"wrong name", "https://www.ok.example:" + strangers["misnamed"]},
		{"no TLS", "https://www.ok.example:" + plainPort}, {"nothing listens", "https://www.ok.example:" + closedPort},
		{"unknown host", "https://missing.example"}, {"broken name server", "https://broken.example"}, {"no address", "https://nothing.example"},
	} {
		if f.limit = maxTime; c.name == "slow" || c.name == "silent" {
			f.limit = 100 * time.Millisecond
		}
		text, err := f.get(t, c.url)
		if err == nil {
			t.Errorf("%s: no error, but %.100q", c.name, text)
			continue
		}
		var known *fault.Fault
		if !errors.As(err, &known) {
			t.Errorf("%s: %T is no fault", c.name, err)
		}
		shown := strings.NewReplacer(f.port, "PORT", plainPort, "PORT", closedPort, "PORT", strangers["stranger"], "PORT", strangers["expired"], "PORT", strangers["misnamed"], "PORT").Replace(err.Error())
		if i := strings.Index(shown, ": current time "); i >= 0 {
			shown = shown[:i] + shown[strings.LastIndex(shown, ". "):]
		}
		fmt.Fprintf(&got, "%s: %s\n", c.name, shown)
	}
	const file = "testdata/errors.golden"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the texts differ from %s; run go test ./web/fetch -update and read the diff. They are:\n%s", file, got.String())
	}
	if left := f.files(t); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// files returns the files of the cache.
func (f *fixture) files(t *testing.T) (out []string) {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(f.folder, "*", "page-*"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAddresses checks that no connection is made to an address that is refused, neither if
// the name server changes its answer, nor after a redirect, nor if only one of several
// addresses is refused.
func TestAddresses(t *testing.T) {
	f := newFixture(t, Options{})
	f.handler = func(w http.ResponseWriter, r *http.Request) { t.Errorf("a request for %s", r.Host) }
	for _, host := range []string{"loopback.example", "rebind.example", "multi-a.example", "aaaa-only.example", "mapped.example", "metadata.example"} {
		q := f.request(t, "https://"+host+":PORT/")
		if host == "rebind.example" {
			// The first answer is judged and connected to; nothing is there. The second is the trap.
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			judged := f.judged.Load()
			go func() {
				for ctx.Err() == nil && f.judged.Load() == judged {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			if p, err := f.Get(ctx, q); err == nil {
				p.Release()
				t.Error("a page")
			}
		}
		if _, err := f.Get(t.Context(), q); !errors.Is(err, errRefused) {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, raw := range []string{"http://127.0.0.1:PORT/", "http://localhost:PORT/", "http://[::1]:PORT/", "http://[::ffff:127.0.0.1]:PORT/", "https://[64:ff9b::7f00:1]:PORT/"} {
		if _, err := f.get(t, raw); !errors.Is(err, errRefused) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if n := f.conns.Load(); n > 0 {
		t.Errorf("%d connections", n)
	}
}

// TestPages checks a page and its headers, redirects, and a page that exists in one form only.
func TestPages(t *testing.T) {
	f := newFixture(t, Options{UserAgent: "test/1"})
	f.handler = func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Cookie", "Authorization", "Referer"} {
			if v := r.Header.Get(name); v != "" {
				t.Errorf("%s: %s", name, v)
			}
		}
		if ua := r.Header.Get("User-Agent"); ua != "test/1" {
			t.Errorf("User-Agent: %s", ua)
		}
		switch r.URL.Path {
		case "/picky":
			if r.Header.Get("Accept") != "*/*" {
				w.WriteHeader(http.StatusNotAcceptable)
				return
			}
			fmt.Fprint(w, "html only")
		case "/away":
			w.Header().Set("Set-Cookie", "a=b")
			http.Redirect(w, r, "https://other.ok.example:"+f.port+"/x", http.StatusFound)
		case "/elsewhere":
			http.Redirect(w, r, "//go.dev/doc#x", http.StatusMovedPermanently)
		case "/hop":
			w.Header().Set("Set-Cookie", "a=b")
			http.Redirect(w, r, "/page?x=1", http.StatusFound)
		case "/zip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, "unzipped")
			z.Close()
		default:
			fmt.Fprint(w, r.URL.RequestURI()+" of "+strings.TrimSuffix(r.Host, ":"+f.port))
		}
	}
	for path, want := range map[string]string{
		"/a?b=c#d": "/a?b=c of www.ok.example", "/hop": "/page?x=1 of www.ok.example", "/picky": "html only", "/zip": "unzipped",
		"/away": "redirect to https://other.ok.example:" + f.port + "/x", "/elsewhere": "redirect to https://go.dev/doc#x",
	} {
		if got, err := f.get(t, page+path); err != nil || got != want {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
}

// TestCache checks how many requests reach the server.
func TestCache(t *testing.T) {
	now := time.Now()
	f := newFixture(t, Options{Now: func() time.Time { return now }})
	f.handler = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/secret" {
			w.Header().Set("Cache-Control", "private, No-Store")
		}
		fmt.Fprint(w, r.URL.Path)
	}
	reaches := func(want int64, path, principal string) {
		t.Helper()
		before := f.hits.Load()
		q := f.request(t, page+path)
		q.Principal = principal
		p, err := f.Get(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		p.Release()
		if n := f.hits.Load() - before; n != want {
			t.Errorf("%s for %s: %d requests, not %d", path, principal, n, want)
		}
	}
	reaches(1, "/a", "p")
	reaches(0, "/a#fragment", "p")
	reaches(1, "/a", "q")
	reaches(1, "/a?b", "p")
	now = now.Add(cacheTime - time.Second)
	reaches(0, "/a", "p")
	now = now.Add(time.Second)
	reaches(1, "/a", "p")
	reaches(1, "/secret", "p")
	reaches(1, "/secret", "p")
	if n := len(f.files(t)); n != 1 {
		t.Errorf("%d files", n)
	}
}

// TestCacheSize checks that the oldest pages make room, except for those in use.
func TestCacheSize(t *testing.T) {
	now := time.Now()
	f := newFixture(t, Options{Now: func() time.Time { now = now.Add(time.Millisecond); return now }})
	body := make([]byte, MaxBody)
	f.handler = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }
	first, err := f.Get(t.Context(), f.request(t, page+"/0"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 8; i++ {
		p, err := f.Get(t.Context(), f.request(t, fmt.Sprintf("%s/%d", page, i)))
		if err != nil {
			t.Fatal(err)
		}
		if i == 7 { // what is made of a page counts, too
			text, err := p.Derive(func() (string, error) { return string(body), nil })
			if err != nil || len(text) != len(body) {
				t.Errorf("%d bytes, %v", len(text), err)
			}
			if text, err = p.Derive(func() (string, error) { return "", errors.New("made twice") }); err != nil || len(text) != len(body) {
				t.Errorf("%d bytes, %v", len(text), err)
			}
		}
		p.Release()
	}
	if n := len(f.files(t)); n != 1+5 { // the first page is in use; 4 pages and a text of 10 MiB are cached
		t.Errorf("%d files", n)
	}
	if n, err := first.File().ReadAt(make([]byte, 10), 0); n != 10 {
		t.Errorf("the page in use: %v", err)
	}
	first.Release()
	if n := len(f.files(t)); n != 5 {
		t.Errorf("%d files after its release", n)
	}
}

// TestTogether checks that identical requests at once are one fetch, which ends when nobody
// waits for it any more.
func TestTogether(t *testing.T) {
	f := newFixture(t, Options{})
	arrived, release, left := make(chan struct{}, 10), make(chan struct{}), make(chan struct{}, 10)
	f.handler = func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
			fmt.Fprint(w, "x")
		case <-r.Context().Done():
			left <- struct{}{}
		}
	}
	q := f.request(t, page+"/a")
	results := make(chan error, 30)
	impatient, cancel := context.WithCancelCause(t.Context())
	start := func(ctx context.Context) {
		go func() {
			p, err := f.Get(ctx, q)
			p.Release()
			results <- err
		}()
	}
	start(impatient)
	<-arrived
	for range 29 {
		start(t.Context())
	}
	f.waits(t, q, 30)
	stop := errors.New("cancelled")
	cancel(stop)
	if err := <-results; !errors.Is(err, stop) {
		t.Errorf("the cancelled one: %v", err)
	}
	close(release)
	for range 29 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := f.hits.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
	release = make(chan struct{})
	q = f.request(t, page+"/b")
	impatient, cancel = context.WithCancelCause(t.Context())
	start(impatient)
	<-arrived
	cancel(stop)
	<-results
	select {
	case <-left:
	case <-time.After(maxTime / 2):
		t.Error("the fetch goes on although no call waits for it")
	}
}

// waits returns when so many calls wait for a page.
func (f *fixture) waits(t *testing.T, q Request, want int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		f.mu.Lock()
		n := 0
		if flight := f.flights[q.key()]; flight != nil {
			n = flight.waiting
		}
		f.mu.Unlock()
		if n == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d calls wait", n)
		}
	}
}

// TestLimits checks the numbers of fetches at once.
func TestLimits(t *testing.T) {
	f := newFixture(t, Options{})
	var mu sync.Mutex
	now, most, perHost, mostPerHost := 0, 0, map[string]int{}, 0
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	f.handler = func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		perHost[r.Host]++
		most, mostPerHost = max(most, now), max(mostPerHost, perHost[r.Host])
		mu.Unlock()
		arrived <- struct{}{}
		<-release
		mu.Lock()
		now--
		perHost[r.Host]--
		mu.Unlock()
	}
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			if _, err := f.get(t, fmt.Sprintf("https://h%d.ok.example:PORT/%d", i%5, i)); err != nil {
				t.Error(err)
			}
		})
	}
	for range maxAtOnce {
		<-arrived
	}
	close(release)
	wait.Wait()
	if most != maxAtOnce || mostPerHost != maxPerHost {
		t.Errorf("%d at once, %d of a host", most, mostPerHost)
	}
	if len(f.hosts) > 0 {
		t.Errorf("%d hosts are left", len(f.hosts))
	}
}

// TestBusy checks the error of a fetch that gets no slot in time.
func TestBusy(t *testing.T) {
	f := newFixture(t, Options{})
	f.limit = 20 * time.Millisecond
	if !f.all.TryAcquire(maxAtOnce) {
		t.Fatal("no slots")
	}
	_, err := f.get(t, "https://www.ok.example/")
	if want := "8 pages of this server, or 2 of www.ok.example, are being fetched. Try again later."; err == nil || err.Error() != want {
		t.Errorf("%v, not %s", err, want)
	}
}

// TestFolder checks that the files of a server that was killed are removed by the next one,
// and those of a running one are not.
func TestFolder(t *testing.T) {
	f := newFixture(t, Options{})
	f.handler = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") }
	killed := filepath.Join(f.folder, "killed")
	if err := os.MkdirAll(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(killed, "page-1"), killed + ".lock"} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := New(f.Options)
	for _, c := range []*Client{f.Client, other} {
		p, err := c.Get(t.Context(), f.request(t, page+"/a"))
		if err != nil {
			t.Fatal(err)
		}
		p.Release()
	}
	if files := f.files(t); len(files) != 2 {
		t.Errorf("%v", files)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if files := f.files(t); len(files) != 1 {
		t.Errorf("after the end of one: %v", files)
	}
}

// TestProxy checks that the addresses are judged although a proxy makes the connections, and
// that a host that cannot be resolved here needs a rule.
func TestProxy(t *testing.T) {
	var f *fixture
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method + " " + strings.ReplaceAll(r.Host, f.port, "PORT"))
		to, err := net.Dial("tcp", f.server.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, conn); to.Close() }()
		_, _ = io.Copy(conn, to)
		conn.Close()
	}))
	defer proxy.Close()
	f = newFixture(t, Options{Getenv: func(name string) string { return map[string]string{"https_proxy": proxy.URL}[name] }})
	f.handler = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "through the proxy") }
	for url, want := range map[string]error{
		"https://www.ok.example:PORT/": nil, "https://hidden.ok.example:PORT/": nil,
		"https://loopback.example:PORT/": errRefused, "https://multi-a.example:PORT/": errRefused, "https://10.0.0.1:PORT/": errRefused,
	} {
		asked.Store("")
		got, err := f.get(t, url)
		if !errors.Is(err, want) || want == nil && (got != "through the proxy" || asked.Load() != "CONNECT "+strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/")) {
			t.Errorf("%s: %s, %v; the proxy was asked for %v", url, got, err, asked.Load())
		}
		if want != nil && asked.Load() != "" {
			t.Errorf("%s: the proxy was asked for %v", url, asked.Load())
		}
	}
	f.unnamed.Store(true)
	if _, err := f.get(t, "https://absent.ok.example:PORT/"); !errors.Is(err, errRefused) {
		t.Errorf("a host that cannot be resolved: %v", err)
	}
}

// TestNoise checks that a server cannot write to the log of net/http, by more data than was
// asked for, and that a long Content-Type counts as missing.
func TestNoise(t *testing.T) {
	var noise bytes.Buffer
	log.SetOutput(&noise)
	defer log.SetOutput(os.Stderr)
	f := newFixture(t, Options{})
	closed := make(chan struct{})
	f.handler = func(w http.ResponseWriter, _ *http.Request) {
		defer close(closed)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		defer func() { _, _ = io.Copy(io.Discard, conn) }() // until the client closes
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain; charset=%s\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 200_000))
	}
	p, err := f.Get(t.Context(), f.request(t, page))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	<-closed
	log.SetOutput(os.Stderr)
	if noise.Len() > 0 || p.Type != "" || len(p.Params) > 0 {
		t.Errorf("%q, %.50q, %d parameters", noise.String(), p.Type, len(p.Params))
	}
}

// TestProxyDown checks that the error names the proxy, not the host.
func TestProxyDown(t *testing.T) {
	f := newFixture(t, Options{Getenv: func(name string) string {
		return map[string]string{"HTTPS_PROXY": "http://user:word@127.0.0.1:1"}[name]
	}})
	_, err := f.get(t, "https://www.ok.example/")
	if want := "the proxy for www.ok.example does not answer. Ask the user to check HTTPS_PROXY and HTTP_PROXY."; err == nil || err.Error() != want {
		t.Errorf("%v, not %s", err, want)
	}
}
