// Package strictjson checks and splits JSON so that no two readers of a text
// can understand it differently. encoding/json takes the last of duplicate
// keys, ignores the case of keys, and replaces invalid UTF-8 and unpaired
// surrogates, so what was checked might not be what runs.
//
// The functions read text in place, because an input may be as long as a
// message. They limit nesting; whoever reads the text limits its size.
package strictjson

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the deepest nesting that any function accepts. It is the limit of
// encoding/json.
const MaxDepth = 10_000

// Check returns an [*Error] unless text is exactly one JSON value in UTF-8, no
// object in it has duplicate keys, no string has an unpaired surrogate, and
// objects and arrays are nested at most depth deep.
func Check(text []byte, depth int) error {
	if e := scan(text, depth); e != nil {
		return e
	}
	return nil
}

// lenient makes a decoder accept what encoding/json accepts.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// scan reads text token by token, so that the decoder's state is known at an
// error.
func scan(text []byte, depth int, options ...jsontext.Options) *Error {
	depth = min(depth, MaxDepth)
	d := jsontext.NewDecoder(bytes.NewBuffer(text), options...)
	for {
		_, err := d.ReadToken()
		switch {
		case err != nil:
			return explain(d, text, err, depth)
		case d.StackDepth() > depth:
			return tooDeep(text, int(d.InputOffset())-1, depth)
		case d.StackDepth() == 0:
			return end(d, text)
		}
	}
}

// end checks that nothing follows the value that d has read.
func end(d *jsontext.Decoder, text []byte) *Error {
	at := int(d.InputOffset())
	if _, err := d.ReadToken(); err == io.EOF {
		return nil
	}
	return newError(Trailing, text, space(text, at))
}

// space returns the offset of the first byte from at that is not white space.
func space(text []byte, at int) int {
	return len(text) - len(bytes.TrimLeft(text[at:], " \t\r\n"))
}

// Canonical returns the canonical form of a text that passes [Check]: that of
// RFC 8785, except that numbers stay as written. To round them to 64 bits would
// give different numbers the same form.
func Canonical(text []byte, depth int) ([]byte, error) {
	if err := Check(text, depth); err != nil {
		return nil, err
	}
	form := jsontext.Value(bytes.Clone(text))
	if err := form.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return nil, err
	}
	return form, nil
}
