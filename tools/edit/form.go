package edit

import (
	"errors"
	"sort"
	"strings"

	"golang.org/x/text/unicode/norm"

	"mcp-toolset/internal/file/textfile"
)

// fit applies the edit to a text. If the text has old_string only in another Unicode form,
// and in one place or always in the same form, fit edits that and returns a note: the two
// look the same, so no model can send the other.
func (in Input) fit(t *textfile.Text) (after *textfile.Text, places []textfile.Place, note string, err error) {
	after, places, err = t.Apply(in.edit())
	var miss *textfile.NoMatch
	if !errors.As(err, &miss) {
		return after, places, "", err
	}
	old, form, n := inForm(t.String(), in.OldString)
	switch {
	case n == 0:
		return after, places, "", nearer(t, in, miss, err)
	case n > 1 && !in.ReplaceAll:
		_, _, err = t.Apply(textfile.Edit{Old: old, New: in.NewString}) // ambiguous
		return after, places, "", err
	}
	e := textfile.Edit{Old: old, New: in.NewString, All: in.ReplaceAll}
	note = "the file has this text in another Unicode form"
	if form != nil {
		e.New = form.String(in.NewString)
		name := "decomposed (NFD)"
		if *form == norm.NFC {
			name = "composed (NFC)"
		}
		note = "the letters of this text are " + name + " in the file, other than in old_string; the new text was written in that form"
	}
	other, otherPlaces, otherErr := t.Apply(e)
	if otherErr != nil {
		return after, places, "", err
	}
	return other, otherPlaces, note, nil
}

// nearer returns the error of an edit that did not fit, or that of the same edit in another
// Unicode form if only that one names lines like old_string.
func nearer(t *textfile.Text, in Input, miss *textfile.NoMatch, err error) error {
	if miss.Excerpt != "" || isASCII(in.OldString) {
		return err
	}
	for _, f := range []norm.Form{norm.NFD, norm.NFC} {
		_, _, other := t.Apply(textfile.Edit{Old: f.String(in.OldString), New: in.NewString})
		if m := (*textfile.NoMatch)(nil); errors.As(other, &m) && m.Excerpt != "" {
			return other
		}
	}
	return err
}

// inForm returns the text that is canonically equivalent to old, its form if it has one, and
// in how many places it stands. It returns 0 places if they are not all alike.
func inForm(text, old string) (found string, form *norm.Form, n int) {
	want := norm.NFC.String(old)
	if isASCII(want) {
		return "", nil, 0
	}
	composed, moved := compose(text)
	for at := 0; ; {
		i := strings.Index(composed[at:], want)
		if i < 0 {
			break
		}
		first, last := at+i, at+i+len(want)
		at = first + 1
		from, ok := moved.original(first)
		to, also := moved.original(last)
		if !ok || !also || to < len(text) && !norm.NFC.PropertiesString(text[to:]).BoundaryBefore() {
			continue
		}
		switch here := text[from:to]; {
		case n > 0 && here != found:
			return "", nil, 0
		default:
			found = here
			n++
		}
		at = last
	}
	for _, f := range []norm.Form{norm.NFD, norm.NFC} {
		if n > 0 && f.IsNormalString(found) {
			return found, &f, n
		}
	}
	return found, nil, n
}

// shift is a part of a text whose composed form is another one.
type shift struct {
	at, end             int // in the composed text
	original, afterward int // where the part starts and ends in the text
}

type shifts []shift

// original returns where an offset of the composed text is in the text. It returns false
// within a part that changed.
func (s shifts) original(at int) (int, bool) {
	i := sort.Search(len(s), func(i int) bool { return s[i].at >= at })
	switch {
	case i < len(s) && s[i].at == at:
		return s[i].original, true
	case i == 0:
		return at, true
	case at < s[i-1].end:
		return 0, false
	}
	return s[i-1].afterward + at - s[i-1].end, true
}

// compose returns the composed form of a text.
func compose(text string) (string, shifts) {
	var b strings.Builder
	var all shifts
	for at := 0; at < len(text); {
		if n := norm.NFC.QuickSpanString(text[at:]); n > 0 {
			b.WriteString(text[at : at+n])
			at += n
			continue
		}
		n := norm.NFC.NextBoundaryInString(text[at:], true)
		if n <= 0 {
			n = len(text) - at
		}
		start := b.Len()
		b.WriteString(norm.NFC.String(text[at : at+n]))
		all = append(all, shift{start, b.Len(), at, at + n})
		at += n
	}
	return b.String(), all
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 }
