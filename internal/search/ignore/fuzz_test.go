package ignore

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// obvious matches with regular expressions, one line after the other. Bytes are treated
// as runes of Latin-1.
func obvious(file, path string, folder bool) (v Verdict) {
	file = strings.TrimPrefix(file, "\uFEFF")
	for _, line := range strings.Split(file, "\n") {
		line = strings.TrimSuffix(line, "\r")
		line, _, _ = strings.Cut(line, "\x00")
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = regexp.MustCompile(`^((?s:[^\\ ]|\\.| +[^ ])*)((?s:\\?)) *$`).ReplaceAllString(line, "$1$2")
		verdict := Ignored
		if strings.HasPrefix(line, "!") {
			verdict, line = Included, line[1:]
		}
		onlyFolders := strings.HasSuffix(line, "/")
		line = strings.TrimSuffix(line, "/")
		subject := path
		inPath := strings.Contains(line, "/")
		if !inPath {
			subject = path[strings.LastIndexByte(path, '/')+1:]
		}
		expr, ok := translate(strings.TrimPrefix(line, "/"), inPath)
		if !ok || line == "" || onlyFolders && !folder {
			continue
		}
		if regexp.MustCompile(`(?s)^(?:` + expr + `)$`).MatchString(latin1(subject)) {
			v = verdict
		}
	}
	return v
}

func latin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

func translate(s string, inPath bool) (expr string, ok bool) {
	start := strings.IndexAny(s+"*", `*?[\`)
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '*':
			j := i
			for j < len(s) && s[j] == '*' {
				j++
			}
			after := s[j:]
			special := inPath && j-i > 1 && (i == start || s[i-1] == '/')
			switch {
			case special && (after == "" || strings.HasPrefix(after, `\/`)):
				expr += ".*"
			case special && after[0] == '/':
				expr += "(?:.*/)?"
				j++
			default:
				expr += "[^/]*"
			}
			i = j
		case '?':
			expr += "[^/]"
			i++
		case '[':
			set, n, _, fault := parseClass(s[i:], false) // compared with git in TestClassesLikeGit
			if fault != "" {
				return "", false
			}
			members := ""
			for b := range 256 {
				if set.has(byte(b)) {
					members += string(rune(b)) // every byte by its number
				}
			}
			if members == "" {
				return "", false
			}
			alternatives := make([]string, 0, 256)
			for _, m := range members {
				alternatives = append(alternatives, regexp.QuoteMeta(string(m)))
			}
			expr += "(?:" + strings.Join(alternatives, "|") + ")"
			i += n
		case '\\':
			if i++; i == len(s) {
				return "", false
			}
			expr += regexp.QuoteMeta(string(rune(s[i])))
			i++
		default:
			expr += regexp.QuoteMeta(string(rune(c)))
			i++
		}
	}
	return expr, true
}

func validPath(path string) bool {
	if strings.ContainsRune(path, 0) {
		return false
	}
	for _, name := range strings.Split(path, "/") {
		if name == "" {
			return false
		}
	}
	return true
}

func checkObvious(t *testing.T, file, path string, folder bool) {
	t.Helper()
	if got, want := Parse([]byte(file)).Match(path, folder), obvious(file, path, folder); got != want {
		t.Errorf("%q: %q (folder %v) is %v, want %v", file, path, folder, got, want)
	}
}

func FuzzIgnore(f *testing.F) {
	for _, test := range tricky { // compared with git in TestTricky
		for _, path := range strings.Split(test.ignored+"|"+test.undecided+"|"+test.included, "|") {
			path, folder := strings.CutSuffix(path, "/")
			f.Add(test.file, path, folder)
		}
	}
	f.Fuzz(func(t *testing.T, file, path string, folder bool) {
		if !validPath(path) || len(file) > 200 || len(path) > 200 {
			return
		}
		checkObvious(t, file, path, folder)
	})
}

func TestRandomListsLikeObvious(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range randomLists * 50 {
		file := randomPattern(r) + "\n" + randomPattern(r)
		path, folder := strings.CutSuffix(randomPath(r), "/")
		checkObvious(t, file, path, folder)
	}
}
