package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestErrors covers the wording of every error, with its place.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    `the file is not JSON: nothing is there`,
		" \n":                                 `the file is not JSON: nothing is there`,
		"{\n  bad: 1}":                        `the file is not JSON: line 2, column 3: expected a quoted key, found "b"`,
		"{\"a\": {},\n}":                      `the file is not JSON: line 2, column 1: expected a quoted key, found "}"; remove the comma before it`,
		"{\"ä\": ü}":                          `the file is not JSON: column 7: expected a value, found "ü"`,
		"{\n// x\n}":                          `the file is not JSON: line 2, column 1: expected a quoted key, found "/"; JSON has no comments`,
		`[/* x */]`:                           `the file is not JSON: column 2: expected a value, found "/"; JSON has no comments`,
		`{"a" {}}`:                            `the file is not JSON: column 6: expected ":", found "{"`,
		`{"a","b"}`:                           `the file is not JSON: column 5: expected ":", found ","`,
		`{"a":}`:                              `the file is not JSON: column 6: expected a value, found "}"`,
		`{"a":,}`:                             `the file is not JSON: column 6: expected a value, found ","`,
		`{"a": {} 1}`:                         `the file is not JSON: column 10: expected "," or "}", found "1"`,
		`{"a": 1]`:                            `the file is not JSON: column 8: expected "," or "}", found "]"`,
		`{,}`:                                 `the file is not JSON: column 2: expected a quoted key, found ","`,
		`{"a":1,,}`:                           `the file is not JSON: column 8: expected a quoted key, found ","`,
		`{1:2}`:                               `the file is not JSON: column 2: expected a quoted key, found "1"`,
		`{true:2}`:                            `the file is not JSON: column 2: expected a quoted key, found "t"`,
		`{trux:2}`:                            `the file is not JSON: column 2: expected a quoted key, found "t"`,
		`{-x:2}`:                              `the file is not JSON: column 2: expected a quoted key, found "-"`,
		`{[`:                                  `the file is not JSON: column 2: expected a quoted key, found "["`,
		`{"a\x":2}`:                           `the file is not JSON: column 5: expected one of the escapes \" \\ \/ \b \f \n \r \t \u, found "x"`,
		`[1 2]`:                               `the file is not JSON: column 4: expected "," or "]", found "2"`,
		`[01]`:                                `the file is not JSON: column 3: expected "," or "]", found "1"`,
		`[1}`:                                 `the file is not JSON: column 3: expected "," or "]", found "}"`,
		`[}`:                                  `the file is not JSON: column 2: expected a value, found "}"`,
		`[1,]`:                                `the file is not JSON: column 4: expected a value, found "]"; remove the comma before it`,
		`{} {}`:                               `the file is not JSON: column 4: expected the end of the file, found "{"`,
		`{}}`:                                 `the file is not JSON: column 3: expected the end of the file, found "}"`,
		`{} x`:                                `the file is not JSON: column 4: expected the end of the file, found "x"`,
		`hello`:                               `the file is not JSON: column 1: expected a value, found "h"`,
		"\ufeff{}":                            "the file is not JSON: column 1: expected a value, found \"\\ufeff\"",
		`["\x"]`:                              `the file is not JSON: column 4: expected one of the escapes \" \\ \/ \b \f \n \r \t \u, found "x"`,
		`["\u12g4"]`:                          `the file is not JSON: column 7: expected four hexadecimal digits, found "g"`,
		`["\ud83d\u"]`:                        `the file holds half of a surrogate pair, \ud83d`,
		"[\"b\n\"]":                           `the file is not JSON: line 1, column 4: expected a quote, or \n for a line break, found "\n"`,
		`[1.x]`:                               `the file is not JSON: column 4: expected a digit, found "x"`,
		`[1ex]`:                               `the file is not JSON: column 4: expected a digit, found "x"`,
		`[-x]`:                                `the file is not JSON: column 3: expected a digit, found "x"`,
		`[tru]`:                               `the file is not JSON: column 5: expected true, false or null, found "]"`,
		`[nul`:                                `the file is not JSON: column 5: the file ends too early; a quote or bracket is not closed`,
		"[\"a\": [\n":                         `the file is not JSON: line 1, column 5: expected "," or "]", found ":"`,
		"{\"a\": [\n":                         `the file is not JSON: line 1, column 8: the file ends too early; a quote or bracket is not closed`,
		"{":                                   `the file is not JSON: column 2: the file ends too early; a quote or bracket is not closed`,
		`"\u12`:                               `the file is not JSON: column 6: the file ends too early; a quote or bracket is not closed`,
		"[\"\xff\"]":                          `the file is not UTF-8`,
		"{\"\xff\":1}":                        `the file is not UTF-8`,
		"[\xff]":                              `the file is not UTF-8`,
		`["\ud800"]`:                          `the file holds half of a surrogate pair, \ud800`,
		`["\ud800x\u0041"]`:                   `the file holds half of a surrogate pair, \ud800`,
		`["\uDC00\ud800"]`:                    `the file holds half of a surrogate pair, \uDC00`,
		`{"\ud800\ud800":1}`:                  `the file holds half of a surrogate pair, \ud800`,
		`{"a":1,"b":2,"\u0061":3}`:            `the key "a" is given twice`,
		`[[],{"b":{"c":[{},{"a":1,"a":2}]}}]`: `the key "a" is given twice`,
		nested(MaxDepth + 1):                  `the file is nested more than 10000 deep`,
	} {
		err := Check([]byte(text), MaxDepth)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Of("the file") != want {
			t.Errorf("%.60q:\nhave %v\nwant %s", text, err, want)
		}
	}
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// TestCheckAccepts checks valid texts, and the nesting limit.
func TestCheckAccepts(t *testing.T) {
	for _, text := range []string{
		`{}`, ` [ ] `, `"a"`, "1e400\n", `null`, `{"a":1,"A":2,"b":{"a":1}}`, `"\ud83d\ude00 \u0000 \\ud800"`, "\"\ufffd\u2028\x7f\"", nested(MaxDepth), `[{"a":1},{"a":1}]`,
	} {
		if err := Check([]byte(text), MaxDepth); err != nil {
			t.Errorf("%.60q: %v", text, err)
		}
	}
	for depth, want := range map[int]string{2: "<nil>", 1: "it is nested more than 1 deep", 0: "it is nested more than 0 deep"} {
		if err := Check([]byte(`{"a":[1]}`), depth); errorText(err) != want {
			t.Errorf("%d: %v, want %s", depth, err, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return "<nil>"
	}
	return err.Error()
}

func TestDuplicatePath(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"a":2}`:                          "a",
		`{"l":[{"a":1},{"b":1,"b":2}]}`:          "l[1].b",
		`[[],{"0":{"x/~":[0,{"a":1,"a":2}]}}]`:   "[1].0.x/~[1].a",
		`{"a":{"b":1},"b":{"b":[],"\u0062":[]}}`: "b.b",
	} {
		e, ok := errors.AsType[*Error](Check([]byte(text), 10))
		if !ok || e.Path != want {
			t.Errorf("%s: %v, want %s", text, e, want)
		}
	}
}

// clean implements Check with the decoder of the standard library. text is
// valid JSON.
func clean(text []byte) bool {
	if !utf8.Valid(text) || unpaired(text) {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	return once(dec)
}

// once reports whether the next value has no duplicate keys.
func once(dec *json.Decoder) bool {
	tok, _ := dec.Token()
	delim, ok := tok.(json.Delim)
	if !ok {
		return true
	}
	seen, good := map[any]bool{}, true
	for dec.More() {
		if delim == '{' {
			key, _ := dec.Token()
			good = good && !seen[key]
			seen[key] = true
		}
		good = once(dec) && good
	}
	_, _ = dec.Token()
	return good
}

// unpaired reports whether valid JSON has an unpaired surrogate.
func unpaired(text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
		case isSurrogate(text[i:]):
			var s string
			if len(text) < i+12 || json.Unmarshal([]byte(`"`+string(text[i:i+12])+`"`), &s) != nil || utf8.RuneCountInString(s) != 1 {
				return true
			}
			i += 11
		default:
			i++
		}
	}
	return false
}

// FuzzCheck checks that texts without an error are valid to the standard
// library and mean the same in any form, and that errors have a place.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,{"b":null}],"c":"\ud83d\ude00"}`, `{"a":1,"a":2}`, `{"a":{"b":[{"c":1,"c":1}]}}`, `["\ud800"]`, "[\"\xff\"]", `[1,]`, `{"a":1,}`, `[tru]`, `"\u12`, `01`, "{\n\"a\" 1}",
		`{"a":"\ud800\u0041"}`, `"\udc00`, `[-]`, `[1e5, 1.0, -0, 12345678901234567890]`, `{"b":1,"a":{"d":1,"c":2}}`, nested(50), `{"\ufffd":1,"a":2} x`, `{tru:1}`, `"\`, `"\u`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		const depth = 40
		before := bytes.Clone(text)
		err := Check(text, depth)
		if !bytes.Equal(text, before) {
			t.Fatalf("%q became %q", before, text)
		}
		e, bad := errors.AsType[*Error](err)
		if bad != (err != nil) || bad && (e.Line < 1 || e.Column < 1 || e.Of("x") == "" || !utf8.ValidString(e.Of("x"))) {
			t.Fatalf("%q: %v", text, err)
		}
		want := json.Valid(text) && clean(text)
		if bad && e.Kind == TooDeep && bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > depth {
			return
		}
		if want == bad || bad && json.Valid(text) == (e.Kind == Syntax || e.Kind == Trailing) && e.Kind <= Trailing {
			t.Fatalf("%q: %v, want valid %t", text, err, want)
		}
		form, err := Canonical(text, depth)
		if (err == nil) != want {
			t.Fatalf("%q has the form %q, %v", text, form, err)
		}
		if want {
			checkForm(t, text, form)
		}
	})
}

