package pdf

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"

	"mcp-toolset/internal/text/plain"
)

// Limits of what is told of a page besides its text.
const (
	// mostAnnotations is the limit of annotations examined on a page.
	mostAnnotations = 2000
	// mostTold is the limit of fields and comments of a page that are told, each.
	mostTold = 200
	// mostValue is the limit of a value or comment, in bytes.
	mostValue = 1000
)

// field is a visible form field of a page.
type field struct {
	name, value string
	button      bool // a check box or radio button
	on          bool // it is checked
	list        bool // a list, whose text does not show what is selected
}

// extras holds what a page has besides its content.
type extras struct {
	fields   []field
	comments []string // "author: text"
	left     int      // annotations beyond mostAnnotations
}

// flatten makes the visible annotations and form fields of page n part of its content, so
// that its text and picture have them, and returns what they hold. pdfium writes missing
// appearances of fields first, if the file asks for that. Hidden annotations, and those
// that are only printed, stay hidden. A page is flattened once.
func (e *engine) flatten(n int) (*extras, error) {
	if x, done := e.flattened[n]; done {
		return x, nil
	}
	x := &extras{}
	loaded, err := e.pdfium.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: e.doc, Index: n - 1})
	if err = e.judge(err); err != nil {
		return nil, err
	}
	page := requests.Page{ByReference: &loaded.Page}
	s := annotationSearch{engine: e, page: page, extras: x}
	e.formHandle() // also of a page without fields, which may be the placeholder of a form
	if count, err := e.pdfium.FPDFPage_GetAnnotCount(&requests.FPDFPage_GetAnnotCount{Page: page}); s.ok(err) && count.Count > 0 {
		s.all(count.Count)
	}
	if !e.broke {
		_, err = e.pdfium.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page})
		s.ok(err)
	}
	if e.broke {
		return nil, errBroke
	}
	if e.flattened == nil {
		e.flattened = map[int]*extras{}
	}
	e.flattened[n] = x
	return x, nil
}

// formHandle returns the form of the file, or "" if it has none. Scripts and actions of
// the form are not run.
func (e *engine) formHandle() references.FPDF_FORMHANDLE {
	if e.formAsked {
		return e.form
	}
	e.formAsked = true
	kind, err := e.pdfium.FPDF_GetFormType(&requests.FPDF_GetFormType{Document: e.doc})
	if !e.ok(err) || kind.FormType == enums.FPDF_FORMTYPE_NONE {
		return ""
	}
	e.xfa = kind.FormType == enums.FPDF_FORMTYPE_XFA_FULL
	made, err := e.pdfium.FPDFDOC_InitFormFillEnvironment(&requests.FPDFDOC_InitFormFillEnvironment{
		Document: e.doc,
		FormFillInfo: structs.FPDF_FORMFILLINFO{
			FFI_Invalidate:         func(references.FPDF_PAGE, float64, float64, float64, float64) {},
			FFI_SetCursor:          func(enums.FXCT) {},
			FFI_SetTimer:           func(int, func(int)) int { return 0 },
			FFI_KillTimer:          func(int) {},
			FFI_GetLocalTime:       func() structs.FPDF_SYSTEMTIME { return structs.FPDF_SYSTEMTIME{} },
			FFI_GetPage:            func(references.FPDF_DOCUMENT, int) *references.FPDF_PAGE { return nil },
			FFI_GetRotation:        func(references.FPDF_PAGE) enums.FPDF_PAGE_ROTATION { return enums.FPDF_PAGE_ROTATION_NONE },
			FFI_ExecuteNamedAction: func(string) {},
		},
	})
	if e.ok(err) {
		e.form = made.FormHandle
	}
	return e.form
}

// ok reports whether a call of pdfium succeeded. An error that ended pdfium is recorded.
func (e *engine) ok(err error) bool {
	if err != nil && strings.Contains(err.Error(), "wasm error") {
		e.broke = true
	}
	return err == nil && !e.broke
}

// annotationSearch examines the annotations of one page.
type annotationSearch struct {
	*engine
	page requests.Page
	*extras
}

