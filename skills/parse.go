package skills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"mcp-toolset/internal/text/plain"
)

// document is a file with front matter.
type document struct {
	front *yaml.Node // a mapping
	body  string
	lax   *lineError // why front was read with its values quoted; nil: it is valid as it is
}

// lineError describes what is wrong at a line of a file.
type lineError struct {
	line int // 0: the whole file
	text string
}

func at(line int, format string, args ...any) *lineError {
	return &lineError{line, fmt.Sprintf(format, args...)}
}

// split returns the front matter and the body of a file.
func split(data []byte) (front, body string, err *lineError) {
	if !utf8.Valid(data) {
		return "", "", at(0, "is not valid UTF-8")
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", "", at(1, "does not begin with front matter; put name and description between two lines ---")
	}
	from := 0
	for line := range strings.SplitAfterSeq(rest, "\n") {
		if strings.TrimRight(line, " \t\n") == "---" {
			return rest[:from], rest[from+len(line):], nil
		}
		if from += len(line); from > maxFront {
			return "", "", at(1, "has front matter of more than %d bytes, or without a line --- after it", maxFront)
		}
	}
	return "", "", at(1, "has front matter without a line --- after it")
}

// parse parses a file: its front matter strictly, then once more with values quoted.
func parse(data []byte) (*document, *lineError) {
	front, body, err := split(data)
	if err != nil {
		return nil, err
	}
	d := &document{body: body}
	if d.front, err = parseYAML(front); err == nil {
		return d, nil
	}
	quoted, again := parseYAML(quoteValues(front))
	if again != nil {
		return nil, err
	}
	d.front, d.lax = quoted, err
	return d, nil
}

var yamlLine = regexp.MustCompile(`line (\d+): ([^\n]+)`)

// parseYAML parses front matter. It refuses aliases, which could make a small file large.
func parseYAML(front string) (*yaml.Node, *lineError) {
	fail := func(err error) *lineError {
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			n, _ := strconv.Atoi(m[1])
			return at(n+1, "the front matter is not valid YAML: %s", m[2])
		}
		return at(2, "the front matter is not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(front), &n); err != nil {
		return nil, fail(err)
	}
	if n.Kind != yaml.DocumentNode || len(n.Content) != 1 || n.Content[0].Kind != yaml.MappingNode {
		return nil, at(2, "the front matter is not a list of keys and values")
	}
	if err := checkNode(n.Content[0], 0); err != nil {
		return nil, err
	}
	var all map[string]any // finds duplicate keys
	if err := n.Decode(&all); err != nil {
		return nil, fail(err)
	}
	return n.Content[0], nil
}

func checkNode(n *yaml.Node, depth int) *lineError {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return at(n.Line+1, "the front matter has an alias; write the value out")
	case depth > maxNesting:
		return at(n.Line+1, "the front matter is nested more than %d deep", maxNesting)
	}
	for _, c := range n.Content {
		if err := checkNode(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

var topKey = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*):[ \t]+(\S.*)$`)

// quoteValues returns front matter with the values of top-level keys in single quotes, unless
// they begin with a sign of YAML. Most front matter that is not valid has a colon in its
// description. Tabs at the beginning of a line become spaces.
func quoteValues(front string) string {
	var out []string
	lines := strings.Split(front, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if tabs := len(line) - len(strings.TrimLeft(line, "\t")); tabs > 0 {
			line = strings.Repeat("  ", tabs) + line[tabs:]
		}
		m := topKey.FindStringSubmatch(line)
		if m == nil || strings.ContainsAny(m[2][:1], `"'|>[{&`) {
			out = append(out, line)
			continue
		}
		value := strings.TrimSpace(m[2])
		for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" && strings.ContainsAny(lines[i+1][:1], " \t") {
			i++
			value += " " + strings.TrimSpace(lines[i])
		}
		out = append(out, m[1]+": '"+strings.ReplaceAll(value, "'", "''")+"'")
	}
	return strings.Join(out, "\n")
}

// get returns the value of a key of the front matter, or nil.
func (d *document) get(key string) *yaml.Node {
	for i := 0; i+1 < len(d.front.Content); i += 2 {
		if d.front.Content[i].Value == key {
			return d.front.Content[i+1]
		}
	}
	return nil
}

// text returns the value of a key in one line that is safe to show, and the line of the file.
func (d *document) text(key string) (text string, line int) {
	n := d.get(key)
	if n == nil {
		return "", 2
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", n.Line + 1
	}
	return plain.Text(strings.Join(strings.Fields(n.Value), " ")), n.Line + 1
}

// list returns the items of a key: a list, or a text with commas outside of parentheses and braces.
func (d *document) list(key string) (items []string, given bool) {
	n := d.get(key)
	switch {
	case n == nil || n.Tag == "!!null":
		return nil, n != nil
	case n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			if c.Kind == yaml.ScalarNode {
				items = append(items, strings.TrimSpace(c.Value))
			}
		}
		return items, true
	}
	depth, from := 0, 0
	for i, r := range n.Value + "," {
		switch {
		case strings.ContainsRune("({", r):
			depth++
		case strings.ContainsRune(")}", r):
			depth--
		case r == ',' && depth <= 0:
			if item := strings.TrimSpace(n.Value[from:i]); item != "" {
				items = append(items, item)
			}
			from = i + 1
		}
	}
	return items, true
}

