package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"mcp-toolset/internal/identity"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/plain"
)

// token is the bearer token of an HTTP server.
type token struct {
	value string
	file  string // the file that holds it, or ""
	made  bool   // whether it was made just now
}

// The least lengths of a token in characters. On a loopback address the server warns about a
// shorter token. It rejects one where other machines can try to guess it.
const (
	shortToken  = 16
	remoteToken = 32
)

// token finds the token. It makes one if this user has none and the server listens on loopback.
func (o *httpOptions) token(host *Host, a *app, loopback bool) (token, error) {
	fromEnv := host.Getenv("MCP_TOOLSET_TOKEN")
	host.Unsetenv("MCP_TOOLSET_TOKEN") // commands must not find it
	if o.tokens != "" {
		if fromEnv != "" {
			return token{}, usagef("--tokens has the tokens of all users; unset MCP_TOOLSET_TOKEN")
		}
		return token{}, nil
	}
	if o.issuers != nil || o.header != "" {
		if fromEnv != "" {
			return token{}, usagef("users come from an identity provider; unset MCP_TOOLSET_TOKEN")
		}
		return token{}, nil
	}
	if o.NoAuth {
		if !loopback {
			return token{}, usagef("--no-auth is for loopback addresses; %s can be reached from other machines: give a token with --token-file", o.addr)
		}
		return token{}, nil
	}
	var t token
	switch {
	case o.tokenFile != "":
		var err error
		if t, err = o.readToken(a, o.tokenFile, loopback); err != nil {
			return t, err
		}
	case fromEnv != "":
		t = token{value: strings.TrimSpace(fromEnv)}
	case !loopback:
		return t, usagef("%s can be reached from other machines: give a token of your own with --token-file or MCP_TOOLSET_TOKEN", o.addr)
	default:
		return ownToken(a.State)
	}
	return t, t.check(o, a, loopback)
}

// readToken reads a file with one token.
func (o *httpOptions) readToken(a *app, file string, loopback bool) (token, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return token{}, fmt.Errorf("reading the token: %w", err)
	}
	return token{value: strings.TrimSpace(string(data)), file: file}, o.tokenFileMode(a, file, loopback)
}

// check rejects a token that cannot be sent, or could be guessed.
func (t token) check(o *httpOptions, a *app, loopback bool) error {
	switch {
	case t.value == "":
		return errors.New("the token is empty")
	case strings.ContainsFunc(t.value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the token has characters that a header cannot carry; use printable ASCII without spaces")
	case !loopback && len(t.value) < remoteToken:
		return usagef("%s can be reached from other machines, which could guess a token of %d characters; use %d or more, such as from openssl rand -hex 32", o.addr, len(t.value), remoteToken)
	case len(t.value) < shortToken:
		a.log.Warn(fmt.Sprintf("the token is short enough to be guessed; use %d characters or more", remoteToken))
	}
	return nil
}

// users sets who may send requests. It returns the token that serves the console and figures, and
// whose it is; "" if none does.
func (o *httpOptions) users(a *app, t token, loopback bool) (operator, whose string, err error) {
	if t.value != "" {
		o.Users, operator, whose = identity.NewOne(t.value), t.value, "server"
	}
	if o.operatorFile != "" {
		own, err := o.readToken(a, o.operatorFile, loopback)
		if err == nil {
			err = own.check(o, a, loopback)
		}
		if err != nil {
			return "", "", fmt.Errorf("--operator-token-file: %w", err)
		}
		if own.value == operator {
			return "", "", usagef("the token of the operator is the one of the clients, who could then approve their own calls; make another, such as with openssl rand -hex 32")
		}
		o.Operator, operator, whose = identity.NewOne(own.value), own.value, "operator"
	}
	if o.tokens != "" {
		if err := o.tokenFileMode(a, o.tokens, loopback); err != nil {
			return "", "", err
		}
		users, err := identity.ReadTokens(o.tokens, operator)
		if err != nil {
			return "", "", err
		}
		o.Users, o.named = users, users
	}
	return operator, whose, nil
}

// tokenFileMode warns about a token file that other users can access. If they can write it they can
// choose the token, so beyond loopback it is rejected.
func (o *httpOptions) tokenFileMode(a *app, file string, loopback bool) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("reading the token: %w", err)
	}
	switch mode := info.Mode().Perm(); {
	case runtime.GOOS == "windows": // access control lists decide there
	case mode&0o022 != 0 && !loopback:
		return usagef("other users can write the token file %s (mode %04o); run chmod 600 %s", plain.Line(file), mode, plain.Line(file))
	case mode&0o077 != 0:
		a.log.Warn("other users can read or write the token file; make its mode 600", "file", file)
	}
	return nil
}

// ownToken reads the token in the state folder, or makes it.
func ownToken(stateDir string) (token, error) {
	if err := state.EnsurePrivate(stateDir); err != nil {
		return token{}, err
	}
	t := token{file: filepath.Join(stateDir, "token")}
	value := rand.Text() + rand.Text()           // each text has 26 characters
	f, err := os.CreateTemp(stateDir, "token-*") // mode 0600
	if err != nil {
		return token{}, fmt.Errorf("making a token: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(value + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return token{}, fmt.Errorf("making a token: %w", err)
	}
	// Link fails if there is a token already, even one made at the same moment.
	if err := os.Link(f.Name(), t.file); err == nil {
		t.value, t.made = value, true
		return t, nil
	} else if !errors.Is(err, fs.ErrExist) {
		return token{}, fmt.Errorf("making a token: %w", err)
	}
	data, err := os.ReadFile(t.file)
	if err != nil {
		return token{}, fmt.Errorf("reading the token: %w", err)
	}
	if t.value = strings.TrimSpace(string(data)); len(t.value) < shortToken {
		return token{}, fmt.Errorf("%s holds no token; remove it to have a new one made", t.file)
	}
	return t, nil
}
