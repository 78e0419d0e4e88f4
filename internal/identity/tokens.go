package identity

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

const (
	maxTokens = 10_000
	// minToken is the least length of a named token, in characters.
	minToken = 32
	maxFile  = 16 << 20
	// lookEvery is the interval at which Follow looks for a change of the file.
	lookEvery = time.Second
)

var tokenName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,40}$`)

// Tokens is the Source of a file with a line NAME:TOKEN for each token. A name may have several
// tokens, so that one can be replaced. The principal of NAME is token:NAME.
type Tokens struct {
	path     string
	operator Hash // of a token that no user may have
	held     atomic.Pointer[list]
}

// list is one state of the file.
type list struct {
	text []byte
	of   map[Hash]Principal
}

// ReadTokens reads a file of tokens, none of which may be the token of the operator, if there is one.
// Its error names the line, and never shows a token.
func ReadTokens(path, operator string) (*Tokens, error) {
	t := &Tokens{path: path, operator: hashOf(operator)}
	l, err := t.read()
	if err != nil {
		return nil, err
	}
	t.held.Store(l)
	return t, nil
}

func (t *Tokens) read() (*list, error) {
	f, err := os.Open(t.path)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s exceeds %d MiB; a file of tokens has a line NAME:TOKEN for each", t.path, maxFile>>20)
	}
	l := &list{text, map[Hash]Principal{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxFile+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if problem := l.add(line, t.operator); problem != "" {
			return nil, fmt.Errorf("line %d of %s: %s", n, t.path, problem)
		}
	}
	if len(l.of) == 0 {
		return nil, fmt.Errorf("%s has no token; write a line NAME:TOKEN for each user", t.path)
	}
	return l, nil
}

// add adds the token of a line. It returns the reason if it cannot.
func (l *list) add(line string, operator Hash) (problem string) {
	name, token, colon := strings.Cut(line, ":")
	switch {
	case !colon:
		return "there is no colon; write NAME:TOKEN"
	case !tokenName.MatchString(name):
		return "the name may have a to z, 0 to 9 and -, at most 41 characters, and begins with a letter or digit"
	case len(token) < minToken:
		return fmt.Sprintf("the token has %d characters; use %d or more, such as from openssl rand -hex 32", len(token), minToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "the token has characters that a header cannot carry; use printable ASCII without spaces"
	case strings.Contains(token, "."):
		return "the token has a dot, which tokens of identity providers have; use others, such as from openssl rand -hex 32"
	case len(l.of) == maxTokens:
		return fmt.Sprintf("there are more than %d tokens", maxTokens)
	}
	by := hashOf(token)
	if by == operator {
		return "the token is the operator's; users need others"
	}
	if other, taken := l.of[by]; taken {
		return "the token is also the token of " + other.Name + "; each needs its own"
	}
	l.of[by] = Principal{ID: named + name, Name: name, By: by}
	return ""
}

// Find returns the principal of a token.
func (t *Tokens) Find(token string) (Principal, bool) {
	p, ok := t.held.Load().of[hashOf(token)]
	return p, ok
}

// Authenticate finds the principal of the bearer token.
func (t *Tokens) Authenticate(r *http.Request) (Principal, *Refusal) {
	return (&Users{Tokens: t}).Authenticate(r)
}

// Valid reports whether the token of a principal is still in the file. It is true for principals of
// other sources.
func (t *Tokens) Valid(p Principal) bool {
	_, ok := t.held.Load().of[p.By]
	return ok || !strings.HasPrefix(p.ID, named)
}

// Follow reads the file again when it changes, until ctx ends, and calls changed after it took over
// a new list. If a new list is not valid, the old one stays and the log names the line.
func (t *Tokens) Follow(ctx context.Context, log *slog.Logger, changed func()) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		next, err := t.read()
		switch {
		case err != nil && err.Error() != said:
			said = err.Error()
			log.Warn("the tokens stay as they were: the changed file is not valid", "error", said)
		case err == nil && !bytes.Equal(next.text, t.held.Load().text):
			said = ""
			t.held.Store(next)
			log.Info("the tokens were read again", "tokens", len(next.of))
			changed()
		case err == nil:
			said = ""
		}
	}
}
