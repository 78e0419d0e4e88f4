package page

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// Texts in their language, long enough for a guess.
const (
	german   = "<p>Über den Dächern von Köln: größer, schöner, älter – für 5 €.</p>"
	japanse  = "<p>日本語の文章です。このページは文字コードを宣言していません。プログラムの使い方を説明します。</p>"
	chinese  = "<p>这是一个没有声明编码的网页。我们在这里说明如何使用这个程序，以及它的所有选项。</p>"
	russian  = "<p>Эта страница не объявляет свою кодировку. Здесь описано, как пользоваться программой.</p>"
	hangul   = "<p>이 페이지는 머리글에서 문자 인코딩을 선언합니다. 프로그램의 사용법을 설명합니다.</p>"
	metaHead = `<meta charset="iso-8859-1"><title>x</title>`
)

func encode(t *testing.T, e encoding.Encoding, s string) string {
	t.Helper()
	out, err := e.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDecode(t *testing.T) {
	late := "<p>" + strings.Repeat("ascii only ", 200) + "</p>"
	for _, c := range []struct {
		name, charset string
		data, want    string
		note          string
	}{
		{"UTF-8, undeclared and late", "", late + german, late + german, ""},
		{"Shift JIS, undeclared", "", encode(t, japanese.ShiftJIS, late+japanse), late + japanse, "shift_jis"},
		{"GBK, undeclared", "", encode(t, simplifiedchinese.GBK, late+chinese), late + chinese, "gb18030"},
		{"windows-1251, undeclared", "", encode(t, charmap.Windows1251, late+russian), late + russian, "windows-1251"},
		{"UTF-8, wrong header", "iso-8859-1", german, german, ""},
		{"Latin-1, meta", "", metaHead + encode(t, charmap.Windows1252, german), metaHead + german, ""},
		{"UTF-16, byte order mark", "", encode(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), german), german, ""},
		{"EUC-KR, header", "euc-kr", encode(t, korean.EUCKR, hangul), hangul, ""},

		{"UTF-16 big endian, byte order mark", "utf-8", encode(t, unicode.UTF16(unicode.BigEndian, unicode.UseBOM), german), german, ""},
		{"UTF-8, byte order mark", "windows-1251", "\ufeff" + german, german, ""},
		{"UTF-16, header", "utf-16le", encode(t, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "plain"), "plain", ""},
		{"ASCII", "", "plain", "plain", ""},
		{"empty", "", "", "", ""},
		{"unknown header", "utf-7", metaHead + encode(t, charmap.Windows1252, german), metaHead + german, ""},
		{"header without text", "iso-2022-kr", "<p>+AOk-", "<p>+AOk-", ""},
		{"header UTF-8, not UTF-8", "utf-8", encode(t, charmap.Windows1251, russian), russian, "windows-1251"},
		{"meta UTF-8, not UTF-8", "", "<meta charset=utf-8>" + encode(t, charmap.Windows1251, russian), "<meta charset=utf-8>" + russian, "windows-1251"},
		{"UTF-8 with a damaged byte", "", german + "\xff", german + "\ufffd", ""},
		{"UTF-8, cut", "utf-8", german + "\xe2\x82", german + "\ufffd", ""},
		{"ISO-2022-JP, header", "iso-2022-jp", encode(t, japanese.ISO2022JP, japanse), japanse, ""},
		{"lines and control characters", "", "a\r\nb\rc\x00\x1b[31m\x07\td\uf002", "a\nb\nc[31m\td", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, note := decode([]byte(c.data), Request{Charset: c.charset, HTML: true})
			if text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
			want := ""
			if c.note != "" {
				want = "the encoding was guessed: " + c.note
			}
			if note != want {
				t.Errorf("got the note %q, want %q", note, want)
			}
		})
	}
	if text, _ := decode([]byte(metaHead+"\xe9"), Request{}); text != metaHead+"é" {
		t.Errorf("got %q of text that is not HTML", text)
	}
	cyrillic := `<meta charset="koi8-r">`
	if text, _ := decode([]byte(cyrillic+encode(t, charmap.Windows1251, russian)), Request{}); text != cyrillic+russian {
		t.Errorf("a meta element in text that is not HTML was used: %q", text)
	}
}
