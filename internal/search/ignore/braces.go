package ignore

// token returns the length of the token at s[0], which is an escaped byte, a bracket
// expression, or one byte. It also returns a fault or "".
func token(s string) (n int, fault string) {
	switch s[0] {
	case '\\':
		if len(s) == 1 {
			return 1, danglingBackslash
		}
		return 2, ""
	case '[':
		_, n, backward, fault := parseClass(s, false)
		if fault == "" && backward {
			fault = backwardRange
		}
		return n, fault
	}
	return 1, ""
}

// check returns the offset of the first fault that makes a glob invalid, and the fault
// or "".
func check(glob string) (at int, fault string) {
	var open []int
	for i := 0; i < len(glob); {
		n, fault := token(glob[i:])
		switch {
		case fault != "":
			return i, fault
		case glob[i] == '{':
			open = append(open, i)
		case glob[i] == '}' && len(open) == 0:
			return i, unopenedBrace
		case glob[i] == '}':
			open = open[:len(open)-1]
		}
		i += n
	}
	if len(open) > 0 {
		return open[len(open)-1], unclosedBrace
	}
	return 0, ""
}

// expand returns the globs without braces that a valid glob expands to. It returns
// false if there are more than limit.
func expand(glob string, limit int) (globs []string, ok bool) {
	var from func(glob string, i int) bool
	from = func(glob string, i int) bool {
		for i < len(glob) && glob[i] != '{' {
			n, _ := token(glob[i:])
			i += n
		}
		if i == len(glob) {
			globs = append(globs, glob)
			return len(globs) <= limit
		}
		parts, end := alternatives(glob, i)
		for _, part := range parts {
			if !from(glob[:i]+part+glob[end:], i) {
				return false
			}
		}
		return true
	}
	ok = from(glob, 0)
	return globs, ok
}

// alternatives splits the braces at glob[open] at their own commas. end is the offset
// after the closing brace.
func alternatives(glob string, open int) (parts []string, end int) {
	depth, start := 0, open+1
	for i := open; ; {
		n, _ := token(glob[i:])
		switch c := glob[i]; {
		case c == '{':
			depth++
		case c == ',' && depth == 1:
			parts = append(parts, glob[start:i])
			start = i + 1
		case c == '}':
			if depth--; depth == 0 {
				return append(parts, glob[start:i]), i + 1
			}
		}
		i += n
	}
}
