package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
)

// sample holds letters of each encoding.
var sample = map[string]string{
	"windows-1250": "árvíztűrő tükörfúrógép Žluťoučký", "windows-1251": "Привет, мир — «ёлка»", "windows-1252": "naïve café — “quoted” €",
	"windows-1253": "Καλημέρα κόσμε", "windows-1254": "Türkçe ışık ğüş", "windows-1255": "שלום עולם", "windows-1256": "مرحبا بالعالم",
	"windows-1257": "Šiauliai ąčęė", "windows-1258": "Đà", "windows-874": "สวัสดีชาวโลก",
	"iso-8859-1": "naïve café", "iso-8859-2": "árvíztűrő", "iso-8859-3": "ĉapelo ĝi", "iso-8859-4": "Šiauliai ąčę", "iso-8859-5": "Привет, мир",
	"iso-8859-6": "مرحبا", "iso-8859-7": "Καλημέρα", "iso-8859-8": "שלום", "iso-8859-9": "ışık ğüş", "iso-8859-10": "þing ŋ", "iso-8859-13": "Šiauliai ąčę",
	"iso-8859-14": "ŵy ŷ", "iso-8859-15": "café € œuvre", "iso-8859-16": "Știință și", "koi8-r": "Привет, мир", "koi8-u": "Їжак і ґанок",
	"macintosh": "naïve café “x”", "x-mac-cyrillic": "Привет, мир", "ibm437": "naïve £", "ibm850": "naïve ©", "ibm852": "árvíz ő", "ibm855": "Привет",
	"ibm858": "naïve €", "ibm860": "ação", "ibm862": "שלום", "ibm863": "Québec", "ibm865": "Øresund", "ibm866": "Привет, мир",
	"shift_jis": "日本語のテキスト、カタカナ", "euc-jp": "日本語のテキスト、カタカナ", "euc-kr": "안녕하세요 세계", "gbk": "你好，世界 中文", "gb18030": "你好，世界 中文 㐀", "big5": "你好，世界 中文",
}

// declarations are ways to declare an encoding, with the path of such a file.
var declarations = []struct{ name, path, text, charset string }{
	{"XML", "a.xml", "<?xml version=\"1.0\" encoding=\"%s\"?>\n<a>%s</a>\n", ""},
	{"XML in single quotes", "a.svg", "<?xml version='1.0' encoding='%s' standalone='yes'?>\n<a>%s</a>\n", ""},
	{"HTML charset", "a.html", "<!DOCTYPE html>\n<html><head>\n<meta charset=\"%s\">\n</head><p>%s</p>\n", ""},
	{"HTML http-equiv", "a.php", "<html><META http-equiv=Content-Type content='text/html; charset=%s'>\n<p>%s</p>\n", ""},
	{"LaTeX", "a.tex", "\\documentclass{article}\n%% \\usepackage[utf8]{inputenc}\n\\usepackage[%s]{inputenc}\n%s\n", ""},
	{"a magic comment of TeX", "a.tex", "%% !TeX encoding = %s\n%s\n", ""},
	{"CSS", "a.css", "@charset \"%s\";\n/* %s */\n", ""},
	{"PEP 263", "a.py", "#!/usr/bin/python\n# -*- coding: %s -*-\nx = '%s'\n", ""},
	{"PEP 263 for Vim", "a.py", "# vim: set fileencoding=%s :\nx = '%s'\n", ""},
	{"PEP 263, plain", "a.py", "# coding=%s\nx = '%s'\n", ""},
	{"Ruby", "a.rb", "# frozen_string_literal: true\n# encoding: %s\nx = '%s'\n", ""},
	{"Emacs", "a.el", ";; -*- mode: lisp; coding: %s; -*-\n(x \"%s\")\n", ""},
	{"Emacs at the end", "a.c", "/* %[2]s */\n\n/* Local Variables: */\n/* mode: c */\n/* coding: %[1]s */\n/* End: */\n", ""},
	{"Vim at the beginning", "a.txt", "/* vim: set ts=4 fenc=%s: */\n%s\n", ""},
	{"Vim at the end", "a.txt", "%[2]s\n\n# vim:fileencoding=%[1]s:ts=4\n", ""},
	{"gettext", "de.po", "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=%s\\n\"\n\nmsgstr \"%s\"\n", ""},
	{".editorconfig", "a.txt", "%[2]s\n", "%s"},
}

