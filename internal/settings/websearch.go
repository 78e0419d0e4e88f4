package settings

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/search"
)

// webSearchKey is the key of the search provider.
const webSearchKey = "webSearch"

// mcpProvider is the provider whose searches are calls of a tool of an upstream server.
const mcpProvider = "mcp"

var (
	webSearchKeys = []string{"keyEnv", "keyFile", "provider", "server", "tool", "url"}
	variableName  = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
)

// WebSearch is the setting webSearch.
type WebSearch struct {
	Provider        string // one of search.Names, or "mcp"
	URL             string // "" means that of the provider
	KeyEnv, KeyFile string // at most one is set; KeyFile is absolute
	Server, Tool    string // of the provider "mcp"
}

// WebSearch returns the setting webSearch, or nil if s is nil or has none. The caller must not
// modify it.
func (s *Settings) WebSearch() *WebSearch {
	if s == nil {
		return nil
	}
	return s.webSearch
}

func (s *Settings) readWebSearch(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	w := &WebSearch{}
	to := map[string]*string{"keyEnv": &w.KeyEnv, "keyFile": &w.KeyFile, "provider": &w.Provider, "server": &w.Server, "tool": &w.Tool, "url": &w.URL}
	lines := map[string]int{}
	for _, g := range f.value.fields {
		at := to[g.key]
		if at == nil {
			s.unknown(f.key, g, webSearchKeys)
			continue
		}
		text, err := g.value.string(joinKey(f.key, g.key))
		if err != nil {
			return err
		}
		if text == "" || strings.ContainsRune(text, 0) {
			return g.value.typeError(joinKey(f.key, g.key), "a text")
		}
		*at, lines[g.key] = text, g.value.line
	}
	wrong := func(key, format string, args ...any) error {
		line, path := f.line, f.key
		if at, ok := lines[key]; ok {
			line, path = at, joinKey(f.key, key)
		}
		return fmt.Errorf("line %d: %s: %s", line, path, fmt.Sprintf(format, args...))
	}
	if providers := append(slices.Clone(search.Names), mcpProvider); !slices.Contains(providers, w.Provider) {
		if w.Provider == "" {
			return wrong("", "it has no provider; add one of %s", strings.Join(providers, ", "))
		}
		return wrong("provider", "want one of %s, have %s", strings.Join(providers, ", "), plain.Quote(w.Provider))
	}
	for _, key := range []string{"url", "keyEnv", "keyFile", "server", "tool"} {
		if mine := (key == "server" || key == "tool") == (w.Provider == mcpProvider); *to[key] != "" && !mine {
			return wrong(key, "the provider %s has no %s; take it out", w.Provider, key)
		}
	}
	switch {
	case w.Provider == mcpProvider && (w.Server == "" || w.Tool == ""):
		return wrong("", "the provider mcp needs server and tool; add the name of a server of mcpServers and that of its tool")
	case w.Provider == "searxng" && w.URL == "":
		return wrong("", "the provider searxng needs url; add that of your instance, such as http://127.0.0.1:8080")
	case w.KeyEnv != "" && w.KeyFile != "":
		return wrong("", "it has both keyEnv and keyFile; take one out")
	case w.KeyEnv != "" && !variableName.MatchString(w.KeyEnv):
		return wrong("keyEnv", keyEnvError)
	}
	if w.URL != "" {
		if err := search.CheckURL(w.Provider, w.URL); err != nil {
			return wrong("url", "%v", err)
		}
	}
	if w.KeyFile != "" {
		file, ok := s.absolute(w.KeyFile)
		if !ok {
			return wrong("keyFile", "%s begins at a folder that is not known; write an absolute path", plain.Quote(w.KeyFile))
		}
		w.KeyFile = file
	}
	if w.KeyEnv == "" && w.KeyFile == "" && w.Provider != mcpProvider {
		w.KeyEnv = search.DefaultKeyEnv(w.Provider)
	}
	s.webSearch = w
	return nil
}

// keyEnvError is the error for a keyEnv that is no name. It may be the key itself, so it is not shown.
const keyEnvError = "want the name of an environment variable in capitals, have another text; the key itself does not belong here"

// absolute returns a path of the settings as an absolute path, or false if it begins at a folder
// that is not known.
func (s *Settings) absolute(path string) (string, bool) {
	if _, home := homeRelative(path); !home && !filepath.IsAbs(path) {
		path = filepath.Join(s.root, path)
	}
	expanded := expand([]string{path})
	if len(expanded) == 0 {
		return "", false
	}
	return expanded[0], true
}

// usersOnly lists the keys that not even a trusted project may set: those that select who gets the
// queries and contents of the user, and a secret that goes there, or a program that gets them; and undo, by which the user takes
// changes back, and which decides what is done without a question.
var usersOnly = []string{agentsKey, modelsKey, summarizeKey, undoKey, webSearchKey}

// withoutUsersOnly drops the settings of a project's file that a project cannot set.
func (s *Settings) withoutUsersOnly() {
	set := map[string]bool{agentsKey: s.agents != nil, modelsKey: s.models != nil, summarizeKey: s.summarize != nil, undoKey: s.undo != (undo{}), webSearchKey: s.webSearch != nil}
	s.agents, s.models, s.summarize, s.undo, s.webSearch = nil, nil, nil, undo{}, nil
	for _, key := range usersOnly {
		if set[key] {
			s.drop(key)
		}
	}
}

// drop marks the entries of a key as unused.
func (s *Settings) drop(key string) {
	below := func(k string) bool { return k == key || strings.HasPrefix(k, key+".") }
	for i, e := range s.entries {
		if below(e.Key) {
			s.entries[i].Unused = "a project cannot set it"
		}
	}
	line := 0
	s.loosenings = slices.DeleteFunc(s.loosenings, func(l Loosening) bool {
		if below(l.Key) && line == 0 {
			line = l.Line
		}
		return below(l.Key)
	})
	s.warn(line, "%s: a project cannot set it, ignored; set it in your own settings", key)
}
