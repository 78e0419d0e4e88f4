package notebook

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The slow and obvious implementation: a notebook is edited as a tree and printed in the form of
// the file. Apply must return the same bytes.

// pair is an entry of an object.
type pair struct {
	key   string
	value any // string, raw, []any or []pair
}

// raw is JSON that is printed unchanged.
type raw string

// printer is a form of JSON as printed by Python's json and others.
type printer struct {
	line         string // the line ending; "" for everything on one line
	indent       string
	comma, colon string
	pad          string // within braces on one line
	ascii        bool
}

func (p printer) print(b *strings.Builder, v any, depth int) {
	inside, outside := "", ""
	if _, ok := v.([]pair); ok {
		inside, outside = p.pad, p.pad
	}
	if p.line != "" {
		inside, outside = p.line+strings.Repeat(p.indent, depth+1), p.line+strings.Repeat(p.indent, depth)
	}
	between := p.comma
	if p.line != "" {
		between += inside
	}
	switch v := v.(type) {
	case raw:
		b.WriteString(string(v))
	case string:
		b.WriteString(`"` + string(slowEscape(v, p.ascii)) + `"`)
	case []any:
		if len(v) == 0 {
			b.WriteString("[]")
			return
		}
		b.WriteString("[" + inside)
		for i, item := range v {
			if i > 0 {
				b.WriteString(between)
			}
			p.print(b, item, depth+1)
		}
		b.WriteString(outside + "]")
	case []pair:
		if len(v) == 0 {
			b.WriteString("{}")
			return
		}
		b.WriteString("{" + inside)
		for i, e := range v {
			if i > 0 {
				b.WriteString(between)
			}
			p.print(b, e.key, depth+1)
			b.WriteString(p.colon)
			p.print(b, e.value, depth+1)
		}
		b.WriteString(outside + "}")
	default:
		panic(fmt.Sprintf("%T", v))
	}
}

