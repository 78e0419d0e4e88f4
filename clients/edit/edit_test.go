package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var entry = Object{{"command", "/usr/bin/mcp-toolset"}, {"args", []string{"stdio", "/a b"}}, {"timeout", 600}, {"on", true}}

// variants returns a text with other line endings and a byte order mark.
func variants(text string) []string {
	crlf := strings.ReplaceAll(text, "\n", "\r\n")
	return []string{text, crlf, bom + text, bom + crlf}
}

// A value that is added and removed leaves the bytes as they were; one that is changed first, too.
func TestAddRemove(t *testing.T) {
	path := []string{"servers", "ours"}
	for _, tc := range []struct {
		format Format
		texts  []string
	}{
		{JSON, []string{
			"{\n  \"servers\": {\n    \"a\": {}\n  }\n}\n",
			"{\n\t\"x\": [1, 2.50, 1e400], // one\n\t\"servers\": {\n\t\t// two\n\t\t\"a\": {\"b\": 1}, /* three */\n\t\t// \"c\": {}\n\t},\n}",
			"{\n    \"servers\": {\n        \"a\": {} // last\n        // more\n    }\n}\n// end",
			`{"servers":{"a":{}}}`,
			`{"servers": {"a": {},}, "z": 1}`,
			"// head\n{\n  \"z\": 1, // one\n}\n",
			"{\n  \"z\": 1\n}\n",
			"{\"z\":1}",
			"{\"z\":1, }",
			"{\n  \"servers\": {\n    // nothing\n  }\n}\n",
			"{}", "{}\n",
			"{\"s\\u0065rvers\": {\"a\": \"}\"}}",
			"{\n  \"z\": {\"deep\": [{\"servers\": 1}]},\n\n  \"servers\": {\n\n    \"a\": {}\n\n  }\n\n}\n",
		}},
		{TOML, []string{
			"# c\nmodel = \"m\" # x\n\n[servers.a]\ncommand = \"c\"\nargs = [\n  \"a\", # b\n]\n",
			"[servers]\na.b = 1\n", "x = '''\n[servers.ours]\n'''\n", "\n\n# only\n",
			"[[list]]\nx = 1\n\n\n", "[servers.a.env]\nA = \"1\"\n# end\n",
		}},
		{YAML, []string{
			"# c\nx: 1\nservers:\n  a:\n    args:\n    - b\n    text: |\n      hi\n\n      there\n# end\ny: 2\n",
			"servers:\n    # first\n    a: {b: 1}\n", "x: 1\n", "servers:\n  # none\n  a: 1\n\n\nz: [1,\n2]\n",
			"---\nservers: # here\n  b: &x {a: 1}\n  c: *x\n",
		}},
	} {
		for _, text := range tc.texts {
			for _, text := range variants(text) {
				added, err := tc.format.Set([]byte(text), path, entry)
				if err != nil {
					t.Errorf("%q: %v", text, err)
					continue
				}
				if again, err := tc.format.Set(added, append(path, "args"), []string{"stdio"}); err != nil {
					t.Errorf("%q: changing: %v", added, err)
				} else if back, err := tc.format.Set(again, append(path, "args"), entry[1].Value); err != nil || string(back) != string(added) {
					t.Errorf("%q: changing back: %v\n%s", text, err, cmp.Diff(string(added), string(back)))
				}
				if want := strings.Count(text, "\r\n"); want > 0 && strings.Count(string(added), "\n") != strings.Count(string(added), "\r\n") {
					t.Errorf("%q has mixed line endings", added)
				}
				removed, err := tc.format.Remove(added, path)
				if err != nil {
					t.Errorf("%q: removing: %v", added, err)
				} else if string(removed) != text {
					t.Errorf("%s\n(-want +got)\n%s", added, cmp.Diff(text, string(removed)))
				}
			}
		}
	}
}

