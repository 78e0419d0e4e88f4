// Package clients describes the configuration files of MCP clients: where they are, and how a server
// is written in them. It adds this server to them, removes it, and starts it as the client would.
//
// A file is changed by package edit, so that everything else in it stays byte for byte, and replaced
// by workspace.Files, so that it is the whole old or the whole new file at any moment. Before a
// change that could lose something there is a backup beside it.
package clients

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/clients/edit"
)

// Client describes an MCP client.
type Client struct {
	Name, Title string
	Programs    []string // on PATH if the client is installed
	// Files lists the files that may have the user's servers, by operating system, with the key
	// "" for all others. They begin with ~ or a variable: see System.expand. A variable that only
	// some users set, such as CODEX_HOME, goes before all others.
	Files map[string][]string
	// Project lists the files of a project, the preferred one first. It is empty if the client has
	// no such file.
	Project []string
	Format  edit.Format
	Table   string // key of the table of servers
	shape   shape
	http    httpShape
	// Workspace is the argument for the folder that the user has open, as the client replaces it.
	Workspace string
	// NeedsFolder reports that the client starts servers in no particular folder, and knows no
	// Workspace: the user has to name one.
	NeedsFolder bool
	// Misleads holds sentences on those of the client's own tools that lead to wrong results beside
	// ours, and how to switch them off. It is "" if there are none.
	Misleads string
	// BuiltIn holds sentences on how to switch off the client's own tools for files and commands. It
	// is "" if the client has none.
	BuiltIn string
	Next    string // how the client notices the change
}

// shape names the keys with which a client writes a server.
type shape int

const (
	plainShape    shape = iota // command, args
	typedShape                 // with the type stdio
	timedShape                 // with a timeout in seconds
	codexShape                 // with a timeout in seconds, named otherwise
	opencodeShape              // one list, with the type local
	gooseShape                 // cmd, args, with the name
)

// callTimeout is the timeout of a call in seconds for clients whose own is a minute or five: the
// longest that a command runs in the foreground.
const callTimeout = 600

// tokenVariable is the variable of the client's environment that has the bearer token of a server
// over HTTP. No token is ever written.
const tokenVariable = "MCP_TOOLSET_TOKEN"

// usualURL is where `mcp-toolset http` serves.
const usualURL = "http://127.0.0.1:8808/mcp"

// httpShape describes how a client writes a server over HTTP.
type httpShape struct {
	key  string // of the URL; "" if the client has no such form
	kind string // value of the key type; "" for none
	// reference is the value of tokenVariable as the client writes it. It is "" if the client does not
	// replace variables.
	reference string
}

// TakesURL reports whether the client's file can have servers over HTTP.
func (c *Client) TakesURL() bool { return c.http.key != "" }

// RefersToToken reports whether an entry of a server over HTTP names the variable with the token.
func (c *Client) RefersToToken() bool { return c.http.reference != "" }

// entry returns the value that describes a server in the client's file.
func (c *Client) entry(name string, e Entry) edit.Object {
	if e.URL != "" {
		return c.httpEntry(name, e.URL)
	}
	command, args := e.Command[0], e.Command[1:]
	if len(args) == 0 {
		args = []string{} // not null
	}
	plain := edit.Object{{Key: "command", Value: command}, {Key: "args", Value: args}}
	switch c.shape {
	case typedShape:
		return append(edit.Object{{Key: "type", Value: "stdio"}}, plain...)
	case timedShape:
		return append(plain, edit.Member{Key: "timeout", Value: callTimeout})
	case codexShape:
		return append(plain, edit.Member{Key: "tool_timeout_sec", Value: callTimeout})
	case opencodeShape:
		return edit.Object{{Key: "type", Value: "local"}, {Key: "command", Value: append([]string{command}, args...)}, {Key: "enabled", Value: true}}
	case gooseShape:
		return edit.Object{{Key: "enabled", Value: true}, {Key: "type", Value: "stdio"}, {Key: "name", Value: name}, {Key: "description", Value: ""}, // some versions need one
			{Key: "cmd", Value: command}, {Key: "args", Value: args}, {Key: "timeout", Value: callTimeout}}
	}
	return plain
}

func (c *Client) httpEntry(name, url string) (o edit.Object) {
	add := func(key string, value any) { o = append(o, edit.Member{Key: key, Value: value}) }
	if c.shape == gooseShape {
		add("enabled", true)
	}
	if c.http.kind != "" {
		add("type", c.http.kind)
	}
	if c.shape == gooseShape {
		add("name", name)
		add("description", "") // some versions need one
	}
	add(c.http.key, url)
	switch {
	case c.shape == codexShape:
		add("bearer_token_env_var", c.http.reference)
	case c.http.reference != "":
		add("headers", edit.Object{{Key: "Authorization", Value: "Bearer " + c.http.reference}})
	}
	switch c.shape {
	case opencodeShape:
		add("enabled", true)
	case codexShape:
		add("tool_timeout_sec", callTimeout)
	case gooseShape:
		add("env_keys", []string{tokenVariable})
		add("timeout", callTimeout)
	case timedShape:
		add("timeout", callTimeout)
	}
	return o
}

// starts lists the keys of an entry that select the program and its arguments, or the URL. The others
// belong to the user once the entry exists.
var starts = slices.Concat([]string{"type", "command", "cmd", "args"}, urlKeys)

// switches lists the keys that switch an entry on or off.
var switches = []string{"enabled", "disabled"}

var urlKeys = []string{"url", "httpUrl", "serverUrl", "uri"}

// Entry describes a server in a client's file.
type Entry struct {
	Command []string          // the program and its arguments; empty for one reached over HTTP
	URL     string            // "" for one that the client starts
	Env     map[string]string // variables that the client adds to the environment
	Token   bool              // whether it names tokenVariable
}

