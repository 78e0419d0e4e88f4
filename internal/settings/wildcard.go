package settings

import "strings"

// anyText matches any text in patterns of the settings.
const anyText = "*"

// wildcard reports whether text matches a pattern in which * matches any text. Its
// time does not grow with the number of stars, because patterns may come from
// untrusted files.
func wildcard(pattern, text string) bool {
	parts := strings.Split(pattern, anyText)
	if len(parts) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		var found bool
		_, text, found = strings.Cut(text, part) // the first occurrence leaves the most text for the other parts
		ok = ok && found
	}
	return ok && strings.HasSuffix(text, parts[last])
}
