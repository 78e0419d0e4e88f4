package strictjson

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member of an object: its decoded key, and the byte offsets of its
// value in the text.
type Member struct {
	Key      string
	From, To int
}

// Members returns the members of the object in text, in order. It accepts what
// encoding/json accepts: also duplicate keys, and text that is not UTF-8.
// Its error is an [*Error].
func Members(text []byte) ([]Member, error) {
	list, ok := members(text)
	if ok {
		return list, nil
	}
	if e := scan(text, MaxDepth, lenient...); e != nil {
		return nil, e
	}
	return nil, newError(NotObject, text, 0)
}

// decoders holds lenient decoders, because a new one takes as long as reading a
// small request.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(new(bytes.Buffer), lenient...) }}

// members returns false if text is not exactly one object.
func members(text []byte) (list []Member, ok bool) {
	d := decoders.Get().(*jsontext.Decoder)
	d.Reset(bytes.NewBuffer(text), lenient...)
	defer func() {
		d.Reset(new(bytes.Buffer)) // it must not retain text
		decoders.Put(d)
	}()
	if open, err := d.ReadToken(); err != nil || open.Kind() != jsontext.KindBeginObject {
		return nil, false
	}
	for d.PeekKind() == jsontext.KindString {
		key, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		name := key.String() // before the next read, which invalidates key
		value, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		to := int(d.InputOffset())
		list = append(list, Member{name, to - len(value), to})
	}
	if _, err := d.ReadToken(); err != nil { // the closing brace
		return nil, false
	}
	_, err := d.ReadToken()
	return list, err == io.EOF
}

// Fields returns the values of the object in text by key, as parts of text. It
// rejects duplicate keys and text that is not UTF-8. The values may have
// duplicate keys and unpaired surrogates.
func Fields(text []byte) (map[string]json.RawMessage, error) {
	list, err := textMembers(text)
	if err != nil {
		return nil, err
	}
	fields := make(map[string]json.RawMessage, len(list))
	for _, m := range list {
		if _, twice := fields[m.Key]; twice {
			return nil, duplicate(text, m)
		}
		fields[m.Key] = text[m.From:m.To]
	}
	return fields, nil
}

func textMembers(text []byte) ([]Member, error) {
	if !utf8.Valid(text) {
		at := 0
		for r, size := rune(0), 0; r != utf8.RuneError || size != 1; r, size = utf8.DecodeRune(text[at:]) {
			at += size
		}
		return nil, newError(NotUTF8, text, at)
	}
	return Members(text)
}

func duplicate(text []byte, m Member) *Error {
	e := newError(Duplicate, text, m.From)
	e.Key = m.Key
	return e
}

// Keys is a set of known keys of an object.
type Keys map[string]string // by their folded form

// NewKeys returns a set of keys, which must differ in more than case.
func NewKeys(keys ...string) Keys {
	set := Keys{}
	for _, key := range keys {
		set[fold(key)] = key
	}
	return set
}

// Fields is like the function [Fields], but also rejects keys that differ from
// another or from a known key only by case. For such keys and duplicate ones,
// it returns the error together with the fields that are not in doubt.
func (k Keys) Fields(text []byte) (map[string]json.RawMessage, error) {
	list, err := textMembers(text)
	if err != nil {
		return nil, err
	}
	fields := make(map[string]json.RawMessage, len(list))
	var others Keys
	var doubtful []string
	for _, m := range list {
		folded := fold(m.Key)
		want, known := k[folded]
		if !known {
			if want, known = others[folded]; !known {
				if others == nil {
					others = Keys{}
				}
				others[folded], want = m.Key, m.Key
			}
		}
		switch _, twice := fields[want]; {
		case want != m.Key:
			e := newError(OtherCase, text, m.From)
			e.Key, e.expected, err = m.Key, want, e
			doubtful = append(doubtful, want)
		case twice:
			err = duplicate(text, m)
			doubtful = append(doubtful, want)
		default:
			fields[m.Key] = text[m.From:m.To]
		}
	}
	for _, key := range doubtful {
		delete(fields, key)
	}
	return fields, err
}

// fold maps keys that encoding/json treats as equal to one key. encoding/json
// ignores case by Unicode's simple folding, so that "paramſ" equals "params".
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		if 'A' <= least && least <= 'Z' {
			return least + 'a' - 'A' // most keys stay as they are
		}
		return least
	}, key)
}
