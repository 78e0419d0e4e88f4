package notebook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/text/fault"
)

// raws returns a notebook of format 4.5 with raw cells with these ids; "" means none.
func raws(ids ...string) string {
	var cells []string
	for _, id := range ids {
		if id != "" {
			id = `, "id": "` + id + `"`
		}
		cells = append(cells, `{"cell_type": "raw", "source": "a"`+id+`}`)
	}
	return book(strings.Join(cells, ","))
}

// TestFind checks that an edit accepts the identities returned by Parse, and places.
func TestFind(t *testing.T) {
	for _, tc := range []struct {
		data, id string
		want     int // -1 for none
	}{
		{raws("a", "b"), "b", 1},
		{raws("a", "b"), "cell-1", 1},
		{raws("cell-1", "b", ""), "cell-1", 0}, // an id has precedence over a place
		{raws("cell-1", "b", ""), "cell-0", 0},
		{raws("cell-1", ""), "cell-1-", 1},
		{raws("a", "a"), "a", 0},
		{raws("a", "a"), "cell-1", 1},
		{raws("not valid"), "not valid", -1},
		{raws("not valid"), "cell-0", 0},
		{raws("a", "b"), "cell-2", -1},
		{raws("a", "b"), "cell-01", -1},
		{raws("a", "b"), "cell--0", -1},
		{raws("a", "b"), "cell-+1", -1},
		{raws("a", "b"), "cell-99999999999999999999", -1},
		{raws("a", "b"), "1", -1},
		{raws("a", "b"), "A", -1},
		{raws("a", "b"), "", -1},
	} {
		d, err := open([]byte(tc.data))
		if err != nil {
			t.Fatal(err)
		}
		at, err := d.find(tc.id)
		if err != nil {
			at = -1
		}
		if at != tc.want {
			t.Errorf("%q of %s: %d, want %d", tc.id, tc.data, at, tc.want)
		}
	}
}

// TestEditFaults covers every error of an edit.
func TestEditFaults(t *testing.T) {
	const three = `{"nbformat": 3, "worksheets": [{"cells": []}]}`
	for name, tc := range map[string]struct {
		data string
		e    Edit
		want string
	}{
		"no id":         {raws("a", "b"), Edit{Source: "x"}, "was not changed: cell_id is missing. Use an id that Read shows, or a place from cell-0 to cell-1."},
		"no id, delete": {raws("a"), Edit{Mode: Delete}, "was not changed: cell_id is missing. Its only cell is a."},
		"near":          {raws("3f2a91c0", "3f2a91c1", "b7"), Edit{CellID: "3f2a91c", Source: "x"}, `has no cell "3f2a91c". Did you mean 3f2a91c0 or 3f2a91c1?`},
		"far":           {raws("3f2a91c0", "b7"), Edit{Mode: Insert, CellID: "x\ny", CellType: "code"}, `has no cell "x\ny". Use an id that Read shows, or a place from cell-0 to cell-1.`},
		"a place":       {raws("", "", ""), Edit{CellID: "cell-3", Source: "x"}, `has no cell "cell-3". Use an id that Read shows, or a place from cell-0 to cell-2.`},
		"no cells":      {raws(), Edit{Mode: Delete, CellID: "a"}, `has no cell "a". The notebook has no cells: add one with edit_mode insert and no cell_id.`},
		"long":          {raws("aaa", "bbb"), Edit{CellID: strings.Repeat("é", 1<<20) + "bbb"}, `has no cell "` + strings.Repeat("é", 32) + `…". Use an id that Read shows, or a place from cell-0 to cell-1.`},
		"same":          {raws("a"), Edit{CellID: "cell-0", Source: "a"}, `has this source in cell "a" already. Nothing needs to be changed there.`},
		"mode":          {raws("a"), Edit{Mode: "move", CellID: "a"}, `was not changed: there is no edit_mode "move". Use replace, insert or delete.`},
		"type":          {raws("a"), Edit{CellID: "a", CellType: "raw"}, `was not changed: a cell cannot get the type "raw". Set cell_type to code or markdown.`},
		"no type":       {raws("a"), Edit{Mode: Insert, CellID: "a"}, "was not changed: a new cell needs a type. Set cell_type to code or markdown."},
		"no UTF-8":      {raws("a"), Edit{CellID: "a", Source: "\xff"}, "was not changed: the new source is not valid UTF-8. Send it as UTF-8."},
		"nbformat 3":    {three, Edit{CellID: "cell-0"}, "is a notebook of nbformat 3, which can be read but not edited. Convert a copy with `jupyter nbconvert --to notebook --nbformat 4` and edit that."},
		"damaged":       {`{"cells":[],"cells":[],"nbformat":4}`, Edit{CellID: "cell-0"}, `is a damaged notebook: line 1: the notebook has the key "cells" twice` + repair},
		"truncated":     {`{"cells":[`, Edit{CellID: "cell-0"}, "is not valid JSON: line 1, column 11: the file ends in the middle of the notebook" + repair},
	} {
		out, c, err := Apply([]byte(tc.data), tc.e)
		var f *fault.Fault
		if !errors.As(err, &f) || err.Error() != tc.want || out != nil || c != (Change{}) {
			t.Errorf("%s:\n got %v\nwant %s", name, err, tc.want)
		}
	}
}

