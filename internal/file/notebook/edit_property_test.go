package notebook

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestEditProperty checks that an edit yields the same bytes as printing the edited notebook, and
// that Parse reads the intended content.
func TestEditProperty(t *testing.T) {
	for seed := range uint64(editCount) {
		d := dice{rand.New(rand.NewPCG(seed, 4))}
		before := d.tree()
		data := before.bytes()
		n, err := Parse(data)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, data)
		}
		e := Edit{Mode: Mode(d.of("replace", "insert", "delete")), CellType: d.of("code", "markdown"), Source: d.text(), Random: beef()}
		at := d.IntN(len(n.Cells)+1) - 1
		if at >= 0 {
			e.CellID = n.Cells[at].ID
			if e.Mode == Replace && d.IntN(2) == 0 {
				e.CellType = ""
			}
			if d.IntN(3) == 0 { // the usual edit
				e.Source = n.Cells[at].Source + e.Source
			}
		} else if e.Mode != Insert {
			continue
		}
		kept := bytes.Clone(data)
		got, c, err := Apply(data, e)
		if !bytes.Equal(kept, data) {
			t.Fatalf("seed %d: the file's bytes were changed", seed)
		}
		if err != nil {
			if e.Mode == Replace && e.Source == n.Cells[at].Source && strings.Contains(err.Error(), "already") {
				continue
			}
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(string(before.edit(at, e).bytes()), string(got)); diff != "" {
			t.Fatalf("seed %d: %+v of\n%s\n(-want +got):\n%s", seed, e, data, diff)
		}
		checkChange(t, n, got, e, at, c)
	}
}

// checkChange checks that Parse finds one cell changed, as described by the Change.
func checkChange(t *testing.T, n *Notebook, after []byte, e Edit, at int, c Change) {
	t.Helper()
	got, err := Parse(after)
	if err != nil {
		t.Fatalf("%v:\n%s", err, after)
	}
	want := append([]Cell{}, n.Cells...)
	got.Cells = append([]Cell{}, got.Cells...)
	switch e.Mode {
	case Delete:
		want = slices.Delete(want, at, at+1)
	case Insert:
		at++
		want = slices.Insert(want, at, Cell{ID: c.ID, Type: e.CellType, Source: e.Source})
	default:
		was := want[at]
		want[at] = Cell{ID: c.ID, Type: c.Type, Source: e.Source}
		if c.Type != "code" && c.Type == was.Type { // other keys of a text cell do not matter
			want[at].Outputs, want[at].Count = was.Outputs, was.Count
		}
	}
	if c.Number != at+1 || c.Total != len(got.Cells) || e.Mode != Delete && got.Cells[at].ID != c.ID || e.Mode == Delete && n.Cells[at].ID != c.ID {
		t.Fatalf("%+v is said of cell %d in\n%s", c, at+1, after)
	}
	renamed := false
	for i := range min(len(want), len(got.Cells)) { // identities that are places may change
		renamed = renamed || want[i].ID != got.Cells[i].ID
		want[i].ID = got.Cells[i].ID
	}
	if renamed != c.Renamed {
		t.Fatalf("%+v, other cells have other ids: %v\n%s", c, renamed, after)
	}
	if diff := cmp.Diff(want, got.Cells); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if got.Format != n.Format || got.Minor != n.Minor || got.Language != n.Language {
		t.Fatalf("the notebook has changed: %+v", got)
	}
}

// FuzzEdit checks that every notebook that can be read can be edited, without changes around the
// cell.
func FuzzEdit(f *testing.F) {
	d := dice{rand.New(rand.NewPCG(1, 2))}
	for range 20 {
		f.Add(d.tree().bytes(), uint8(d.IntN(3)), d.IntN(5)-1, d.of("", "code", "markdown"), d.text())
	}
	f.Add([]byte("{\"cells\" : [\r{\"cell_type\":\"\\u0063ode\"\n,\"source\":[\"\",\"\\ud800\\n\",\"\xff\"]\t} ],\"nbformat\":4, \"nbformat_minor\":5.0}"), uint8(0), 0, "", "\uFFFD\n\uFFFD")
	f.Fuzz(func(t *testing.T, data []byte, mode uint8, at int, kind, source string) {
		n, err := Parse(data)
		e := Edit{Mode: []Mode{Replace, Insert, Delete}[mode%3], CellType: kind, Source: source, Random: beef()}
		if err == nil && at >= 0 && at < len(n.Cells) {
			e.CellID = n.Cells[at].ID
		} else {
			at = -1
		}
		got, c, failed := Apply(data, e)
		if failed != nil {
			if !utf8.ValidString(failed.Error()) || len(failed.Error()) > 500 {
				t.Fatalf("%q", failed)
			}
			return
		}
		if err != nil {
			t.Fatalf("Parse refuses what was edited: %v", err)
		}
		checkChange(t, n, got, e, at, c)
		if e.Mode == Delete {
			return
		}
		d, err := open(data)
		if err != nil {
			t.Fatal(err)
		}
		from, to := d.list.from+1, d.list.to-1 // where bytes may change
		switch {
		case e.Mode == Replace:
			from, to = d.cells[at].from, d.cells[at].to
		case at >= 0:
			from, to = d.cells[at].to, d.cells[at].to
		case len(d.cells) > 0:
			from, to = d.cells[0].from, d.cells[0].from
		}
		if !bytes.HasPrefix(got, data[:d.mark+from]) || !bytes.HasSuffix(got, data[d.mark+to:]) {
			t.Fatalf("%q became %q", data, got)
		}
	})
}
