package ask

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLongTexts checks that texts over the length for display are accepted and shortened.
func TestLongTexts(t *testing.T) {
	p, err := prepare(Input{Questions: []Question{{
		Question: "Which?", Header: strings.Repeat("Datenbank", 20),
		Options: []Option{{Label: "A", Description: strings.Repeat("ü", 343), Preview: strings.Repeat("line\n", 50)}, {Label: "B"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	q := p.questions[0]
	if n := utf8.RuneCountInString(q.Header); n != maxHeader {
		t.Errorf("the header has %d characters", n)
	}
	if n := utf8.RuneCountInString(q.Options[0].Description); n != maxDescription {
		t.Errorf("the description has %d characters", n)
	}
	if p, err := prepare(Input{Questions: []Question{{Question: "Which library is it to be, a or b?", Options: []Option{{Label: "A"}, {Label: "B"}}}}}); err != nil || !strings.HasPrefix(p.questions[0].Header, "Which library") {
		t.Errorf("without a header it is %q, %v", p.questions[0].Header, err)
	}
	if got := q.Options[0].Preview; strings.Count(got, "\n") != maxPreview || !strings.HasSuffix(got, "[30 more lines]") {
		t.Errorf("the preview is %q", got)
	}
}
