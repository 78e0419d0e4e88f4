package edit

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlSyntax implements syntax for YAML whose tables are blocks: one document, a key on each line.
type yamlSyntax struct{}

// oddBreak matches line breaks of YAML other than \n and \r\n, which other programs take for text.
var oddBreak = regexp.MustCompile("\r(?:[^\n]|$)|[\u0085\u2028\u2029]")

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (?s:(.*))$`)

func (yamlSyntax) decode(src []byte) (tree map[string]any, err error) {
	if err = yaml.Unmarshal(src, &tree); err == nil {
		return tree, nil
	}
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return nil, &Error{1, 1, strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	// The library knows the line only: the column is that of its first character.
	line, _ := strconv.Atoi(m[1])
	text, _, _ := strings.Cut(m[2], "\n")
	return nil, &Error{max(line, 1), 1 + len(indentAt(lines(src), line)), text}
}

// lines returns the lines of a text with their ends.
func lines(src []byte) [][]byte {
	all := bytes.SplitAfter(src, []byte("\n"))
	if len(all[len(all)-1]) == 0 {
		all = all[:len(all)-1]
	}
	return all
}

// indentAt returns the indentation of a line, which is counted from 1.
func indentAt(all [][]byte, line int) string {
	if line < 1 || line > len(all) {
		return ""
	}
	text := all[line-1]
	return string(text[:len(text)-len(bytes.TrimLeft(text, " "))])
}

// member returns the key and value of a mapping.
func member(table *yaml.Node, key string) (name, value *yaml.Node) {
	for i := 0; i+1 < len(table.Content); i += 2 {
		if table.Content[i].Value == key {
			return table.Content[i], table.Content[i+1]
		}
	}
	return nil, nil
}

// root returns the mapping of a text, or nil for an empty text.
func (yamlSyntax) root(src []byte) (*yaml.Node, error) {
	if oddBreak.Match(src) {
		return nil, errOther
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0 {
		return nil, &Error{root.Line, root.Column, "the file is not a table with a key on each line"}
	}
	return root, nil
}

func (s yamlSyntax) set(src []byte, path []string, value any) ([]byte, error) {
	root, err := s.root(src)
	if err != nil {
		return nil, err
	}
	all, nl := lines(src), newline(src)
	if root == nil {
		return s.addLast(src, s.block(path[0], nest(path[1:], value), "", nl), nl), nil
	}
	table := root
	for i, key := range path {
		name, v := member(table, key)
		switch {
		case name == nil && i == 0:
			return s.addLast(src, s.block(key, nest(path[1:], value), "", nl), nl), nil
		case name == nil: // the caller has seen a block below the line of the key
			above, _ := s.walk(root, path[:i])
			indent := indentAt(all, table.Content[0].Line)
			at := offset(all, above.Line+1)
			return replace(src, cut{at, at, s.block(key, nest(path[i+1:], value), indent, nl)}), nil
		case i == len(path)-1:
			from, to := s.extent(all, name.Line)
			return replace(src, cut{from, to, s.block(key, value, indentAt(all, name.Line), nl)}), nil
		case v.Kind == yaml.ScalarNode && v.Tag == "!!null" || v.Kind == yaml.MappingNode && len(v.Content) == 0:
			return s.fill(src, all, name, v, nest(path[i+1:], value).(Object), nl)
		case v.Kind != yaml.MappingNode || v.Style&yaml.FlowStyle != 0 || v.Line == name.Line:
			return nil, &Error{name.Line, name.Column, key + " is not a table with a key on each line"}
		}
		table = v
	}
	return nil, errOther
}

// fill returns src with the members of a table that is empty: nothing, null or {}.
func (s yamlSyntax) fill(src []byte, all [][]byte, name, v *yaml.Node, value Object, nl string) ([]byte, error) {
	line := offset(all, name.Line)
	end := lineEnd(src, line)
	var cuts []cut
	if v.Value != "" || v.Kind == yaml.MappingNode {
		from := offset(all, v.Line) + v.Column - 1 // the line has no characters of several bytes before it, or the result is refused
		to := from + len(v.Value)
		if v.Kind == yaml.MappingNode {
			to = from + 1 + bytes.IndexByte(src[from:], '}')
		}
		if v.Line != name.Line || from >= to || to > end {
			return nil, errOther
		}
		if to == end {
			from = len(bytes.TrimRight(src[:from], " "))
		}
		cuts = append(cuts, cut{from, to, ""})
	}
	indent := indentAt(all, name.Line) + "  "
	var b strings.Builder
	for _, m := range value {
		b.WriteString(nl + s.block(m.Key, m.Value, indent, nl))
	}
	return replace(src, append(cuts, cut{end, end, strings.TrimSuffix(b.String(), nl)})...), nil
}

// walk returns the key and value at a path that exists.
func (yamlSyntax) walk(root *yaml.Node, path []string) (name, value *yaml.Node) {
	value = root
	for _, key := range path {
		name, value = member(value, key)
	}
	return name, value
}

// addLast returns src with a block of lines at its end.
func (yamlSyntax) addLast(src []byte, block, nl string) []byte {
	out := bytes.Clone(src)
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, nl...)
	}
	return append(out, block...)
}

// block writes a key with its value as lines.
func (s yamlSyntax) block(key string, value any, indent, nl string) string {
	obj, ok := value.(Object)
	if !ok {
		return indent + bare(key) + ": " + scalar(value) + nl
	}
	var b strings.Builder
	b.WriteString(indent + bare(key) + ":" + nl)
	for _, m := range obj {
		b.WriteString(s.block(m.Key, m.Value, indent+"  ", nl))
	}
	return b.String()
}

func (s yamlSyntax) remove(src []byte, path []string) ([]byte, error) {
	root, err := s.root(src)
	if err != nil || root == nil {
		return nil, errOther
	}
	_, table := s.walk(root, path[:len(path)-1])
	name, _ := s.walk(root, path)
	all := lines(src)
	if table.Style&yaml.FlowStyle != 0 || indentAt(all, name.Line) != strings.Repeat(" ", name.Column-1) {
		return nil, errorAt(src, offset(all, name.Line), "%s is not on lines of its own", name.Value)
	}
	from, to := s.extent(all, name.Line)
	if len(table.Content) == 2 && len(path) > 1 {
		above, _ := s.walk(root, path[:len(path)-1])
		start, end := s.extent(all, above.Line)
		if lineEnd(src, start)+len(newline(src)) == from && end == to { // no comments beside it
			return s.remove(src, path[:len(path)-1])
		}
	}
	return replace(src, cut{from, to, ""}), nil
}

// offset returns the offset of a line, which is counted from 1.
func offset(all [][]byte, line int) (n int) {
	for _, text := range all[:min(line-1, len(all))] {
		n += len(text)
	}
	return n
}

// extent returns the range of the lines of a key and its value: those that follow and are indented
// more. Empty lines at the end do not belong to it.
func (yamlSyntax) extent(all [][]byte, line int) (from, to int) {
	indent := len(indentAt(all, line))
	last := line
	for n := line + 1; n <= len(all); n++ {
		if len(bytes.TrimSpace(all[n-1])) == 0 {
			continue
		}
		// The items of a list may be indented as its key.
		item := bytes.HasPrefix(bytes.TrimLeft(all[n-1], " "), []byte("-")) && len(indentAt(all, n)) == indent
		if len(indentAt(all, n)) <= indent && !item {
			break
		}
		last = n
	}
	return offset(all, line), offset(all, last+1)
}
