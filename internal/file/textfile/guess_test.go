package textfile

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

func TestGuessCharset(t *testing.T) {
	must := func(s string, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var wide []byte
	for _, u := range utf16.Encode([]rune("plain text, wide")) {
		wide = binary.LittleEndian.AppendUint16(wide, u)
	}
	const russian = "Эта страница не объявляет свою кодировку."
	for want, texts := range map[string][]string{
		"utf-8":        {"", "plain", "größer", "größer\xff", "cut \xe2\x82", "\x00\x01\x02", "A\x00\x00\x00"},
		"utf-16le":     {string(wide), string(wide) + "\n"},
		"shift_jis":    {must(japanese.ShiftJIS.NewEncoder().String("日本語の文章です。使い方を説明します。"))},
		"euc-jp":       {must(japanese.EUCJP.NewEncoder().String("日本語の文章です。使い方を説明します。"))},
		"euc-kr":       {must(korean.EUCKR.NewEncoder().String("이 페이지는 문자 인코딩을 선언하지 않습니다."))},
		"big5":         {must(traditionalchinese.Big5.NewEncoder().String("這是一個沒有宣告編碼的網頁，我們在這裡說明如何使用。"))},
		"gb18030":      {must(simplifiedchinese.GBK.NewEncoder().String("这是一个没有声明编码的网页，我们在这里说明如何使用。"))},
		"windows-1251": {must(charmap.Windows1251.NewEncoder().String(russian)), strings.Repeat("ascii ", 20_000) + must(charmap.Windows1251.NewEncoder().String(russian))},
		"koi8-r":       {must(charmap.KOI8R.NewEncoder().String(russian))},
		"windows-1252": {"caf\xe9", "5 \x80"},
	} {
		if n := len(texts[0]); n > 0 && want != "windows-1252" { // a damaged byte in a long text changes no guess
			texts = append(texts, strings.Repeat(texts[0], 40)+"\n"+texts[0][:n/2]+"\xff"+texts[0][n/2:])
		}
		for _, text := range texts {
			if got := GuessCharset([]byte(text)); got != want {
				t.Errorf("got %s for %.40q, want %s", got, text, want)
			}
		}
	}
}

func TestGuessDOS(t *testing.T) {
	for _, tc := range []struct {
		page *charmap.Charmap
		text string
		want string
	}{
		{charmap.CodePage866, "Эта страница не объявляет свою кодировку.", "ENCODING"},
		{charmap.CodePage855, "Эта страница не объявляет свою кодировку.", "ENCODING"},
		{charmap.CodePage862, "שלום עולם, זה טקסט", "ENCODING"},
		{charmap.Windows1251, "Ця сторінка не оголошує свого кодування, її треба вгадати.", "CP1251"},
		{charmap.CodePage850, "größer für Müller, façade", "CP1252"},
		{charmap.Windows1252, "“größer” – Straße …", "CP1252"},
	} {
		b, err := tc.page.NewEncoder().Bytes([]byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := guessLegacy(b); got.iconv != tc.want {
			t.Errorf("%s: %s, want %s", tc.page, got.iconv, tc.want)
		}
	}
}
