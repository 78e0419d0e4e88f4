// Package edit changes one value in a configuration file of JSON (with comments and trailing
// commas), TOML or YAML. It inserts, replaces and removes ranges of bytes, so that every other byte
// of the file stays as it is: comments, order, indentation, line endings and byte order mark. After
// each change it parses the new text and compares all other values with the old ones.
package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Format is the syntax of a file.
type Format int

// The formats. JSON includes comments and trailing commas, as editors accept them.
const (
	JSON Format = iota
	TOML
	YAML
)

// Object is a table of values in the order of the text. A value is a string, bool, int, []string or
// Object.
type Object []Member

// Member is one key of an Object with its value.
type Member struct {
	Key   string
	Value any
}

// Error is the error for a file that cannot be changed, with the position. Lines and columns begin at 1.
type Error struct {
	Line, Column int
	Text         string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// errorAt returns an Error at an offset of src.
func errorAt(src []byte, offset int, format string, args ...any) error {
	before := src[:min(max(offset, 0), len(src))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return &Error{line, column, fmt.Sprintf(format, args...)}
}

// errOther means that a change would affect more than its value.
var errOther = errors.New("the file is written in a form that cannot be changed without other effects")

// bom is the byte order mark of UTF-8.
const bom = "\xef\xbb\xbf"

// syntax has the operations that differ between the formats. Sources have no byte order mark.
type syntax interface {
	// decode parses a text. It returns an *Error for a text that is not valid or that has a key
	// twice, and no value for an empty one.
	decode(src []byte) (map[string]any, error)
	set(src []byte, path []string, value any) ([]byte, error)
	remove(src []byte, path []string) ([]byte, error)
}

func (f Format) syntax() syntax {
	switch f {
	case TOML:
		return tomlSyntax{}
	case YAML:
		return yamlSyntax{}
	}
	return jsonSyntax{}
}

// Get returns the value at a path and whether there is one. Numbers are json.Number, tables are
// map[string]any. The error is an *Error if the text cannot be parsed.
func (f Format) Get(src []byte, path ...string) (value any, ok bool, err error) {
	_, tree, err := f.open(src)
	if err != nil {
		return nil, false, err
	}
	if value, ok = at(tree, path); !ok {
		return nil, false, nil
	}
	value, err = plain(value)
	return value, true, err
}

// Set returns src with value at path. It replaces a value that is there; otherwise it adds the key
// at the end of its table, with the tables that are missing. An empty src becomes a file with this
// value alone.
func (f Format) Set(src []byte, path []string, value any) ([]byte, error) {
	body, before, err := f.open(src)
	if err != nil {
		return nil, err
	}
	out, err := f.syntax().set(body, path, value)
	if err != nil {
		return nil, err
	}
	after, err := f.syntax().decode(out)
	if err != nil {
		return nil, errOther
	}
	got, ok := at(after, path)
	if !ok || !Same(got, value) || !sameExcept(before, after, path) {
		return nil, errOther
	}
	return append(src[:len(src)-len(body):len(src)-len(body)], out...), nil
}

// Remove returns src without the value at path, and without tables that this leaves empty. If
// there is no such value, it returns src.
func (f Format) Remove(src []byte, path []string) ([]byte, error) {
	body, before, err := f.open(src)
	if err != nil {
		return nil, err
	}
	if _, ok := at(before, path); !ok {
		return src, nil
	}
	out, err := f.syntax().remove(body, path)
	if err != nil {
		return nil, err
	}
	after, err := f.syntax().decode(out)
	if err != nil {
		return nil, errOther
	}
	if _, ok := at(after, path); ok || !sameExcept(before, after, path) {
		return nil, errOther
	}
	return append(src[:len(src)-len(body):len(src)-len(body)], out...), nil
}

// Snippet returns the text of a file that has only value at path.
func (f Format) Snippet(path []string, value any) string {
	out, err := f.Set(nil, path, value)
	if err != nil {
		return ""
	}
	return string(out)
}

// open removes the byte order mark and parses the rest.
func (f Format) open(src []byte) (body []byte, tree map[string]any, err error) {
	body = bytes.TrimPrefix(src, []byte(bom))
	if bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff")) {
		return nil, nil, errorAt(body, 0, "the text is UTF-16; save it as UTF-8")
	}
	if !utf8.Valid(body) {
		at := 0
		for at < len(body) {
			r, n := utf8.DecodeRune(body[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return nil, nil, errorAt(body, at, "the text is not UTF-8")
	}
	tree, err = f.syntax().decode(body)
	return body, tree, err
}

// at returns the value at a path.
func at(tree map[string]any, path []string) (any, bool) {
	var value any = tree
	for _, key := range path {
		table, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = table[key]; !ok {
			return nil, false
		}
	}
	return value, true
}

// sameExcept reports whether two trees are equal apart from the value at path and the tables that
// hold only this value.
func sameExcept(a, b map[string]any, path []string) bool {
	return reflect.DeepEqual(without(a, path), without(b, path))
}

// without returns a tree without the value at path and the tables that this leaves empty. A table of
// YAML without members is null.
func without(tree map[string]any, path []string) map[string]any {
	out := map[string]any{}
	for key, value := range tree {
		if key != path[0] {
			out[key] = value
			continue
		}
		if len(path) == 1 {
			continue
		}
		table, ok := value.(map[string]any)
		if !ok && value != nil {
			out[key] = value
		} else if rest := without(table, path[1:]); len(rest) > 0 {
			out[key] = rest
		}
	}
	return out
}

// Same reports whether a value of Get is equal to a value for Set.
func Same(got, want any) bool {
	a, err1 := plain(got)
	b, err2 := plain(want)
	return err1 == nil && err2 == nil && reflect.DeepEqual(a, b)
}

// plain returns a value as encoding/json decodes it, with numbers as json.Number.
func plain(value any) (out any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return out, d.Decode(&out)
}

// MarshalJSON encodes an Object as a JSON object.
func (o Object) MarshalJSON() ([]byte, error) {
	table := make(map[string]any, len(o))
	for _, m := range o {
		table[m.Key] = m.Value
	}
	return json.Marshal(table)
}

// nest returns value in the tables that path names.
func nest(path []string, value any) any {
	for i := len(path) - 1; i >= 0; i-- {
		value = Object{{path[i], value}}
	}
	return value
}

// quoted returns a string as JSON, which TOML and YAML accept for a string in double quotes.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string cannot fail
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// scalar returns a value other than an Object on one line. The three formats share its syntax.
func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return quoted(v)
	case []string:
		list := make([]string, len(v))
		for i, s := range v {
			list[i] = quoted(s)
		}
		return "[" + strings.Join(list, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// newline returns the line ending of a text, that of its first line.
func newline(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// cut describes a range of bytes to replace with a text.
type cut struct {
	from, to int
	text     string
}

// replace applies cuts, which must be in order and must not overlap.
func replace(src []byte, cuts ...cut) []byte {
	var out []byte
	last := 0
	for _, c := range cuts {
		out = append(append(out, src[last:c.from]...), c.text...)
		last = c.to
	}
	return append(out, src[last:]...)
}
