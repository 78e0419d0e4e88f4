package pipeline

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"mcp-toolset/policy"
)

// Limits of the strings in the input of a call of another MCP server. Beyond the first, links
// are not followed.
const (
	maxFollowed  = 200
	maxMention   = 4096 // bytes of a string
	maxMentioned = 20_000
)

// mentions returns the files that strings in the input may name, for a call whose input goes
// to another MCP server. Rules on files can only forbid such a call: what the server makes of
// the strings is not known. It returns nothing if there are no such rules.
func (c *call) mentions(ctx context.Context) (list []policy.Target, err error) {
	if !c.tool.Remote {
		return nil, nil
	}
	view := c.env.Session
	if rules := c.rules.HidingRules(view.Dir, false); !rules.Any(policy.Read) && !rules.Any(policy.Edit) {
		return nil, nil
	}
	access := policy.Edit
	if c.prepared.Facts.ReadOnly || c.tool.Declared != nil && c.tool.Declared.ReadOnlyHint() {
		access = policy.Read
	}
	var input any
	if err := json.Unmarshal(c.prepared.Input(), &input); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			for _, path := range spelled(v, view.Dir, view.Roots, c.p.Home) {
				if seen[path] || err != nil || len(seen) > maxMentioned {
					continue
				}
				seen[path] = true
				canonical := path
				if len(seen) <= maxFollowed {
					canonical, _, err = follow(ctx, path)
					if err != nil && ctx.Err() == nil {
						canonical, err = path, nil
					}
				}
				list = append(list, policy.Target{Literal: path, Canonical: canonical, Access: access})
				if access == policy.Edit {
					list = append(list, policy.Target{Literal: path, Canonical: canonical, Access: policy.Read})
				}
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for key, item := range v {
				if strings.ContainsAny(key, "./\\") {
					walk(key)
				}
				walk(item)
			}
		}
	}
	walk(input)
	return list, err
}

// position matches what may follow a path: a line and column, as in a.go:12:3, or a fragment.
var position = regexp.MustCompile(`(:\d+(-\d+)?){1,2}$|#[^/]*$`)

// spelled returns the paths that a string may stand for, as written, without a position
// behind it, and without the @ that marks a file in many prompts.
func spelled(text, dir string, roots []string, home string) []string {
	text = strings.TrimSpace(text)
	list := pathsOf(text, dir, roots, home)
	if len(text) > maxMention {
		return list
	}
	if bare := strings.TrimPrefix(position.ReplaceAllString(text, ""), "@"); bare != text {
		list = append(list, pathsOf(bare, dir, roots, home)...)
	}
	return list
}

// pathsOf returns the absolute paths that a string may stand for: a path, or a file URI. A
// relative path is tried in the working directory and the roots. A word alone counts there
// only if the file exists.
func pathsOf(text, dir string, roots []string, home string) (list []string) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxMention || strings.ContainsAny(text, "\x00\n\r") {
		return nil
	}
	scheme, rest, _ := strings.Cut(text, ":")
	switch {
	case strings.EqualFold(scheme, "file"):
		u, err := url.Parse(text)
		if err != nil || u.Opaque != "" {
			rest, _, _ = strings.Cut(strings.TrimPrefix(rest, "//"), "?")
			if u, err := url.PathUnescape(rest); err == nil {
				rest = u
			}
			return pathsOf(rest, dir, roots, home)
		}
		text = u.Path
		if runtime.GOOS == "windows" {
			text = strings.TrimPrefix(text, "/")
		}
		if u.Host != "" && u.Host != "localhost" && (len(text) == 0 || u.Host == "." || u.Host == "~") {
			text = u.Host + text // file://./x
		}
	case strings.HasPrefix(rest, "//"):
		return nil // another URI
	}
	for _, prefix := range []string{"~/", "$HOME/", "${HOME}/"} {
		if below, ok := strings.CutPrefix(text, prefix); ok && home != "" {
			return []string{filepath.Join(home, below)}
		}
	}
	if filepath.IsAbs(text) {
		return []string{filepath.Clean(text)}
	}
	word := !strings.ContainsAny(text, `./\`)
	for _, from := range append([]string{dir}, roots...) {
		path := filepath.Join(from, text)
		if word {
			if _, err := os.Lstat(path); err != nil {
				continue
			}
		}
		list = append(list, path)
	}
	return list
}