// slowEscape escapes one character after the other.
func slowEscape(s string, ascii bool) string {
	var b strings.Builder
	for _, r := range s {
		named, ok := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}[r]
		switch {
		case ok:
			b.WriteString(named)
		case ascii && r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		case r < ' ', ascii && r > '~':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// dice makes random notebooks.
type dice struct{ *rand.Rand }

func (d dice) of(all ...string) string { return all[d.IntN(len(all))] }

func (d dice) form() printer {
	p := printer{comma: ",", colon: d.of(": ", ":"), ascii: d.IntN(2) == 0}
	if p.line = d.of("", "\n", "\n", "\r\n"); p.line != "" {
		p.indent = d.of("", " ", "  ", "    ", "\t")
		p.comma = d.of(",", ", ")
		return p
	}
	p.comma, p.pad = d.of(",", ", "), d.of("", " ")
	return p
}

func (d dice) text() string {
	var b strings.Builder
	for range d.IntN(8) {
		b.WriteString(d.of("x = 1", "\n", "\n", "\r\n", "\t", `"`, `\`, "é", "😀", "\u2028", "\x1b[0m", "\x7f", "\f", "\uFFFD", "</a>", "  "))
	}
	return b.String()
}

// lines returns text in the form of a list.
func lines(text string) []any {
	list := []any{}
	for l := range strings.Lines(text) {
		list = append(list, l)
	}
	return list
}

// cell makes a cell. Its keys are in any order, and some are unknown.
func (d dice) cell(kind, id string) []pair {
	c := []pair{{"cell_type", kind}, {"metadata", d.metadata(0)}}
	if id != "" {
		c = append(c, pair{"id", id})
	}
	if kind == "code" {
		c = append(c, pair{"outputs", d.outputs()}, pair{"execution_count", raw(d.of("null", "1", "77"))})
	} else if d.IntN(3) == 0 {
		c = append(c, pair{"attachments", []pair{{"a.png", []pair{{"image/png", "AAAA"}}}}})
	}
	if d.IntN(4) == 0 {
		c = append(c, pair{d.of("x-unknown", "a\"b", "zzz"), d.metadata(0)})
	}
	if s := d.text(); d.IntN(2) == 0 {
		c = append(c, pair{"source", s})
	} else {
		c = append(c, pair{"source", lines(s)})
	}
	if d.IntN(2) == 0 {
		d.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	} else {
		slices.SortFunc(c, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	}
	return c
}

func (d dice) outputs() []any {
	out := []any{}
	for range d.IntN(3) {
		out = append(out, []pair{{"name", "stdout"}, {"output_type", "stream"}, {"text", lines(d.text())}})
	}
	return out
}

func (d dice) metadata(depth int) any {
	switch d.IntN(4 + 2*min(depth, 1)) {
	case 0:
		return []pair{}
	case 1:
		return []pair{{"k", d.text()}, {"a", d.metadata(depth + 1)}, {"a", raw("1e400")}}
	case 2:
		return []any{raw("NaN"), raw("-Infinity"), raw("0.10"), raw("12345678901234567890123")}
	}
	return raw(d.of("null", "true", `"\/\u0041\ud800"`, "-0.0E+1"))
}

// tree holds a notebook in the form that the slow implementation edits.
type tree struct {
	printer
	minor       int
	cells       []any // []pair
	head, tail  []pair
	begin, rest string // of the file
}

func (d dice) tree() tree {
	t := tree{printer: d.form(), minor: 4 + d.IntN(2), begin: d.of("", "", "\ufeff"), rest: d.of("\n", "", "\r\n", "\n\n ")}
	for i := range d.IntN(5) {
		id := ""
		if t.minor == 5 && d.IntN(8) > 0 {
			id = d.of(fmt.Sprintf("id%d", i), fmt.Sprintf("id%d", i), "cell-1", "same", "not valid")
		}
		t.cells = append(t.cells, d.cell(d.of("code", "markdown", "raw", "other"), id))
	}
	t.head = []pair{{"nbformat_minor", raw(fmt.Sprint(t.minor))}}
	if t.ascii { // otherwise the file might not show it
		t.head = append(t.head, pair{"x", "é"})
	}
	t.tail = []pair{{"metadata", d.metadata(1)}, {"nbformat", raw("4")}}
	return t
}

func (t tree) bytes() []byte {
	var b strings.Builder
	b.WriteString(t.begin)
	cells := t.cells
	if cells == nil {
		cells = []any{}
	}
	t.print(&b, slices.Concat(t.head, []pair{{"cells", cells}}, t.tail), 0)
	return []byte(b.String() + t.rest)
}

// get returns the value of a key.
func get(c []pair, key string) any {
	for _, e := range c {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// put sets the value of a key. A new key is added after the last of its elders.
func put(c []pair, key string, value any, elders ...string) []pair {
	for i := range c {
		if c[i].key == key {
			c[i].value = value
			return c
		}
	}
	for _, elder := range elders {
		for i := range c {
			if c[i].key == elder {
				return slices.Insert(c, i+1, pair{key, value})
			}
		}
	}
	return append(c, pair{key, value})
}

func without(c []pair, keys ...string) []pair {
	return slices.DeleteFunc(c, func(e pair) bool { return slices.Contains(keys, e.key) })
}

// edit does the same as Apply. at is the index of the cell, or -1.
func (t tree) edit(at int, e Edit) tree {
	t.cells = slices.Clone(t.cells)
	like := any([]any{})
	if len(t.cells) > 0 {
		like = get(t.cells[max(at, 0)].([]pair), "source")
	}
	source := any(lines(e.Source))
	if _, ok := like.(string); ok {
		source = e.Source
	}
	switch e.Mode {
	case Delete:
		t.cells = slices.Delete(t.cells, at, at+1)
	case Insert:
		c := []pair{{"cell_type", e.CellType}}
		if e.CellType == "code" {
			c = append(c, pair{"execution_count", raw("null")})
		}
		if t.minor >= 5 {
			c = append(c, pair{"id", "deadbeef"})
		}
		c = append(c, pair{"metadata", []pair{}})
		if e.CellType == "code" {
			c = append(c, pair{"outputs", []any{}})
		}
		t.cells = slices.Insert(t.cells, at+1, any(append(c, pair{"source", source})))
	default:
		c := slices.Clone(t.cells[at].([]pair))
		was := get(c, "cell_type").(string)
		if e.CellType != "" && e.CellType != was {
			c = put(c, "cell_type", e.CellType)
			if e.CellType == "code" {
				c = without(c, "attachments")
			} else {
				c = without(c, "outputs", "execution_count")
			}
		}
		if get(c, "cell_type") == "code" {
			c = put(c, "outputs", []any{}, "metadata")
			c = put(c, "execution_count", raw("null"), "cell_type")
		}
		t.cells[at] = put(c, "source", source)
	}
	return t
}
