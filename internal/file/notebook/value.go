package notebook

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/text/fault"
)

// value is a JSON value, a part of a file that has been checked. The zero value represents an
// absent value.
type value struct {
	data     []byte // the file
	from, to int    // range of the value in data
}

// The kinds of values, as named in errors.
const (
	isObject = "an object"
	isList   = "a list"
	isString = "a string"
	isNumber = "a number"
	isBool   = "true or false"
	isNull   = "null"
)

func (v value) exists() bool { return v.to > v.from }

func (v value) bytes() []byte { return v.data[v.from:v.to] }

// kind returns the kind of the value, or "" if it is absent.
func (v value) kind() string {
	if !v.exists() {
		return ""
	}
	switch v.data[v.from] {
	case '{':
		return isObject
	case '[':
		return isList
	case '"':
		return isString
	case 't', 'f':
		return isBool
	case 'n':
		return isNull
	}
	return isNumber
}

// place is a part of a notebook for use in errors. Numbers count from 1.
type place struct {
	sheet, cell, output int // 0 if not in one
}

func (p place) String() string {
	var s string
	switch {
	case p.cell > 0:
		s = fmt.Sprintf("cell %d", p.cell)
	case p.sheet > 0:
		s = fmt.Sprintf("worksheet %d", p.sheet)
	default:
		s = "the notebook"
	}
	if p.output > 0 {
		s = fmt.Sprintf("output %d of %s", p.output, s)
	}
	return s
}

// damaged returns the fault for a value that violates the format.
func (v value) damaged(what string) error {
	return &fault.Fault{
		Fact: fmt.Sprintf("is a damaged notebook: line %d: %s", lineAt(v.data, v.from), what),
		Next: "Repair the file there, then read it again.",
	}
}

// list checks that the value is a list.
func (v value) list(name string) error {
	switch {
	case !v.exists():
		return &fault.Fault{
			Fact: "is a damaged notebook: " + name + " are missing",
			Next: "Repair the file, then read it again.",
		}
	case v.kind() != isList:
		return v.damaged(fmt.Sprintf("%s are %s, not a list", name, v.kind()))
	}
	return nil
}

// items returns the items of a list. It returns none for other values.
func (v value) items() iter.Seq[value] {
	return func(yield func(value) bool) {
		if v.kind() != isList {
			return
		}
		s := scanner{v.data, v.from + 1}
		for s.space(); s.peek() != ']'; s.between() {
			if item := s.take(); !yield(item) {
				return
			}
		}
	}
}

// entries returns the keys and values of an object in the order of the file. It returns none for
// other values.
func (v value) entries() iter.Seq2[value, value] {
	return func(yield func(key, item value) bool) {
		if v.kind() != isObject {
			return
		}
		s := scanner{v.data, v.from + 1}
		for s.space(); s.peek() != '}'; s.between() {
			key := s.take()
			s.space()
			s.pos++ // the colon
			s.space()
			if item := s.take(); !yield(key, item) {
				return
			}
		}
	}
}

// is reports whether the value is the string want.
func (v value) is(want string) bool {
	if v.kind() != isString {
		return false
	}
	inside := v.data[v.from+1 : v.to-1]
	return string(inside) == want || bytes.IndexByte(inside, '\\') >= 0 && v.unquoted() == want
}

// mostKeys is the limit of keys read from an object. A constant limit lets fields live on the
// stack, which matters for a million small cells.
const mostKeys = 10

// fields holds the values of the wanted keys of an object.
type fields struct {
	keys   []string
	values [mostKeys]value
}

// of returns the value of a wanted key, or the zero value if it is absent.
func (f fields) of(key string) value {
	if i := slices.Index(f.keys, key); i >= 0 {
		return f.values[i]
	}
	return value{}
}

// fields returns the values of the wanted keys. It fails if one of them occurs twice, since
// programs differ in which one they take. A value that is not an object has no keys.
func (v value) fields(at place, want []string) (fields, error) {
	f := fields{keys: want}
	for key, item := range v.entries() {
		i := slices.IndexFunc(want, key.is)
		if i < 0 {
			continue
		}
		if f.values[i].exists() {
			return fields{}, item.damaged(fmt.Sprintf("%s has the key %q twice", at, want[i]))
		}
		f.values[i] = item
	}
	return f, nil
}

// integer returns a whole number that fits in 32 bits, otherwise 0.
func (v value) integer() int {
	if v.kind() != isNumber {
		return 0
	}
	n, err := strconv.ParseFloat(string(v.bytes()), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// text returns a string, or the concatenation of a list of strings. Errors use name for the value.
func (v value) text(name string, at place) (string, error) {
	if !v.exists() {
		return "", nil
	}
	var b strings.Builder
	b.Grow(v.to - v.from) // decoded text is hardly ever longer
	switch v.kind() {
	case isString:
		v.unquote(&b)
	case isList:
		for item := range v.items() {
			if item.kind() != isString {
				return "", item.damaged(fmt.Sprintf("the %s of %s has a piece that is %s, not a string", name, at, item.kind()))
			}
			item.unquote(&b)
		}
	default:
		return "", v.damaged(fmt.Sprintf("the %s of %s is %s, not text", name, at, v.kind()))
	}
	return b.String(), nil
}
