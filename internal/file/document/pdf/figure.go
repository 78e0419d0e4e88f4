package pdf

import (
	"strings"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// Limits of the search for figures.
const (
	// leastFigure is the smallest side of a figure, in points: half an inch. Anything
	// smaller is an icon, a bullet or a rule.
	leastFigure = 36
	// plainPath is the number of segments of a rectangle, the box of a table.
	plainPath = 5
	// mostObjects is the limit of objects examined on a page.
	mostObjects = 2000
	// fewPieces is the number of pieces of text up to which lost ones are not reported.
	fewPieces = 20
	// mostNested is the limit of forms within forms.
	mostNested = 4
)

// figures reports whether page n has a figure: a picture, a shading, or a drawing of more
// than lines and rectangles. Objects that pdfium does not describe do not count: at stake
// is only a note, not the page.
func (e *engine) figures(n int) bool {
	s := figureSearch{engine: e, left: mostObjects}
	page := e.ref(n)
	count, err := e.pdfium.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if !s.ok(err) {
		return false
	}
	for i := 0; i < count.Count && s.left > 0; i++ {
		object, err := e.pdfium.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i})
		if s.ok(err) && s.isFigure(object.PageObject, 0) {
			return true
		}
	}
	return false
}

// lostText reports whether pdfium found no characters in most pieces of text on page n, whose
// text is given. Such pieces are in fonts that do not tell their characters.
func (e *engine) lostText(n int, text string) bool {
	s := figureSearch{engine: e, left: mostObjects}
	page := e.ref(n)
	count, err := e.pdfium.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	found := utf8.RuneCountInString(squeeze(text))
	few := max(2*found, fewPieces)
	if !s.ok(err) || count.Count <= few {
		return false
	}
	pieces := 0
	for i := 0; i < count.Count && s.left > 0 && pieces <= few; i++ {
		s.left--
		object, err := e.pdfium.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i})
		if !s.ok(err) {
			continue
		}
		kind, err := e.pdfium.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object.PageObject})
		if s.ok(err) && kind.Type == enums.FPDF_PAGEOBJ_TEXT {
			pieces++
		}
	}
	return pieces > few
}

// figureSearch is the search for figures on one page.
type figureSearch struct {
	*engine
	left int // objects that may still be examined
}

// ok reports whether a call of pdfium succeeded. An error that ended pdfium ends the
// search.
func (s *figureSearch) ok(err error) bool {
	if err != nil && strings.Contains(err.Error(), "wasm error") {
		s.broke, s.left = true, 0
	}
	return err == nil
}

// isFigure reports whether an object is a figure.
func (s *figureSearch) isFigure(object references.FPDF_PAGEOBJECT, depth int) bool {
	if s.left--; s.left < 0 || !s.large(object) {
		return false
	}
	kind, err := s.pdfium.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object})
	if !s.ok(err) {
		return false
	}
	switch kind.Type {
	case enums.FPDF_PAGEOBJ_IMAGE, enums.FPDF_PAGEOBJ_SHADING:
		return true
	case enums.FPDF_PAGEOBJ_PATH:
		path, err := s.pdfium.FPDFPath_CountSegments(&requests.FPDFPath_CountSegments{PageObject: object})
		return s.ok(err) && path.Count > plainPath
	case enums.FPDF_PAGEOBJ_FORM:
		return depth < mostNested && s.inForm(object, depth+1)
	}
	return false
}

// inForm reports whether a form has a figure. The sizes of its objects are those before
// the form is scaled.
func (s *figureSearch) inForm(form references.FPDF_PAGEOBJECT, depth int) bool {
	count, err := s.pdfium.FPDFFormObj_CountObjects(&requests.FPDFFormObj_CountObjects{PageObject: form})
	if !s.ok(err) {
		return false
	}
	for i := 0; i < count.Count && s.left > 0; i++ {
		object, err := s.pdfium.FPDFFormObj_GetObject(&requests.FPDFFormObj_GetObject{PageObject: form, Index: uint64(i)})
		if s.ok(err) && s.isFigure(object.PageObject, depth) {
			return true
		}
	}
	return false
}

// large reports whether an object is at least as large as a figure.
func (s *figureSearch) large(object references.FPDF_PAGEOBJECT) bool {
	b, err := s.pdfium.FPDFPageObj_GetBounds(&requests.FPDFPageObj_GetBounds{PageObject: object})
	return s.ok(err) && b.Right-b.Left >= leastFigure && b.Top-b.Bottom >= leastFigure
}
