package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// keyFor is the time in which a link must be opened.
	keyFor = 60 * time.Second
	// maxKeys and maxLogins limit the links that have not ended and the logins that hold; the
	// oldest ends.
	maxKeys   = 20
	maxLogins = 50
	// maxFailures is the number of failed logins within failWindow after which each further one gets
	// another status. The right token logs in all the same, so that nobody is locked out.
	maxFailures = 20
	failWindow  = time.Minute
)

type hash [sha256.Size]byte

func hashOf(text string) hash { return sha256.Sum256([]byte(text)) }

// logins holds the links and the logins of one run. The zero value is empty.
type logins struct {
	mu       sync.Mutex
	keys     []key
	logins   []login
	failures int
	since    time.Time
}

// key is that of a link.
type key struct {
	hash  hash
	ends  time.Time
	began *login // by the first use; nil: not opened yet
}

// login is one browser. Its cookie allows it to look, and its token, which only pages of the
// same port can have, to act.
type login struct {
	cookie, token hash
}

// secret returns a new secret of 130 bits.
func secret() string { return rand.Text() }

// link returns the key of a new link.
func (l *logins) link(now time.Time) string {
	k := secret()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys = append(l.keys, key{hash: hashOf(k), ends: now.Add(keyFor)})
	l.keys = l.keys[max(0, len(l.keys)-maxKeys):]
	return k
}

// redeem adds a login with a key, which then is used. The second use of a key ends the login of the
// first, because either user may be an attacker.
func (l *logins) redeem(given string, now time.Time) (cookie, token string, ok bool) {
	h := hashOf(given)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys = slices.DeleteFunc(l.keys, func(k key) bool { return !now.Before(k.ends) })
	for i := range l.keys {
		k := &l.keys[i]
		switch {
		case subtle.ConstantTimeCompare(k.hash[:], h[:]) == 0:
		case k.began != nil:
			l.logins = slices.DeleteFunc(l.logins, func(o login) bool { return o == *k.began })
		default:
			cookie, token = secret(), secret()
			k.began = l.add(cookie, token)
			return cookie, token, true
		}
	}
	return "", "", false
}

// begin adds a login and returns its secrets.
func (l *logins) begin() (cookie, token string) {
	cookie, token = secret(), secret()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(cookie, token)
	return cookie, token
}

// add adds a login. The caller must hold the lock.
func (l *logins) add(cookie, token string) *login {
	n := login{hashOf(cookie), hashOf(token)}
	l.logins = append(l.logins, n)
	l.logins = l.logins[max(0, len(l.logins)-maxLogins):]
	return &n
}

// find returns the login of one of the cookies with a name.
func (l *logins) find(r *http.Request, name string) *login {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range r.CookiesNamed(name) {
		h := hashOf(c.Value)
		for _, known := range l.logins {
			if subtle.ConstantTimeCompare(known.cookie[:], h[:]) == 1 {
				return &known
			}
		}
	}
	return nil
}

// allows reports whether a token is that of the login.
func (l *login) allows(token string) bool {
	h := hashOf(token)
	return subtle.ConstantTimeCompare(l.token[:], h[:]) == 1
}

// failed records a failed login and reports whether there are too many.
func (l *logins) failed(now time.Time) (tooMany bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) > failWindow {
		l.failures, l.since = 0, now
	}
	l.failures++
	return l.failures > maxFailures
}
