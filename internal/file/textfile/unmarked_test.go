package textfile

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestUnmarked(t *testing.T) {
	le := func(s string) []byte { return UTF16LE.appendText(nil, s) }
	be := func(s string) []byte { return UTF16BE.appendText(nil, s) }
	for _, tc := range []struct {
		name, charset string
		data          []byte
		want          string // "": it is no text
	}{
		{"ASCII", "", le("one = 1\r\n"), "one = 1\r\n"},
		{"ASCII, big endian", "", be("one = 1\r\n"), "one = 1\r\n"},
		{"with other letters", "", le("name = \"Ж日\U0001F600\"\n"), "name = \"Ж日\U0001F600\"\n"},
		{"declared, without ASCII", "utf-16le", le("日本語"), "日本語"},
		{"declared, big endian", "UTF-16BE", be("日本語"), "日本語"},
		{"declared without an order", "utf-16", le("日本語\n"), "日本語\n"},
		{"declared, but UTF-8", "utf-16le", []byte("日本語\n"), "日本語\n"},
		{"declared, but ASCII", "utf-16le", []byte("abcd"), "abcd"},
		{"declared wrongly", "utf-8", le("one = 1\n"), "one = 1\n"},
		{"too short to be sure", "", le("one\n"), ""},
		{"too short, but declared", "utf-16le", le("one\n"), "one\n"},
		{"half a character", "utf-16le", le("one = 1\n")[1:], ""},
		{"half of a pair", "", append(le("one = 1\n"), 0x3d, 0xd8), ""},
		{"a NUL", "", le("one = 1\x00\n"), ""},
		{"a control character", "utf-16le", le("one = 1\x01\n"), ""},
		{"UTF-32", "", []byte("o\x00\x00\x00n\x00\x00\x00e\x00\x00\x00\n\x00\x00\x00"), ""},
		{"binary data", "", []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00>\x00"), ""},
	} {
		text, err := DecodeFile(tc.data, Hint{Charset: tc.charset})
		switch {
		case (err == nil) != (tc.want != ""):
			t.Errorf("%s: %v", tc.name, err)
		case err == nil && text.Raw() != tc.want:
			t.Errorf("%s: %q", tc.name, text.Raw())
		}
	}
}

// TestUnmarkedEdits compares random edits with those of the decoded text.
func TestUnmarkedEdits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "b", "c", "\n", "\r\n", "é", "日", "\U0001F600", " "}
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(letters[rnd.IntN(len(letters))])
		}
		return b.String()
	}
	applied := 0
	for range 2000 {
		enc := Encoding(int(UTF16LE) + rnd.IntN(2))
		content := "begin = 1\n" + word(30)
		text, err := DecodeFile(enc.appendText(nil, content), Hint{Charset: []string{"utf-16le", "utf-16be"}[enc-UTF16LE]})
		if err != nil {
			t.Fatal(err)
		}
		e := Edit{Old: "begin = 1", New: word(5), All: true}
		after, _, err := text.Apply(e)
		model, _ := Decode([]byte(content))
		want, _, failed := model.Apply(e)
		if (err == nil) != (failed == nil) {
			t.Fatalf("%q: %v, want %v", content, err, failed)
		}
		if err == nil {
			applied++
			if !bytes.Equal(after.Bytes(), enc.appendText(nil, want.Raw())) {
				t.Fatalf("%q, %+v: %q", content, e, after.Bytes())
			}
		}
	}
	if applied < 100 {
		t.Errorf("only %d applied", applied)
	}
}

func TestStateful(t *testing.T) {
	for _, tc := range []struct{ data, want string }{
		{"a\x1b$B4A;z\x1b(Bb\n", "a漢字b\n"},
		{"\x1b$@4A\x1b(J\n", "漢\n"},
		{"\x1b$)C\x0e!!\x0f\n", ""}, // ISO-2022-KR
	} {
		_, err := Decode([]byte(tc.data))
		var u *Unknown
		if err == nil || errors.As(err, &u) != (tc.want != "") || u != nil && string(u.Text) != tc.want {
			t.Errorf("%q: %v, %+v", tc.data, err, u)
		}
	}
}