// parseEntry returns the entry that a decoded value describes.
func parseEntry(value any) (e Entry) {
	table, _ := value.(map[string]any)
	for _, key := range []string{"command", "cmd", "args"} {
		switch v := table[key].(type) {
		case string:
			e.Command = append(e.Command, v)
		case []any:
			for _, arg := range v {
				s, _ := arg.(string)
				e.Command = append(e.Command, s)
			}
		}
	}
	for _, key := range urlKeys {
		if s, ok := table[key].(string); ok && len(e.Command) == 0 {
			e.URL = s
		}
	}
	text, _ := json.Marshal(table) // decoded values cannot fail
	e.Token = bytes.Contains(text, []byte(tokenVariable))
	for _, key := range []string{"env", "envs", "environment"} {
		vars, _ := table[key].(map[string]any)
		for name, value := range vars {
			if s, ok := value.(string); ok {
				if e.Env == nil {
					e.Env = map[string]string{}
				}
				e.Env[name] = s
			}
		}
	}
	return e
}

// self is the path of the running program.
var self, _ = os.Executable()

// Ours reports whether the entry starts this program, from any folder or by a package manager. Under
// another name, only the running program is recognized. Over HTTP it is a server with the token of
// this one, or one at the usual address.
func (e Entry) Ours() bool {
	if e.URL != "" {
		return e.Token || e.URL == usualURL
	}
	if len(e.Command) > 0 && e.Command[0] == self {
		return true
	}
	return slices.ContainsFunc(e.Command[:min(len(e.Command), 3)], func(arg string) bool {
		name := strings.TrimSuffix(strings.ToLower(arg[strings.LastIndexAny(arg, `/\`)+1:]), ".exe")
		return name == "mcp-toolset" || strings.HasPrefix(name, "mcp-toolset@")
	})
}

// Find returns the client with a name.
func Find(name string) *Client {
	for i := range List {
		if List[i].Name == name {
			return &List[i]
		}
	}
	return nil
}

// System describes the operating system and the user. Both decide where the files of clients are.
type System struct {
	OS     string // as runtime.GOOS
	Home   string // absolute
	Getenv func(string) string
	Look   func(program string) bool // reports whether a program is on PATH
	Exists func(path string) bool
	Glob   func(pattern string) []string
}

// Place names the file with a client's servers.
type Place struct {
	Client  *Client
	Path    string // absolute
	Found   bool   // whether there are signs of the client on this system
	Project Project
}

// User returns the place of a client's servers for all projects: the first file that exists,
// otherwise the first in a folder that exists, otherwise the first.
func (s System) User(c *Client) Place {
	list, ok := c.Files[s.OS]
	if !ok {
		list = c.Files[""]
	}
	var paths []string
	for _, pattern := range list {
		path, only := s.expand(pattern)
		switch {
		case path == "":
		case strings.Contains(pattern, "*"): // the part with the asterisk is a folder
			paths = append(paths, s.globbed(path)...)
		default:
			paths = append(paths, path)
		}
		if only && path != "" {
			break
		}
	}
	p := Place{Client: c, Path: paths[0], Found: slices.ContainsFunc(c.Programs, s.Look)}
	for _, exists := range []func(string) bool{s.Exists, func(path string) bool { return filepath.Dir(path) != s.Home && s.Exists(filepath.Dir(path)) }} {
		if i := slices.IndexFunc(paths, exists); i >= 0 {
			p.Path, p.Found = paths[i], true
			break
		}
	}
	return p
}

// globbed returns the paths of a pattern in which the last name need not exist.
func (s System) globbed(pattern string) (paths []string) {
	at := strings.LastIndex(pattern, "*")
	end := at + strings.IndexByte(pattern[at:], filepath.Separator)
	for _, dir := range s.Glob(pattern[:end]) {
		paths = append(paths, dir+pattern[end:])
	}
	return paths
}

// InProject returns the place of a client's servers in a project. The client must have Project
// files.
func (s System) InProject(c *Client, dir string) Place {
	p := Place{Client: c, Path: filepath.Join(dir, filepath.FromSlash(c.Project[0])), Found: true, Project: Project{Dir: dir}}
	for _, name := range c.Project {
		if path := filepath.Join(dir, filepath.FromSlash(name)); s.Exists(path) {
			p.Path = path
			break
		}
	}
	return p
}

// expand replaces the beginning of a path. The path is empty if a variable is not set that has no
// default; only reports that it is set, and that its path is the only one.
func (s System) expand(pattern string) (path string, only bool) {
	first, rest, _ := strings.Cut(pattern, "/")
	dir := s.Home
	or := func(value string, elem ...string) string {
		if filepath.IsAbs(value) { // a relative path is invalid by the XDG specification
			return value
		}
		return filepath.Join(append([]string{s.Home}, elem...)...)
	}
	switch first {
	case "$XDG_CONFIG_HOME":
		dir = or(s.Getenv("XDG_CONFIG_HOME"), ".config")
	case "$APPDATA":
		dir = or(s.Getenv("APPDATA"), "AppData", "Roaming")
	case "$LOCALAPPDATA":
		dir = or(s.Getenv("LOCALAPPDATA"), "AppData", "Local")
	case "$CLAUDE_CONFIG_DIR", "$CODEX_HOME":
		dir, only = s.Getenv(first[1:]), true
	}
	if dir == "" {
		return "", false
	}
	if abs, err := filepath.Abs(dir); err == nil { // the user may set a relative one
		dir = abs
	}
	return filepath.Join(dir, filepath.FromSlash(rest)), only
}
