package plain

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"/w/a b.txt":             "/w/a b.txt",
		"/w/é漢字.txt":             "/w/é漢字.txt",
		"a\nb\tc":                `a\nb\tc`,
		"\x1b[31mred":            `\x1b[31mred`,
		"a\u202etxt.exe":         `a\u202etxt.exe`,
		"zero\u200bwidth":        `zero\u200bwidth`,
		"bad\xff\xfe":            `bad\xff\xfe`,
		"kept\uFFFD":             "kept\uFFFD",
		"~ ends what prints\x7f": `~ ends what prints\x7f`,
		"":                       "",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %s, want %s", in, got, want)
		}
	}
	long := Line(strings.Repeat("x", 10_000) + "end")
	if len(long) > most+10 || !strings.HasSuffix(long, "end") {
		t.Errorf("a long text came out with %d bytes", len(long))
	}
}

// TestJSON checks that hidden characters are escaped and that the value is
// unchanged.
func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{ "a" : [1, "x y"] }`:        `{"a":[1,"x y"]}`,
		"{\"a\u202eb\":\"\u200b\"}":   `{"a\u202eb":"\u200b"}`,
		"\"\u009b31m\U000e0041é漢\"":   `"\u009b31m\udb40\udc41é漢"`,
		"\"a\xffb\"":                  "\"a\ufffdb\"",
		`"kept \u001b[31m and \\ \""`: `"kept \u001b[31m and \\ \""`,
	} {
		got, err := JSON([]byte(in))
		if err != nil || got != want {
			t.Errorf("JSON(%q) = %s, %v, want %s", in, got, err, want)
		}
		var was, is any
		if json.Unmarshal([]byte(in), &was) != nil || json.Unmarshal([]byte(got), &is) != nil || !reflect.DeepEqual(was, is) {
			t.Errorf("JSON(%q) is another value: %s", in, got)
		}
	}
	if got, err := JSON([]byte(`{"a":`)); err == nil {
		t.Errorf("half an object came out as %s", got)
	}
}

// TestLines checks that line breaks and tabs are unchanged and other
// unprintable characters are escaped.
func TestLines(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "a\n": "a\n", "\n\ta\tb\n\nc": "\n\ta\tb\n\nc", "a\r\nb\x1b[2J\u202e\u2028\xff": "a\\r\nb\\x1b[2J\\u202e\\u2028\\xff",
	} {
		if got := Lines(in); got != want {
			t.Errorf("Lines(%q) = %q, want %q", in, got, want)
		}
	}
}
