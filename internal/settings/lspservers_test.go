package settings

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/lsp"
)

// server returns a language server of settings in one line, or "" if they have none of the name.
func server(s *Settings, name string) string {
	for _, l := range s.LanguageServers() {
		if l.Name == name {
			return fmt.Sprintf("%q %v %q %q %s %s %v", l.Command, l.Files, l.Markers, l.Env, l.Options, l.Settings, l.Starts)
		}
	}
	return ""
}

func TestLanguageServers(t *testing.T) {
	root := filepath.FromSlash("/ws")
	for _, c := range []struct{ text, name, want string }{
		{`{"x": {"command": "x-ls", "args": ["--stdio"], "env": {"A": "b"}, "extensionToLanguage": {".x": "x", "y": "y"}, "rootMarkers": ["x.toml"],
			"initializationOptions": {"a": [1]}, "settings": {"b": true}, "start": true, "transport": "stdio", "maxRestarts": 3}}`, "x",
			`["x-ls" "--stdio"] map[*.x:x *.y:y] ["x.toml"] ["A=b"] {"a": [1]} {"b": true} true`},
		{`{"x": {"command": "bin/x-ls", "files": {"X": "x"}}}`, "x", fmt.Sprintf(`[%q] map[X:x] [] []   false`, filepath.Join(root, "bin", "x-ls"))},
		{`{"bash-language-server": {"start": true}}`, "bash-language-server", `["bash-language-server" "start"] map[*.bash:shellscript *.sh:shellscript] [] []   true`},
		{`{"bash-language-server": {"command": "other"}}`, "bash-language-server", `["other" "start"] map[*.bash:shellscript *.sh:shellscript] [] []   false`},
		{`{"bash-language-server": {"args": []}}`, "bash-language-server", `["bash-language-server"] map[*.bash:shellscript *.sh:shellscript] [] []   false`},
		{`{"bash-language-server": {"disabled": true}}`, "bash-language-server", ""},
	} {
		s, err := Parse([]byte(`{"lspServers": `+c.text+`}`), "f", root)
		if err != nil {
			t.Fatal(err)
		}
		if got := server(s, c.name); got != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", c.text, got, c.want)
		}
		if w := s.Warnings(); len(w) > 0 {
			t.Errorf("%s: %q", c.text, w)
		}
	}
	if got := (*Settings)(nil).LanguageServers(); len(got) != len(lsp.Table) {
		t.Error(len(got), "servers without settings")
	}
	for _, l := range lsp.Table {
		if l.Name == "" || len(l.Command) == 0 || len(l.Files) == 0 || l.Install == "" {
			t.Errorf("the row %+v is not complete", l)
		}
	}
}

func TestLanguageServerErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"lspServers": []}`:                                     `line 1: lspServers: want an object, have an array`,
		`{"lspServers": {"x": "x-ls"}}`:                          `line 1: lspServers.x: want an object, have the string x-ls`,
		`{"lspServers": {"x": {"files": {"*.x": "x"}}}}`:         `line 1: lspServers.x: it has no command; add the program of the server`,
		`{"lspServers": {"x": {"command": "x"}}}`:                `line 1: lspServers.x: it has no files; add extensionToLanguage, such as {".go": "go"}`,
		`{"lspServers": {"x": {"command": ""}}}`:                 `line 1: lspServers.x.command: want the name or path of a program, have the string ""`,
		`{"lspServers": {"x": {"command": 1}}}`:                  `line 1: lspServers.x.command: want a string, have a number`,
		`{"lspServers": {"x": {"args": "a"}}}`:                   `line 1: lspServers.x.args: want an array of strings, have the string a`,
		`{"lspServers": {"x": {"env": {"A": 1}}}}`:               `line 1: lspServers.x.env.A: want a string, have a number`,
		`{"lspServers": {"x": {"files": {"a/*.x": "x"}}}}`:       `line 1: lspServers.x.files: a/*.x is no pattern for names of files, such as *.go`,
		`{"lspServers": {"x": {"files": {"[": "x"}}}}`:           `line 1: lspServers.x.files: [ is no pattern for names of files, such as *.go`,
		`{"lspServers": {"x": {"transport": "socket"}}}`:         `line 1: lspServers.x.transport: want "stdio", have the string socket`,
		`{"lspServers": {"x": {"extensionToLanguage": [".x"]}}}`: `line 1: lspServers.x.extensionToLanguage: want an object, have an array`,
		`{"diagnostics": false}`:                                 `line 1: diagnostics: want "on", "off", or a number of seconds, have a boolean`,
		`{"diagnostics": "5"}`:                                   `line 1: diagnostics: want "on", "off", or a number of seconds, have the string 5`,
		`{"diagnostics": 0}`:                                     `line 1: diagnostics: want a number of seconds, more than 0 and at most 60, have a number 0`,
	} {
		_, err := Parse([]byte(text), "f", "/ws")
		if err == nil || strings.TrimPrefix(err.Error(), "parsing settings f: ") != want {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
	}
	for text, want := range map[string]time.Duration{`{}`: diagnosticsTime, `{"diagnostics": "on"}`: diagnosticsTime, `{"diagnostics": "off"}`: 0, `{"diagnostics": 0.5}`: time.Second / 2} {
		if got := parsed(t, "f", text).Diagnostics(); got != want {
			t.Errorf("%s: %v, not %v", text, got, want)
		}
	}
	s, err := Parse([]byte(`{"lspServers": {"x": {"Command": "x", "disabled": true}}}`), "f", "/ws")
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "lspServers.x.Command: unknown key, ignored; did you mean lspServers.x.command?") {
		t.Errorf("%q", w)
	}
}

// TestLanguageServersMerge checks that a server of the most authoritative file counts, and that
// a project that is not trusted adds none. The values of variables are not shown.
func TestLanguageServersMerge(t *testing.T) {
	a := parsed(t, "a", `{"lspServers": {"x": {"command": "a", "files": {"*.x": "x"}, "env": {"TOKEN": "secret"}}}, "diagnostics": "off"}`)
	b := parsed(t, "b", `{"lspServers": {"x": {"command": "b", "files": {"*.x": "x"}}, "y": {"command": "b", "files": {"*.y": "y"}}}, "diagnostics": "on"}`)
	m := Merge([]*Settings{a, b})
	if x, y := server(m, "x"), server(m, "y"); !strings.HasPrefix(x, `["a"]`) || !strings.HasPrefix(y, `["b"]`) || m.Diagnostics() != 0 {
		t.Error(x, y, m.Diagnostics())
	}
	for _, e := range m.Entries() {
		if strings.Contains(e.Value, "secret") {
			t.Errorf("%+v", e)
		}
		if e.Source == "b" && strings.HasPrefix(e.Key, "lspServers.x") && e.Unused == "" {
			t.Errorf("%s of b counts", e.Key)
		}
	}
	if tight := a.Tightened(); server(tight, "x") != "" || tight.Diagnostics() != diagnosticsTime || len(a.Loosens()) == 0 {
		t.Error(server(tight, "x"), tight.Diagnostics())
	}
	for _, l := range a.Loosens() {
		if strings.Contains(l.Value, "secret") {
			t.Errorf("%+v", l)
		}
	}
}
