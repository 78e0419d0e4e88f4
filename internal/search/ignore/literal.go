package ignore

import "strings"

// maxChoices is the limit of names with brackets, and with braces, that are literal or not
// independently of each other. Each doubles the variants.
const maxChoices = 4

// Literal returns variants of a glob in which the brackets, or the braces, of some names are
// literal. Names such as [id] and {a} are files in many projects, and a glob with their
// names means them. A variant matches only where such a file exists.
//
// Literal returns nil for a glob without brackets and braces. The glob itself may be
// invalid; the last variant, in which all are literal, is valid unless a backslash is at its
// end.
func Literal(glob string) (variants []string) {
	if !strings.ContainsAny(glob, "[]{}") {
		return nil
	}
	text, negated := strings.CutPrefix(glob, "!")
	names := strings.Split(text, "/")
	var choices []choice
	for i, name := range names {
		if hasAny(name, "[]") {
			choices = append(choices, choice{i, "[]"})
		}
		if hasAny(name, "{}") && unquotedCount(name, '{') == unquotedCount(name, '}') { // else they enclose slashes
			choices = append(choices, choice{i, "{}"})
		}
	}
	add := func(literal func(choice) bool) {
		made := append([]string{}, names...)
		for _, c := range choices {
			if literal(c) {
				made[c.name] = quote(made[c.name], c.bytes)
			}
		}
		variant := strings.Join(made, "/")
		if negated {
			variant = "!" + variant
		}
		variants = append(variants, variant)
	}
	if len(choices) <= maxChoices {
		for set := 1; set < 1<<len(choices)-1; set++ {
			add(func(c choice) bool {
				for i := range choices {
					if choices[i] == c {
						return set&(1<<i) != 0
					}
				}
				return false
			})
		}
	} else {
		add(func(c choice) bool { return c.bytes == "[]" })
	}
	all := quote(text, "[]{}")
	if negated {
		all = "!" + all
	}
	return append(variants, all)
}

// choice is a name of a glob, by its index, with bytes that may be literal in it.
type choice struct {
	name  int
	bytes string
}

// hasAny reports whether one of the bytes is in s without a backslash before it.
func hasAny(s, bytes string) bool {
	return unquotedCount(s, bytes[0])+unquotedCount(s, bytes[1]) > 0
}

func unquotedCount(s string, b byte) (n int) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case b:
			n++
		}
	}
	return n
}

// quote puts a backslash before each of the bytes that has none.
func quote(s, bytes string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			b.WriteByte(s[i])
			i++
		case strings.IndexByte(bytes, s[i]) >= 0:
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