// New values have the style of their place.
func TestStyle(t *testing.T) {
	path := []string{"servers", "ours"}
	small := Object{{"command", "x"}, {"args", []string{"a", "b"}}}
	for _, tc := range []struct {
		format     Format
		text, want string
	}{
		{JSON, "", "{\n  \"servers\": {\n    \"ours\": {\n      \"command\": \"x\",\n      \"args\": [\"a\", \"b\"]\n    }\n  }\n}\n"},
		{JSON, "{\n\t\"z\": 1,\n}", "{\n\t\"z\": 1,\n\t\"servers\": {\n\t\t\"ours\": {\n\t\t\t\"command\": \"x\",\n\t\t\t\"args\": [\"a\", \"b\"]\n\t\t}\n\t},\n}"},
		{JSON, "{\n  \"servers\": {\n      \"a\": 1\n  }\n}", "{\n  \"servers\": {\n      \"a\": 1,\n      \"ours\": {\n        \"command\": \"x\",\n        \"args\": [\"a\", \"b\"]\n      }\n  }\n}"},
		{JSON, `{"servers":{"a":1}}`, `{"servers":{"a":1, "ours": {"command": "x", "args": ["a", "b"]}}}`},
		{JSON, `{"z":1}`, `{"z":1, "servers": {"ours": {"command": "x", "args": ["a", "b"]}}}`},
		{JSON, "{\n  \"servers\": {},\n  \"z\": 1\n}", "{\n  \"servers\": {\n    \"ours\": {\n      \"command\": \"x\",\n      \"args\": [\"a\", \"b\"]\n    }\n  },\n  \"z\": 1\n}"},
		{JSON, "{\n  \"servers\": {\n    \"a\": 1 // one\n    // two\n  }\n}", "{\n  \"servers\": {\n    \"a\": 1, // one\n    // two\n    \"ours\": {\n      \"command\": \"x\",\n      \"args\": [\"a\", \"b\"]\n    }\n  }\n}"},
		{JSON, "// only a comment", "// only a comment\n{\n  \"servers\": {\n    \"ours\": {\n      \"command\": \"x\",\n      \"args\": [\"a\", \"b\"]\n    }\n  }\n}\n"},
		{TOML, "", "[servers.ours]\ncommand = \"x\"\nargs = [\"a\", \"b\"]\n"},
		{TOML, "a = 1", "a = 1\n\n[servers.ours]\ncommand = \"x\"\nargs = [\"a\", \"b\"]\n"},
		{YAML, "", "servers:\n  ours:\n    command: \"x\"\n    args: [\"a\", \"b\"]\n"},
		{YAML, "servers: {} # none\nz: 1", "servers:  # none\n  ours:\n    command: \"x\"\n    args: [\"a\", \"b\"]\nz: 1"},
		{YAML, "servers:\n", "servers:\n  ours:\n    command: \"x\"\n    args: [\"a\", \"b\"]\n"},
		{YAML, "servers: null", "servers:\n  ours:\n    command: \"x\"\n    args: [\"a\", \"b\"]"},
		{YAML, "servers:\n    a:\n        b: 1", "servers:\n    ours:\n      command: \"x\"\n      args: [\"a\", \"b\"]\n    a:\n        b: 1"},
	} {
		got, err := tc.format.Set([]byte(tc.text), path, small)
		if err != nil || string(got) != tc.want {
			t.Errorf("%q: %v\n%s", tc.text, err, cmp.Diff(tc.want, string(got)))
		}
	}
}

// A file that cannot be changed safely is refused with the position.
func TestRefused(t *testing.T) {
	path := []string{"servers", "ours"}
	for _, tc := range []struct {
		format     Format
		text, want string
	}{
		{JSON, "{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: invalid character '\"' after object value (expecting ',' or '}')"},
		{JSON, "{\"a\": 1", "line 1, column 8: parsing object after value: unexpected EOF"},
		{JSON, "{\"a\": 1} x", "line 1, column 10: invalid character 'x' after top-level value"},
		{JSON, "[]", "line 1, column 1: the file does not hold an object"},
		{JSON, "{\"servers\": {}, \"x\": 1,\n\"serv\\u0065rs\": {}}", "line 2, column 1: the key \"servers\" is there twice"},
		{JSON, "{\"x\": [{\"é\": 1, \"é\": 2}]}", "line 1, column 17: the key \"é\" is there twice"},
		{JSON, "{\"servers\": []}", "line 1, column 13: servers is not an object"},
		{JSON, "{\"a\": \"\xff\"}", "line 1, column 8: the text is not UTF-8"},
		{JSON, "\xff\xfe{\x00}\x00", "line 1, column 1: the text is UTF-16; save it as UTF-8"},
		{JSON, "/*[*/ \"{\\\"{\" // [[\n" + strings.Repeat("[", 1<<20), "line 2, column 10001: the text is nested too deeply"},
		{TOML, "a = " + strings.Repeat("[", 1<<20), "line 1, column 10005: arrays and inline tables are nested more than the maximum of 10000 levels deep"},
		{JSON, "/* open", "line 1, column 1: parsing comment: unexpected EOF"},
		{TOML, "a = 1\nb = = 2\n", "line 2, column 5: unexpected character U+003D '=' at start of value"},
		{TOML, "a = 1\na = 2\n", "line 2, column 1: key a is already defined"},
		{TOML, "x = 1\nservers = {}\n", "line 2, column 1: servers is written as an inline table"},
		{TOML, "[servers]\nours = 1\n", "line 2, column 1: servers.ours is written as an inline table"},
		{TOML, "[[servers]]\n", errOther.Error()},
		{YAML, "a: 1\n b: 2\n", "line 2, column 2: mapping values are not allowed in this context"},
		{YAML, "a: 1\nb: 2\na: 3\n", "line 3, column 1: mapping key \"a\" already defined at line 1"},
		{YAML, "- a\n", "line 1, column 1: cannot unmarshal !!seq into map[string]interface {}"},
		{YAML, "{a: 1}\n", "line 1, column 1: the file is not a table with a key on each line"},
		{YAML, "x: 1\nservers: {a: 1}\n", "line 2, column 1: servers is not a table with a key on each line"},
		{YAML, "servers: &a\n  x: 1\ny: *a\n", "line 1, column 1: servers is not a table with a key on each line"},
		{YAML, "a: 1\n---\nb: 2\n", errOther.Error()},
		{YAML, "\r \n", errOther.Error()},
		{YAML, "x: |\n  a line break at the end would be part of this", errOther.Error()},
		{YAML, "a: \"b\u2028c\"\n", errOther.Error()},
	} {
		_, err := tc.format.Set([]byte(tc.text), path, entry)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%.100q: %v, want %s", tc.text, err, tc.want)
		}
		var at *Error
		if !errors.As(err, &at) && !errors.Is(err, errOther) {
			t.Errorf("%.100q: %T", tc.text, err)
		}
	}
}

