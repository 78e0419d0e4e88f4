package notebook

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/fault"
)

// value is a JSON value: a part of a file that has been checked. The zero value
// is one that is not there.
type value struct {
	data     []byte // the file
	from, to int    // the value in it
}

// The kinds of value, as they are named in errors.
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

// kind is what sort of value it is; "" if it is not there.
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

// place is a part of a notebook, as errors name it. Numbers count from 1.
type place struct {
	sheet, cell, output int // 0: not in one
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

// damaged is the fault of a value that is not what the format says.
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

// items are the items of a list; none if it is no list.
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

// entries are the keys and values of an object in the order of the file; none
// if it is no object.
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

// mostKeys is how many keys are wanted of an object at most. That it is known
// keeps what is found off the heap, which matters for a million small cells.
const mostKeys = 10

// fields are the values of the keys of an object that are wanted.
type fields struct {
	keys   []string
	values [mostKeys]value
}

// of is the value of a key that is wanted; the zero value if it is not there.
func (f fields) of(key string) value {
	if i := slices.Index(f.keys, key); i >= 0 {
		return f.values[i]
	}
	return value{}
}

// fields looks for the keys that are wanted. One of them that stands twice is
// an error: programs differ in which they take. What is no object has none.
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

// integer is a whole number that fits 32 bits, else 0.
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

// text reads a string, or a list of strings, which are its pieces. name says
// what it is.
func (v value) text(name string, at place) (string, error) {
	if !v.exists() {
		return "", nil
	}
	var b strings.Builder
	b.Grow(v.to - v.from) // what is decoded is hardly ever longer
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
