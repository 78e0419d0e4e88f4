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
		if err := o.tokenFileMode(a, loopback); err != nil {
			return t, err
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
	case !loopback && len(t.value) < remoteToken:
		return t, usagef("%s can be reached from other machines, which could guess a token of %d characters; use %d or more, such as from openssl rand -hex 32", o.addr, len(t.value), remoteToken)
	case len(t.value) < shortToken:
		a.log.Warn(fmt.Sprintf("the token is short enough to be guessed; use %d characters or more", remoteToken))
	}
	return t, nil
}

// tokenFileMode warns about a token file that other users can access. If they can write it they can
// choose the token, so beyond loopback it is rejected.
func (o *httpOptions) tokenFileMode(a *app, loopback bool) error {
	info, err := os.Stat(o.tokenFile)
	if err != nil {
		return fmt.Errorf("reading the token: %w", err)
	}
	switch mode := info.Mode().Perm(); {
	case runtime.GOOS == "windows": // access control lists decide there
	case mode&0o022 != 0 && !loopback:
		return usagef("other users can write the token file %s (mode %04o); run chmod 600 %s", plain.Line(o.tokenFile), mode, plain.Line(o.tokenFile))
	case mode&0o077 != 0:
		a.log.Warn("other users can read or write the token file; make its mode 600", "file", o.tokenFile)
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