// TestDeclarations reads and edits text of each encoding that is declared in each way.
func TestDeclarations(t *testing.T) {
	n := 0
	for _, c := range charsets[:len(charsets)-2] {
		letters := sample[c.name]
		if letters == "" {
			t.Errorf("no sample of %s", c.name)
		}
		for _, d := range declarations {
			if strings.HasPrefix(d.name, "HTML") && (c.name == "iso-8859-1" || c.name == "iso-8859-9" || strings.HasPrefix(c.name, "ibm8") && c.name != "ibm866" || c.name == "ibm437") || d.name == "CSS" && (c.name == "iso-8859-1" || c.name == "iso-8859-9") {
				continue // other encodings to browsers
			}
			n++
			content := fmt.Sprintf(d.text, c.name, letters)
			if d.charset != "" {
				content = fmt.Sprintf(d.text, "", letters)
			}
			h := Hint{Path: d.path}
			if d.charset != "" {
				h.Charset = c.name
			}
			raw, err := c.NewEncoder().Bytes([]byte(content))
			if err != nil {
				t.Fatal(c.name, err)
			}
			text, err := DecodeFile(raw, h)
			if err != nil || text.String() != content || text.Encoding().String() != c.name {
				t.Errorf("%s by %s: %v, %v", c.name, d.name, text, err)
				continue
			}
			first, _ := utf8.DecodeRuneInString(letters)
			after, _, err := text.Apply(Edit{Old: letters, New: letters + " x " + string(first) + letters})
			want, _ := c.NewEncoder().Bytes([]byte(strings.Replace(content, letters, letters+" x "+string(first)+letters, 1)))
			if err == nil && !bytes.Equal(after.Bytes(), want) {
				t.Errorf("%s by %s: edited to %q, want %q", c.name, d.name, after.Bytes(), want)
			}
			if err != nil && first >= utf8.RuneSelf {
				t.Errorf("%s by %s: %v", c.name, d.name, err)
			}
			_, _, err = text.Apply(Edit{Old: letters, New: "line\n\U0001F600"})
			var f *fault.Fault
			if c.name != "gb18030" && (!errors.As(err, &f) || !strings.Contains(f.Fact, "it is "+c.name+", which does not have \U0001F600 (U+1F600) of new_string, in line ")) {
				t.Errorf("%s by %s: %v", c.name, d.name, err)
			}
		}
	}
	if n < 600 {
		t.Errorf("only %d cases", n)
	}
}

// TestLabels checks names of encodings as programs use them.
func TestLabels(t *testing.T) {
	for label, want := range map[string]string{
		"latin-1": "iso-8859-1", "latin1": "iso-8859-1", "Latin_1": "iso-8859-1", "ISO8859-2": "iso-8859-2", "iso_8859_15": "iso-8859-15", "iso-8859-15": "iso-8859-15", "latin9": "iso-8859-15",
		"cp1251": "windows-1251", "CP-1251": "windows-1251", "windows1251": "windows-1251", "win1251": "windows-1251", "cp866": "ibm866", "IBM866": "ibm866", "866": "ibm866", "cp437": "ibm437", "ibm850": "ibm850",
		"cp932": "shift_jis", "sjis": "shift_jis", "Shift-JIS": "shift_jis", "SHIFT_JIS": "shift_jis", "windows-31j": "shift_jis", "ms932": "shift_jis", "eucjp": "euc-jp", "euc_jp": "euc-jp", "ujis": "euc-jp",
		"cp936": "gbk", "gb2312": "gbk", "euc-cn": "gbk", "GBK": "gbk", "GB18030": "gb18030", "cp949": "euc-kr", "uhc": "euc-kr", "ks_c_5601-1987": "euc-kr", "big5": "big5", "cp950": "big5",
		"koi8_r": "koi8-r", "KOI8-U": "koi8-u", "mac_cyrillic": "x-mac-cyrillic", "mac-roman": "macintosh", "tis-620": "windows-874", "8bit-cp1252": "windows-1252", "2byte-cp932": "shift_jis",
		"ksc-5601": "euc-kr", "KSC_5601": "euc-kr", "sjis-win": "shift_jis", "x-ms-cp932": "shift_jis", "eucJP-ms": "euc-jp", "eucJP-win": "euc-jp", "eucjpms": "euc-jp", "CN-GB": "gbk", "x-gb": "gbk", "Big5HKSCS": "big5", "x-big5": "big5",
		"koi8u": "koi8-u", "x-koi8-r": "koi8-r", "oem437": "ibm437", "OEM-850": "ibm850", "437": "ibm437", "850": "ibm850", "1252": "windows-1252", "932": "shift_jis",
		"latin-1-unix": "iso-8859-1", "utf-8-unix": "UTF-8", "utf8": "UTF-8", "UTF-8": "UTF-8", "us-ascii": "UTF-8",
	} {
		if enc, ok := lookup(label, false); !ok || enc.String() != want {
			t.Errorf("%s: %s, %v; want %s", label, enc, ok, want)
		}
	}
	for label, want := range map[string]string{"iso-8859-1": "windows-1252", "latin1": "windows-1252", "iso-8859-9": "windows-1254", "gb2312": "gbk", "x-sjis": "shift_jis", "ksc-5601": "euc-kr", "utf8": "UTF-8", "cp1251": "windows-1251"} {
		if enc, ok := lookup(label, true); !ok || enc.String() != want {
			t.Errorf("in HTML, %s: %s, %v; want %s", label, enc, ok, want)
		}
	}
	for _, label := range []string{"", "how", "johab", "utf-16", "ebcdic-us", "cp37", "x"} {
		if enc, ok := lookup(label, false); ok {
			t.Errorf("%q: %s", label, enc)
		}
	}
}

