package notebook

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// TestMistakes covers every way in which a file is not JSON, with its place.
func TestMistakes(t *testing.T) {
	for data, want := range map[string]string{
		`{"a": "b`:                      "line 1, column 7: a string is not closed",
		"{\"a\":\n  \"b\n}":             "line 2, column 3: a string is not closed on its line",
		"{\"é\": \"a\tb\"}":             "line 1, column 9: a string holds a control character that is not escaped",
		`{"a": "\x"}`:                   "line 1, column 8: a string holds a backslash that escapes nothing",
		`{"a": "\u12g4"}`:               `line 1, column 8: a string holds a \u without four hexadecimal digits`,
		`{"a": "\u12`:                   "line 1, column 12: the file ends in the middle of the notebook",
		`{"a": "\`:                      "line 1, column 9: the file ends in the middle of the notebook",
		`{"a": 01}`:                     "line 1, column 8: a comma or the closing } of an object is missing",
		`{"a": -}`:                      "line 1, column 7: a number is not complete",
		`{"a": 1.}`:                     "line 1, column 7: a number is not complete",
		`{"a": 1e+}`:                    "line 1, column 7: a number is not complete",
		`{"a": .5}`:                     "line 1, column 7: there is no value where one is missing",
		`{"a": True}`:                   "line 1, column 7: there is no value where one is missing",
		`{"a": }`:                       "line 1, column 7: there is no value where one is missing",
		`{"a": nullx}`:                  "line 1, column 11: a comma or the closing } of an object is missing",
		`{"a": -NaN}`:                   "line 1, column 7: a number is not complete",
		`{"a": `:                        "line 1, column 7: the file ends in the middle of the notebook",
		`{"a"`:                          "line 1, column 5: the file ends in the middle of the notebook",
		`{"a" 1}`:                       "line 1, column 6: the colon behind a key is missing",
		`{a: 1}`:                        "line 1, column 2: a key in double quotes is missing",
		`{`:                             "line 1, column 2: the file ends in the middle of the notebook",
		`{"a": 1,}`:                     "line 1, column 8: there is a comma behind the last item of an object",
		"[1,\n]":                        "line 1, column 3: there is a comma behind the last item of a list",
		`[1, 2`:                         "line 1, column 6: the file ends in the middle of the notebook",
		`[1, -`:                         "line 1, column 6: the file ends in the middle of the notebook",
		`[nul`:                          "line 1, column 5: the file ends in the middle of the notebook",
		`[nulL`:                         "line 1, column 2: there is no value where one is missing",
		`[nul]`:                         "line 1, column 2: there is no value where one is missing",
		`[1 2]`:                         "line 1, column 4: a comma or the closing ] of a list is missing",
		`[1}`:                           "line 1, column 3: a comma or the closing ] of a list is missing",
		"{}\r\n{}":                      "line 2, column 1: there is something behind the end of the notebook",
		"[\n<<<<<<< HEAD\n1\n]":         "line 2, column 1: the line is a mark of a merge conflict",
		"[\n1\n=======\n2\n]":           "line 3, column 1: the line is a mark of a merge conflict",
		"[\n1\n>>>>>>> main\n]":         "line 3, column 1: the line is a mark of a merge conflict",
		"not a notebook":                "line 1, column 1: there is no value where one is missing",
		"{\"a\": 1}\x00":                "line 1, column 9: there is something behind the end of the notebook",
		strings.Repeat(`{"a":`, 10_001): "line 1, column 50001: values are nested more than 10000 deep",
	} {
		if got, want := answer(data), "it is not valid JSON: "+want+repair; got != want {
			t.Errorf("%s:\n got %s\nwant %s", data[:min(len(data), 80)], got, want)
		}
	}
}

// pythonNumbers matches the numbers that Python writes and JSON lacks.
var pythonNumbers = regexp.MustCompile(`-?Infinity|NaN`)

// FuzzCheck checks that the scanner accepts the same files as encoding/json, except for Python's
// numbers, and decodes strings equally.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, -0.5e+7, "x\n\u00e9\ud83d\ude00\ud800", true, false, null, NaN, -Infinity]}`,
		`"\ud800\u0041"`, `"\ud800\ud800\udc00"`, `"\udc00\ud800"`, "\"\xff\xe2\x82\"", `[[],{},""]`, `{"a":1,"a":2}`, "\t[\r\n]\n", `[01]`, `[1,]`, `["\\", "a\\\"b"]`, `{"a\\":[1 , {"b":"]}"}],"c" : -1 }`, `"\/\b\f\"\\"`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := readJSON(data)
		standard := pythonNumbers.ReplaceAll(data, []byte("0"))
		if bytes.Equal(standard, data) && json.Valid(data) != (err == nil) {
			t.Fatalf("%q: %v, encoding/json says %v", data, err, json.Valid(data))
		}
		if err != nil || !json.Valid(standard) {
			return
		}
		if v.kind() == isString && bytes.Equal(standard, data) {
			var want string
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if got := v.unquoted(); got != want {
				t.Fatalf("%q: %q, encoding/json has %q", data, got, want)
			}
		}
		if s := (scanner{v.data, v.from}); s.take().to != v.to {
			t.Fatalf("%q: skipped %d bytes of %d", data, s.pos, v.to)
		}
		for item := range v.items() {
			if s := (scanner{item.data, item.from}); s.value(0) != nil || s.pos != item.to {
				t.Fatalf("%q: the item %q", data, item.bytes())
			}
		}
		for key, item := range v.entries() {
			if s := (scanner{item.data, item.from}); key.kind() != isString || s.value(0) != nil || s.pos != item.to {
				t.Fatalf("%q: the entry %q, %q", data, key.bytes(), item.bytes())
			}
		}
	})
}
