package filetype

import "strings"

// Match returns a function that reports whether a file is of the type, given its name
// without the folder. The function does not allocate and is safe for concurrent use.
// The error is that of [Globs].
func Match(name string) (func(base string) bool, error) {
	globs, err := Globs(name)
	if err != nil {
		return nil, err
	}
	return compile(globs).match, nil
}

// matcher holds the globs of a type, by how they are matched. Most are names or
// *.extension. These cost two lookups for each file, for any number of globs.
type matcher struct {
	names      map[string]bool
	extensions map[string]bool // without the dot; they contain no other dot
	suffixes   []string        // of globs that begin with their only asterisk
	others     [][]string      // the parts between the asterisks
}

// compile compiles globs that contain only asterisks and classes of single bytes, [abc]
// or [0-9]. A test checks that types.txt contains no others.
func compile(globs []string) *matcher {
	m := &matcher{names: map[string]bool{}, extensions: map[string]bool{}}
	for _, glob := range globs {
		for _, glob := range withoutClasses(glob) {
			switch rest, star := strings.CutPrefix(glob, "*"); {
			case !strings.Contains(glob, "*"):
				m.names[glob] = true
			case !star || strings.Contains(rest, "*"):
				m.others = append(m.others, strings.Split(glob, "*"))
			case strings.LastIndexByte(rest, '.') == 0:
				m.extensions[rest[1:]] = true
			default:
				m.suffixes = append(m.suffixes, rest)
			}
		}
	}
	return m
}

// withoutClasses returns the globs without classes that a glob expands to.
func withoutClasses(glob string) []string {
	head, rest, ok := strings.Cut(glob, "[")
	if !ok {
		return []string{glob}
	}
	class, rest, _ := strings.Cut(rest, "]")
	var out []string
	for _, tail := range withoutClasses(rest) {
		for _, c := range members(class) {
			out = append(out, head+string(rune(c))+tail)
		}
	}
	return out
}

// members returns the bytes of a class.
func members(class string) (bytes []byte) {
	for i := 0; i < len(class); i++ {
		bytes = append(bytes, class[i])
		if i+2 < len(class) && class[i+1] == '-' {
			for c := class[i]; c < class[i+2]; c++ {
				bytes = append(bytes, c+1)
			}
			i += 2
		}
	}
	return bytes
}

func (m *matcher) match(base string) bool {
	if dot := strings.LastIndexByte(base, '.'); dot >= 0 && m.extensions[base[dot+1:]] {
		return true
	}
	if m.names[base] {
		return true
	}
	for _, suffix := range m.suffixes {
		if strings.HasSuffix(base, suffix) {
			return true
		}
	}
	for _, parts := range m.others {
		if matchParts(base, parts) {
			return true
		}
	}
	return false
}

// matchParts matches the parts between asterisks: the first part begins the name, the
// last one ends it, and each of the others is best matched as early as possible.
func matchParts(base string, parts []string) bool {
	last := len(parts) - 1
	base, ok := strings.CutPrefix(base, parts[0])
	if !ok || !strings.HasSuffix(base, parts[last]) {
		return false
	}
	base = base[:len(base)-len(parts[last])]
	for _, part := range parts[1:last] {
		i := strings.Index(base, part)
		if i < 0 {
			return false
		}
		base = base[i+len(part):]
	}
	return true
}
