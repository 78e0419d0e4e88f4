package journal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mcp-toolset/session"
)

func TestJournal(t *testing.T) {
	me, other := session.Owner{Session: "1"}, session.Owner{Session: "2"}
	j := New()
	for range maxEntries + 2 {
		j.Add(me, Entry{Tool: "Read"})
	}
	j.Add(other, Entry{Tool: "Write"})
	got := j.Entries(me)
	if len(got) != maxEntries || got[0].ID != 3 || got[len(got)-1].ID != maxEntries+2 {
		t.Errorf("%d entries from %d to %d", len(got), got[0].ID, got[len(got)-1].ID)
	}
	got[0].Tool = "changed"
	if again := j.Entries(me); again[0].Tool != "Read" {
		t.Error("the entries are not a copy")
	}
	j.Add(other, Entry{Title: strings.Repeat("é", maxText)})
	if title := j.Entries(other)[1].Title; len(title) > maxText || !utf8.ValidString(title) || !strings.HasSuffix(title, "é…") {
		t.Errorf("a title of %d bytes ends with %q", len(title), title[len(title)-6:])
	}
	j.Forget(me)
	if len(j.Entries(me)) != 0 || len(j.Entries(other)) != 2 {
		t.Error("Forget dropped too little or too much")
	}
	var none *Journal
	none.Add(me, Entry{})
	none.Forget(me)
	if none.Entries(me) != nil {
		t.Error("a nil journal has entries")
	}
}
