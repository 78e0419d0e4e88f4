package textfile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// refChar is one character as shown to a model, with its bytes in the file.
type refChar struct {
	seen rune // '\n' for any line ending
	crlf bool
	raw  string
}

const refCRLF = -2 // a "\r\n" in an edit's text

// refDecode decodes a file in the slow and obvious way.
func refDecode(data []byte) (mark string, enc Encoding, chars []refChar) {
	s := string(data)
	for _, e := range []Encoding{UTF8BOM, UTF16LE, UTF16BE} {
		if strings.HasPrefix(s, e.mark()) {
			enc, mark, s = e, e.mark(), s[len(e.mark()):]
			break
		}
	}
	var one []refChar
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if enc.wide() {
			r, size = rune(refUnit(s, enc)), 2
			if utf16.IsSurrogate(r) {
				low := rune(0)
				if len(s) >= 4 {
					low = rune(refUnit(s[2:], enc))
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					size = 4
				}
			}
		}
		one = append(one, refChar{seen: r, raw: s[:size]})
		s = s[size:]
	}
	for i := 0; i < len(one); i++ {
		if one[i].seen == '\r' && i+1 < len(one) && one[i+1].seen == '\n' {
			chars = append(chars, refChar{'\n', true, one[i].raw + one[i+1].raw})
			i++
			continue
		}
		chars = append(chars, one[i])
	}
	return mark, enc, chars
}

func refUnit(s string, enc Encoding) uint16 {
	if enc == UTF16BE {
		return binary.BigEndian.Uint16([]byte(s[:2]))
	}
	return binary.LittleEndian.Uint16([]byte(s[:2]))
}

