package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
)

// The key mcpServers. Other clients use the same format. Keys that only they know are
// ignored with a warning.

// serversKey is the key that holds the servers.
const serversKey = "mcpServers"

// Known keys of a server and below upstream.
var (
	serverKeys   = []string{"args", "command", "cwd", "disabled", "eager", "env", "headers", "loading", "timeout", "type", "url"}
	upstreamKeys = []string{"pin"}
)

// transports maps the values of type to whether the transport is HTTP.
var transports = map[string]bool{"stdio": false, "http": true, "streamable-http": true, "streamableHttp": true}

func (s *Settings) readServers(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	var all []Upstream
	for _, g := range f.value.fields {
		if why := unusable(g.key); why != "" {
			s.warn(g.line, "%s: %s; ignored", joinKey(f.key, g.key), why)
			continue
		}
		u, ok, err := s.readServer(g)
		if err != nil {
			return err
		}
		if ok {
			all = append(all, u)
		}
	}
	s.addUpstreams(all)
	return nil
}

// unusable returns the reason why no tool can be called under a server's name, or "".
func unusable(name string) string {
	prefix := policy.ServerPrefix(name)
	switch {
	case name == "":
		return "a server needs a name"
	case strings.Contains(prefix, policy.UpstreamGap), strings.HasSuffix(prefix, "_"):
		return "in " + plain.Quote(policy.ToolsPrefix(prefix)+"tool") + " no rule could tell the server from the tool; a name has no two _ in a row and none at its end, where all but letters, digits and - is one"
	case len(prefix) > maxServerName:
		return fmt.Sprintf("a name has at most %d characters, so that those of its tools fit in what clients take", maxServerName)
	}
	return ""
}

// readServer reads one server. ok reports whether the server is usable or disabled.
func (s *Settings) readServer(g field) (u Upstream, ok bool, err error) {
	path := joinKey(serversKey, g.key)
	if g.value.kind != isObject {
		return u, false, g.value.typeError(path, "an object")
	}
	u = Upstream{Name: g.key, Root: s.root, Source: s.source, Line: g.line}
	kind, line := "", 0
	for _, f := range g.value.fields {
		if f.key == "type" {
			line = f.value.line
			kind, err = f.value.string(joinKey(path, f.key))
		} else {
			err = s.readServerKey(&u, path, f)
		}
		if err != nil {
			return u, false, err
		}
	}
	if u.Disabled { // its other keys do not matter; it disables the server in less authoritative files too
		return u, true, nil
	}
	if _, known := transports[kind]; !known && kind != "" {
		s.warn(line, "%s: %s is not supported, only stdio and http; ignored", joinKey(path, "type"), transport(kind))
		return u, false, nil
	}
	return u, true, u.complete(g.value.line, kind)
}

// transport names a value of type that is not supported.
func transport(kind string) string {
	if kind == "sse" {
		return "sse, the transport before streamable HTTP,"
	}
	return plain.Quote(kind)
}

// readServerKey reads one key of a server, except type.
func (s *Settings) readServerKey(u *Upstream, path string, f field) (err error) {
	at := joinKey(path, f.key)
	switch f.key {
	case "command":
		u.Command, err = s.readText(at, f.value)
	case "url":
		u.URL, err = s.readText(at, f.value)
	case "cwd":
		u.Dir, err = s.readText(at, f.value)
	case "args":
		if u.Args, err = f.value.strings(at); err == nil {
			for i, n := range f.value.items {
				s.readReferences(fmt.Sprintf("%s[%d]", at, i), n)
			}
		}
	case "env":
		u.Env, err = s.readMap(at, f.value, func(key string) bool { return key != "" && !strings.ContainsAny(key, "=\x00") })
	case "headers":
		if u.Headers, err = s.readMap(at, f.value, isToken); err == nil {
			err = onceEach(at, f.value)
		}
	case "disabled":
		u.Disabled, err = f.value.bool(at)
	case "eager":
		u.Eager, err = f.value.bool(at)
	case "loading":
		if f.value.kind != isString || f.value.text != "deferred" && f.value.text != "always" {
			return f.value.typeError(at, `"deferred" or "always"`)
		}
		u.Always = f.value.text == "always"
	case "timeout":
		if f.value.kind != isNumber {
			return f.value.typeError(at, "a number of milliseconds")
		}
		u.Timeout = s.readMilliseconds(at, f.value)
	default:
		s.unknownKey(f.line, path, f.key, serverKeys)
	}
	return err
}

