package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"mcp-toolset/internal/jsontext"
)

// This file reads JSON without the leniency of encoding/json, which takes the
// last of two equal keys, any spelling of a key in upper and lower case, and
// invalid UTF-8: settings that mean something else to the one who wrote them.

// maxDepth bounds the nesting of the settings, which need three levels.
const maxDepth = 100

type nodeKind string

// The kinds of node, as they are named in errors.
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
	line   int    // where it begins, 1-based
	text   string // of a string or, as written, a number
	truth  bool
	fields []field
	items  []*node
}

type field struct {
	key   string
	line  int // where the key stands, 1-based
	value *node
}

// want is the error for a value of a wrong type.
func (n *node) want(path, want string) error {
	if path == "" {
		path = "the file"
	}
	have := string(n.kind)
	if n.kind == isString {
		have = fmt.Sprintf("the string %s", show(n.text))
	}
	return fmt.Errorf("line %d: %s: want %s, have %s", n.line, path, want, have)
}

// strings reads an array of strings.
func (n *node) strings(path string) ([]string, error) {
	if n.kind != isArray {
		return nil, n.want(path, "an array of strings")
	}
	var out []string
	for i, item := range n.items {
		if item.kind != isString {
			return nil, item.want(fmt.Sprintf("%s[%d]", path, i), "a string")
		}
		out = append(out, item.text)
	}
	return out, nil
}

// string reads a string.
func (n *node) string(path string) (string, error) {
	if n.kind != isString {
		return "", n.want(path, "a string")
	}
	return n.text, nil
}

// bool reads true or false.
func (n *node) bool(path string) (bool, error) {
	if n.kind != isBool {
		return false, n.want(path, "true or false")
	}
	return n.truth, nil
}

// joinKey names a key for a person.
func joinKey(parent, key string) string {
	if parent == "" {
		return show(key)
	}
	return parent + "." + show(key)
}

// readJSON reads one JSON value that fills data.
func readJSON(data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with it
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("the file is empty; the least is {}")
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the file is not UTF-8")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line, column, fact := jsontext.Fault(data, syntax, "file")
			return nil, fmt.Errorf("line %d, column %d: %s", line, column, fact)
		}
		return nil, err
	}
	r := reader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	return r.value("", 0)
}

// reader turns tokens into nodes. The text is known to be valid JSON.
type reader struct {
	data   []byte
	dec    *json.Decoder
	offset int64 // up to which newlines are counted
	lines  int
}

// line is the line of the last token, 1-based.
func (r *reader) line() int {
	at := r.dec.InputOffset()
	r.lines += bytes.Count(r.data[r.offset:at], []byte("\n"))
	r.offset = at
	return 1 + r.lines
}

func (r *reader) value(path string, depth int) (*node, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: nested more than %d deep", r.line(), maxDepth)
	}
	n := &node{line: r.line()}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return n, r.object(n, path, depth)
		}
		return n, r.array(n, path, depth)
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

func (r *reader) object(n *node, path string, depth int) error {
	n.kind = isObject
	seen := map[string]bool{}
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string) // all keys are, in valid JSON
		at, line := joinKey(path, key), r.line()
		if seen[key] {
			return fmt.Errorf("line %d: %s: the key stands twice", line, at)
		}
		seen[key] = true
		value, err := r.value(at, depth+1)
		if err != nil {
			return err
		}
		n.fields = append(n.fields, field{key, line, value})
	}
	_, err := r.dec.Token()
	return err
}

func (r *reader) array(n *node, path string, depth int) error {
	n.kind = isArray
	for i := 0; r.dec.More(); i++ {
		item, err := r.value(fmt.Sprintf("%s[%d]", path, i), depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := r.dec.Token()
	return err
}
