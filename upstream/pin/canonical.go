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

// The canonical form is the form in which definitions are compared. Two texts
// have the same form only if no JSON reader could find a difference between
// them.

// maxDepth is the nesting limit of the canonical form. It is deeper than any
// schema, and bounds the work: each level is copied.
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

// canonical returns the canonical form of a JSON value: no white space, sorted
// keys, as few escapes as possible, and numbers as written. Duplicate keys stay
// duplicate. Unpaired surrogates and invalid UTF-8 are unchanged. Values nested
// deeper than maxDepth stay as written.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	if !json.Valid(raw) { // this bounds the depth too
		return nil, errNotJSON
	}
	r := reader{rest: raw}
	return r.value(), nil
}

// definition returns the canonical form of the pinned parts of a tool's
// definition.
func definition(raw json.RawMessage) (json.RawMessage, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, errors.New("it is not a JSON object")
	}
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	return object(slices.DeleteFunc(members(raw), func(m member) bool { return m.part() < 0 })), nil
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

// member holds a key in canonical form and its value.
type member struct{ key, value json.RawMessage }

// part returns the index in pinned of the part that a reader may take the
// member for, or -1 if there is none. Some readers, encoding/json among them,
// ignore case.
func (m member) part() int {
	var name string
	_ = json.Unmarshal(m.key, &name) // always a string
	for i, p := range pinned {
		if strings.EqualFold(name, p.key) {
			return i
		}
	}
	return -1
}

// members returns the members of a valid object, each in canonical form.
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

// next skips white space, then consumes b if it is the next byte. It reports
// whether it was.
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
	r.depth++ // the outermost value has depth 1
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

// skip consumes an object or array and returns it as written.
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
	return nil // not reached: the JSON is valid
}

// escaped reports whether the character after the given text of a string is
// escaped.
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

// half matches an unpaired surrogate in canonical form. replaced matches the
// characters that readers substitute for unpaired surrogates and invalid UTF-8.
var (
	half     = regexp.MustCompile(`\\ud[89a-f][0-9a-f]{2}`)
	replaced = regexp.MustCompile(`\x{FFFD}+`)
)

// alike maps keys that some reader may take for the same key to the same text.
// The order of such keys is preserved, because the last one may count.
func alike(key []byte) []byte {
	if utf8.Valid(key) && !bytes.Contains(key, []byte(`\ud`)) && !bytes.ContainsRune(key, utf8.RuneError) {
		return key
	}
	key = bytes.ToValidUTF8(half.ReplaceAll(key, []byte("\uFFFD")), []byte("\uFFFD"))
	return replaced.ReplaceAll(key, []byte("\uFFFD"))
}

// text consumes a string and returns it with as few escapes as possible.
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

// escape consumes an escape sequence. The result of \u may be half of a
// surrogate pair.
func (r *reader) escape() rune {
	c := r.rest[1]
	if c != 'u' {
		r.rest = r.rest[2:]
		return rune(cmp.Or(map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c], c))
	}
	unit, _ := strconv.ParseUint(string(r.rest[2:6]), 16, 16) // cannot fail: the JSON is valid
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
