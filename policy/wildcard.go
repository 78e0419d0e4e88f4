package policy

import "strings"

// wildcard matches a text with a pattern in which * stands for any text, in time
// that does not grow with the number of stars: patterns may come from files that
// nobody trusts.
func wildcard(pattern, text string) bool {
	parts := strings.Split(pattern, wholeTool)
	if len(parts) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		var found bool
		_, text, found = strings.Cut(text, part) // the first place leaves the most for the others
		ok = ok && found
	}
	return ok && strings.HasSuffix(text, parts[last])
}
