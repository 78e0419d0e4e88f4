package textfile

import (
	"regexp"
	"strconv"
	"strings"
)

// EditorConfigCharset returns the charset that an .editorconfig file sets for a file, whose path is
// relative to the folder of the .editorconfig and has slashes. It returns "" if it sets none, and
// "unset" if it undoes what files in folders above set. root reports that these do not count. See
// https://spec.editorconfig.org.
func EditorConfigCharset(config, path string) (charset string, root bool) {
	applies, preamble := false, true
	for line := range strings.Lines(strings.TrimPrefix(config, "\uFEFF")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			preamble = false
			applies = editorConfigMatches(line[1:len(line)-1], path)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			key, value, ok = strings.Cut(line, ":")
		}
		for _, comment := range []string{" #", " ;", "\t#", "\t;"} { // of versions before 0.15
			value, _, _ = strings.Cut(value, comment)
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.ToLower(strings.TrimSpace(value))
		switch {
		case !ok:
		case preamble && key == "root":
			root = value == "true"
		case applies && key == "charset":
			charset = value
		}
	}
	return charset, root
}

// editorConfigMatches reports whether the glob of a section matches a path.
func editorConfigMatches(glob, path string) bool {
	if len(glob) > 4096 {
		return false // the longest section by the specification
	}
	if i := strings.IndexByte(glob, '/'); i < 0 {
		glob = "**/" + glob
	} else if i == 0 {
		glob = glob[1:]
	}
	expr, err := regexp.Compile("^(?s:" + editorConfigExpression(glob, &[]numbers{}) + ")$")
	if err != nil {
		return false
	}
	m := expr.FindStringSubmatch(path)
	if m == nil {
		return false
	}
	var ranges []numbers
	editorConfigExpression(glob, &ranges)
	for i, r := range ranges {
		n, err := strconv.Atoi(m[i+1])
		if err != nil || n < r.from || n > r.to {
			return false
		}
	}
	return true
}

// numbers is the range of {from..to} in a glob.
type numbers struct{ from, to int }

var numeric = regexp.MustCompile(`^\{([+-]?\d+)\.\.([+-]?\d+)\}`)

// editorConfigExpression returns a regular expression for a glob. It has a group for each range of
// numbers, which it appends to ranges.
func editorConfigExpression(glob string, ranges *[]numbers) string {
	var b strings.Builder
	depth := 0
	balanced := strings.Count(glob, "{") == strings.Count(glob, "}")
	for i := 0; i < len(glob); {
		rest := glob[i:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 3
		case strings.HasPrefix(rest, "/**/"):
			b.WriteString("(?:/|/.*/)")
			i += 4
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i += 2
		case c == '*':
			b.WriteString("[^/]*")
			i++
		case c == '?':
			b.WriteString("[^/]")
			i++
		case c == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i += 2
		case c == '[':
			end := strings.IndexByte(rest[1:], ']') + 1
			if end < 2 || strings.Contains(rest[:end], "/") {
				b.WriteString(`\[`)
				i++
				continue
			}
			set := rest[1:end]
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			b.WriteString("[" + strings.NewReplacer(`\`, `\\`, "[", `\[`).Replace(set) + "]")
			i += end + 1
		case c == '{' && numeric.MatchString(rest):
			m := numeric.FindStringSubmatch(rest)
			from, _ := strconv.Atoi(m[1])
			to, _ := strconv.Atoi(m[2])
			*ranges = append(*ranges, numbers{min(from, to), max(from, to)})
			b.WriteString(`([+-]?\d+)`)
			i += len(m[0])
		case c == '{' && balanced:
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return "(" // matches nothing
			}
			if depth == 0 && !strings.Contains(rest[:end], ",") { // {single} is literal
				b.WriteString(regexp.QuoteMeta(rest[:end+1]))
				i += end + 1
				continue
			}
			depth++
			b.WriteString("(?:")
			i++
		case c == '}' && depth > 0:
			depth--
			b.WriteString(")")
			i++
		case c == ',' && depth > 0:
			b.WriteString("|")
			i++
		default:
			n := 1
			for n < len(rest) && rest[n]&0xc0 == 0x80 {
				n++
			}
			b.WriteString(regexp.QuoteMeta(rest[:n]))
			i += n
		}
	}
	return b.String()
}
