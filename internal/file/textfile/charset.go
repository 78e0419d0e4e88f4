package textfile

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// charset is an encoding for which golang.org/x/text has the tables. No character depends on those
// before it.
type charset struct {
	name string // as in the WHATWG Encoding Standard, or by IANA
	encoding.Encoding
}

// charsets lists the older encodings, which contain ASCII, and UTF-16 without a byte order mark. The
// Encoding firstCharset+i is charsets[i].
var charsets = []charset{
	{"windows-1250", charmap.Windows1250}, {"windows-1251", charmap.Windows1251}, {"windows-1252", charmap.Windows1252},
	{"windows-1253", charmap.Windows1253}, {"windows-1254", charmap.Windows1254}, {"windows-1255", charmap.Windows1255},
	{"windows-1256", charmap.Windows1256}, {"windows-1257", charmap.Windows1257}, {"windows-1258", charmap.Windows1258},
	{"windows-874", charmap.Windows874},
	{"iso-8859-1", charmap.ISO8859_1}, {"iso-8859-2", charmap.ISO8859_2}, {"iso-8859-3", charmap.ISO8859_3},
	{"iso-8859-4", charmap.ISO8859_4}, {"iso-8859-5", charmap.ISO8859_5}, {"iso-8859-6", charmap.ISO8859_6},
	{"iso-8859-7", charmap.ISO8859_7}, {"iso-8859-8", charmap.ISO8859_8}, {"iso-8859-9", charmap.ISO8859_9},
	{"iso-8859-10", charmap.ISO8859_10}, {"iso-8859-13", charmap.ISO8859_13}, {"iso-8859-14", charmap.ISO8859_14},
	{"iso-8859-15", charmap.ISO8859_15}, {"iso-8859-16", charmap.ISO8859_16},
	{"koi8-r", charmap.KOI8R}, {"koi8-u", charmap.KOI8U}, {"macintosh", charmap.Macintosh}, {"x-mac-cyrillic", charmap.MacintoshCyrillic},
	{"ibm437", charmap.CodePage437}, {"ibm850", charmap.CodePage850}, {"ibm852", charmap.CodePage852}, {"ibm855", charmap.CodePage855},
	{"ibm858", charmap.CodePage858}, {"ibm860", charmap.CodePage860}, {"ibm862", charmap.CodePage862}, {"ibm863", charmap.CodePage863},
	{"ibm865", charmap.CodePage865}, {"ibm866", charmap.CodePage866},
	{"shift_jis", japanese.ShiftJIS}, {"euc-jp", japanese.EUCJP}, {"euc-kr", korean.EUCKR},
	{"gbk", simplifiedchinese.GBK}, {"gb18030", simplifiedchinese.GB18030}, {"big5", traditionalchinese.Big5},
	{"UTF-16 (little endian) without a byte order mark", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
	{"UTF-16 (big endian) without a byte order mark", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
}

const firstCharset = UTF16BE + 1

// unmarked reports whether the encoding is UTF-16 without a byte order mark.
func (e Encoding) unmarked() bool { return int(e) >= int(firstCharset)+len(charsets)-2 }

// unmarkedBy returns the encoding without a byte order mark that a label names. UTF-16 alone is
// little endian, as in the WHATWG Encoding Standard.
func unmarkedBy(label string) (enc Encoding, ok bool) {
	first := firstCharset + Encoding(len(charsets)) - 2
	switch normalLabel(label) {
	case "utf-16le", "utf-16-le", "utf16le", "utf-16", "utf16":
		return first, true
	case "utf-16be", "utf-16-be", "utf16be":
		return first + 1, true
	}
	return UTF8, false
}

// charset returns the older encoding, or nil.
func (e Encoding) charset() *charset {
	if e < firstCharset {
		return nil
	}
	return &charsets[e-firstCharset]
}

// Legacy reports whether the encoding is none of those that a byte order mark or valid UTF-8 proves.
func (e Encoding) Legacy() bool { return e >= firstCharset }

// decode returns the text of all of b in UTF-8. ok is false if the text does not encode to b again.
func (c *charset) decode(b []byte) (text []byte, ok bool) {
	text, err := c.NewDecoder().Bytes(b)
	if err != nil {
		return nil, false
	}
	back, err := c.NewEncoder().Bytes(text)
	return text, err == nil && bytes.Equal(back, b)
}

// fits returns the first character of a text that the encoding does not have, and its offset. It
// returns -1 if there is none.
func (c *charset) fits(text string) (rune, int) {
	if _, err := c.NewEncoder().String(text); err == nil {
		return 0, -1
	}
	var buf [utf8.UTFMax]byte
	for i, r := range text {
		if r < utf8.RuneSelf {
			continue
		}
		if _, err := c.NewEncoder().Bytes(utf8.AppendRune(buf[:0], r)); err != nil {
			return r, i
		}
	}
	return 0, -1
}

// stateful are the encodings in which a byte depends on those before, by the names of the WHATWG
// Encoding Standard and of IANA.
var stateful = map[string]bool{
	"iso-2022-jp": true, "iso-2022-kr": true, "iso-2022-cn": true, "iso-2022-cn-ext": true,
	"csiso2022jp": true, "csiso2022kr": true, "iso-2022-jp-1": true, "iso-2022-jp-2": true, "iso-2022-jp-3": true,
	"hz-gb-2312": true, "hz": true, "utf-7": true, "utf7": true, "unicode-1-1-utf-7": true,
}

// aliases are names of encodings in Python, Vim and Emacs that the WHATWG Encoding Standard does not
// have.
var aliases = map[string]string{
	"latin-1": "iso-8859-1", "latin1": "iso-8859-1", "l1": "iso-8859-1", "latin": "iso-8859-1", "iso-latin-1": "iso-8859-1",
	"latin-2": "iso-8859-2", "latin2": "iso-8859-2", "l2": "iso-8859-2", "iso-latin-2": "iso-8859-2",
	"latin3": "iso-8859-3", "latin4": "iso-8859-4", "latin5": "iso-8859-9", "latin-5": "iso-8859-9", "iso-latin-5": "iso-8859-9",
	"latin6": "iso-8859-10", "latin7": "iso-8859-13", "latin8": "iso-8859-14", "latin9": "iso-8859-15", "latin-9": "iso-8859-15",
	"latin-0": "iso-8859-15", "iso-latin-9": "iso-8859-15", "latin10": "iso-8859-16",
	"cyrillic": "iso-8859-5", "arabic": "iso-8859-6", "greek": "iso-8859-7", "hebrew": "iso-8859-8", "turkish": "iso-8859-9",
	"cyrillic-koi8": "koi8-r", "koi8": "koi8-r", "koi8u": "koi8-u", "cyrillic-alternativnyj": "ibm866", "alternativnyj": "ibm866",
	"mac-roman": "macintosh", "macroman": "macintosh", "mac": "macintosh", "mac-cyrillic": "x-mac-cyrillic", "maccyrillic": "x-mac-cyrillic",
	"sjis": "shift_jis", "sjis-win": "shift_jis", "ms-cp932": "shift_jis", "shiftjis": "shift_jis", "s-jis": "shift_jis", "mskanji": "shift_jis", "ms-kanji": "shift_jis", "japanese-shift-jis": "shift_jis", "japanese-cp932": "shift_jis", "japan": "euc-jp",
	"ujis": "euc-jp", "eucjp": "euc-jp", "eucjp-win": "euc-jp", "eucjp-ms": "euc-jp", "eucjpms": "euc-jp", "euc-jp-ms": "euc-jp", "euc-japan": "euc-jp", "japanese-iso-8bit": "euc-jp", "eucjis": "euc-jp",
	"euckr": "euc-kr", "uhc": "euc-kr", "korea": "euc-kr", "korean": "euc-kr", "korean-iso-8bit": "euc-kr", "euc-korea": "euc-kr", "ks-c-5601": "euc-kr", "ksc-5601": "euc-kr", "ksc5601": "euc-kr",
	"euccn": "gbk", "cn-gb": "gbk", "gb": "gbk", "euc-cn": "gbk", "gb2312": "gbk", "gb-2312": "gbk", "gb2312-80": "gbk", "chinese": "gbk", "prc": "gbk", "euc-china": "gbk", "chinese-gbk": "gbk", "chinese-gb18030": "gb18030", "chinese-iso-8bit": "gbk",
	"big5-tw": "big5", "taiwan": "big5", "chinese-big5": "big5", "big5-hkscs": "big5", "big5hkscs": "big5", "thai": "windows-874", "thai-tis620": "windows-874", "tis620": "windows-874", "tis-620": "windows-874", "iso-8859-11": "windows-874",
}

// byNumber maps numbers of code pages to encodings, beside those of windows and ibm.
var byNumber = map[string]string{
	"932": "shift_jis", "31j": "shift_jis", "943": "shift_jis", "936": "gbk", "949": "euc-kr", "950": "big5", "51932": "euc-jp", "51949": "euc-kr",
	"54936": "gb18030", "874": "windows-874", "819": "iso-8859-1", "20866": "koi8-r", "21866": "koi8-u", "10000": "macintosh", "10007": "x-mac-cyrillic",
}

var (
	codePage = regexp.MustCompile(`^(?:cs|x-)?(?:cp|windows|win|ibm|ms|dos|oem)?-?0*(\d+|31j)$`)
	iso8859  = regexp.MustCompile(`^(?:cs)?(?:iso-?(?:ir-?)?|8859)?-?8859-?(\d+)(?:-[ei]|:\d+)?$`)
)

// lookup returns the encoding of a label. known is false for a label of no encoding, and for one
// that cannot be edited. With html, the label means what it means to browsers.
func lookup(label string, html bool) (enc Encoding, known bool) {
	name := normalLabel(label)
	switch name {
	case "utf-8", "utf8", "utf-8-sig", "utf-8-bom", "utf-8-emacs", "utf-8-auto", "prefer-utf-8", "ascii", "us-ascii", "u8":
		return UTF8, true
	}
	if html {
		if enc, ok := whatwg(label); ok {
			return enc, true
		}
	}
	if canonical, ok := aliases[name]; ok {
		return named(canonical)
	}
	if m := iso8859.FindStringSubmatch(name); m != nil {
		return named("iso-8859-" + m[1])
	}
	if m := codePage.FindStringSubmatch(name); m != nil {
		if canonical, ok := byNumber[m[1]]; ok {
			return named(canonical)
		}
		if n, _ := strconv.Atoi(m[1]); n >= 1250 && n <= 1258 {
			return named("windows-" + m[1])
		}
		return named("ibm" + m[1])
	}
	if enc, ok := named(name); ok {
		return enc, true
	}
	if enc, ok := whatwg(label); ok {
		return enc, true
	}
	if rest, ok := strings.CutPrefix(name, "x-"); ok {
		return lookup(rest, html)
	}
	return UTF8, false
}

// whatwg looks a label up in the WHATWG Encoding Standard.
func whatwg(label string) (Encoding, bool) {
	e, err := htmlindex.Get(label)
	if err != nil {
		return UTF8, false
	}
	name, err := htmlindex.Name(e)
	if err != nil {
		return UTF8, false
	}
	return named(name)
}

// normalLabel returns a label in lower case, with hyphens for underscores, and without what Vim and
// Emacs add.
func normalLabel(label string) string {
	name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(label)), "_", "-")
	for _, end := range []string{"-unix", "-dos", "-mac"} {
		name = strings.TrimSuffix(name, end)
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "8bit-"), "2byte-")
}

func named(name string) (Encoding, bool) {
	if name == "utf-8" {
		return UTF8, true
	}
	for i, c := range charsets {
		if c.name == name || strings.ReplaceAll(c.name, "_", "-") == name {
			return firstCharset + Encoding(i), true
		}
	}
	return UTF8, false
}
