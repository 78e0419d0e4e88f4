package settings

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/lsp"
)

// Keys of language servers.
const (
	languageServersKey = "lspServers"
	diagnosticsKey     = "diagnostics"
)

var languageServerKeys = []string{"args", "command", "disabled", "env", "extensionToLanguage", "files", "initializationOptions", "rootMarkers", "settings", "start"}

// foreignServerKeys lists keys of the form of Claude Code's plugins that have no effect: the
// limits of this server hold.
var foreignServerKeys = []string{"loggingConfig", "maxRestarts", "restartOnCrash", "shutdownTimeout", "startupTimeout", "transport", "workspaceFolder"}

// languageServer is a language server of the settings.
type languageServer struct {
	lsp.Server
	disabled bool
}

// LanguageServers returns the language servers of the settings and those that are known
// without, for lsp.Config.
func (s *Settings) LanguageServers() []lsp.Server {
	var own []lsp.Server
	var disabled []string
	if s != nil {
		for _, l := range s.languages {
			if l.disabled {
				disabled = append(disabled, l.Name)
			} else {
				own = append(own, l.Server)
			}
		}
	}
	return slices.DeleteFunc(lsp.Merge(own), func(l lsp.Server) bool { return slices.Contains(disabled, l.Name) })
}

// diagnosticsTime is the time that a change of a file waits for the problems that it causes.
const diagnosticsTime = 2 * time.Second

// Diagnostics returns the time that a change of a file waits for the problems that it causes; 0 if
// they are not looked for.
func (s *Settings) Diagnostics() time.Duration {
	if s == nil {
		return diagnosticsTime
	}
	return s.diagnostics.or(diagnosticsTime)
}

func (s *Settings) readDiagnostics(f field) error {
	wait := diagnosticsTime
	switch {
	case f.value.kind == isString && f.value.text == "off":
		wait = 0
	case f.value.kind == isString && f.value.text == "on":
	case f.value.kind == isNumber:
		var err error
		if wait, err = readSeconds(f.key, f.value); err != nil {
			return err
		}
	default:
		return f.value.typeError(f.key, `"on", "off", or a number of seconds`)
	}
	s.diagnostics = scalarOf(wait)
	return nil
}

func (s *Settings) readLanguageServers(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	for _, g := range f.value.fields {
		l, err := s.readLanguageServer(joinKey(f.key, g.key), g)
		if err != nil {
			return err
		}
		s.languages = append(s.languages, l)
	}
	return nil
}

// readLanguageServer reads one server. What it leaves out is as in the table, if that has a
// server of the name.
func (s *Settings) readLanguageServer(path string, f field) (l languageServer, err error) {
	if f.value.kind != isObject {
		return l, f.value.typeError(path, "an object")
	}
	if i := slices.IndexFunc(lsp.Table, func(t lsp.Server) bool { return t.Name == f.key }); i >= 0 {
		l.Server = lsp.Table[i]
	}
	l.Name = f.key
	args, files := []string(nil), map[string]string{}
	for _, g := range f.value.fields {
		at := joinKey(path, g.key)
		switch g.key {
		case "command":
			var command string
			if command, err = s.readProgram(at, g.value); err == nil {
				l.Command = append([]string{command}, l.Command[min(len(l.Command), 1):]...)
			}
		case "args":
			if args, err = g.value.strings(at); args == nil {
				args = []string{}
			}
		case "env":
			err = readTexts(at, g.value, func(name, value string) { l.Env = append(slices.Clip(l.Env), name+"="+value) })
		case "extensionToLanguage":
			err = readTexts(at, g.value, func(extension, language string) { files["*."+strings.TrimPrefix(extension, ".")] = language })
		case "files":
			err = readTexts(at, g.value, func(pattern, language string) { files[pattern] = language })
			for pattern := range files {
				if _, bad := filepath.Match(pattern, ""); err == nil && (bad != nil || strings.Contains(pattern, "/")) {
					return l, fmt.Errorf("line %d: %s: %s is no pattern for names of files, such as *.go", g.line, at, plain.Quote(pattern))
				}
			}
		case "rootMarkers":
			l.Markers, err = g.value.strings(at)
		case "initializationOptions":
			l.Options = json.RawMessage(g.value.json())
		case "settings":
			l.Settings = json.RawMessage(g.value.json())
		case "start":
			l.Starts, err = g.value.bool(at)
		case "disabled":
			l.disabled, err = g.value.bool(at)
		default:
			if g.key == "transport" && g.value.text != "stdio" {
				return l, g.value.typeError(at, `"stdio"`)
			}
			if !slices.Contains(foreignServerKeys, g.key) {
				s.unknown(path, g, languageServerKeys)
			}
		}
		if err != nil {
			return l, err
		}
	}
	if len(files) > 0 {
		l.Files = files
	}
	switch {
	case l.disabled:
		return l, nil
	case len(l.Command) == 0:
		return l, fmt.Errorf("line %d: %s: it has no command; add the program of the server", f.line, path)
	case len(l.Files) == 0:
		return l, fmt.Errorf(`line %d: %s: it has no files; add extensionToLanguage, such as {".go": "go"}`, f.line, path)
	}
	if args != nil {
		l.Command = append(l.Command[:1:1], args...)
	}
	return l, nil
}

// readProgram reads the name of a program, or its path, relative to the root of the settings.
func (s *Settings) readProgram(path string, n *node) (string, error) {
	text, err := n.string(path)
	if err != nil {
		return "", err
	}
	if text == "" || strings.ContainsRune(text, 0) {
		return "", n.typeError(path, "the name or path of a program")
	}
	_, home := homeRelative(text)
	switch {
	case home:
		if expanded := expand([]string{text}); len(expanded) == 1 {
			return expanded[0], nil
		}
		return "", fmt.Errorf("line %d: %s: %s begins at a folder that is not known; write an absolute path", n.line, path, plain.Quote(text))
	case filepath.IsAbs(text) || !strings.ContainsAny(text, `/\`):
		return text, nil
	}
	return filepath.Join(s.root, text), nil
}

// readTexts reads an object whose values are strings.
func readTexts(path string, n *node, add func(key, value string)) error {
	if n.kind != isObject {
		return n.typeError(path, "an object")
	}
	for _, f := range n.fields {
		text, err := f.value.string(joinKey(path, f.key))
		if err != nil {
			return err
		}
		add(f.key, text)
	}
	return nil
}

// addLanguageServers adds those of less authoritative settings.
func (s *Settings) addLanguageServers(less []languageServer) {
	mine := len(s.languages)
	for _, l := range less {
		if !slices.ContainsFunc(s.languages[:mine], func(m languageServer) bool { return m.Name == l.Name }) {
			s.languages = append(s.languages, l)
		}
	}
}