// TestNewID checks the form and the source of new ids.
func TestNewID(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}$`)
	seen := map[string]bool{}
	for range 100 {
		_, c, err := Apply([]byte(raws()), Edit{Mode: Insert, CellType: "code"})
		if err != nil || !form.MatchString(c.ID) || seen[c.ID] {
			t.Fatalf("%v: %q", err, c.ID)
		}
		seen[c.ID] = true
	}
	_, c, err := Apply([]byte(raws("00000000")), Edit{Mode: Insert, CellType: "code", Random: bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff})})
	if err != nil || c.ID != "ffffffff" {
		t.Errorf("%v: %q", err, c.ID)
	}
	_, c, err = Apply([]byte(raws("ffffffff")), Edit{Mode: Insert, CellType: "code", Random: bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff})})
	if err != nil || c.ID != "00000000" {
		t.Errorf("%v: %q", err, c.ID)
	}
	if out, _, err := Apply([]byte(raws()), Edit{Mode: Insert, CellType: "code", Random: bytes.NewReader(nil)}); !errors.Is(err, io.EOF) || out != nil {
		t.Errorf("no random bytes: %v", err)
	}
}

// TestEditIsLinear checks that an edit does not scan or copy the whole file for each line or cell:
// it would exceed the deadline or the size. An edit takes some 20 ms.
func TestEditIsLinear(t *testing.T) {
	ids := make([]string, 20_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("id%d", i)
	}
	wide := strings.Repeat(" ", 4<<10)
	lines := strings.Repeat("x\n", 20_000)
	for name, tc := range map[string]struct {
		data string
		e    Edit
		most int // limit of the bytes added
	}{
		"many cells":      {raws(ids...), Edit{Mode: Insert, CellID: "id19999", CellType: "code", Source: lines}, 1 << 20},
		"many cells, far": {raws(ids...), Edit{CellID: strings.Repeat("x", 64)}, 0},
		"no ids":          {raws(make([]string, 20_000)...), Edit{Mode: Insert, CellType: "code", Source: lines}, 1 << 20},
		"much space": {"{\n" + wide + `"cells":` + "[\n" + wide + `{"cell_type"` + wide + `:"code",` + wide + `"source":` + "[\n" + wide + `"a",` + wide + `"b"]` + "\n}],\n" + wide + v4 + "}",
			Edit{CellID: "cell-0", Source: lines}, 1 << 20},
		"many lines": {book(`{"cell_type": "raw", "id": "a", "source": ["` + strings.Repeat(`x\n", "`, 20_000) + `"]}`), Edit{CellID: "a", Source: lines + lines + "y"}, 1 << 20},
		"one string": {book(`{"cell_type": "raw", "id": "a", "source": "` + strings.Repeat(`x\n`, 20_000) + `"}`), Edit{CellID: "a", Source: "y" + lines + lines}, 1 << 20},
	} {
		start := time.Now()
		out, _, err := Apply([]byte(tc.data), tc.e)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if (err != nil) != (tc.most == 0) || len(out) > len(tc.data)+tc.most {
			t.Errorf("%s: %d bytes became %d: %v", name, len(tc.data), len(out), err)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	for name, data := range large(8 << 20) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Apply([]byte(data), Edit{Mode: Insert, CellType: "code", Source: "x\ny"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