// complete returns an error if keys of a server are missing or contradict each other.
func (u *Upstream) complete(line int, kind string) error {
	fail := func(what string) error { return fmt.Errorf("line %d: %s: %s", line, joinKey(serversKey, u.Name), what) }
	web, typed := transports[kind]
	switch {
	case u.Command == "" && u.URL == "":
		return fail("it has neither command nor url; add one")
	case u.Command != "" && u.URL != "":
		return fail("it has both command and url; take one out")
	case typed && web && u.URL == "":
		return fail("a server of type " + kind + " needs a url")
	case typed && !web && u.Command == "":
		return fail("a server of type " + kind + " needs a command")
	case u.URL != "" && !strings.Contains(u.URL, "${") && !isWeb(u.URL):
		return fail(wantWeb)
	}
	return nil
}

// readText reads a string that is not blank.
func (s *Settings) readText(path string, n *node) (string, error) {
	if n.kind != isString || strings.TrimSpace(n.text) == "" {
		return "", n.typeError(path, "a text")
	}
	s.readReferences(path, n)
	return n.text, nil
}

// readMap reads an object of strings. Its values may be secret, so messages do not
// contain them.
func (s *Settings) readMap(path string, n *node, fits func(key string) bool) (map[string]string, error) {
	if n.kind != isObject {
		return nil, fmt.Errorf("line %d: %s: want an object of strings, have %s", n.line, path, n.kind)
	}
	out := map[string]string{}
	for _, f := range n.fields {
		at := joinKey(path, f.key)
		if !fits(f.key) {
			return nil, fmt.Errorf("line %d: %s: there can be none of that name", f.line, at)
		}
		if f.value.kind != isString {
			return nil, f.value.typeError(at, "a string")
		}
		s.readReferences(at, f.value)
		out[f.key] = f.value.text
	}
	return out, nil
}

// onceEach rejects headers whose names differ only in case.
func onceEach(path string, n *node) error {
	seen := map[string]bool{}
	for _, f := range n.fields {
		key := strings.ToLower(f.key)
		if seen[key] {
			return fmt.Errorf("line %d: %s: the header is given twice", f.line, joinKey(path, f.key))
		}
		seen[key] = true
	}
	return nil
}

// isToken reports whether a text is valid as the name of a header.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// readReferences warns about syntax that looks like a variable of another client.
func (s *Settings) readReferences(path string, n *node) {
	rest := references.ReplaceAllString(n.text, "")
	if strings.Contains(rest, "${") {
		s.warn(n.line, "%s: a ${ in it begins no variable such as ${NAME} or ${NAME:-default}, and stays as it is", path)
	}
}

// readMilliseconds reads a timeout in milliseconds. It returns 0, the default, if the
// value is too small.
func (s *Settings) readMilliseconds(path string, n *node) time.Duration {
	ms, err := strconv.ParseFloat(n.text, 64) // err: the number overflows, and ms is infinite
	switch {
	case ms > float64(maxUpstreamTimeout.Milliseconds()):
		s.warn(n.line, "%s: %s milliseconds is too long; %d is taken", path, plain.Quote(n.text), maxUpstreamTimeout.Milliseconds())
		return maxUpstreamTimeout
	case err != nil, ms < float64(minUpstreamTimeout.Milliseconds()):
		s.warn(n.line, "%s: %s milliseconds is too short, the least is %d; the default is taken", path, plain.Quote(n.text), minUpstreamTimeout.Milliseconds())
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

func (s *Settings) readUpstream(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	for _, g := range f.value.fields {
		at := joinKey(f.key, g.key)
		if g.key != upstreamKeys[0] {
			s.unknownKey(g.line, f.key, g.key, upstreamKeys)
			continue
		}
		pin, err := g.value.bool(at)
		if err != nil {
			return err
		}
		if s.pin = scalarOf(pin); !pin {
			s.note(at, g.value)
		}
	}
	return nil
}

// unknownKey warns about an unknown key of a server or below upstream.
func (s *Settings) unknownKey(line int, parent, key string, known []string) {
	s.warn(line, "%s: unknown key, ignored%s", joinKey(parent, key), didYouMean(key, known))
}

func didYouMean(tool string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(k, tool) {
			return "; did you mean " + k + "?"
		}
	}
	return ""
}
