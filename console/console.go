// Package console serves the console: a page in the user's browser that shows the calls of servers
// and answers approvals and questions.
//
// It is for one user, and checks each request: it must name a host of this machine, come from no
// other site and, except for the files of the page, have the cookie of a login. A login needs a
// link that works once, for 60 seconds, or the bearer token of an HTTP server. A request that
// changes something also needs a token in a header. The page holds it in the storage of its host
// and port, since another program that serves pages on this machine, on another port, gets the
// cookie.
package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/console/feed"
	"mcp-toolset/console/page"
)

// Path begins the paths of the console.
const Path = "/console/"

// Config holds the settings of a handler.
type Config struct {
	Servers Servers
	// Host reports whether a Host header names this server. Nil: the caller has checked it.
	Host func(string) bool
	// Cookie distinguishes the cookies of consoles on one host, such as by their port.
	Cookie string
	// Token reports whether a text is the bearer token with which the form logs in. Nil: only
	// links log in.
	Token func(string) bool
	// Whose names the owner of the token in texts: "operator" if clients have others; "" is "server".
	Whose string
	// Hint is the next step for a user without a login, as a sentence.
	Hint string
}

// Console is the handler. It serves the paths below Path, and Path without its slash.
type Console struct {
	Config
	hub    *hub
	logins logins
	files  map[string]file
	ended  context.Context // ends the streams
	end    context.CancelFunc
}

// file is a static file.
type file struct {
	data []byte
	kind string // media type
	tag  string // entity tag
}

//go:embed welcome.html welcome.js
var own embed.FS

// New returns a console. The caller must close it.
func New(c Config) *Console {
	t := &Console{Config: c, hub: newHub(c.Servers), files: map[string]file{}}
	t.ended, t.end = context.WithCancel(context.Background())
	t.load(page.Files)
	t.load(own)
	return t
}