func refEncode(text string, enc Encoding) string {
	if !enc.wide() {
		return text
	}
	var out []byte
	for _, u := range utf16.Encode([]rune(text)) {
		if enc == UTF16BE {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return string(out)
}

// refTokens returns the characters of an edit's text.
func refTokens(s string) (out []rune) {
	r := []rune(s)
	for i := 0; i < len(r); i++ {
		if r[i] == '\r' && i+1 < len(r) && r[i+1] == '\n' {
			out = append(out, refCRLF)
			i++
			continue
		}
		out = append(out, r[i])
	}
	return out
}

// refApply edits character by character. result is "" for success, otherwise "miss", "ambiguous" or
// "fault".
func refApply(data []byte, e Edit) (edited []byte, places []Place, result string) {
	mark, enc, chars := refDecode(data)
	cr := false
	for _, c := range chars {
		cr = cr || c.seen == '\r' || len(c.raw) > 1 && c.seen == '\n' && !enc.wide() || enc.wide() && len(c.raw) > 2 && c.seen == '\n'
	}
	if !cr && strings.Contains(e.Old, "\r\n") {
		e.Old, e.New = strings.ReplaceAll(e.Old, "\r\n", "\n"), strings.ReplaceAll(e.New, "\r\n", "\n")
	}
	if e.Old == e.New || e.Old == "" && len(chars) > 0 {
		return nil, nil, "fault"
	}
	if e.Old == "" {
		return []byte(mark + refEncode(e.New, enc)), []Place{{Lines{1, 1}, refLines(1, refTokens(e.New))}}, ""
	}
	old, text := refTokens(e.Old), refTokens(e.New)
	mixed := false
	for _, c := range chars {
		mixed = mixed || c.raw == refEncode("\n", enc)
	}
	matches := func(c refChar, t rune) bool {
		switch {
		case t == refCRLF:
			return c.crlf
		case t == '\n' && c.crlf:
			return !mixed || !strings.Contains(e.Old, "\r\n")
		}
		return c.seen == t
	}
	var at []int
	for i := 0; i+len(old) <= len(chars); i++ {
		ok := true
		for k, t := range old {
			ok = ok && matches(chars[i+k], t)
		}
		if ok {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil, nil, "miss"
	}
	if len(at) > 1 && !e.All {
		return nil, nil, "ambiguous"
	}
	out, done := mark, 0
	for _, i := range at {
		if i < done {
			continue // overlaps
		}
		out += refRaw(chars[done:i])
		done = i + len(old)
		line := refLine(mark + refRaw(chars[:i]))
		places = append(places, Place{refLines(line, old), refLines(refLine(out), text)})
		if len(text) == 0 && (i == 0 || chars[i-1].seen == '\n') && chars[i].seen != '\n' &&
			chars[done-1].seen != '\n' && done < len(chars) && chars[done].seen == '\n' {
			done++ // a deletion of whole lines
			continue
		}
		out += refReplace(chars, i, done, text, enc)
	}
	out += refRaw(chars[done:])
	if out == string(data) {
		return nil, nil, "fault"
	}
	return []byte(out), places, ""
}

// refLine returns the number of the last line of a file.
func refLine(file string) int {
	_, _, chars := refDecode([]byte(file))
	line := 1
	for _, c := range chars {
		line += strings.Count(string(c.seen), "\n")
	}
	return line
}

// refLines returns the lines of a text that begins in line first.
func refLines(first int, text []rune) Lines {
	l := Lines{first, first}
	for i, t := range text {
		if (t == '\n' || t == refCRLF) && i < len(text)-1 {
			l.Last++
		}
	}
	return l
}

func refRaw(chars []refChar) (out string) {
	for _, c := range chars {
		out += c.raw
	}
	return out
}

// refReplace returns the bytes for text in place of chars[from:to].
func refReplace(chars []refChar, from, to int, text []rune, enc Encoding) string {
	common := func(c refChar, t rune) bool { return c.seen == t || t == refCRLF && c.crlf }
	head, tail := "", ""
	for from < to && len(text) > 0 && common(chars[from], text[0]) {
		head += chars[from].raw
		from, text = from+1, text[1:]
	}
	for from < to && len(text) > 0 && common(chars[to-1], text[len(text)-1]) {
		tail = chars[to-1].raw + tail
		to, text = to-1, text[:len(text)-1]
	}
	var replaced []refChar
	for _, c := range chars[from:to] {
		if c.seen == '\n' {
			replaced = append(replaced, c)
		}
	}
	further := refEncode("\n", enc)
	for i := len(chars) - 1; i >= 0; i-- { // the nearest ending before, unless one follows
		if chars[i].seen == '\n' && i < to {
			further = chars[i].raw
			break
		}
	}
	for _, c := range chars[to:] {
		if c.seen == '\n' {
			further = c.raw
			break
		}
	}
	out, n := head, 0
	for _, t := range text {
		switch {
		case t == refCRLF:
			out += refEncode("\r\n", enc)
			n++
		case t == '\n' && n < len(replaced):
			out += replaced[n].raw
			n++
		case t == '\n':
			out += further
			n++
		default:
			out += refEncode(string(t), enc)
		}
	}
	return out + tail
}

// pieces lists the parts of random files and edits. There are few, so that edits match.
var pieces = []string{"a", "b", "a", "b", " ", "\n", "\n", "\r\n", "\r\n", "\r", "é", "è", "ĩ", "e\u0301", "\uFFFD", "😀", "\u2028", "\f", "\uFEFF", "\u0085"}

func randomText(rng *rand.Rand, n int) string {
	var b strings.Builder
	// Some texts have one kind of line ending.
	only := rng.IntN(3)
	for range n {
		p := pieces[rng.IntN(len(pieces))]
		if only == 1 && strings.ContainsAny(p, "\r") {
			p = "\n"
		} else if only == 2 && strings.ContainsAny(p, "\n") {
			p = "\r\n"
		}
		b.WriteString(p)
	}
	return b.String()
}

// randomFile returns the bytes of a file. UTF-16 includes unpaired surrogates.
func randomFile(rng *rand.Rand) []byte {
	enc := Encoding(rng.IntN(4))
	data := []byte(enc.mark() + refEncode(randomText(rng, rng.IntN(30)), enc))
	for range rng.IntN(4) {
		if enc.wide() && len(data) > 2 {
			at := 2 + 2*rng.IntN((len(data)-2)/2)
			lone := []uint16{0xd800, 0xdc00, 0xdbff, 0xdfff}[rng.IntN(4)]
			enc.order().PutUint16(data[at:], lone)
		}
	}
	return data
}

// randomEdit usually takes Old from the file and derives New from it.
func randomEdit(rng *rand.Rand, data []byte) Edit {
	_, _, chars := refDecode(data)
	var view []rune
	for _, c := range chars {
		if c.crlf && rng.IntN(4) == 0 {
			view = append(view, '\r')
		}
		view = append(view, c.seen)
	}
	from, to := rng.IntN(len(view)+1), rng.IntN(len(view)+1)
	if rng.IntN(2) == 0 {
		to = min(len(view), from+rng.IntN(4))
	}
	old := string(view[min(from, to):max(from, to)])
	if rng.IntN(10) == 0 {
		old = randomText(rng, rng.IntN(3))
	}
	text := ""
	switch rng.IntN(4) {
	case 0:
		text = randomText(rng, rng.IntN(6))
	case 1, 2:
		r := []rune(old)
		i := rng.IntN(len(r) + 1)
		text = string(r[:i]) + randomText(rng, rng.IntN(4)) + string(r[min(len(r), i+rng.IntN(3)):])
	}
	return Edit{Old: old, New: text, All: rng.IntN(3) == 0}
}

func resultOf(err error) string {
	switch err.(type) {
	case nil:
		return ""
	case *NoMatch:
		return "miss"
	case *Ambiguous:
		return "ambiguous"
	}
	return "fault"
}

// checkApply compares an edit with the reference.
func checkApply(t *testing.T, data []byte, e Edit) string {
	t.Helper()
	text, err := Decode(data)
	if err != nil {
		t.Fatalf("Decode(%q): %v", data, err)
	}
	before := bytes.Clone(data)
	got, places, err := text.Apply(e)
	want, wantPlaces, result := refApply(data, e)
	if resultOf(err) != result {
		t.Fatalf("%q\n%#v\ngot %v, want %q", data, e, err, result)
	}
	if !bytes.Equal(data, before) {
		t.Fatalf("%q\n%#v\nchanged the original to %q", before, e, data)
	}
	if err != nil {
		return result
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Fatalf("%q\n%#v\n got %q\nwant %q", data, e, got.Bytes(), want)
	}
	if diff := cmp.Diff(wantPlaces, places); diff != "" {
		t.Fatalf("%q\n%#v\n(-want +got):\n%s", data, e, diff)
	}
	return result
}

// TestApplyAsReference compares random edits with the reference.
func TestApplyAsReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	results := map[string]int{}
	for range randomEdits {
		data := randomFile(rng)
		results[checkApply(t, data, randomEdit(rng, data))]++
	}
	for _, r := range []string{"", "miss", "ambiguous", "fault"} {
		if results[r] < randomEdits/50 {
			t.Errorf("only %d of %d edits end in %q: the test shows too little", results[r], randomEdits, r)
		}
	}
	t.Log(results)
}

func FuzzApply(f *testing.F) {
	f.Add([]byte("a\r\nb\n"), "b", "c\nd", false)
	f.Add([]byte("\xff\xfea\x00\r\x00\n\x00\x00\xd8"), "a\n", "", true)
	f.Add([]byte("\xef\xbb\xbfx\r\r\n\r"), "\r\n", "\n", true)
	f.Add([]byte("\xef\xbb\xbfx"), "\r\n", "\n", true)
	f.Fuzz(func(t *testing.T, data []byte, old, text string, all bool) {
		if _, err := Decode(data); err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Errorf("Decode(%q): an empty error", data)
			}
			return
		}
		if !utf8.ValidString(old) || !utf8.ValidString(text) {
			return
		}
		if len(data)+len(old)+len(text) > 1000 {
			return // the reference would be too slow
		}
		checkApply(t, data, Edit{old, text, all})
	})
}
