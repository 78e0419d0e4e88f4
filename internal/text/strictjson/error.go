package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Kind is the rule that a text violates.
type Kind uint8

// The kinds of errors.
const (
	Syntax    Kind = iota // not JSON
	Trailing              // more text after the value
	NotObject             // another value than an object
	NotUTF8
	Surrogate // half of a surrogate pair
	Duplicate // a key occurs twice in an object
	OtherCase // a key differs from another one only by case
	TooDeep
)

// Error describes the first place where a text violates a rule.
type Error struct {
	Kind         Kind
	Line, Column int    // from 1; columns count characters
	Key          string // of Duplicate and OtherCase
	Path         string // of a Duplicate key, such as items[0].name; "" from Fields
	Found        string // of Surrogate, its escape; of Syntax and Trailing, the next character, "" at the end

	expected string // of Syntax; of OtherCase, the other key
	limit    int    // of TooDeep
	empty    bool   // of Syntax: there is only white space
	comma    bool   // of Syntax: a bracket is closed after a comma
	single   bool   // the text has one line
}

// newError returns an error at an offset of text.
func newError(kind Kind, text []byte, at int) *Error {
	e := &Error{
		Kind: kind, Line: 1 + bytes.Count(text[:at], []byte{'\n'}), Column: 1 + utf8.RuneCount(text[bytes.LastIndexByte(text[:at], '\n')+1:at]),
		single: !bytes.Contains(text, []byte{'\n'}),
	}
	if at < len(text) {
		r, _ := utf8.DecodeRune(text[at:])
		e.Found = string(r)
	}
	return e
}

// tooDeep returns the error for the value at an offset.
func tooDeep(text []byte, at, limit int) *Error {
	e := newError(TooDeep, text, at)
	e.limit = limit
	return e
}

// Error describes the error of a text that the context of the error names.
func (e *Error) Error() string { return e.Of("it") }

// Of describes the error. whole is the word for the text, such as "the file".
func (e *Error) Of(whole string) string {
	switch e.Kind {
	case NotObject:
		return whole + " is not an object"
	case NotUTF8:
		return whole + " is not UTF-8"
	case Surrogate:
		return whole + " holds half of a surrogate pair, " + e.Found
	case Duplicate:
		return fmt.Sprintf("the key %.60q is given twice", e.Key)
	case OtherCase:
		return fmt.Sprintf("the key %.60q differs from %.60q only by case", e.Key, e.expected)
	case TooDeep:
		return fmt.Sprintf("%s is nested more than %d deep", whole, e.limit)
	}
	if e.empty {
		return whole + " is not JSON: nothing is there"
	}
	return whole + " is not JSON: " + e.Place() + ": " + e.Fact(whole)
}

// Place describes the position of the error. It names the line if the text has
// more than one.
func (e *Error) Place() string {
	if e.single {
		return fmt.Sprintf("column %d", e.Column)
	}
	return fmt.Sprintf("line %d, column %d", e.Line, e.Column)
}

// Describe returns the description of an error of this package by [Error.Of],
// and the text of any other error.
func Describe(err error, whole string) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Of(whole)
	}
	return err.Error()
}

// Fact describes what is wrong at the place of a Syntax or Trailing error.
func (e *Error) Fact(whole string) string {
	switch {
	case e.Kind == Trailing:
		return fmt.Sprintf("expected the end of %s, found %q", whole, e.Found)
	case e.Found == "":
		return whole + " ends too early; a quote or bracket is not closed"
	}
	fact := fmt.Sprintf("expected %s, found %q", e.expected, e.Found)
	if e.Found == "/" && (e.expected == aValue || e.expected == aKey) {
		fact += "; JSON has no comments"
	}
	if e.comma {
		fact += "; remove the comma before it"
	}
	return fact
}