// all examines count annotations and flattens the page.
func (s *annotationSearch) all(count int) {
	form := s.formHandle()
	if form != "" {
		_, err := s.pdfium.FORM_OnAfterLoadPage(&requests.FORM_OnAfterLoadPage{Page: s.page, FormHandle: form})
		s.ok(err)
	}
	s.left = max(count-mostAnnotations, 0)
	for i := 0; i < min(count, mostAnnotations) && !s.broke; i++ {
		a, err := s.pdfium.FPDFPage_GetAnnot(&requests.FPDFPage_GetAnnot{Page: s.page, Index: i})
		if !s.ok(err) {
			continue
		}
		s.one(form, a.Annotation)
		if !s.broke {
			_, err = s.pdfium.FPDFPage_CloseAnnot(&requests.FPDFPage_CloseAnnot{Annotation: a.Annotation})
			s.ok(err)
		}
	}
	if s.broke {
		return
	}
	_, err := s.pdfium.FPDFPage_Flatten(&requests.FPDFPage_Flatten{Page: s.page, Usage: requests.FPDFPage_FlattenUsageNormalDisplay})
	s.ok(err)
	if form != "" && !s.broke {
		_, err = s.pdfium.FORM_OnBeforeClosePage(&requests.FORM_OnBeforeClosePage{Page: s.page, FormHandle: form})
		s.ok(err)
	}
}

// one examines an annotation. It hides one that no screen shows from the flattening.
func (s *annotationSearch) one(form references.FPDF_FORMHANDLE, a references.FPDF_ANNOTATION) {
	const unseen = enums.FPDF_ANNOT_FLAG_HIDDEN | enums.FPDF_ANNOT_FLAG_NOVIEW
	flags, err := s.pdfium.FPDFAnnot_GetFlags(&requests.FPDFAnnot_GetFlags{Annotation: a})
	if !s.ok(err) {
		return
	}
	if flags.Flags&unseen != 0 {
		_, err = s.pdfium.FPDFAnnot_SetFlags(&requests.FPDFAnnot_SetFlags{Annotation: a, Flags: flags.Flags | enums.FPDF_ANNOT_FLAG_HIDDEN})
		s.ok(err)
		return
	}
	kind, err := s.pdfium.FPDFAnnot_GetSubtype(&requests.FPDFAnnot_GetSubtype{Annotation: a})
	if !s.ok(err) {
		return
	}
	switch kind.Subtype {
	case enums.FPDF_ANNOT_SUBTYPE_WIDGET:
		if form != "" {
			s.widget(form, a)
		}
	case enums.FPDF_ANNOT_SUBTYPE_LINK, enums.FPDF_ANNOT_SUBTYPE_POPUP, enums.FPDF_ANNOT_SUBTYPE_PRINTERMARK,
		enums.FPDF_ANNOT_SUBTYPE_TRAPNET, enums.FPDF_ANNOT_SUBTYPE_SCREEN, enums.FPDF_ANNOT_SUBTYPE_UNKNOWN:
	default:
		if text := s.entry(a, "Contents"); text != "" {
			author := s.entry(a, "T")
			if author == "" {
				author = "no author"
			}
			s.comments = append(s.comments, author+": "+text)
		}
	}
}

// entry returns a text of an annotation on one line.
func (s *annotationSearch) entry(a references.FPDF_ANNOTATION, key string) string {
	v, err := s.pdfium.FPDFAnnot_GetStringValue(&requests.FPDFAnnot_GetStringValue{Annotation: a, Key: key})
	if !s.ok(err) {
		return ""
	}
	return oneLine(v.Value)
}

// widget records a form field. A push button has no value.
func (s *annotationSearch) widget(form references.FPDF_FORMHANDLE, a references.FPDF_ANNOTATION) {
	kind, err := s.pdfium.FPDFAnnot_GetFormFieldType(&requests.FPDFAnnot_GetFormFieldType{FormHandle: form, Annotation: a})
	if !s.ok(err) || kind.FormFieldType == enums.FPDF_FORMFIELD_TYPE_PUSHBUTTON {
		return
	}
	var f field
	if name, err := s.pdfium.FPDFAnnot_GetFormFieldName(&requests.FPDFAnnot_GetFormFieldName{FormHandle: form, Annotation: a}); s.ok(err) {
		f.name = oneLine(name.FormFieldName)
	}
	if value, err := s.pdfium.FPDFAnnot_GetFormFieldValue(&requests.FPDFAnnot_GetFormFieldValue{FormHandle: form, Annotation: a}); s.ok(err) {
		f.value = oneLine(value.FormFieldValue)
	}
	switch kind.FormFieldType {
	case enums.FPDF_FORMFIELD_TYPE_CHECKBOX, enums.FPDF_FORMFIELD_TYPE_RADIOBUTTON:
		f.button = true
		on, err := s.pdfium.FPDFAnnot_IsChecked(&requests.FPDFAnnot_IsChecked{FormHandle: form, Annotation: a})
		f.on = s.ok(err) && on.IsChecked
		if radio, err := s.pdfium.FPDFAnnot_GetFormFieldExportValue(&requests.FPDFAnnot_GetFormFieldExportValue{FormHandle: form, Annotation: a}); s.ok(err) {
			f.value = oneLine(radio.Value)
		}
		if kind.FormFieldType == enums.FPDF_FORMFIELD_TYPE_CHECKBOX {
			f.value = ""
		}
	case enums.FPDF_FORMFIELD_TYPE_LISTBOX:
		if chosen := s.chosen(form, a); chosen != "" {
			f.value, f.list = chosen, true
		}
	case enums.FPDF_FORMFIELD_TYPE_TEXTFIELD:
		const password = 1 << 13 // of the flags of text fields, ISO 32000-2, table 231
		flags, err := s.pdfium.FPDFAnnot_GetFormFieldFlags(&requests.FPDFAnnot_GetFormFieldFlags{FormHandle: form, Annotation: a})
		if s.ok(err) && flags.Flags&password != 0 && f.value != "" {
			f.value = "(a password)"
		}
	}
	s.fields = append(s.fields, f)
}

