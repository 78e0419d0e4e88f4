package edit

import (
	"strings"
	"testing"

	"mcp-toolset/internal/file/textfile"
)

// TestOtherForm lists texts with an old_string in another Unicode form, and what becomes of
// them. Upper-case C and D stand for e with an acute accent, composed and decomposed.
func TestOtherForm(t *testing.T) {
	write := strings.NewReplacer("C", "\u00e9", "D", "e\u0301", "H", "\ud55c\uae00", "J", "\u1112\u1161\u11ab\u1100\u1173\u11af")
	for _, test := range []struct {
		text, old, new, want string // "": no match
		all                  bool
	}{
		{text: "1 cafD\n", old: "cafC", new: "tC", want: "1 tD\n"},
		{text: "1 cafC\n", old: "cafD", new: "tD", want: "1 tC\n"},
		{text: "x J y\n", old: "H", new: "H!", want: "x J! y\n"},
		{text: "x H y\n", old: "x J", new: "J", want: "H y\n"},
		{text: "cafD cafD\n", old: "cafC", new: "x"},
		{text: "cafD cafD\n", old: "cafC", new: "C", all: true, want: "D D\n"},
		{text: "cafD cafC\n", old: "cafC", new: "x", want: "cafD x\n"},
		{text: "DC\n", old: "CD", new: "C", want: "C\n"},
		{text: "cafe\u0301\u0323\n", old: "cafe\u0301", new: "x", want: "x\u0323\n"}, // exactly there
		{text: "caf\u00e9\u0323\n", old: "cafe\u0301", new: "x"},
		{text: "cafe\u0323\u0301\n", old: "caf\u1eb9\u0301", new: "x", want: "x\n"},
		{text: "a\r\nD\r\nb", old: "a\nC\nb", new: "a\nC2\nb", want: "a\r\nD2\r\nb"},
		{text: "D" + strings.Repeat("x", 1000) + "D.\n", old: "xC.", new: "C", want: "D" + strings.Repeat("x", 999) + "D\n"},
		{text: "cafe\n", old: "cafC", new: "x"},
		{text: "none\n", old: "plain", new: "x"},
	} {
		before, err := textfile.Decode([]byte(write.Replace(test.text)))
		if err != nil {
			t.Fatal(err)
		}
		in := Input{OldString: write.Replace(test.old), NewString: write.Replace(test.new), ReplaceAll: test.all}
		after, _, note, err := in.fit(before)
		switch want := write.Replace(test.want); {
		case want == "":
			if err == nil {
				t.Errorf("%q, %q: %q", test.text, test.old, after.Bytes())
			}
		case err != nil:
			t.Errorf("%q, %q: %v", test.text, test.old, err)
		case string(after.Bytes()) != want:
			t.Errorf("%q, %q: %q, want %q", test.text, test.old, after.Bytes(), want)
		case note == "" && !strings.Contains(write.Replace(test.text), in.OldString):
			t.Errorf("%q, %q: no note", test.text, test.old)
		}
	}
}