// TestWrongDeclarations checks that what is declared does not decide against the bytes.
func TestWrongDeclarations(t *testing.T) {
	for name, tc := range map[string]struct {
		data string
		hint Hint
		enc  string // or the beginning of the fault
	}{
		"UTF-8, declared windows-1251":      {"<?xml version=\"1.0\" encoding=\"windows-1251\"?>\n<a>Привет</a>", Hint{}, "UTF-8"},
		"UTF-8 by .editorconfig Latin-1":    {"café", Hint{Charset: "latin1"}, "UTF-8"},
		"a mark, declared windows-1251":     {"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"windows-1251\"?>\nПривет", Hint{}, "UTF-8 with a byte order mark"},
		"not Shift JIS":                     {"# coding: cp932\nx\xa0\xff\n", Hint{Path: "a.py"}, "declares the encoding shift_jis, but has bytes that are not, first in line 2"},
		"not Big5":                          {"<meta charset=big5>\n\n\n\xff\xff", Hint{}, "declares the encoding big5, but has bytes that are not, first in line 4"},
		"several codes":                     {"# coding: cp932\n\x87\x9a\n", Hint{Path: "a.py"}, "is shift_jis text with characters that have several codes in it, first in line 2"},
		"declared UTF-8":                    {"# coding: utf-8\ncaf\xe9 x\n", Hint{Path: "a.py"}, "is not UTF-8 and declares no encoding; a guess is windows-1252"},
		"an encoding that nobody knows":     {"# coding: johab\ncaf\xe9 x\n", Hint{Path: "a.py"}, "is not UTF-8 and declares no encoding; a guess is windows-1252"},
		"ASCII that declares Greek":         {"<meta charset=iso-8859-7>\n", Hint{}, "iso-8859-7"},
		"ASCII in a Markdown file":          {"# Use <meta charset=iso-8859-7>\n", Hint{Path: "a.md"}, "UTF-8"},
		"a heading":                         {"# encoding: latin1\ntext\n", Hint{Path: "a.md"}, "UTF-8"},
		"a comment of Python, in line 3":    {"#\n#\n# coding: latin1\n", Hint{Path: "a.py"}, "UTF-8"},
		"a comment of Python after code":    {"x = 1\n# coding: latin1\n", Hint{Path: "a.py"}, "UTF-8"},
		"ISO-2022-JP, declared":             {"# coding: iso-2022-jp\n# \x1b$B$\"\x1b(B\n", Hint{Path: "a.py"}, "is text in an encoding in which each byte depends on those before, iso-2022-jp"},
		"ISO-2022-JP":                       {"\x1b$B$\"\x1b(B\n", Hint{}, "is text in an encoding in which each byte depends on those before, such as iso-2022-jp"},
		"ISO-2022-JP, declared, and unused": {"# coding: iso-2022-jp\nx\n", Hint{Path: "a.py"}, "UTF-8"},
		"colours of a terminal":             {"\x1b[31mred\x1b[0m\n", Hint{}, "UTF-8"},
		"UTF-7":                             {"<?xml version=\"1.0\" encoding=\"utf-7\"?>\n+AGE-\n", Hint{}, "is text in an encoding in which each byte depends on those before, utf-7"},
		"HZ":                                {"# coding: hz\n~{VPND~}\n", Hint{Path: "a.py"}, "is text in an encoding in which each byte depends on those before, hz"},
		"binary":                            {"# coding: latin1\n\x00\xe9", Hint{Path: "a.py"}, "is binary data"},
		"binary without NUL":                {"# coding: latin1\n" + strings.Repeat("\x01\x02\xe9", 50), Hint{Path: "a.py"}, "is binary data"},
	} {
		text, err := DecodeFile([]byte(tc.data), tc.hint)
		got := ""
		var f *fault.Fault
		if errors.As(err, &f) {
			got = f.Fact
		} else if err == nil {
			got = text.Encoding().String()
		}
		if !strings.HasPrefix(got, tc.enc) {
			t.Errorf("%s: %q, want %q", name, got, tc.enc)
		}
	}
}

