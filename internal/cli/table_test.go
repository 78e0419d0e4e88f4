package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mcp-toolset/internal/text/terminal"
)

// TestChecksFit checks that the results of checks fit a narrow screen.
func TestChecksFit(t *testing.T) {
	d := &diagnosis{Checks: []check{{Name: "settings", Status: checkWarn, Detail: strings.Repeat("日本 ", 20), Next: strings.Repeat("word ", 20)}}}
	for _, width := range []int{26, 40, 80} {
		var b bytes.Buffer
		d.summary(&b, screen{width: width})
		for line := range strings.Lines(b.String()) {
			if n := terminal.Columns(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("width %d: %d columns: %s", width, n, line)
			}
		}
	}
}

func TestTableFits(t *testing.T) {
	list := table{cut: []int{2, 1}}
	list.row("N", "WHAT", "WHY", "STATE")
	list.row("10", strings.Repeat("w", 30), strings.Repeat("é", 30), "ok")
	var wide, piped bytes.Buffer
	list.write(&wide, screen{width: 200})
	list.write(&piped, screen{})
	if wide.String() != piped.String() || !strings.Contains(piped.String(), "10  "+strings.Repeat("w", 30)+"  "+strings.Repeat("é", 30)+"  ok\n") {
		t.Errorf("%s\n%s", &wide, &piped)
	}
	for _, width := range []int{70, 60, 50, 38} {
		var b bytes.Buffer
		list.write(&b, screen{width: width})
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(line) - 1; n > width {
				t.Errorf("width %d: %d columns: %s", width, n, line)
			}
		}
	}
	var b bytes.Buffer
	narrow := table{rows: slices.Clone(list.rows)}
	narrow.row("11", "words that are long", "", "ok")
	narrow.write(&b, screen{width: 20, colour: true})
	if want := "N\n    WHAT | WHY |\n    STATE\n"; !strings.HasPrefix(b.String(), want) || !strings.HasSuffix(b.String(), "\n11\n    words that are\n    long | ok\n") {
		t.Errorf("%s", &b)
	}
	b.Reset()
	asian := table{cut: []int{0}}
	asian.row(strings.Repeat("日", 30), "ok")
	if asian.write(&b, screen{width: 20}); b.String() != strings.Repeat("日", 7)+"…   ok\n" {
		t.Errorf("%q", &b)
	}
	b.Reset()
	list.write(&b, screen{width: 50, colour: true})
	if !strings.HasSuffix(b.String(), "wwww…  "+strings.Repeat("é", 11)+"…  \x1b[32mok\x1b[0m\n") {
		t.Errorf("%q", &b)
	}
}
