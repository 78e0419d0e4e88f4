package settings

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/policy"
)

// The keys deniedMcpServers and allowedMcpServers: the servers that must not or may be
// started or connected to.

// The keys of the lists.
const (
	deniedServersKey  = "deniedMcpServers"
	allowedServersKey = "allowedMcpServers"
)

var serverEntryKeys = []string{"serverCommand", "serverName", "serverUrl"}

// serverEntry is an entry of a server list. Exactly one of name, command and url is
// set, except in a malformed entry, in which none is.
type serverEntry struct {
	policy.Origin
	name    string // * matches any text
	command []string
	url     *urlPattern
}

// allowedServers holds the allowedMcpServers of one file.
type allowedServers struct {
	policy.Origin
	entries []serverEntry
}

const wantServer = `a name, or an object with one of "serverName", "serverCommand" and "serverUrl"`

// readDenied reads deniedMcpServers. An entry that it does not understand is an error,
// since it might deny any server.
func (s *Settings) readDenied(f field) error {
	if f.value.kind != isArray {
		return f.value.typeError(f.key, "an array")
	}
	for i, n := range f.value.items {
		e, err := s.readServerEntry(fmt.Sprintf("%s[%d]", f.key, i), n)
		if err != nil {
			return err
		}
		s.denied = append(s.denied, e)
	}
	return nil
}

// readAllowed reads allowedMcpServers. An entry that it does not understand allows
// nothing.
func (s *Settings) readAllowed(f field) error {
	if f.value.kind != isArray {
		return f.value.typeError(f.key, "an array")
	}
	allowed := allowedServers{Origin: s.at(f.line)}
	for i, n := range f.value.items {
		at := fmt.Sprintf("%s[%d]", f.key, i)
		e, err := s.readServerEntry(at, n)
		if err == nil && e.url != nil && !e.url.anything && e.url.scheme == "" {
			err = fmt.Errorf("line %d: %s: the URL of an allowed server needs a scheme and a host, such as https://example.com/*", n.line, at)
		}
		if err != nil {
			_, text, _ := strings.Cut(err.Error(), ": ")
			s.warn(n.line, "%s; it allows nothing", text)
			continue
		}
		allowed.entries = append(allowed.entries, e)
	}
	s.allowed = scalarOf(allowed)
	return nil
}

func (s *Settings) readServerEntry(at string, n *node) (e serverEntry, err error) {
	e.Origin = s.at(n.line)
	if n.kind == isString && n.text != "" {
		e.name = n.text
		return e, nil
	}
	if n.kind != isObject {
		return e, n.typeError(at, wantServer)
	}
	if len(n.fields) != 1 || !slices.Contains(serverEntryKeys, n.fields[0].key) {
		return e, fmt.Errorf("line %d: %s: want %s", n.line, at, wantServer)
	}
	f := n.fields[0]
	at = joinKey(at, f.key)
	switch f.key {
	case "serverName":
		if f.value.kind != isString || f.value.text == "" {
			return e, f.value.typeError(at, "a name")
		}
		e.name = f.value.text
	case "serverUrl":
		if f.value.kind != isString {
			return e, f.value.typeError(at, "a URL")
		}
		if e.url = newURLPattern(f.value.text); e.url == nil {
			return e, f.value.typeError(at, "a URL such as https://example.com/*, in which * stands for any text")
		}
	default:
		if f.value.kind != isArray {
			return e, f.value.typeError(at, "a program and its arguments")
		}
		e.command, err = s.readCommand(at, f.value)
	}
	return e, err
}

// UpstreamRefused reports whether a server must not be started or connected to, and
// why, as one phrase safe to show. The variables of u must be expanded. The denied
// lists of all files apply. Of the allowed lists, only that of the most authoritative
// file with such a list applies: it must cover the server.
func (s *Settings) UpstreamRefused(u Upstream) (why string, refused bool) {
	if s == nil {
		return "", false
	}
	for _, e := range s.denied {
		if e.denies(u) {
			return "denied by " + deniedServersKey + " in " + e.Origin.String(), true
		}
	}
	if !s.allowed.set || slices.ContainsFunc(s.allowed.value.entries, func(e serverEntry) bool { return e.allows(u) }) {
		return "", false
	}
	return "not among " + allowedServersKey + " in " + policy.Origin{Source: s.allowed.value.Source}.String(), true
}

// allows reports whether the entry matches the server exactly.
func (e *serverEntry) allows(u Upstream) bool {
	switch {
	case e.name != "":
		return wildcard(e.name, u.Name)
	case e.url != nil:
		return u.URL != "" && e.url.allows(u.URL)
	}
	return u.Command != "" && slices.Equal(e.command, append([]string{u.Command}, u.Args...)) && !u.loads()
}

// loads reports whether the server's variables may decide which program runs or what
// it loads. The command alone does not determine then what is started.
func (u Upstream) loads() bool {
	for name := range u.Env {
		name = strings.ToUpper(name)
		if slices.Contains(loaders, name) || slices.ContainsFunc(loaderPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return true
		}
	}
	return false
}

// loaders lists variables by which systems, shells and interpreters find programs and
// load code. loaderPrefixes lists the prefixes of the names of others.
var (
	loaders = []string{
		"PATH", "PATHEXT", "HOME", "ENV", "BASH_ENV", "IFS", "SHELL", "CLASSPATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS",
		"NODE_OPTIONS", "NODE_PATH", "RUBYOPT", "RUBYLIB", "GEM_PATH", "GEM_HOME", "DENO_DIR", "BUN_INSTALL",
	}
	loaderPrefixes = []string{"LD_", "DYLD_", "PYTHON", "PERL5", "NPM_CONFIG_", "UV_", "PIP_", "XDG_", "DOCKER_", "GIT_"}
)

// denies reports whether the entry matches the server in any spelling.
func (e *serverEntry) denies(u Upstream) bool {
	switch {
	case e.name != "":
		return wildcard(fold(e.name), fold(u.Name)) || wildcard(foldedPrefix(e.name), foldedPrefix(u.Name))
	case e.url != nil:
		return u.URL != "" && e.url.denies(u.URL)
	}
	if u.Command == "" || !slices.Equal(e.command[1:], u.Args) {
		return false
	}
	// The location of a program without a path is unknown, so compare base names.
	name, command := filepath.ToSlash(e.command[0]), filepath.ToSlash(u.Command)
	if !strings.Contains(name, "/") || !strings.Contains(command, "/") {
		return path.Base(name) == path.Base(command)
	}
	return name == command
}

// fold returns a text without differences in case.
func fold(s string) string { return strings.ToLower(strings.ToUpper(strings.TrimSpace(s))) }

// foldedPrefix returns the server's part of its tools' names, folded. It leaves each *
// unchanged.
func foldedPrefix(name string) string {
	parts := strings.Split(strings.TrimSpace(name), anyText)
	for i := range parts {
		parts[i] = fold(policy.ServerPrefix(parts[i]))
	}
	return strings.Join(parts, anyText)
}
