package pin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCanonical(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+5)
	for in, want := range map[string]string{
		` { "b" : [ 1 , 2.50, -0, 1e2 ] , "a" : { "z":null,"y":true } } `: `{"a":{"y":true,"z":null},"b":[1,2.50,-0,1e2]}`,
		`"\u0041\/\"\\\b\f\n\r\t\u000a\u001F\u00e9é"`:                     `"A/\"\\\b\f\n\r\t\n\u001féé"`,
		`"\ud83d\ude00 \ud83d \ude00\ud83d x\ud83d\u0041"`:                `"\ud83d\ude00 \ud83d \ude00\ud83d x\ud83d\u0041"`, // as written
		"\"\xff\\u2028\u2029\"":                                           "\"\xff\\u2028\u2029\"",
		`{"a":2,"b":0,"a":1}`:                                             `{"a":2,"b":0,"a":1}`,
		`{"\u0061":1,"A":2,"":3}`:                                         `{"":3,"A":2,"a":1}`,
		`[]`:                                                              `[]`,
		` {} `:                                                            `{}`,
		`[[],{},[[ ]]]`:                                                   `[[],{},[[]]]`,
		deep + ` {"b":"]\"\\","a":1} ` + strings.Repeat("]", maxDepth+5): deep + `{"b":"]\"\\","a":1}` + strings.Repeat("]", maxDepth+5),
	} {
		got, err := canonical(json.RawMessage(in))
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
	for _, bad := range []string{``, `{`, `{"a"}`, `nul`, `1 2`, strings.Repeat("[", 20000)} {
		if got, err := canonical(json.RawMessage(bad)); err == nil {
			t.Errorf("%.20s: %s", bad, got)
		}
	}
}

// TestDefinition checks that everything a reader might take for a pinned part
// is pinned, and nothing else.
func TestDefinition(t *testing.T) {
	got, err := definition(json.RawMessage(`{"_meta":{"a":1},"icons":[],"Description":"x","name":"a","DESCRIPTION":"y","inputſchema":1,"inputSchema":{"type":"object"}}`))
	if want := `{"DESCRIPTION":"y","Description":"x","inputSchema":{"type":"object"},"inputſchema":1,"name":"a"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{``, `[]`, `"a"`, `{"a":}`} {
		if got, err := definition(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

// decoded returns a value as encoding/json decodes it, with numbers as written.
func decoded(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// plainJSON reports whether encoding/json decodes a text without loss.
func plainJSON(raw []byte) bool {
	return json.Valid(raw) && utf8.Valid(raw) && !bytes.Contains(raw, []byte("\ufffd")) && !bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) &&
		!bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) && !twice(json.NewDecoder(bytes.NewReader(raw)))
}

// twice reports whether an object has a duplicate key.
func twice(dec *json.Decoder) bool {
	tok, _ := dec.Token()
	delim, ok := tok.(json.Delim)
	if !ok {
		return false
	}
	keys := map[string]bool{}
	for dec.More() {
		if delim == '{' {
			key, _ := dec.Token()
			if keys[fmt.Sprint(key)] {
				return true
			}
			keys[fmt.Sprint(key)] = true
		}
		if twice(dec) {
			return true
		}
	}
	_, _ = dec.Token()
	return false
}

// otherwise returns the same value with a spelling as different as possible.
func otherwise(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var list []string
		for key, e := range v { // random order
			list = append(list, " "+otherwise(key)+" :\n"+otherwise(e))
		}
		return "{" + strings.Join(list, "\t,") + " }"
	case []any:
		list := make([]string, len(v))
		for i, e := range v {
			list[i] = otherwise(e) + "\r"
		}
		return "[ " + strings.Join(list, " , ") + "]"
	case string:
		var b strings.Builder
		for _, c := range v {
			if c > 0xffff {
				b.WriteRune(c)
			} else {
				fmt.Fprintf(&b, `\u%04X`, c)
			}
		}
		return `"` + b.String() + `"`
	case json.Number:
		return v.String()
	default:
		raw, _ := json.Marshal(v)
		return string(raw)
	}
}

// FuzzCanonical checks that two texts have the same form exactly if they are
// the same value.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x\n"],"b":null}`, `{"b":null,"a":[1,"\u0078\u000a"]}`, `1`, `1.0`, `"\ud800"`, `"\ufffd"`, "\"\xff\"", `{"a":1,"a":2}`, `{"a":2,"a":1}`, `[[{"":{}}]]`, `{"a\u0000":"\\u0041"}`, "{\"\xdc\":1,\"\xcf\":2}", `{"\ufffd\ufffd":1,"\ud800\udbff":2}`} {
		f.Add([]byte(seed), []byte(`{"a":2}`))
		f.Add([]byte(seed), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, err := canonical(a)
		if (err == nil) != json.Valid(a) {
			t.Fatalf("%q: %v", a, err)
		}
		if err != nil {
			return
		}
		if again, err := canonical(x); err != nil || !bytes.Equal(again, x) {
			t.Fatalf("%q has the form %q, and that the form %q, %v", a, x, again, err)
		}
		if len(x) > len(a) {
			t.Fatalf("%q became longer: %q", a, x)
		}
		v, err := decoded(a)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := decoded(x); err != nil || !reflect.DeepEqual(v, w) {
			t.Fatalf("%q has the form %q, which is another value", a, x)
		}
		shallow := bytes.Count(a, []byte("["))+bytes.Count(a, []byte("{")) <= maxDepth
		if plainJSON(a) && shallow {
			if again, err := canonical(json.RawMessage(otherwise(v))); err != nil || !bytes.Equal(again, x) {
				t.Fatalf("%q has the form %q, and spelled otherwise %q, %v", a, x, again, err)
			}
		}
		y, err := canonical(b)
		if err != nil || !shallow {
			return
		}
		w, err := decoded(b)
		if err != nil {
			t.Fatal(err)
		}
		switch same := bytes.Equal(x, y); {
		case same && !reflect.DeepEqual(v, w):
			t.Fatalf("%q and %q have the same form", a, b)
		case !same && reflect.DeepEqual(v, w) && plainJSON(a) && plainJSON(b):
			t.Fatalf("%q and %q are the same value, with the forms %q and %q", a, b, x, y)
		}
	})
}
