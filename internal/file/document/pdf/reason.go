package pdf

import (
	"errors"
	"strings"

	pdfium "github.com/klippa-app/go-pdfium/errors"

	"mcp-toolset/internal/text/fault"
)

// cause maps an error of pdfcpu to plain words.
type cause struct {
	about string // text that the error contains, in lower case
	plain string
	minor bool // whether no part that is read here depends on it
}

// causes lists the subjects of pdfcpu's errors. The first match wins, because an error
// names its subject from the outside in.
var causes = []cause{
	{"encrypt", "its encryption is broken", false},
	{"circular", "its objects refer to each other in a circle", false},
	{"recursion", "its objects are nested too deeply", false},
	{"header", "its header is broken", false},
	{"trailer", "its trailer is missing or broken", false},
	{"xref", "its table of objects is missing or broken", false},
	{"missing root", "the object that holds it together is missing", false},
	{"acroform", "its form fields are malformed", true},
	{"annotation", "its annotations are malformed", true},
	{"viewerpreferences", "its settings for viewers are malformed", true},
	{"structtreeroot", "its tags for accessibility are malformed", true},
	{"outlines", "its bookmarks are malformed", true},
	{"metadata", "its metadata are malformed", true},
	{"info dict", "its metadata are malformed", true},
	{"catalog names", "its list of names is malformed", true},
	{"catalog dests", "its list of link targets is malformed", true},
	{"openaction", "its actions are malformed", true},
	{"font", "a font in it is malformed", true},
	{"page tree", "its list of pages is broken", false},
	{"catalog pages", "its list of pages is broken", false},
	{"eof", "it ends early", false},
}

// reason describes an error of pdfcpu in plain words, and reports whether the flaw leaves
// the pages whole.
func reason(err error) (plain string, minor bool) {
	text := strings.ToLower(err.Error())
	for _, c := range causes {
		if strings.Contains(text, c.about) {
			return c.plain, c.minor
		}
	}
	if errors.As(err, &errReading{}) {
		return "its structure is broken", false
	}
	return "some of its objects are malformed", false
}

// refusal returns the error for a file that pdfium does not open.
func refusal(v verdict, err error) error {
	switch {
	case errors.Is(err, pdfium.ErrPassword):
		return errPassword
	case errors.Is(err, pdfium.ErrSecurity):
		return &fault.Fault{
			Fact: "is encrypted in a way that cannot be read",
			Next: "Ask the user for a copy without encryption.",
		}
	case errors.Is(err, pdfium.ErrFormat), errors.Is(err, pdfium.ErrFile), errors.Is(err, errBroke):
		return damaged(firstOf(v.reason, "its structure is broken"))
	}
	return err
}

// errPassword is the error for a file that needs a password.
var errPassword error = &fault.Fault{
	Fact: "is encrypted and needs a password",
	Next: "Ask the user for a copy without a password.",
}

// damagedFact begins the fact of a file of which nothing can be shown.
const damagedFact = "is a damaged PDF: "

func damaged(plain string) error {
	return &fault.Fault{
		Fact: damagedFact + plain,
		Next: "Get the file again from where it came from.",
	}
}

func isDamaged(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f) && strings.HasPrefix(f.Fact, damagedFact)
}

// firstOf returns a, or b if a is empty.
func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
