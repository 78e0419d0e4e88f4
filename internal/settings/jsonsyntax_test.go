package settings

import "testing"

func TestSyntaxError(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  bad: 1}":          `line 2, column 3: expected a quoted key, found "b"`,
		"{\"features\": {},\n}": `line 2, column 1: expected a quoted key, found "}"; remove the comma before it`,
		"{\"ä\": ü}":            `line 1, column 7: expected a value, found "ü"`,
		"{\n// x\n}":            `line 2, column 1: expected a quoted key, found "/"; JSON has no comments`,
		`{"features" {}}`:       `line 1, column 13: expected ":", found "{"`,
		`{"features": {} 1}`:    `line 1, column 17: expected "," or "}", found "1"`,
		`{"a": [1 2]}`:          `line 1, column 10: expected "," or "]", found "2"`,
		`{} {}`:                 `line 1, column 4: expected the end of the file, found "{"`,
		`{"a": "\x"}`:           `line 1, column 9: expected one of the escapes \" \\ \/ \b \f \n \r \t \u, found "x"`,
		`{"a": "\u12g4"}`:       `line 1, column 12: expected four hexadecimal digits, found "g"`,
		"{\"a\": \"b\n\"}":      `line 1, column 9: expected a quote, or \n for a line break, found "\n"`,
		`{"a": 1.x}`:            `line 1, column 9: expected a digit, found "x"`,
		`{"a": 1ex}`:            `line 1, column 9: expected a digit, found "x"`,
		`{"a": -x}`:             `line 1, column 8: expected a digit, found "x"`,
		`{"a": tru}`:            `line 1, column 10: expected true, false or null, found "}"`,
		"{\"a\": [\n":           `line 1, column 8: the file ends too early; a quote or bracket is not closed`,
		"{":                     `line 1, column 2: the file ends too early; a quote or bracket is not closed`,
	} {
		if _, err := readJSON([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q:\nhave %v\nwant %s", text, err, want)
		}
	}
}