// TestConversion checks that an edit of the declaration converts the text.
func TestConversion(t *testing.T) {
	raw := []byte("<?xml version=\"1.0\" encoding=\"windows-1251\"?>\n<a>\xcf\xf0\xe8</a>\n")
	text, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	after, _, err := text.Apply(Edit{Old: "windows-1251", New: "UTF-8"})
	if want := "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a>При</a>\n"; err != nil || string(after.Bytes()) != want {
		t.Errorf("%q, %v", after.Bytes(), err)
	}
	if _, _, err = text.Apply(Edit{Old: "windows-1251", New: "iso-8859-1"}); err == nil || !strings.Contains(err.Error(), "iso-8859-1, which does not have П (U+041F) of the file, in line 2") {
		t.Error(err)
	}
	if after, _, err = text.Apply(Edit{Old: "windows-1251", New: "x-unknown"}); err != nil || !bytes.Contains(after.Bytes(), []byte("\xcf\xf0\xe8")) {
		t.Error(err)
	}
}

// TestOlderEdits compares random edits of text in older encodings with a model: the bytes of the
// encoded result.
func TestOlderEdits(t *testing.T) {
	for seed := range uint64(4000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		c := charsets[rnd.IntN(len(charsets)-2)]
		letters := append([]rune(sample[c.name]), []rune("abc \n\n")...)
		random := func(n int) string {
			var b strings.Builder
			for range rnd.IntN(n) {
				b.WriteRune(letters[rnd.IntN(len(letters))])
			}
			return b.String()
		}
		content := random(60)
		ending := "\n"
		if rnd.IntN(3) == 0 {
			ending = "\r\n"
		}
		raw, err := c.NewEncoder().Bytes([]byte(strings.ReplaceAll(content, "\n", ending)))
		if err != nil {
			t.Fatal(c.name, err)
		}
		text, err := DecodeFile(raw, Hint{Charset: c.name})
		if err != nil {
			continue // by chance UTF-8 that is not its own
		}
		if text.String() != content {
			continue
		}
		runes := []rune(content)
		if len(runes) == 0 {
			continue
		}
		from := rnd.IntN(len(runes))
		e := Edit{Old: string(runes[from : from+1+rnd.IntN(min(6, len(runes)-from))]), New: random(8), All: rnd.IntN(3) == 0}
		after, _, err := text.Apply(e)
		if err != nil {
			continue
		}
		old, new := e.Old, e.New
		n := 1
		if e.All {
			n = -1
		}
		plain, _ := Decode([]byte(strings.ReplaceAll(content, "\n", ending)))
		model, _, err := plain.Apply(e) // the same edit of UTF-8
		if err != nil {
			t.Fatal(err)
		}
		if e.New != "" && strings.Replace(content, old, new, n) != model.String() {
			t.Fatalf("seed %d: the model", seed)
		}
		want, err := c.NewEncoder().Bytes(model.Bytes())
		if after.Encoding().Legacy() && (err != nil || !bytes.Equal(after.Bytes(), want)) {
			t.Fatalf("seed %d: %s: %q to %q in %q: %x, want %x", seed, c.name, e.Old, e.New, content, after.Bytes(), want)
		}
	}
}