// load reads embedded files.
func (c *Console) load(files embed.FS) {
	names, err := fs.Glob(files, "*")
	if err != nil {
		panic(err) // cannot happen: the pattern is valid
	}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			continue // a folder
		}
		sum := sha256.Sum256(data)
		c.files[name] = file{data, kinds[path.Ext(name)], `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
}

// kinds maps file names to media types. Package mime would ask the system.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// Link returns the path and query of a link that logs in once.
func (c *Console) Link() string { return Path + "login?key=" + c.logins.link(time.Now()) }

// Close ends all streams.
func (c *Console) Close() error {
	c.end()
	c.hub.close()
	return nil
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if c.Host != nil && !c.Host(r.Host) {
		c.fail(w, r, &feed.Error{Status: http.StatusForbidden, Fact: "this host name is not served here", Next: "Use the address that mcp-toolset printed."})
		return
	}
	if !sameOrigin(r) {
		c.fail(w, r, &feed.Error{Status: http.StatusForbidden, Fact: "the request comes from another site", Next: "Open the console by its own address."})
		return
	}
	name, below := strings.CutPrefix(r.URL.Path, Path)
	switch {
	case !below:
		http.Redirect(w, r, Path, http.StatusMovedPermanently)
	case strings.HasPrefix(name, "api/"):
		c.api(w, r, strings.TrimPrefix(name, "api/"))
	case name == "login":
		c.login(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		c.method(w, r, http.MethodGet)
	case name == "":
		c.index(w, r)
	default:
		c.file(w, r, name)
	}
}

// sameOrigin reports whether a request comes from a page of the console, or from no page.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host) && origins[0] == u.Scheme+"://"+u.Host
}

// isAPI reports whether a request is for the API, whose errors are JSON.
func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, Path+"api/") }

// fail answers with an error.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, e *feed.Error) {
	if !isAPI(r) {
		c.door(w, e.Status, e.Fact, e.Next, "")
		return
	}
	writeJSON(w, e.Status, map[string]string{"error": e.Fact, "next": e.Next})
}

// method refuses a method.
func (c *Console) method(w http.ResponseWriter, r *http.Request, allowed string) {
	w.Header().Set("Allow", allowed)
	c.fail(w, r, &feed.Error{Status: http.StatusMethodNotAllowed, Fact: "the method " + r.Method + " is not allowed here", Next: "Use " + allowed + "."})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client may have gone
}

// loginForm is the form that sends the bearer token of an HTTP server.
const loginForm = `<form method="post" action="login">
<label for="token">Token of the server</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button class="main" type="submit">Log in</button>
</form>`

// door writes the page for a browser without access: a fact, a next step, and a form or "".
func (c *Console) door(w http.ResponseWriter, status int, fact, next, form string) {
	text := strings.NewReplacer("{{FACT}}", html.EscapeString(sentence(fact)), "{{NEXT}}", html.EscapeString(next), "{{FORM}}", form).Replace(string(c.files["door.html"].data))
	w.Header().Set("Content-Type", kinds[".html"])
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// sentence returns a fact as a sentence.
func sentence(fact string) string {
	if fact == "" {
		return ""
	}
	return strings.ToUpper(fact[:1]) + fact[1:] + "."
}

// outside answers a request without a login.
func (c *Console) outside(w http.ResponseWriter, r *http.Request) {
	fact, next := "you are not logged in", c.Hint
	if isAPI(r) || c.Token == nil {
		c.fail(w, r, &feed.Error{Status: http.StatusUnauthorized, Fact: fact, Next: next})
		return
	}
	c.door(w, http.StatusUnauthorized, fact, "Enter the bearer token of the "+cmp.Or(c.Whose, "server")+", or "+strings.ToLower(next[:1])+next[1:], loginForm)
}

// index serves the page.
func (c *Console) index(w http.ResponseWriter, r *http.Request) {
	if c.logins.find(r, c.cookieName()) == nil {
		c.outside(w, r)
		return
	}
	w.Header().Set("Content-Type", kinds[".html"])
	_, _ = w.Write(c.files["index.html"].data)
}

// file serves a static file, which is the same for everyone.
func (c *Console) file(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := c.files[name]
	if !ok || path.Ext(name) == ".html" {
		c.fail(w, r, &feed.Error{Status: http.StatusNotFound, Fact: "there is no page " + strconv.Quote(r.URL.Path), Next: "Open " + Path + "."})
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", f.tag)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", f.kind)
	_, _ = w.Write(f.data)
}

func (c *Console) cookieName() string { return "mcp-toolset-console-" + c.Cookie }

// login redeems a link, or the token of a form.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	var cookie, token string
	switch {
	case r.Method == http.MethodGet:
		var ok bool
		if cookie, token, ok = c.logins.redeem(r.URL.Query().Get("key"), time.Now()); !ok {
			c.fail(w, r, &feed.Error{Status: http.StatusForbidden, Fact: "the link was used already, or is older than 60 seconds", Next: c.Hint})
			return
		}
	case r.Method != http.MethodPost || c.Token == nil:
		c.method(w, r, http.MethodGet)
		return
	default:
		r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
		if !c.Token(strings.TrimSpace(r.PostFormValue("token"))) {
			if c.logins.failed(time.Now()) {
				c.door(w, http.StatusTooManyRequests, "there were too many failed logins", "Wait a minute, then log in again.", loginForm)
				return
			}
			c.door(w, http.StatusForbidden, "the token is wrong", "Enter the bearer token of the "+cmp.Or(c.Whose, "server")+".", loginForm)
			return
		}
		cookie, token = c.logins.begin()
	}
	http.SetCookie(w, &http.Cookie{Name: c.cookieName(), Value: cookie, Path: Path, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	w.Header().Set("Content-Type", kinds[".html"])
	_, _ = io.WriteString(w, strings.ReplaceAll(string(c.files["welcome.html"].data), "{{TOKEN}}", token))
}