// TestRemoveOthers checks that a value is removed with everything that the user has added to it,
// and that removing a missing value changes nothing.
func TestRemoveOthers(t *testing.T) {
	path := []string{"servers", "ours"}
	for _, tc := range []struct {
		format     Format
		text, want string
	}{
		{JSON, "{\"servers\": {\"ours\": {\"a\": [1]}, \"b\": 2}}", "{\"servers\": { \"b\": 2}}"},
		{JSON, "{\n  \"servers\": {\n    \"ours\": 1 // mine\n  }\n}", "{\n  \"servers\": { // mine\n  }\n}"},
		{JSON, "{\"servers\": {\"ours\": 1}, \"z\": 1}", "{ \"z\": 1}"},
		{JSON, "{\"servers\": {}}", "{\"servers\": {}}"},
		{TOML, "a = 1\n\n[servers.ours]\nx = 1\n# mine\n[servers.ours.env]\nA = \"1\"\n\n# next\n[b]\n", "a = 1\n\n# next\n[b]\n"},
		{TOML, "[servers]\nours.x = 1\nb.x = 2\nours.y = 3\n", "[servers]\nb.x = 2\n"},
		{TOML, "[servers.ours]\nx = 1\n[b]\n[servers.ours.c]\ny = 1", "[b]\n"},
		{YAML, "servers:\n  ours:\n    args:\n    - a\n\n    text: |\n     b\n  # next\n  z: 1\n", "servers:\n  # next\n  z: 1\n"},
		{YAML, "x: 1\nservers:\n  ours:\n    a: 1\n\ny: 1\n", "x: 1\n\ny: 1\n"},
		{YAML, "servers:\n  # none\n  ours: 1\n", "servers:\n  # none\n"},
	} {
		got, err := tc.format.Remove([]byte(tc.text), path)
		if err != nil || string(got) != tc.want {
			t.Errorf("%q: %v\n%s", tc.text, err, cmp.Diff(tc.want, string(got)))
		}
	}
}

// A value that cannot be removed alone is refused.
func TestRemoveRefused(t *testing.T) {
	for _, tc := range []struct {
		format     Format
		text, want string
	}{
		{YAML, "x: 1\nservers: {ours: 1, b: 2}\n", "line 2, column 1: ours is not on lines of its own"},
		{YAML, "servers: {\n  ours: 1,\n  b: 2}\n", "line 2, column 1: ours is not on lines of its own"},
		{YAML, "servers:\n  ours: &a {x: 1}\n  b: *a\n", errOther.Error()},
		{TOML, "servers = {ours = 1, b = 2}\n", errOther.Error()},
	} {
		if out, err := tc.format.Remove([]byte(tc.text), []string{"servers", "ours"}); err == nil || err.Error() != tc.want {
			t.Errorf("%q: %q, %v, want %s", tc.text, out, err, tc.want)
		}
	}
}

// FuzzSet checks that no text makes the editor panic, and that a change can be taken back.
func FuzzSet(f *testing.F) {
	for _, text := range []string{"{}", "{\"a\":[1,{}],}// x", "a = 1\n[servers.a]\n", "servers:\n  a: 1\n", "servers: {}"} {
		for format := range 3 {
			f.Add(format, text)
		}
	}
	path := []string{"servers", "ours"}
	f.Fuzz(func(t *testing.T, format int, text string) {
		if format < 0 || format > 2 {
			return
		}
		x := Format(format)
		if _, ok, err := x.Get([]byte(text), path...); ok || err != nil {
			if ok {
				_, _ = x.Remove([]byte(text), path)
			}
			return
		}
		added, err := x.Set([]byte(text), path, entry)
		if err != nil {
			return
		}
		if _, err := x.Remove(added, path); err != nil {
			t.Errorf("%q: %v", added, err)
		}
	})
}
