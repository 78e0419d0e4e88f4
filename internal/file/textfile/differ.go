package textfile

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// difference is one way in which two texts can differ although they look or mean the same.
type difference struct {
	name string
	// fold removes the difference from a text.
	fold func(string) string
	// detail describes the difference further; nil if there is nothing to add. It gets both texts,
	// folded by the other differences found between them.
	detail func(file, old string) string
}

// differences is in the order of folding.
var differences = []difference{
	{"line endings", func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}, endingsDetail},
	{"invisible characters", without(invisible), invisibleDetail},
	{"the Unicode form of accents (composed or not)", norm.NFC.String, nil},
	{"upper and lower case", func(s string) string { return strings.Map(unicode.ToLower, s) }, nil},
	{"quotes", func(s string) string { return strings.Map(plainQuote, s) }, characters},
	{"dashes", func(s string) string { return strings.Map(plainDash, s) }, characters},
	{"special spaces", func(s string) string { return strings.Map(plainSpace, s) }, characters},
	{"accents or the width of characters", bareForm, nil},
	{"white space at the end of lines", perLine(func(s string) string { return strings.TrimRight(s, blanks) }), nil},
	{"indentation", perLine(func(s string) string { return strings.TrimLeft(s, blanks) }), tabsDetail},
	{"the number of blank lines", dropBlank, nil},
	{"white space inside lines", without(isBlank), nil},
	{"where lines break", func(s string) string { return strings.ReplaceAll(s, "\n", "") }, nil},
}

// blanks is the white space inside lines that keyboards produce.
const blanks = " \t\v\f"

// isBlank reports whether a character is white space other than a newline.
func isBlank(r rune) bool { return r != '\n' && unicode.IsSpace(r) }

// between returns the names of the differences that explain why two texts are not equal, as few as
// possible. ok is false if the differences do not explain it.
func between(file, old string) (names []string, ok bool) {
	all := make([]bool, len(differences))
	for i := range all {
		all[i] = true
	}
	if file == old { // they are equal only without the "\r" of each "\r\n"
		return []string{`line endings (the file has \r\r\n where old_string has \r\n)`}, true
	}
	if folded(file, all) != folded(old, all) {
		return nil, false
	}
	// The last ones remove the most: try first to do without them.
	for i := len(all) - 1; i >= 0; i-- {
		all[i] = false
		all[i] = folded(file, all) != folded(old, all)
	}
	for i, d := range differences {
		if !all[i] {
			continue
		}
		name := d.name
		if d.detail != nil {
			rest := slices.Clone(all)
			rest[i] = false
			if more := d.detail(folded(file, rest), folded(old, rest)); more != "" {
				name += " (" + more + ")"
			}
		}
		names = append(names, name)
	}
	return names, true
}

func folded(s string, which []bool) string {
	for i, d := range differences {
		if which[i] {
			s = d.fold(s)
		}
	}
	return s
}

func perLine(f func(string) string) func(string) string {
	return func(s string) string {
		lines := strings.Split(s, "\n")
		for i, line := range lines {
			lines[i] = f(line)
		}
		return strings.Join(lines, "\n")
	}
}

func dropBlank(s string) string {
	lines := strings.Split(s, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.Trim(l, blanks) == "" }), "\n")
}

func without(drop func(rune) bool) func(string) string {
	return func(s string) string {
		return strings.Map(func(r rune) rune {
			if drop(r) {
				return -1
			}
			return r
		}, s)
	}
}

