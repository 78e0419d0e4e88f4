package shellsafe

import "strings"

// The functions of this file handle words that are patterns.

func (r *wordReader) pattern(s string) {
	if r.a.sub {
		r.unknown("a pattern beside an expansion")
	}
	r.special()
	r.flush()
	r.a.glob = true
	switch dotless := r.undotted(); {
	case r.any:
	case s == "*":
		r.wide.WriteString(dotless + "*")
	case dotless != "":
		r.wide.WriteString(dotless)
	default: // a set is one character, and its notation varies
		r.wide.WriteByte('?')
	}
	r.val.WriteString(s)
	r.text.WriteString(s)
	r.script.WriteString(s)
}

// plainSet returns the length of a set like [a-z] at the start of s, or 0 if there
// is none made of plain characters.
func plainSet(s string) int {
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	start := i
	for ; i < len(s); i++ {
		switch b := s[i]; {
		case b == ']' && i > start:
			return i + 1
		case b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '-', b == '_', b == '.':
		default:
			return 0
		}
	}
	return 0
}

// widen adds literal text to the wide pattern.
func (r *wordReader) widen(s string) {
	for i := 0; i < len(s); i++ {
		if r.any = r.any && s[i] != '/'; r.any {
			continue
		}
		if strings.IndexByte("\\*?[", s[i]) >= 0 {
			r.wide.WriteByte('\\')
		}
		r.wide.WriteByte(s[i])
	}
}

// notDot matches the first character of a name that a wildcard matches. A leading
// dot is matched only by a dot in the pattern, unless a shell option changes that.
const notDot = "[^.]"

// undotted returns notDot at the beginning of a name, and "" elsewhere. It goes
// before a wildcard.
func (r *wordReader) undotted() string {
	if s := r.wide.String(); s == "" || s[len(s)-1] == '/' {
		return notDot
	}
	return ""
}
