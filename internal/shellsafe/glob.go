package shellsafe

import "strings"

// This file is about words that are patterns.

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
	default: // a set is one character, and not written alike everywhere
		r.wide.WriteByte('?')
	}
	r.val.WriteString(s)
	r.text.WriteString(s)
	r.script.WriteString(s)
}

// plainSet is the length of a set like [a-z] at the front of s, 0 if there is
// none that is made of plain characters.
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

// widen takes literal text up into the wide pattern.
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

// notDot matches the first character of a name that a pattern matches. Only
// a dot in the pattern matches one ahead, unless the shell is told otherwise.
const notDot = "[^.]"

// undotted is what stands in front of what matches anything: notDot at the
// beginning of a name.
func (r *wordReader) undotted() string {
	if s := r.wide.String(); s == "" || s[len(s)-1] == '/' {
		return notDot
	}
	return ""
}
