package server

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestWithoutArguments checks that large arguments are removed from a message
// as a whole, wherever they are, and that the rest stays.
func TestWithoutArguments(t *testing.T) {
	large := `{"content":"` + strings.Repeat("é\\\"}", largeArguments/4) + `","n":[1, {}]}`
	for _, c := range []struct{ method, before, arguments, after string }{
		{"tools/call", `"name":"Write","arguments":`, large, `,"_meta":{"progressToken":1}`},
		{"tools/call", "\"arguments\" :\t ", large, " , \"name\":\"Write\""},
		{"tools/call", `"name":"Write","arguments":`, `{"content":"x"}`, ""},
		{"tools/list", `"arguments":`, large, ""},
	} {
		for _, space := range []string{"", " \t"} {
			head := space + `{"jsonrpc":"2.0","id":1,"method":"` + c.method + `","params":{` + c.before
			tail := c.after + "}}" + space
			raw := []byte(head + c.arguments + tail)
			m, bad := readMessage(raw)
			if bad != nil {
				t.Fatal(bad.text)
			}
			rest, apart := withoutArguments(raw, m)
			want, wantApart := head+"{}"+tail, c.arguments
			if c.method != "tools/call" || len(c.arguments) < largeArguments {
				want, wantApart = string(raw), ""
			}
			if string(rest) != want || string(apart) != wantApart || !json.Valid(rest) {
				t.Errorf("%s %.40s: %.200s, and %d bytes apart", c.method, c.before, rest, len(apart))
			}
		}
	}
}