func TestEditorConfig(t *testing.T) {
	for _, tc := range []struct{ config, path, want string }{
		{"[*]\ncharset = latin1", "a/b.txt", "latin1"},
		{"[*.txt]\ncharset=latin1", "a/b.txt", "latin1"},
		{"[*.txt]\ncharset=latin1", "a/b.md", ""},
		{"[/*.txt]\ncharset=latin1", "a/b.txt", ""},
		{"[a/*.txt]\ncharset=latin1", "a/b.txt", "latin1"},
		{"[a/*.txt]\ncharset=latin1", "a/c/b.txt", ""},
		{"[a/**.txt]\ncharset=latin1", "a/c/b.txt", "latin1"},
		{"[a/**/b.txt]\ncharset=latin1", "a/b.txt", "latin1"},
		{"[a/**/b.txt]\ncharset=latin1", "a/c/d/b.txt", "latin1"},
		{"[*.{js,py}]\ncharset=latin1", "x.py", "latin1"},
		{"[*.{js,py}]\ncharset=latin1", "x.pyc", ""},
		{"[{a,b/{c,d}}.txt]\ncharset=latin1", "b/d.txt", "latin1"},
		{"[{single}.txt]\ncharset=latin1", "{single}.txt", "latin1"},
		{"[{single}.txt]\ncharset=latin1", "single.txt", ""},
		{"[f{1..12}.txt]\ncharset=latin1", "f12.txt", "latin1"},
		{"[f{1..12}.txt]\ncharset=latin1", "f13.txt", ""},
		{"[f{-3..3}.txt]\ncharset=latin1", "f-2.txt", "latin1"},
		{"[[ab].txt]\ncharset=latin1", "b.txt", "latin1"},
		{"[[!ab].txt]\ncharset=latin1", "b.txt", ""},
		{"[[!ab].txt]\ncharset=latin1", "c.txt", "latin1"},
		{"[a?.txt]\ncharset=latin1", "aé.txt", "latin1"},
		{"[Makefile]\ncharset=latin1", "sub/Makefile", "latin1"},
		{"[*]\ncharset=utf-8\n[*.txt]\ncharset=latin1", "b.txt", "latin1"},
		{"[*.txt]\ncharset=latin1\n[*]\ncharset=utf-8", "b.txt", "utf-8"},
		{"; comment\n# comment\nroot = true\n\n[*.txt]\nindent_size = 4\nCharset: Latin1 ; comment", "b.txt", "latin1"},
		{"[*.txt]\ncharset = unset", "b.txt", "unset"},
		{"charset = latin1", "b.txt", ""},
		{"[}{]\ncharset = latin1", "b.txt", ""},
		{"[{a,b]\ncharset = latin1", "{a,b", "latin1"},
		{"[a\\*b]\ncharset = latin1", "a*b", "latin1"},
		{"[a\\*b]\ncharset = latin1", "axb", ""},
		{"\ufeff[*]\r\ncharset = latin1\r\n", "b.txt", "latin1"},
	} {
		if got, _ := EditorConfigCharset(tc.config, tc.path); got != tc.want {
			t.Errorf("%q, %s: %q, want %q", tc.config, tc.path, got, tc.want)
		}
	}
	if _, root := EditorConfigCharset("root = True\n[*]\nroot=false", "x"); !root {
		t.Error("root")
	}
}

// TestSure checks that only an unambiguous text has an encoding that it does not declare.
func TestSure(t *testing.T) {
	const chinese = "中文注释，这是一个测试文件，用来检查编码的处理是否正确。函数返回两个整数的和。请不要修改下面的代码，除非您知道自己在做什么。"
	const japanese = "これは日本語のテキストです。文字コードの判定を確認するためのファイルで、カタカナと漢字も含まれています。"
	for name, tc := range map[string]struct {
		text, enc string
		sure      bool
	}{
		"GBK": {chinese, "gbk", true}, "little GBK": {"中文", "gbk", false},
		"Shift JIS": {japanese, "shift_jis", true}, "EUC-JP": {japanese, "euc-jp", true},
		"Cyrillic": {strings.Repeat("Привет, мир! Это проверка кодировки. ", 20), "windows-1251", false},
		"KOI8-R":   {strings.Repeat("Привет, мир! Это проверка кодировки. ", 20), "koi8-r", false},
		"Greek":    {strings.Repeat("Καλημέρα κόσμε, αυτό είναι ένα αρχείο. ", 20), "iso-8859-7", false},
		"French":   {strings.Repeat("naïve café, à côté du théâtre ", 20), "iso-8859-1", false},
		"Hebrew":   {strings.Repeat("שלום עולם זה קובץ לבדיקה ", 20), "windows-1255", false},
		"Thai":     {strings.Repeat("สวัสดีชาวโลก นี่คือแฟ้มทดสอบ ", 20), "windows-874", false},
	} {
		enc, _ := lookup(tc.enc, false)
		text, err := Decode(Encode(tc.text, enc).Bytes())
		if (err == nil) != tc.sure || tc.sure && text.String() != tc.text {
			t.Errorf("%s: %v, %v", name, text, err)
		}
	}
}