// toJSON writes a value of front matter as JSON. Values that JSON has no type for are texts.
func toJSON(b *bytes.Buffer, n *yaml.Node) {
	quote := func(s string) {
		text, _ := json.Marshal(s) // cannot fail for a string
		b.Write(text)
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(n.Content[i].Value)
			b.WriteByte(':')
			toJSON(b, n.Content[i+1])
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			toJSON(b, c)
		}
		b.WriteByte(']')
	default:
		var v any
		switch n.Tag {
		case "!!bool", "!!int", "!!float", "!!null":
			if n.Decode(&v) == nil {
				if text, err := json.Marshal(v); err == nil {
					b.Write(text)
					return
				}
			}
		}
		quote(n.Value)
	}
}

var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const (
	maxName        = 64
	maxDescription = 1024
	nameRule       = "a name has 1 to 64 small letters, digits and single hyphens"
)

func isName(s string) bool { return len(s) <= maxName && validName.MatchString(s) }

// parseAll reads the skills that a search has found.
func parseAll(f found, denied func(*Skill) string) *Set {
	set := &Set{Issues: slices.Clone(f.issues)}
	by := map[string]*Skill{}
	for _, p := range f.skills {
		k, issues := load(p)
		set.Issues = append(set.Issues, issues...)
		if k == nil {
			continue
		}
		if first := by[k.Name]; first != nil {
			set.Issues = append(set.Issues, Issue{Path: k.File(), Loaded: true, Text: fmt.Sprintf(
				"is not used: the skill %s of the %s takes precedence (%s)", k.Name, first.Layer, plain.Line(first.File()))})
			continue
		}
		if denied != nil {
			if why := denied(k); why != "" {
				set.Issues = append(set.Issues, Issue{Path: k.File(), Loaded: true, Text: "is not used: " + why})
				continue
			}
		}
		by[k.Name] = k
		set.Skills = append(set.Skills, k)
	}
	slices.SortFunc(set.Skills, func(a, b *Skill) int { return strings.Compare(a.Name, b.Name) })
	return set
}

// load reads the front matter of a skill.
func load(p place) (k *Skill, issues []Issue) {
	file := filepath.Join(p.dir, skillFile)
	issue := func(line int, loaded bool, format string, args ...any) {
		issues = append(issues, Issue{file, line, fmt.Sprintf(format, args...), loaded, p.name})
	}
	data, err := readIn(p.dir, skillFile, maxFile)
	if err != nil {
		issue(0, false, "cannot be read: %v", err)
		return nil, issues
	}
	d, bad := parse(data)
	if bad != nil {
		issue(bad.line, false, "%s", bad.text)
		return nil, issues
	}
	name, nameLine := d.text("name")
	description, line := d.text("description")
	if description == "" {
		issue(line, false, "it has no description; add one that names what the skill does and when to use it")
		return nil, issues
	}
	exact := d.lax == nil && name == p.name && isName(name)
	switch {
	case !isName(name) && !isName(p.name):
		issue(nameLine, false, "neither its name %s nor that of its folder can be used; %s", plain.Key(name), nameRule)
		return nil, issues
	case name == "":
		issue(nameLine, true, "it has no name, so that of its folder is used, %s", p.name)
		name = p.name
	case !isName(name):
		issue(nameLine, true, "the name %s cannot be used, so that of its folder is, %s; %s", plain.Key(name), p.name, nameRule)
		name = p.name
	case name != p.name:
		issue(nameLine, true, "the name is %s and that of its folder %s; other programs ignore such a skill", name, plain.Key(p.name))
	}
	if d.lax != nil {
		issue(d.lax.line, true, "%s; it was read with quoted values, and other programs ignore such a skill", d.lax.text)
	}
	if when, _ := d.text("when_to_use"); when != "" {
		description += " " + when
	}
	k = &Skill{Name: name, Layer: p.layer, Dir: p.dir, Description: plain.Cut(description, maxDescription+512)}
	k.Hint, _ = d.text("argument-hint")
	k.UserOnly, k.ModelOnly = d.is("disable-model-invocation", "true"), d.is("user-invocable", "false")
	k.Paths, _ = d.list("paths")
	allowed, _ := d.list("allowed-tools")
	k.Allowed = plain.Cut(plain.Text(strings.Join(allowed, ", ")), 300)
	if exact {
		var b bytes.Buffer
		toJSON(&b, d.front)
		k.front = b.Bytes()
	}
	return k, issues
}

func (d *document) is(key, value string) bool {
	text, _ := d.text(key)
	return strings.EqualFold(text, value)
}

// errGone is the error for a skill whose file was removed or damaged after the last search.
var errGone = errors.New("the skill has changed")

// body returns the instructions of a skill as they are now.
func (s *Skill) body() (string, error) {
	data, err := readIn(s.Dir, skillFile, maxFile)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", errGone, plain.Line(s.File()), err)
	}
	_, body, bad := split(data)
	if bad != nil {
		return "", fmt.Errorf("%w: %s: %s", errGone, plain.Line(s.File()), bad.text)
	}
	return strings.TrimSpace(body), nil
}