// checkForm checks that form has the value of text, and is its own form.
func checkForm(t *testing.T, text, form []byte) {
	again, err := Canonical(form, MaxDepth)
	var a, b any
	first, second := json.NewDecoder(bytes.NewReader(text)), json.NewDecoder(bytes.NewReader(form))
	first.UseNumber()
	second.UseNumber()
	if first.Decode(&a) != nil || second.Decode(&b) != nil || err != nil || !bytes.Equal(again, form) || len(form) > len(text) {
		t.Fatalf("%q has the form %q, and that %q, %v", text, form, again, err)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if !bytes.Equal(x, y) {
		t.Fatalf("%q has the form %q", text, form)
	}
	if _, err := second.Token(); err != io.EOF {
		t.Fatalf("%q has the form %q", text, form)
	}
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		` { "b" : [ 1 , 2.50, -0, 1e2, 12345678901234567890 ] , "a" : { "z":null,"y":true } } `: `{"a":{"y":true,"z":null},"b":[1,2.50,-0,1e2,12345678901234567890]}`,
		`"\u0041\/\"\\\b\f\n\r\t\u000a\u001F\u00e9é<&>\u2028"`:                                  `"A/\"\\\b\f\n\r\t\n\u001féé<&>` + "\u2028\"",
	} {
		got, err := Canonical([]byte(text), 10)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}