// bareForm reduces each character as a sketch does.
func bareForm(s string) string {
	return strings.Map(func(r rune) rune {
		if norm.NFKD.PropertiesString(string(r)).CCC() != 0 {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
}

// invisible reports whether a character has no width and is not white space.
func invisible(r rune) bool {
	return r == 0xad || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e ||
		r >= 0x2060 && r <= 0x2064 || r == 0xfeff
}

// plainQuote returns the ASCII quote for a quote.
func plainQuote(r rune) rune {
	switch r {
	case '‘', '’', '‚', '‛', '′', '‹', '›', '´', '`':
		return '\''
	case '“', '”', '„', '‟', '″', '«', '»':
		return '"'
	}
	return r
}

// plainDash returns the hyphen for a dash.
func plainDash(r rune) rune {
	if r >= 0x2010 && r <= 0x2015 || r == 0x2212 {
		return '-'
	}
	return r
}

// plainSpace returns a space for a special space, such as a no-break space.
func plainSpace(r rune) rune {
	if r > 0x7f && unicode.Is(unicode.Zs, r) {
		return ' '
	}
	return r
}

// characters names the first characters that differ.
func characters(file, old string) string {
	a, b := []rune(file), []rune(old)
	if len(a) != len(b) {
		return ""
	}
	for i := range a {
		if a[i] != b[i] {
			return fmt.Sprintf("the file has %s, old_string %s", character(a[i]), character(b[i]))
		}
	}
	return ""
}

func character(r rune) string {
	if unicode.IsGraphic(r) && !unicode.IsSpace(r) {
		return fmt.Sprintf("%c (U+%04X)", r, r)
	}
	return fmt.Sprintf("U+%04X", r)
}

func invisibleDetail(file, old string) string {
	if i := strings.IndexFunc(file, invisible); i >= 0 {
		return "the file has " + character([]rune(file[i:])[0])
	}
	if i := strings.IndexFunc(old, invisible); i >= 0 {
		return "old_string has " + character([]rune(old[i:])[0])
	}
	return ""
}

func endingsDetail(file, old string) string {
	switch {
	case strings.Contains(old, "\r\n"):
		return `old_string has \r\n where the file has not; \n matches both`
	case strings.Contains(file, "\r"):
		return `the file has \r`
	}
	return `old_string has \r`
}

func tabsDetail(file, old string) string {
	a, b := strings.Contains(indents(file), "\t"), strings.Contains(indents(old), "\t")
	switch {
	case a && !b:
		return "tabs in the file, spaces in old_string"
	case b && !a:
		return "spaces in the file, tabs in old_string"
	}
	return ""
}

// indents returns the indentation of all lines.
func indents(s string) string {
	return perLine(func(line string) string { return line[:len(line)-len(strings.TrimLeft(line, blanks))] })(s)
}

// variant is a text that the caller may have meant by old_string.
type variant struct {
	text string
	why  string // continues "line 3 has it "
	next string
}

// variants returns old with common transmission errors undone.
func variants(old string) []variant {
	var out []variant
	add := func(text, why, next string) {
		if text != old && strings.TrimSpace(text) != "" {
			out = append(out, variant{text, why, next})
		}
	}
	add(withoutNumbers(old), "without the line numbers that old_string begins its lines with", "Leave out the line number and tab at the start of each line.")
	add(unescaped(old), `with real characters where old_string has escapes such as \n, \t or \"`, "Send the characters themselves.")
	add(escapes.Replace(old), `with escapes such as \n, \t or \" where old_string has the characters themselves`, "Send the backslashes as they are in the file.")
	add(controlEscapes.Replace(old), `with escapes such as \n or \t where old_string has the characters themselves`, "Send the backslashes as they are in the file.")
	add(html.UnescapeString(old), "with real characters where old_string has HTML entities", "Send the characters themselves.")
	add(html.EscapeString(old), "with HTML entities where old_string has the characters themselves", "Send the entities as they are in the file.")
	add(entities.Replace(old), "with HTML entities where old_string has the characters themselves", "Send the entities as they are in the file.")
	return out
}

var (
	controlEscapes = strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`)
	escapes        = strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`, `"`, `\"`, `\`, `\\`)
	entities       = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	unescape       = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`, `\'`, "'")
)

func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return unescape.Replace(s)
}

// withoutNumbers removes the line numbers that Read shows. The first line may have lost its number.
func withoutNumbers(s string) string {
	lines := strings.Split(s, "\n")
	numbered := 0
	for i, line := range lines {
		digits := strings.TrimLeft(line, " ")
		rest := strings.TrimLeft(digits, "0123456789")
		tab := strings.TrimPrefix(strings.TrimPrefix(rest, "\t"), "→")
		if rest == digits || tab == rest {
			if i > 0 && line != "" {
				return s
			}
			continue
		}
		numbered++
		lines[i] = tab
	}
	if numbered == 0 {
		return s
	}
	return strings.Join(lines, "\n")
}
