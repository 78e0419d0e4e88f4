package edit

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonSyntax implements syntax for JSON with comments and trailing commas.
type jsonSyntax struct{}

// maxDepth is the limit of nesting. It is that of encoding/json; hujson has none, and overflows the
// stack.
const maxDepth = 10_000

// deep returns the offset at which more than maxDepth brackets are open, or -1.
func deep(src []byte) int {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '[', '{':
			if depth++; depth > maxDepth {
				return i
			}
		case ']', '}':
			depth--
		case '"':
			for i++; i < len(src) && src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		case '/':
			end := "\n"
			if bytes.HasPrefix(src[i:], []byte("/*")) {
				end = "*/"
			}
			n := bytes.Index(src[i+1:], []byte(end))
			if n < 0 {
				return -1
			}
			i += n + len(end)
		}
	}
	return -1
}

// parse returns the value of a text. blank reports that the text has only spaces and comments.
func (jsonSyntax) parse(src []byte) (v hujson.Value, blank bool, err error) {
	if at := deep(src); at >= 0 {
		return v, false, errorAt(src, at, "the text is nested too deeply")
	}
	v, err = hujson.Parse(src)
	if err == nil {
		return v, false, nil
	}
	padded := append(src[:len(src):len(src)], "\n{}"...)
	if v, err := hujson.Parse(padded[:len(src)+1]); err == nil { // the library wants a line break after a comment
		return v, false, nil
	}
	if whole, err := hujson.Parse(padded); err == nil && whole.StartOffset == len(src)+1 {
		return whole, true, nil
	}
	return v, false, position(err)
}

// position makes an *Error of an error of hujson, whose text begins with the position.
func position(err error) error {
	rest, _ := strings.CutPrefix(err.Error(), "hujson: line ")
	line, rest, _ := strings.Cut(rest, ", column ")
	column, text, _ := strings.Cut(rest, ": ")
	l, err1 := strconv.Atoi(line)
	c, err2 := strconv.Atoi(column)
	if err1 != nil || err2 != nil {
		return &Error{1, 1, err.Error()}
	}
	return &Error{l, c, text}
}

func (s jsonSyntax) decode(src []byte) (map[string]any, error) {
	v, blank, err := s.parse(src)
	if err != nil || blank {
		return nil, err
	}
	for value := range v.All() {
		if err := unique(src, value); err != nil {
			return nil, err
		}
	}
	if v.Value.Kind() != '{' {
		return nil, errorAt(src, v.StartOffset, "the file does not hold an object")
	}
	v = v.Clone()
	v.Standardize()
	d := json.NewDecoder(bytes.NewReader(v.Pack()))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return nil, errorAt(src, v.StartOffset, "%v", err)
	}
	return tree, nil
}

// unique returns an error if an object has a key twice: readers take the first or the last.
func unique(src []byte, v *hujson.Value) error {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	seen := make(map[string]bool, len(obj.Members))
	for _, m := range obj.Members {
		name := nameOf(m)
		if seen[name] {
			return errorAt(src, m.Name.StartOffset, "the key %s is there twice", quoted(name))
		}
		seen[name] = true
	}
	return nil
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// find returns the index of a member, or -1.
func find(obj *hujson.Object, key string) int {
	for i, m := range obj.Members {
		if nameOf(m) == key {
			return i
		}
	}
	return -1
}

func (s jsonSyntax) set(src []byte, path []string, value any) ([]byte, error) {
	v, blank, err := s.parse(src)
	if err != nil {
		return nil, err
	}
	w := writer{nl: newline(src), unit: "  "}
	if blank {
		out := append([]byte(nil), src...)
		if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, w.nl...)
		}
		return append(append(out, w.value(nest(path, value), "", true)...), w.nl...), nil
	}
	root, _ := v.Value.(*hujson.Object)
	if root != nil && len(root.Members) > 0 {
		if indent, ok := lineIndent(root.Members[0].Name.BeforeExtra); ok && indent != "" {
			w.unit = indent
		}
	}
	at := &v
	for i, key := range path {
		obj, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, errorAt(src, at.StartOffset, "%s is not an object", strings.Join(path[:i], "."))
		}
		j := find(obj, key)
		if j < 0 {
			return w.insert(src, at, obj, key, nest(path[i+1:], value), len(root.Members) > 0 && !bytes.ContainsRune(src[v.StartOffset:v.EndOffset], '\n')), nil
		}
		at = &obj.Members[j].Value
	}
	multi := bytes.ContainsRune(src[at.StartOffset:at.EndOffset], '\n')
	return replace(src, cut{at.StartOffset, at.EndOffset, w.value(value, indentOf(src, at.StartOffset), multi)}), nil
}

// writer writes new values in the style of a file.
type writer struct {
	nl   string // line ending
	unit string // indentation of one level
}

