package lsp

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// The types of the Language Server Protocol 3.17 that are used, with the names of its
// specification. They accept more than it does: servers leave out members, and send null
// for them.

// Position is a place in a text: a line from 0, and an offset in it, in the units that were
// negotiated.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is the text from Start to before End.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Location is a range of a file.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// Path returns the path of the file, or "" if the location is in no file.
func (l Location) Path() string { return PathOf(l.URI) }

// locationOrLink is a Location or a LocationLink.
type locationOrLink struct {
	Location
	TargetURI            string `json:"targetUri"`
	TargetSelectionRange Range  `json:"targetSelectionRange"`
}

// Locations decodes the result of a request for places: null, a Location, or a list of
// Location or LocationLink.
func Locations(raw json.RawMessage) (out []Location, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	list := make([]locationOrLink, 1)
	if raw[0] == '{' {
		err = json.Unmarshal(raw, &list[0])
	} else {
		err = json.Unmarshal(raw, &list)
	}
	for _, l := range list {
		if l.TargetURI != "" {
			l.Location = Location{l.TargetURI, l.TargetSelectionRange}
		}
		out = append(out, l.Location)
	}
	return out, err
}

// Symbol is a DocumentSymbol, a SymbolInformation or a WorkspaceSymbol.
type Symbol struct {
	Name           string    `json:"name"`
	Detail         string    `json:"detail"`
	Kind           int       `json:"kind"`
	Range          Range     `json:"range"`
	SelectionRange *Range    `json:"selectionRange"`
	Children       []Symbol  `json:"children"`
	Location       *Location `json:"location"`
	ContainerName  string    `json:"containerName"`
}

// At returns the range of the symbol's name, as far as it is known.
func (s *Symbol) At() Range {
	switch {
	case s.SelectionRange != nil:
		return *s.SelectionRange
	case s.Location != nil:
		return s.Location.Range
	}
	return s.Range
}

var symbolKinds = [...]string{"", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct", "event", "operator", "type parameter"}

// KindName returns the kind of the symbol as a word.
func (s *Symbol) KindName() string {
	if s.Kind < 1 || s.Kind >= len(symbolKinds) {
		return "symbol"
	}
	return symbolKinds[s.Kind]
}

// CallItem is a CallHierarchyItem. Raw is what the server sent.
type CallItem struct {
	Symbol
	URI string `json:"uri"`
	Raw json.RawMessage
}

// UnmarshalJSON decodes the item and stores its JSON.
func (i *CallItem) UnmarshalJSON(raw []byte) error {
	type plain CallItem
	i.Raw = bytes.Clone(raw)
	return json.Unmarshal(raw, (*plain)(i))
}

// HierarchyCall is a CallHierarchyIncomingCall or CallHierarchyOutgoingCall.
type HierarchyCall struct {
	From       CallItem `json:"from"`
	To         CallItem `json:"to"`
	FromRanges []Range  `json:"fromRanges"`
}

// Diagnostic is a finding of a server about a range of a file.
type Diagnostic struct {
	Range    Range           `json:"range"`
	Severity int             `json:"severity"` // see Error; 0: unknown
	Code     json.RawMessage `json:"code,omitempty"`
	Source   string          `json:"source,omitempty"`
	Message  markup          `json:"message"`
}

// The severities of diagnostics.
const (
	Error   = 1
	Warning = 2
)

// Level returns the severity as a word.
func (d *Diagnostic) Level() string {
	switch d.Severity {
	case 0, Error:
		return "error"
	case Warning:
		return "warning"
	case 3:
		return "information"
	}
	return "hint"
}

// TextEdit replaces a range of a text.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// WorkspaceEdit is a change of files.
type WorkspaceEdit struct {
	Changes         map[string][]TextEdit `json:"changes"`
	DocumentChanges []documentChange      `json:"documentChanges"`
}

// documentChange is a TextDocumentEdit, or the creation, renaming or removal of a file.
type documentChange struct {
	Kind         string `json:"kind"`
	TextDocument struct {
		URI string `json:"uri"`
	} `json:"textDocument"`
	Edits []TextEdit `json:"edits"`
}

// CodeAction is a CodeAction, or a Command in its place.
type CodeAction struct {
	Title    string          `json:"title"`
	Kind     string          `json:"kind"`
	Disabled json.RawMessage `json:"disabled"`
	Edit     *WorkspaceEdit  `json:"edit"`
	Command  json.RawMessage `json:"command"`
	Raw      json.RawMessage
}

// UnmarshalJSON decodes the action and stores its JSON.
func (a *CodeAction) UnmarshalJSON(raw []byte) error {
	type plain CodeAction
	a.Raw = bytes.Clone(raw)
	return json.Unmarshal(raw, (*plain)(a))
}

// markup is a text: a string, a MarkupContent, a MarkedString or a list of these.
type markup string

// UnmarshalJSON decodes any of the forms. It ignores any other value.
func (m *markup) UnmarshalJSON(raw []byte) error {
	var text string
	var object struct{ Language, Value string }
	var list []markup
	switch {
	case json.Unmarshal(raw, &text) == nil:
	case json.Unmarshal(raw, &list) == nil:
		var parts []string
		for _, p := range list {
			if p != "" {
				parts = append(parts, string(p))
			}
		}
		text = strings.Join(parts, "\n\n")
	case json.Unmarshal(raw, &object) == nil && object.Language != "":
		text = "```" + object.Language + "\n" + object.Value + "\n```"
	default:
		text = object.Value
	}
	*m = markup(text)
	return nil
}

// URIOf returns the URI of a file.
func URIOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// PathOf returns the path of a file's URI, or "" if it is no file.
func PathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		if path = strings.TrimPrefix(path, "/"); len(path) > 1 && path[1] == ':' {
			path = strings.ToUpper(path[:1]) + path[1:]
		}
	}
	return filepath.Clean(filepath.FromSlash(path))
}

// Hover is the result of a request for the type and documentation of a symbol.
type Hover struct {
	Contents markup `json:"contents"`
}

// errRestructures is the error for an edit that does more than change the content of files.
var errRestructures = errors.New("the change creates, renames or removes files")

// Files returns the edits by file. It fails if the edit does more than change files.
func (e *WorkspaceEdit) Files() (map[string][]TextEdit, error) {
	out := map[string][]TextEdit{}
	add := func(uri string, edits []TextEdit) error {
		path := PathOf(uri)
		if path == "" {
			return errors.New("the change is not of files")
		}
		out[path] = append(out[path], edits...)
		return nil
	}
	for _, d := range e.DocumentChanges {
		if d.Kind != "" {
			return nil, errRestructures
		}
		if err := add(d.TextDocument.URI, d.Edits); err != nil {
			return nil, err
		}
	}
	if len(e.DocumentChanges) > 0 { // the same, in a newer form
		return out, nil
	}
	for uri, edits := range e.Changes {
		if err := add(uri, edits); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// IsCommand reports whether a is a Command in the place of an action.
func (a *CodeAction) IsCommand() bool {
	return len(a.Command) > 0 && a.Command[0] == '"'
}
