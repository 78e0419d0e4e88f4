package settings

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// references matches variables in a text: ${NAME} or ${NAME:-default}.
var references = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

const wantWeb = "its url is not one such as https://example.com/mcp, with an ASCII host"

// Expand returns the server with its variables replaced by their values from getenv.
// Values are not expanded again. A command with a slash and the working directory
// become absolute and clean; ~ is replaced by home, which may be "". A variable that
// is unset or empty must have a default. Errors name the server, key and variable, but
// contain no value.
func (u Upstream) Expand(getenv func(string) string, home string) (Upstream, error) {
	e := expander{getenv: getenv}
	u.Command = e.text("command", u.Command)
	u.Dir = e.text("cwd", u.Dir)
	u.URL = e.text("url", u.URL)
	u.Args = slices.Clone(u.Args)
	for i, arg := range u.Args {
		u.Args[i] = e.text(fmt.Sprintf("args[%d]", i), arg)
	}
	u.Env = e.texts("env", u.Env)
	u.Headers = e.texts("headers", u.Headers)
	if strings.ContainsAny(u.Command, `/`+string(filepath.Separator)) || u.Command == "~" {
		u.Command = e.path("command", u.Command, u.Root, home)
	}
	if u.Dir != "" {
		u.Dir = e.path("cwd", u.Dir, u.Root, home)
	}
	if e.err == nil && u.URL != "" && !isWeb(u.URL) {
		e.fail("url", wantWeb)
	}
	if e.err != nil {
		return Upstream{}, fmt.Errorf("server %s: %w", plain.Quote(u.Name), e.err)
	}
	return u, nil
}

// expander replaces variables and stores the first error.
type expander struct {
	getenv func(string) string
	err    error
}

func (e *expander) fail(key, what string) {
	if e.err == nil {
		e.err = errors.New(key + ": " + what)
	}
}

func (e *expander) text(key, text string) string {
	if text == "" {
		return ""
	}
	out := references.ReplaceAllStringFunc(text, func(ref string) string {
		m := references.FindStringSubmatch(ref)
		value, def := e.getenv(m[1]), m[2]
		switch {
		case value != "":
			return value
		case def == "":
			e.fail(key, fmt.Sprintf("the variable %s is not set; set it, or write a default: ${%s:-default}", m[1], m[1]))
		}
		return strings.TrimPrefix(def, ":-")
	})
	switch {
	case strings.ContainsRune(out, 0):
		e.fail(key, "it holds a NUL character; take that out")
	case strings.TrimSpace(out) == "" && (key == "command" || key == "cwd" || key == "url"):
		e.fail(key, "with its variables replaced it is empty; give one of them a value")
	}
	return out
}

// texts expands the values of env or headers. It goes through them in the order of
// their names, so that the first error is always the same.
func (e *expander) texts(key string, texts map[string]string) map[string]string {
	out := maps.Clone(texts)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		at := joinKey(key, name)
		out[name] = e.text(at, texts[name])
		if key == "headers" && strings.ContainsAny(out[name], "\r\n") {
			e.fail(at, "a header cannot hold the end of a line; take that out")
		}
	}
	return out
}

// path makes a path absolute and clean.
func (e *expander) path(key, path, root, home string) string {
	rest, ok := homeRelative(path)
	switch {
	case ok && filepath.IsAbs(home):
		path = filepath.Join(home, rest)
	case !ok && !filepath.IsAbs(path):
		path = filepath.Join(root, path)
	}
	if !filepath.IsAbs(path) {
		e.fail(key, "it begins at a folder that is not known; write an absolute path")
	}
	return filepath.Clean(path)
}

// isWeb reports whether a text is a URL to which a client can connect. It rejects
// hosts that are not ASCII: they can be written in several ways, which the server
// lists do not recognize.
func isWeb(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "" {
		return false
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || port == 0) {
		return false
	}
	return !strings.ContainsFunc(u.Host, func(r rune) bool { return r <= ' ' || r > '~' })
}