// chosen returns the selected options of a list.
func (s *annotationSearch) chosen(form references.FPDF_FORMHANDLE, a references.FPDF_ANNOTATION) string {
	count, err := s.pdfium.FPDFAnnot_GetOptionCount(&requests.FPDFAnnot_GetOptionCount{FormHandle: form, Annotation: a})
	if !s.ok(err) {
		return ""
	}
	var labels []string
	for i := 0; i < min(count.OptionCount, mostTold) && !s.broke; i++ {
		is, err := s.pdfium.FPDFAnnot_IsOptionSelected(&requests.FPDFAnnot_IsOptionSelected{FormHandle: form, Annotation: a, Index: i})
		if !s.ok(err) || !is.IsOptionSelected {
			continue
		}
		if label, err := s.pdfium.FPDFAnnot_GetOptionLabel(&requests.FPDFAnnot_GetOptionLabel{FormHandle: form, Annotation: a, Index: i}); s.ok(err) {
			labels = append(labels, oneLine(label.OptionLabel))
		}
	}
	return strings.Join(labels, ", ")
}

// notes returns what text does not show: the state of buttons, values of fields without an
// appearance, empty fields, and comments. Each note is a line in brackets.
func (x *extras) notes(text string) string {
	var b strings.Builder
	if n := len(x.fields); n > 0 {
		has := "1 form field"
		if n > 1 {
			has = fmt.Sprintf("%d form fields", n)
		}
		fmt.Fprintf(&b, "[the page has %s]\n", has)
	}
	shown := squeeze(text)
	var empty []string
	told := 0
	for _, f := range x.fields {
		name, value := firstOf(f.name, "(no name)"), f.value
		switch {
		case f.button && f.on:
			value = firstOf(value, "checked")
		case f.button || value == "":
			if !slices.Contains(empty, name) {
				empty = append(empty, name)
			}
			continue
		case !f.list && strings.Contains(shown, squeeze(value)):
			continue
		}
		empty = slices.DeleteFunc(empty, func(e string) bool { return e == name })
		if told++; told <= mostTold {
			fmt.Fprintf(&b, "[form: %s = %s]\n", name, value)
		}
	}
	empty = slices.DeleteFunc(empty, func(e string) bool { // another button of the same name is checked
		return slices.ContainsFunc(x.fields, func(f field) bool { return f.name == e && f.on })
	})
	if n := len(empty); n > 0 {
		fmt.Fprintf(&b, "[form: empty or not checked: %s]\n", strings.Join(empty[:min(n, mostTold)], ", "))
	}
	if told > mostTold || len(empty) > mostTold {
		b.WriteString("[form: further fields are not listed]\n")
	}
	told = 0
	for _, c := range x.comments {
		_, words, _ := strings.Cut(c, ": ")
		if strings.Contains(shown, squeeze(words)) {
			continue // a FreeText or stamp whose text is on the page
		}
		if told++; told <= mostTold {
			fmt.Fprintf(&b, "[comment by %s]\n", c)
		}
	}
	if told > mostTold || x.left > 0 {
		b.WriteString("[further comments are not listed]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// oneLine returns s on one line, without characters that disturb, truncated to mostValue.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) > mostValue {
		s = strings.ToValidUTF8(s[:mostValue], "") + "..."
	}
	return plain.Line(s)
}

// squeeze returns s without blanks.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
