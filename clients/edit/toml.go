package edit

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlSyntax implements syntax for TOML 1.0.
type tomlSyntax struct{}

func (tomlSyntax) decode(src []byte) (tree map[string]any, err error) {
	err = toml.Unmarshal(src, &tree)
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, column := at.Position()
		return nil, &Error{line, column, strings.TrimPrefix(at.Error(), "toml: ")}
	} else if err != nil {
		return nil, &Error{1, 1, err.Error()}
	}
	return tree, nil
}

// expression describes a table header or a key with its value.
type expression struct {
	header   bool
	key      []string // from the root
	from, to int      // the header's line without its end, or the key and value
	value    int      // offset of the value
}

// expressions returns the headers and keys of a text in order.
func (tomlSyntax) expressions(src []byte) (list []expression, err error) {
	var p unstable.Parser
	p.Reset(src)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		var key []string
		first, end := -1, 0
		for it := e.Key(); it.Next(); {
			raw := it.Node().Raw
			key = append(key, string(it.Node().Data))
			if first < 0 {
				first = int(raw.Offset)
			}
			end = int(raw.Offset + raw.Length)
		}
		x := expression{header: e.Kind != unstable.KeyValue, key: key}
		if x.header {
			table = key
			x.from, x.to = lineStart(src, first), lineEnd(src, end)
		} else {
			x.key = append(slices.Clone(table), key...)
			x.from, x.to = int(e.Raw.Offset), int(e.Raw.Offset+e.Raw.Length)
			x.value = end + bytes.IndexByte(src[end:], '=') + 1
			x.value += len(src[x.value:x.to]) - len(bytes.TrimLeft(src[x.value:x.to], " \t"))
		}
		list = append(list, x)
	}
	return list, p.Error()
}

func (s tomlSyntax) set(src []byte, path []string, value any) ([]byte, error) {
	list, err := s.expressions(src)
	if err != nil {
		return nil, err
	}
	nl := newline(src)
	obj, isTable := value.(Object)
	if !isTable {
		for _, x := range list {
			if !x.header && slices.Equal(x.key, path) {
				return replace(src, cut{x.value, x.to, scalar(value)}), nil
			}
		}
		for _, x := range list {
			if x.header && slices.Equal(x.key, path[:len(path)-1]) {
				return replace(src, cut{x.to, x.to, nl + bare(path[len(path)-1]) + " = " + scalar(value)}), nil
			}
		}
		return nil, errOther
	}
	for _, x := range list {
		if !x.header && len(x.key) <= len(path) && slices.Equal(x.key, path[:len(x.key)]) {
			return nil, errorAt(src, x.from, "%s is written as an inline table", strings.Join(x.key, "."))
		}
		if len(x.key) >= len(path) && slices.Equal(x.key[:len(path)], path) {
			return nil, errorAt(src, x.from, "%s exists", strings.Join(path, "."))
		}
	}
	out := slices.Clone(src)
	if len(out) > 0 {
		if !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, nl...)
		}
		out = append(out, nl...)
	}
	keys := make([]string, len(path))
	for i, key := range path {
		keys[i] = bare(key)
	}
	out = append(out, "["+strings.Join(keys, ".")+"]"+nl...)
	for _, m := range obj {
		out = append(out, bare(m.Key)+" = "+scalar(m.Value)+nl...)
	}
	return out, nil
}

func (s tomlSyntax) remove(src []byte, path []string) ([]byte, error) {
	list, err := s.expressions(src)
	if err != nil {
		return nil, err
	}
	var cuts []cut
	inside := false // whether the expression before belongs to the value
	for _, x := range list {
		if len(x.key) < len(path) || !slices.Equal(x.key[:len(path)], path) {
			inside = false
			continue
		}
		from, to := lineStart(src, x.from), lineEnd(src, x.to)
		if rest := src[to:]; len(rest) > 0 {
			to += bytes.IndexByte(rest, '\n') + 1
		}
		if inside {
			cuts[len(cuts)-1].to = to // and everything between them
			continue
		}
		inside = true
		if x.header {
			from -= blankLine(src[:from])
		}
		cuts = append(cuts, cut{from, to, ""})
	}
	return replace(src, cuts...), nil
}

// blankLine returns the length of an empty line at the end of a text.
func blankLine(src []byte) int {
	for _, end := range []string{"\r\n", "\n"} {
		if rest, ok := bytes.CutSuffix(src, []byte(end)); ok && (len(rest) == 0 || bytes.HasSuffix(rest, []byte("\n"))) {
			return len(end)
		}
	}
	return 0
}

func lineStart(src []byte, offset int) int { return bytes.LastIndexByte(src[:offset], '\n') + 1 }

// lineEnd returns the offset of the end of a line, before its line break.
func lineEnd(src []byte, offset int) int {
	n := bytes.IndexByte(src[offset:], '\n')
	if n < 0 {
		return len(src)
	}
	if n > 0 && src[offset+n-1] == '\r' {
		n--
	}
	return offset + n
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// bare returns a key of TOML or YAML, quoted if it must be.
func bare(key string) string {
	if bareKey.MatchString(key) {
		return key
	}
	return quoted(key)
}
