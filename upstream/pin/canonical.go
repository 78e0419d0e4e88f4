package pin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"mcp-toolset/internal/text/strictjson"
)

// The canonical form is the form in which definitions are compared. Two texts
// have the same form only if no JSON reader could find a difference between
// them.

// maxDepth is the nesting limit of the canonical form. It is deeper than any
// schema, and bounds the work: sorting copies each level.
const maxDepth = 100

// pinned lists the parts of a definition that the user sees or a model acts on,
// in the order in which changes are reported. Nothing else is compared: _meta
// differs from one listing to the next.
var pinned = []struct{ key, words string }{
	{"name", "name"},
	{"title", "title"},
	{"description", "description"},
	{"inputSchema", "input schema"},
	{"outputSchema", "output schema"},
	{"annotations", "annotations"},
}

var errNotJSON = errors.New("it is not JSON")

// canonical returns the form of a JSON value: that of [strictjson.Canonical], or
// the text without white space if it has none because readers may differ over
// it, or because it is nested deeper than maxDepth.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	if form, err := strictjson.Canonical(raw, maxDepth); err == nil {
		return form, nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil, errNotJSON
	}
	return b.Bytes(), nil
}

// definition returns the canonical form of the pinned parts of a tool's
// definition.
func definition(raw json.RawMessage) (json.RawMessage, error) {
	list, err := members(raw)
	if err != nil {
		return nil, err
	}
	return object(list), nil
}

// digest returns the SHA-256 of a canonical form, in hexadecimal.
func digest(form json.RawMessage) string {
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
}

// toolName returns the name in a definition as encoding/json reads it, or "" if
// there is none.
func toolName(raw json.RawMessage) string {
	var d struct{ Name string }
	if json.Unmarshal(raw, &d) != nil {
		return ""
	}
	return d.Name
}

// member holds a key and its value in canonical form.
type member struct {
	key   string
	value json.RawMessage
}

// part returns the index in pinned of the part that a reader may take the
// member for, or -1 if there is none. Some readers, encoding/json among them,
// ignore case.
func (m member) part() int {
	for i, p := range pinned {
		if strings.EqualFold(m.key, p.key) {
			return i
		}
	}
	return -1
}

// members returns the pinned members of an object, sorted by key. The order of
// duplicate keys is preserved, because the last one may count.
func members(raw json.RawMessage) ([]member, error) {
	all, err := strictjson.Members(raw)
	if err != nil {
		return nil, err
	}
	var list []member
	for _, f := range all {
		m := member{key: f.Key}
		if m.part() < 0 {
			continue
		}
		if m.value, err = canonical(raw[f.From:f.To]); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	return list, nil
}

// object returns an object of members. Their keys are letters.
func object(list []member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), m.key...), `":`...), m.value...)
	}
	return append(out, '}')
}
