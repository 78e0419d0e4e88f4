package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

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
	asian := table{cut: []int{0}}
	asian.row(strings.Repeat("日", 30), "ok")
	var b bytes.Buffer
	if asian.write(&b, screen{width: 20}); b.String() != strings.Repeat("日", 7)+"…   ok\n" {
		t.Errorf("%q", &b)
	}
	b.Reset()
	list.write(&b, screen{width: 50, colour: true})
	if !strings.HasSuffix(b.String(), "wwww…  "+strings.Repeat("é", 11)+"…  \x1b[32mok\x1b[0m\n") {
		t.Errorf("%q", &b)
	}
}
