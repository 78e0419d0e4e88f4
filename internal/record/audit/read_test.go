package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// logOf writes entries, one each second from a time on, to a log file.
func logOf(t *testing.T, path string, from time.Time, tools ...string) {
	t.Helper()
	var b strings.Builder
	for i, tool := range tools {
		e := Entry{Time: from.Add(time.Duration(i) * time.Second), Tool: tool, Outcome: OK, DurationMS: float64(i + 1), Input: []byte(fmt.Sprintf(`{"n":%d}`, i))}
		if tool == "Bash" {
			e.Outcome = Refused
		}
		b.Write(e.line(time.Now))
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFind checks that entries are found from the newest on, in all files, page by page.
func TestFind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if f, err := Find(path, Query{}); err != nil || len(f.Entries) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	logOf(t, path+".1", at, "Read", "Bash", "Read")
	logOf(t, path, at.Add(time.Minute), "Read", "Edit", "Bash")
	if err := appendTo(path, "{\"torn"); err != nil {
		t.Fatal(err)
	}
	tools := func(f Found) (out []string) {
		for _, e := range f.Entries {
			out = append(out, e.Tool+" "+string(e.Input))
		}
		return out
	}
	f, err := Find(path, Query{Limit: 4})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`Bash {"n":2}`, `Edit {"n":1}`, `Read {"n":0}`, `Read {"n":2}`}
	if diff := cmp.Diff(want, tools(f)); diff != "" {
		t.Error(diff)
	}
	counts := []Count{{"Read", 3, 0, 0, 1, 3}, {"Bash", 2, 2, 0, 0, 0}, {"Edit", 1, 0, 0, 2, 2}}
	if diff := cmp.Diff(counts, f.Tools); diff != "" {
		t.Error(diff)
	}
	next, err := Find(path, Query{Limit: 4, Before: f.Next})
	if diff := cmp.Diff([]string{`Bash {"n":1}`, `Read {"n":0}`}, tools(next)); diff != "" || err != nil || !next.Next.IsZero() || next.Tools != nil {
		t.Errorf("%v %v %s", err, next.Next, diff)
	}
	for q, want := range map[Query]int{{Tool: "Read"}: 3, {Outcome: Refused}: 2, {Text: `"BASH"`}: 2, {Text: "nothing"}: 0, {Tool: "Read", Text: `"n":2`}: 1} {
		if f, err := Find(path, q); err != nil || len(f.Entries) != want {
			t.Errorf("%+v: %d, %v", q, len(f.Entries), err)
		}
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	_ = f.Close()
	return err
}

// TestFindSame checks that entries of the same time are not divided, and that lines longer than a
// chunk are found.
func TestFindSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b strings.Builder
	for i := range 5 {
		b.Write((&Entry{Time: at.Add(time.Duration(i/3) * time.Second), Tool: fmt.Sprint(i)}).line(time.Now))
		if i == 2 {
			fmt.Fprintf(&b, "{\"tool\":\"long\",\"time\":%q,\"error\":%q}\n", at.Format(time.RFC3339), strings.Repeat("x", 3*chunk))
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Find(path, Query{Limit: 3})
	if err != nil || len(f.Entries) != 6 || f.Entries[2].Tool != "long" || !f.Next.IsZero() {
		t.Errorf("%d, %v, %v", len(f.Entries), f.Next, err)
	}
	if f, err = Find(path, Query{Limit: 1}); err != nil || len(f.Entries) != 2 || !f.Next.Equal(at.Add(time.Second)) {
		t.Errorf("%d, %v, %v", len(f.Entries), f.Next, err)
	}
}

// TestFindLimit checks that only the newest part of a long log is read.
func TestFindLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, mostScanned+2*chunk); err != nil { // a sparse file
		t.Fatal(err)
	}
	if err := appendTo(path, "\n"+string((&Entry{Tool: "Read", Time: time.Now()}).line(time.Now))); err != nil {
		t.Fatal(err)
	}
	if f, err := Find(path, Query{}); err != nil || !f.Cut || len(f.Entries) != 1 {
		t.Errorf("%v, %v, %d", err, f.Cut, len(f.Entries))
	}
}
