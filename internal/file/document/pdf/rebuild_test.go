package pdf

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestRebuild reads files that end early.
func TestRebuild(t *testing.T) {
	t.Parallel()
	const (
		note = "the file is damaged: it ends early; pages that are left: "
	)
	upTo := func(data []byte, mark string) []byte { return data[:bytes.LastIndex(data, []byte(mark))] }
	without := func(data []byte, number int) []byte {
		before, rest, _ := bytes.Cut(data, fmt.Appendf(nil, "\n%d 0 obj", number))
		_, after, _ := bytes.Cut(rest, []byte("endobj"))
		return bytes.Join([][]byte{before, after}, nil)
	}
	answer := func(count, pages string) string {
		var b strings.Builder
		all := strings.Fields(pages)
		fmt.Fprintf(&b, "%d pages, next 0, note %q\n", len(all), note+count+", numbered from 1")
		for i, p := range all {
			fmt.Fprintf(&b, "%d: \"Page %s\"\n", i+1, p)
		}
		return b.String()
	}
	// Each page is a font, a content and a page: objects 3 to 5, 6 to 8 and 9 to 11.
	whole := upTo(numbered(3).bytes(), "xref\n0 ")
	nested := numbered(3)
	nested.objects[1] = "<</Type/Pages/Count 3/Kids[12 0 R 5 0 R]>>"
	nested.add("<</Type/Pages/Count 2/Kids[11 0 R 8 0 R]/Parent 2 0 R>>")
	circle := numbered(1)
	circle.objects[1] = "<</Type/Pages/Count 9/Kids[2 0 R 6 0 R 5 0 R]>>"
	circle.add("<</Type/Pages/Kids[2 0 R 6 0 R 6 0 R]>>")
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"no table", whole, answer("3 of 3", "1 2 3")},
		{"cut in a page", upTo(whole, "/Parent"), answer("2 of 3", "1 2")},
		{"cut before a page", upTo(whole, "11 0 obj"), answer("2 of 3", "1 2")},
		{"objects in a stream", upTo(numbered(3).packed(), "13 0 obj"), answer("3 of 3", "1 2 3")},
		{"no catalog", without(whole, 1), answer("3", "1 2 3")},
		{"no list of pages", without(whole, 2), answer("3", "1 2 3")},
		{"no font of a page", without(whole, 6), answer("2 of 3", "1 3")},
		{"no content of a page", without(whole, 4), answer("2 of 3", "2 3")},
		{"lists in a list", upTo(nested.bytes(), "xref\n0 "), answer("3 of 3", "3 2 1")},
		{"half a list", upTo(nested.bytes(), "12 0 obj"), answer("3 of 3", "1 2 3")},
		{"a list in itself", upTo(circle.bytes(), "xref\n0 "), answer("1 of 9", "1")},
		{"no page", upTo(whole, "3 0 obj"), "is a damaged PDF: its end is missing"},
		{"encrypted", upTo(encryptedFile(t, "secret", "owner"), "startxref"), "is encrypted and needs a password"},
	} {
		if got := outcome(t, c.name, c.data); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}
