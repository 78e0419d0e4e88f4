package pin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// This file is the form in which definitions are compared. Two texts have the
// same form only if no reader of JSON could find a difference between them.

// maxDepth is deeper than any schema, and bounds the work: each level is copied.
const maxDepth = 100

// pinned are the parts of a definition that a person sees or a model acts on, in
// the order in which they are shown and named. Nothing else is compared: _meta
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

// canonical is a JSON value in its one form: no white space, keys sorted,
// characters as themselves where that can be, numbers as they were written. A
// key that stands twice stays twice, half of a surrogate pair stays half of one,
// and bytes that are no text stay as they are. What is nested deeper than
// maxDepth stays as it was written.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	if !json.Valid(raw) { // which bounds the depth too
		return nil, errNotJSON
	}
	r := reader{rest: raw}
	return r.value(), nil
}

// definition is the canonical form of what is pinned of a tool's definition.
func definition(raw json.RawMessage) (json.RawMessage, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, errors.New("it is not a JSON object")
	}
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	return object(slices.DeleteFunc(members(raw), func(m member) bool { return m.part() < 0 })), nil
}

// digest is the SHA-256 of a canonical form.
func digest(form json.RawMessage) string {
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
}

// toolName is the name in a definition, as encoding/json reads it, "" if there
// is none.
func toolName(raw json.RawMessage) string {
	var d struct{ Name string }
	if json.Unmarshal(raw, &d) != nil {
		return ""
	}
	return d.Name
}

// member is a key, as it is written in canonical form, and its value.
type member struct{ key, value json.RawMessage }

// part is the place in pinned of what the member may be read as, -1 if of
// nothing. Some readers, encoding/json among them, do not mind upper and lower
// case.
func (m member) part() int {
	var name string
	_ = json.Unmarshal(m.key, &name) // a string
	for i, p := range pinned {
		if strings.EqualFold(name, p.key) {
			return i
		}
	}
	return -1
}

// members are those of a valid object, each in canonical form.
func members(raw json.RawMessage) []member {
	r := reader{rest: raw, depth: 1}
	return r.members()
}

func object(list []member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.key...), ':'), m.value...)
	}
	return append(out, '}')
}

// reader reads JSON that is known to be valid.
type reader struct {
	rest  []byte
	depth int // of the value being read
}

func (r *reader) space() { r.rest = bytes.TrimLeft(r.rest, " \t\r\n") }

// next takes a byte, behind white space, if it is this one.
func (r *reader) next(b byte) bool {
	r.space()
	if len(r.rest) == 0 || r.rest[0] != b {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *reader) value() json.RawMessage {
	r.space()
	r.depth++ // 1 is the whole
	defer func() { r.depth-- }()
	switch c := r.rest[0]; {
	case r.depth > maxDepth && (c == '{' || c == '['):
		return r.skip()
	case c == '{':
		return object(r.members())
	case c == '[':
		return r.array()
	case c == '"':
		return r.text()
	}
	end := bytes.IndexAny(r.rest, ",]} \t\r\n")
	if end < 0 {
		end = len(r.rest)
	}
	word := r.rest[:end:end]
	r.rest = r.rest[end:]
	return word
}

// skip takes an object or array as it is written.
func (r *reader) skip() json.RawMessage {
	quoted, open := false, 0
	for i, c := range r.rest {
		switch {
		case c == '"' && !(quoted && escaped(r.rest[:i])):
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			open++
		case c == '}', c == ']':
			if open--; open == 0 {
				whole := r.rest[: i+1 : i+1]
				r.rest = r.rest[i+1:]
				return whole
			}
		}
	}
	return nil // not reached: it is valid
}

// escaped reports whether what follows the text of a string is escaped.
func escaped(before []byte) bool {
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}

func (r *reader) array() json.RawMessage {
	out := []byte{'['}
	for r.next('['); !r.next(']'); r.next(',') {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, r.value()...)
	}
	return append(out, ']')
}

func (r *reader) members() []member {
	var list []member
	for r.next('{'); !r.next('}'); r.next(',') {
		r.space()
		key := r.text()
		r.next(':')
		list = append(list, member{key, r.value()})
	}
	slices.SortStableFunc(list, func(a, b member) int { return bytes.Compare(alike(a.key), alike(b.key)) })
	return list
}

// Half a surrogate pair, as canonical form writes it, and what readers put in the
// place of that and of bytes that are no text.
var (
	half     = regexp.MustCompile(`\\ud[89a-f][0-9a-f]{2}`)
	replaced = regexp.MustCompile(`\x{FFFD}+`)
)

// alike is the same for keys that some reader takes for one: of these the last may
// count, so they stay in their order.
func alike(key []byte) []byte {
	if utf8.Valid(key) && !bytes.Contains(key, []byte(`\ud`)) && !bytes.ContainsRune(key, utf8.RuneError) {
		return key
	}
	key = bytes.ToValidUTF8(half.ReplaceAll(key, []byte("\uFFFD")), []byte("\uFFFD"))
	return replaced.ReplaceAll(key, []byte("\uFFFD"))
}

// text reads a string and writes it with as few escapes as there can be.
func (r *reader) text() json.RawMessage {
	out := []byte{'"'}
	for r.rest = r.rest[1:]; r.rest[0] != '"'; {
		if n := bytes.IndexAny(r.rest, `"\`); n > 0 {
			out = append(out, r.rest[:n]...)
			r.rest = r.rest[n:]
			continue
		}
		unit := r.escape()
		if !utf16.IsSurrogate(unit) {
			out = appendRune(out, unit)
			continue
		}
		before := r.rest
		if bytes.HasPrefix(r.rest, []byte(`\u`)) {
			if whole := utf16.DecodeRune(unit, r.escape()); whole != utf8.RuneError {
				out = utf8.AppendRune(out, whole)
				continue
			}
		}
		r.rest = before
		out = fmt.Appendf(out, `\u%04x`, unit)
	}
	r.rest = r.rest[1:]
	return append(out, '"')
}

// escape reads an escape, of which \u may be half of a pair.
func (r *reader) escape() rune {
	c := r.rest[1]
	if c != 'u' {
		r.rest = r.rest[2:]
		return rune(cmp.Or(map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c], c))
	}
	unit, _ := strconv.ParseUint(string(r.rest[2:6]), 16, 16) // valid JSON
	r.rest = r.rest[6:]
	return rune(unit)
}

func appendRune(out []byte, c rune) []byte {
	if c == '"' || c == '\\' {
		return append(out, '\\', byte(c))
	}
	if at := strings.IndexRune("\b\f\n\r\t", c); at >= 0 {
		return append(out, '\\', "bfnrt"[at])
	}
	if c < ' ' {
		return fmt.Appendf(out, `\u%04x`, c)
	}
	return utf8.AppendRune(out, c)
}
