package office

import (
	"strconv"
	"strings"
)

// builtin holds the number formats with fixed ids (ECMA-376 part 1, 18.8.30). The short
// dates, whose order depends on the user's language, are written as in ISO 8601.
var builtin = map[int]string{
	1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
	14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss",
	22: "yyyy-mm-dd h:mm", 37: "#,##0 ;(#,##0)", 38: "#,##0 ;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
	41: "#,##0;-#,##0;-", 42: "$#,##0;-$#,##0;$-", 43: "#,##0.00;-#,##0.00;-", 44: "$#,##0.00;-$#,##0.00;$-",
	45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
	27: "yyyy-mm-dd", 28: "yyyy-mm-dd", 29: "yyyy-mm-dd", 30: "yyyy-mm-dd", 31: "yyyy-mm-dd", 32: "h:mm", 33: "h:mm:ss", 34: "h:mm", 35: "h:mm:ss", 36: "yyyy-mm-dd",
	50: "yyyy-mm-dd", 51: "yyyy-mm-dd", 52: "yyyy-mm-dd", 53: "yyyy-mm-dd", 54: "yyyy-mm-dd", 55: "h:mm", 56: "h:mm:ss", 57: "yyyy-mm-dd", 58: "yyyy-mm-dd",
}

// numberFormat shows numbers as a spreadsheet does.
type numberFormat struct{ sections []section }

// section is the part of a format for some numbers.
type section struct {
	items     []item
	condition func(float64) bool // nil: none
	date      bool
	elapsed   bool // has [h], [m] or [s]
	noon      bool // has AM/PM
	fraction  bool
	exponent  bool
	digits    bool // has a place for digits
	percent   int
	thousands bool
	scale     int // commas after the digits, each of which divides by 1000
}

// item is a piece of a section: a literal, or a place with its letters.
type item struct {
	kind byte // 'l' literal, '0' digits, '.' point, 'E' exponent, '/' fraction, 'd' date, 'e' elapsed, 'a' AM/PM, '@' text, 'g' general
	text string
}

// parseFormat parses a format. What it does not know is taken literally.
func parseFormat(code string) *numberFormat {
	f := &numberFormat{}
	for _, s := range splitSections(code) {
		f.sections = append(f.sections, parseSection(s))
	}
	return f
}

func splitSections(code string) (out []string) {
	quoted, from := false, 0
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '"':
			quoted = !quoted
		case '\\':
			if !quoted {
				i++
			}
		case ';':
			if !quoted {
				out, from = append(out, code[from:i]), i+1
			}
		}
	}
	return append(out, code[from:])
}

func parseSection(s string) section {
	var out section
	add := func(kind byte, text string) {
		if n := len(out.items); n > 0 && out.items[n-1].kind == kind && (kind == 'l' || kind == '0') {
			out.items[n-1].text += text
			return
		}
		out.items = append(out.items, item{kind, text})
	}
	for i := 0; i < len(s); {
		rest := s[i:]
		switch c := s[i]; {
		case c == '"':
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				end = len(rest) - 1
			}
			add('l', rest[1:1+end])
			i += min(end+2, len(rest))
			continue
		case c == '\\' && len(rest) > 1:
			size := runeSize(rest[1:])
			add('l', rest[1:1+size])
			i += 1 + size
			continue
		case c == '_' && len(rest) > 1:
			add('l', " ")
			i += 1 + runeSize(rest[1:])
			continue
		case c == '*' && len(rest) > 1: // fills the column with a character
			i += 1 + runeSize(rest[1:])
			continue
		case c == '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				add('l', rest[1:])
				i = len(s)
				continue
			}
			out.bracket(rest[1:end], add)
			i += end + 1
			continue
		case len(rest) >= 7 && strings.EqualFold(rest[:7], "general"):
			out.items = append(out.items, item{'g', ""})
			i += 7
			continue
		case len(rest) >= 5 && strings.EqualFold(rest[:5], "am/pm"):
			out.items, out.noon, out.date = append(out.items, item{'a', "AM/PM"}), true, true
			i += 5
			continue
		case len(rest) >= 3 && strings.EqualFold(rest[:3], "a/p"):
			out.items, out.noon, out.date = append(out.items, item{'a', "A/P"}), true, true
			i += 3
			continue
		case (c == 'E' || c == 'e') && len(rest) > 1 && (rest[1] == '+' || rest[1] == '-'):
			out.items, out.exponent = append(out.items, item{'E', rest[:2]}), true
			i += 2
			continue
		case strings.IndexByte("yYmMdDhHsSeE", c) >= 0:
			n := 1
			for n < len(rest) && rest[n]|0x20 == c|0x20 {
				n++
			}
			out.items, out.date = append(out.items, item{'d', strings.ToLower(rest[:n])}), true
			i += n
			continue
		case c == '0' || c == '#' || c == '?':
			out.digits = true
			add('0', string(c))
		case c == '.':
			out.items = append(out.items, item{'.', "."})
		case c == ',':
			out.comma(rest[1:])
		case c == '%':
			out.percent++
			add('l', "%")
		case c == '/' && out.digits && !out.date:
			out.items, out.fraction = append(out.items, item{'/', "/"}), true
		case c == '@':
			out.items = append(out.items, item{'@', ""})
		default:
			size := runeSize(rest)
			add('l', rest[:size])
			i += size
			continue
		}
		i++
	}
	return out
}

func runeSize(s string) int {
	for i := range s {
		if i > 0 {
			return i
		}
	}
	return len(s)
}

// comma handles a comma: between digits it groups, after them it divides by 1000.
func (s *section) comma(rest string) {
	if !s.digits {
		s.items = append(s.items, item{'l', ","})
		return
	}
	after := strings.TrimLeft(rest, ",")
	if after != "" && strings.IndexByte("0#?", after[0]) >= 0 {
		s.thousands = true
		return
	}
	s.scale++
}

// bracket handles what is in brackets: a currency, elapsed time, a condition or a colour.
func (s *section) bracket(in string, add func(byte, string)) {
	lower := strings.ToLower(in)
	switch {
	case strings.HasPrefix(in, "$"):
		symbol, _, _ := strings.Cut(in[1:], "-")
		add('l', symbol)
	case lower != "" && strings.Trim(lower, lower[:1]) == "" && strings.IndexByte("hms", lower[0]) >= 0:
		s.items, s.date, s.elapsed = append(s.items, item{'e', lower}), true, true
	case lower != "" && strings.IndexByte("<>=", lower[0]) >= 0:
		op := lower[:len(lower)-len(strings.TrimLeft(lower, "<>="))]
		limit, err := strconv.ParseFloat(strings.TrimSpace(lower[len(op):]), 64)
		if err != nil {
			return
		}
		s.condition = map[string]func(float64) bool{
			"<": func(v float64) bool { return v < limit }, "<=": func(v float64) bool { return v <= limit },
			">": func(v float64) bool { return v > limit }, ">=": func(v float64) bool { return v >= limit },
			"=": func(v float64) bool { return v == limit }, "<>": func(v float64) bool { return v != limit },
		}[op]
	}
}