// insert returns src with a member added at the end of an object. flat reports that the whole file
// is one line.
func (w writer) insert(src []byte, at *hujson.Value, obj *hujson.Object, key string, value any, flat bool) []byte {
	open, end := at.StartOffset+1, at.EndOffset-1
	base := indentOf(src, at.StartOffset)
	indent := base + w.unit
	multi := bytes.ContainsRune(src[open:end], '\n') || len(obj.Members) == 0 && !flat
	if len(obj.Members) > 0 {
		if own, ok := lineIndent(obj.Members[0].Name.BeforeExtra); ok {
			indent = own
		}
	}
	text := quoted(key) + ": " + w.value(value, indent, multi)
	if multi {
		text = w.nl + indent + text
	}
	if len(obj.Members) == 0 {
		to := open + comments(src[open:end])
		if multi && !bytes.ContainsRune(src[to:end], '\n') {
			text += w.nl + base
		}
		return replace(src, cut{to, to, text})
	}
	if !multi {
		text = " " + text
	}
	last := obj.Members[len(obj.Members)-1].Value
	if last.AfterExtra != nil { // there is a trailing comma
		from := last.EndOffset + len(last.AfterExtra) + 1
		to := from + comments(src[from:end])
		return replace(src, cut{to, to, text + ","})
	}
	to := last.EndOffset + comments(src[last.EndOffset:end])
	return replace(src, cut{last.EndOffset, last.EndOffset, ","}, cut{to, to, text})
}

// value writes a value that begins on a line with the given indentation.
func (w writer) value(value any, indent string, multi bool) string {
	obj, ok := value.(Object)
	if !ok {
		return scalar(value)
	}
	if len(obj) == 0 {
		return "{}"
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range obj {
		if multi {
			b.WriteString(w.nl + indent + w.unit)
		} else if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quoted(m.Key) + ": " + w.value(m.Value, indent+w.unit, multi))
		if i < len(obj)-1 {
			b.WriteByte(',')
		}
	}
	if multi {
		b.WriteString(w.nl + indent)
	}
	b.WriteByte('}')
	return b.String()
}

func (s jsonSyntax) remove(src []byte, path []string) ([]byte, error) {
	v, _, err := s.parse(src)
	if err != nil {
		return nil, err
	}
	at := &v
	var obj *hujson.Object
	i, open, end := 0, 0, 0
	for _, key := range path {
		obj = at.Value.(*hujson.Object) // Remove has found the value
		open, end = at.StartOffset+1, at.EndOffset-1
		i = find(obj, key)
		at = &obj.Members[i].Value
	}
	name, value := obj.Members[i].Name, obj.Members[i].Value
	from := name.StartOffset - len(name.BeforeExtra) + comments(name.BeforeExtra)
	to := value.EndOffset
	last := i == len(obj.Members)-1
	if !last || value.AfterExtra != nil {
		to += len(value.AfterExtra) + 1 // its comma
	}
	if len(obj.Members) == 1 {
		if len(bytes.TrimSpace(src[open:from])) == 0 && len(bytes.TrimSpace(src[to:end])) == 0 {
			if len(path) > 1 {
				return s.remove(src, path[:len(path)-1])
			}
			return replace(src, cut{open, end, ""}), nil
		}
		return replace(src, cut{from, to, ""}), nil
	}
	if last && value.AfterExtra == nil {
		before := obj.Members[i-1].Value
		comma := before.EndOffset + len(before.AfterExtra)
		return replace(src, cut{comma, comma + 1, ""}, cut{from, to, ""}), nil
	}
	return replace(src, cut{from, to, ""}), nil
}

// comments returns the offset after the last comment of a text of spaces and comments, without the
// end of its line.
func comments(extra []byte) int {
	end := 0
	for i := 0; i < len(extra); {
		switch {
		case bytes.HasPrefix(extra[i:], []byte("//")):
			n := bytes.IndexByte(extra[i:], '\n')
			if n < 0 {
				n = len(extra) - i
			}
			end = i + len(bytes.TrimSuffix(extra[i:i+n], []byte("\r")))
			i += n
		case bytes.HasPrefix(extra[i:], []byte("/*")):
			n := bytes.Index(extra[i+2:], []byte("*/"))
			i += n + 4
			end = i
		default:
			i++
		}
	}
	return end
}

// lineIndent returns the spaces between the last line break of a text and its end. ok reports that
// there is a line break and nothing else after it.
func lineIndent(extra []byte) (indent string, ok bool) {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 || len(bytes.TrimSpace(extra[i:])) > 0 {
		return "", false
	}
	return string(extra[i+1:]), true
}

// indentOf returns the indentation of the line of an offset.
func indentOf(src []byte, offset int) string {
	line := src[bytes.LastIndexByte(src[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
