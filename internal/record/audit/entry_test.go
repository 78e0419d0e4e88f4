package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEntryLine(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6_700_000, time.FixedZone("", 3600)) }
	full := Entry{
		Time: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), Call: "c1", Parent: "c0", Session: "s", Principal: "http", Tool: "Bash",
		Input: json.RawMessage(`{"command": "ls"}`), Original: "was", Hooks: []string{"h1: ok", "h2"}, DurationMS: 1.5, Outcome: Refused, Bytes: 7, Error: "no",
		Decision: Decision{Behavior: "deny", Layer: "rule", Rule: "Bash(ls)", Source: "/s.json", Line: 3, Reason: "because"},
	}
	var have strings.Builder
	for _, e := range []Entry{full, {}, {Tool: "T", Input: json.RawMessage("password=x\n{"), Outcome: OK, Error: "token=abc", DurationMS: -1}} {
		have.Write(e.line(now))
	}
	want := `{"time":"2026-05-06T07:08:09.000Z","call":"c1","parent":"c0","session":"s","principal":"http","tool":"Bash","input":{"command":"ls"},"original":"was","decision":{"behavior":"deny","layer":"rule","rule":"Bash(ls)","source":"/s.json","line":3,"reason":"because"},"hooks":["h1: ok","h2"],"duration_ms":1.500,"outcome":"refused","bytes":7,"error":"no"}
{"time":"2026-01-02T02:04:05.006Z","duration_ms":0.000,"bytes":0}
{"time":"2026-01-02T02:04:05.006Z","tool":"T","input":"password=[redacted]\n{","duration_ms":0.000,"outcome":"ok","bytes":0,"error":"token=[redacted]"}
`
	if diff := cmp.Diff(want, have.String()); diff != "" {
		t.Errorf("lines (-want +have):\n%s", diff)
	}
	// line writes exactly the JSON fields of Entry.
	dec := json.NewDecoder(strings.NewReader(have.String()))
	dec.DisallowUnknownFields()
	var back Entry
	if err := dec.Decode(&back); err != nil {
		t.Fatal(err)
	}
	full.Input = json.RawMessage(`{"command":"ls"}`)
	if diff := cmp.Diff(full, back); diff != "" {
		t.Errorf("read again (-want +have):\n%s", diff)
	}
}

// TestEntryBounded checks that a line has a limited length and is redacted,
// whatever the entry holds.
func TestEntryBounded(t *testing.T) {
	huge := strings.Repeat("\x01 "+github, 20_000)
	hooks := make([]string, 1000)
	for i := range hooks {
		hooks[i] = huge
	}
	e := Entry{
		Call: huge, Parent: huge, Session: huge, Principal: huge, Tool: huge, Input: json.RawMessage(huge), Original: huge, Hooks: hooks, Outcome: huge, Error: huge,
		Decision: Decision{Behavior: huge, Layer: huge, Rule: huge, Source: huge, Reason: huge},
	}
	for range 2 {
		line := e.line(time.Now)
		if len(line) > 500<<10 || !json.Valid(line) || bytes.Contains(line, []byte("ghp_")) || bytes.Count(line, []byte("\n")) != 1 {
			t.Errorf("%d bytes: %.300s", len(line), line)
		}
		if i := bytes.Index(line, []byte(`"and 968 more"`)); i < 0 {
			t.Error("the hooks that are left out are not counted")
		}
		huge = strings.Repeat("\x01", 1<<20)
		e.Input, _ = json.Marshal(map[string]string{"a": huge, "b": github})
		e.Session, e.Error = huge, huge
	}
}
