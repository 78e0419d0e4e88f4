package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mcp-toolset/internal/state"
)

// token is the bearer token of an HTTP server.
type token struct {
	value string
	file  string // where it is, when it is in a file
	made  bool   // we made it, now or at an earlier start
}

// shortToken is the length in characters below which a token can be guessed.
const shortToken = 16

// token finds the token, and makes one if this user has none and a token of
// our own making is good enough.
func (o *httpOptions) token(host *Host, a *app, loopback bool) (token, error) {
	fromEnv := host.Getenv("MCP_TOOLSET_TOKEN")
	host.Unsetenv("MCP_TOOLSET_TOKEN") // a command that we run must not find it
	if o.NoAuth {
		if !loopback {
			return token{}, usagef("--no-auth is for loopback addresses; %s can be reached from other machines: give a token with --token-file", o.addr)
		}
		return token{}, nil
	}
	var t token
	switch {
	case o.tokenFile != "":
		data, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return t, fmt.Errorf("reading the token: %w", err)
		}
		t = token{value: strings.TrimSpace(string(data)), file: o.tokenFile}
		if info, err := os.Stat(o.tokenFile); err == nil && info.Mode().Perm()&0o077 != 0 {
			a.log.Warn("other users can read the token file; make its mode 600", "file", o.tokenFile)
		}
	case fromEnv != "":
		t = token{value: strings.TrimSpace(fromEnv)}
	case !loopback:
		return t, usagef("%s can be reached from other machines: give a token of your own with --token-file or MCP_TOOLSET_TOKEN", o.addr)
	default:
		return ownToken(a.State)
	}
	switch {
	case t.value == "":
		return t, errors.New("the token is empty")
	case strings.ContainsFunc(t.value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return t, errors.New("the token has characters that a header cannot carry; use printable ASCII without spaces")
	case len(t.value) < shortToken:
		a.log.Warn("the token is short enough to be guessed; use 16 characters or more")
	}
	return t, nil
}

// ownToken reads the token in the state folder, or makes it.
func ownToken(stateDir string) (token, error) {
	if err := state.EnsurePrivate(stateDir); err != nil {
		return token{}, err
	}
	t := token{file: filepath.Join(stateDir, "token"), made: true}
	value := rand.Text()
	f, err := os.CreateTemp(stateDir, "token-*") // mode 0600
	if err != nil {
		return token{}, fmt.Errorf("making a token: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(value + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return token{}, fmt.Errorf("making a token: %w", err)
	}
	// Linking fails when there is a token, also one made at the same moment.
	if err := os.Link(f.Name(), t.file); err == nil {
		t.value = value
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
