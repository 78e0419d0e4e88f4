package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/strictjson"
)

// The reader of settings keeps the line of each value, for messages. strictjson
// rejects what could mean something other than the author intended.

// maxDepth is the limit of nesting. The settings need three levels.
const maxDepth = 100

type nodeKind string

// The kinds of node, with their names in errors.
const (
	isObject nodeKind = "an object"
	isArray  nodeKind = "an array"
	isString nodeKind = "a string"
	isNumber nodeKind = "a number"
	isBool   nodeKind = "a boolean"
	isNull   nodeKind = "null"
)

// node is a JSON value.
type node struct {
	kind   nodeKind
	line   int    // first line of the value, 1-based
	text   string // of a string; of a number as written
	truth  bool
	fields []field
	items  []*node
}

type field struct {
	key   string
	line  int // line of the key, 1-based
	value *node
}

// typeError returns the error for a value of a wrong type.
func (n *node) typeError(path, want string) error {
	if path == "" {
		path = "the file"
	}
	have := string(n.kind)
	if n.kind == isString {
		have = fmt.Sprintf("the string %s", plain.Quote(n.text))
	}
	return fmt.Errorf("line %d: %s: want %s, have %s", n.line, path, want, have)
}

// strings returns the items of an array of strings.
func (n *node) strings(path string) ([]string, error) {
	if n.kind != isArray {
		return nil, n.typeError(path, "an array of strings")
	}
	var out []string
	for i, item := range n.items {
		if item.kind != isString {
			return nil, item.typeError(fmt.Sprintf("%s[%d]", path, i), "a string")
		}
		out = append(out, item.text)
	}
	return out, nil
}

// string returns the value of a string.
func (n *node) string(path string) (string, error) {
	if n.kind != isString {
		return "", n.typeError(path, "a string")
	}
	return n.text, nil
}

// bool returns the value of a boolean.
func (n *node) bool(path string) (bool, error) {
	if n.kind != isBool {
		return false, n.typeError(path, "true or false")
	}
	return n.truth, nil
}

// joinKey returns the path of a key for messages.
func joinKey(parent, key string) string {
	if parent == "" {
		return plain.Quote(key)
	}
	return parent + "." + plain.Quote(key)
}

// readJSON parses data, which must hold exactly one JSON value.
func readJSON(data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // byte order mark: some editors write one
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("the file is empty; write at least {}")
	}
	if e, bad := errors.AsType[*strictjson.Error](strictjson.Check(data, maxDepth)); bad {
		switch e.Kind {
		case strictjson.Syntax, strictjson.Trailing:
			return nil, fmt.Errorf("line %d, column %d: %s", e.Line, e.Column, e.Fact("the file"))
		case strictjson.Duplicate:
			return nil, fmt.Errorf("line %d: %s: the key is given twice", e.Line, plain.Quote(e.Path))
		case strictjson.TooDeep:
			return nil, fmt.Errorf("line %d: nested more than %d deep", e.Line, maxDepth)
		}
		return nil, errors.New(e.Of("the file"))
	}
	r := reader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	return r.value("")
}

// reader turns tokens into nodes. Its data must be valid JSON.
type reader struct {
	data   []byte
	dec    *json.Decoder
	offset int64 // newlines before it are counted in lines
	lines  int
}

// line returns the line of the last token, 1-based.
func (r *reader) line() int {
	at := r.dec.InputOffset()
	r.lines += bytes.Count(r.data[r.offset:at], []byte("\n"))
	r.offset = at
	return 1 + r.lines
}

func (r *reader) value(path string) (*node, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &node{line: r.line()}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return n, r.object(n, path)
		}
		return n, r.array(n, path)
	case string:
		n.kind, n.text = isString, t
	case bool:
		n.kind, n.truth = isBool, t
	case json.Number:
		n.kind, n.text = isNumber, t.String()
	default:
		n.kind = isNull
	}
	return n, nil
}

func (r *reader) object(n *node, path string) error {
	n.kind = isObject
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string) // all keys are strings in valid JSON
		at, line := joinKey(path, key), r.line()
		value, err := r.value(at)
		if err != nil {
			return err
		}
		n.fields = append(n.fields, field{key, line, value})
	}
	_, err := r.dec.Token()
	return err
}

func (r *reader) array(n *node, path string) error {
	n.kind = isArray
	for i := 0; r.dec.More(); i++ {
		item, err := r.value(fmt.Sprintf("%s[%d]", path, i))
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := r.dec.Token()
	return err
}
