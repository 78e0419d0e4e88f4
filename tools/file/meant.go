package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

const (
	// meantTime is the timeout for looking at the disk for a path that does not exist.
	meantTime = 5 * time.Second
	// meantEntries is the limit of names of a folder that are compared.
	meantEntries = 100_000
)

// meant returns the absolute path of a file or folder that a path of a call names, and a
// note if that is another one than written. What exists as written is always taken.
// Otherwise meant looks for the one entry whose name looks the same, or is shown in the
// same way, at each name of the path; then it does the same for other spellings of the
// path, such as a URL. create reports whether the call may make a new file, for which only
// the names of existing folders and files are taken.
//
// meant looks at nothing that the rules deny, and returns nothing that they deny. Other
// rules judge the result.
func meant(env *tools.Env, given string, create bool) (path, note string) {
	path = env.Abs(given)
	type found struct{ path, note string }
	f, err := bounded.Do(context.Background(), meantTime, func(context.Context) (found, error) {
		m := matcher{env: env, create: create, denied: map[string]bool{}}
		to, note := m.find(given, path)
		return found{to, note}, nil
	})
	if err != nil { // the file system does not answer, which the caller finds out, too
		return path, ""
	}
	return f.path, f.note
}

// IsFolder reports whether a folder exists, unless the rules deny it. Links are not followed.
func IsFolder(env *tools.Env, path string) bool {
	info := look(env, path)
	return info != nil && info.IsDir()
}

// IsLink is like IsFolder for a symbolic link.
func IsLink(env *tools.Env, path string) bool {
	info := look(env, path)
	return info != nil && info.Mode()&fs.ModeSymlink != 0
}

// Exists is like IsFolder for anything.
func Exists(env *tools.Env, path string) bool { return look(env, path) != nil }

// look returns what is at a path, or nil if there is nothing or the rules deny it.
func look(env *tools.Env, path string) fs.FileInfo {
	if env.Denied != nil && env.Denied(path) {
		return nil
	}
	info, err := bounded.Do(context.Background(), meantTime, func(context.Context) (fs.FileInfo, error) { return os.Lstat(path) })
	if err != nil {
		return nil
	}
	return info
}

// matcher looks for an existing path.
type matcher struct {
	env    *tools.Env
	create bool
	fold   bool // ignore case, too
	denied map[string]bool

	twins int    // number of entries for the name where the last walk ended
	how   string // the difference of the last name that was replaced; "": as it is shown
}

func (m *matcher) find(given, path string) (to, note string) {
	if exists(path) || m.isDenied(path) {
		return path, ""
	}
	if to, ok := m.walk(path); ok {
		if m.isDenied(to) {
			return path, ""
		}
		if m.how == "" {
			return to, ""
		}
		return to, "the path taken is " + plain.Line(to) + ": on disk a name in it has " + m.how
	}
	if m.create && m.twins > 1 {
		note = "the folder has " + strconv.Itoa(m.twins) + " other names that look the same as this one"
	}
	for _, s := range spellings(given) {
		other := m.env.Abs(s.text)
		if other == path || isNetwork(s.text) || other == "" {
			continue
		}
		ok := exists(other)
		if !ok {
			if walked, found := m.walk(other); found {
				other, ok = walked, exists(walked)
			}
		}
		if !m.takes(s, path, other, ok) || m.isDenied(other) {
			continue
		}
		return other, "the path taken is " + plain.Line(other) + ": there is no " + plain.Line(given)
	}
	if m.create && note == "" && os.PathSeparator == '/' && strings.Contains(given, `\`) {
		note = "the name has a backslash in it, which separates no folders here"
	}
	return path, note
}

// takes reports whether the path other, which exists or not, replaces path.
func (m *matcher) takes(s spelling, path, other string, exist bool) bool {
	if !m.create {
		return exist
	}
	switch s.trust {
	case certain:
		return true
	case likely:
		return exist || exists(filepath.Dir(other))
	case unlikely:
		return exist && !exists(filepath.Dir(path))
	}
	return exist
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (m *matcher) isDenied(path string) bool {
	denied, known := m.denied[path]
	if !known {
		denied = m.env.Denied != nil && m.env.Denied(path)
		m.denied[path] = denied
	}
	return denied
}

// walk replaces each name of path that does not exist by the one entry that it must mean.
// It returns false if it replaced nothing, or if a name means no entry. Where a file may be
// created, the names after the last one that exists stay as they are.
func (m *matcher) walk(path string) (to string, ok bool) {
	m.twins, m.how = 0, ""
	to = filepath.VolumeName(path) + string(filepath.Separator)
	names := strings.FieldsFunc(path[len(filepath.VolumeName(path)):], func(r rune) bool { return r < 0x80 && os.IsPathSeparator(byte(r)) })
	for i, name := range names {
		next := filepath.Join(to, name)
		_, err := os.Lstat(next)
		switch {
		case err == nil:
			to = next
			continue
		case !errors.Is(err, fs.ErrNotExist) || m.isDenied(to):
			return path, false
		}
		entry, found := m.entry(to, name)
		if !found {
			return filepath.Join(append([]string{to}, names[i:]...)...), ok && m.create
		}
		to, ok = filepath.Join(to, entry), true
	}
	return to, ok
}

// entry returns the one entry of a folder that a name means.
func (m *matcher) entry(dir, name string) (entry string, ok bool) {
	d, err := os.Open(dir)
	if err != nil {
		return "", false
	}
	defer d.Close()
	entries, err := d.Readdirnames(meantEntries)
	if err != nil {
		return "", false
	}
	for _, is := range []func(entry, name string) bool{isShown, isShownElsewhere} {
		shown := slices.DeleteFunc(slices.Clone(entries), func(e string) bool { return !is(e, name) })
		if len(shown) == 1 && strings.Contains(name, `\`) {
			return shown[0], true
		}
	}
	look := m.look(name)
	alike := slices.DeleteFunc(entries, func(e string) bool { return m.look(e) != look && m.look(plain.Text(e)) != look })
	if m.twins = len(alike); len(alike) != 1 {
		return "", false
	}
	m.how = difference(alike[0], name)
	return alike[0], true
}

// look returns a form of a name that is equal for the names that are taken for each other.
func (m *matcher) look(name string) string {
	name = strings.TrimSpace(nearest.Look(name))
	if !m.create { // a new name may well differ in these
		name = quotes.Replace(name)
	}
	if m.fold {
		name = strings.ToLower(name)
	}
	return name
}

var quotes = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`)

// isShown reports whether answers show an entry as name.
func isShown(entry, name string) bool { return plain.Text(entry) == name }

// isShownElsewhere is like isShown for other programs: Go and JSON with escapes for all but
// ASCII, Python, and git.
func isShownElsewhere(entry, name string) bool {
	ascii := strconv.QuoteToASCII(entry)
	ascii = ascii[1 : len(ascii)-1]
	return ascii == name || python.Replace(ascii) == name || python.Replace(plain.Text(entry)) == name || gitQuoted(entry) == name
}

// python replaces the escapes of Go by those of repr and ascii in Python.
var python = strings.NewReplacer(`\\`, `\\`, `\u00`, `\x`)

// gitQuoted returns a name as git shows it without core.quotePath, but without the quotes.
func gitQuoted(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c < ' ' || c == 0x7f || c >= 0x80:
			if at := strings.IndexByte("\a\b\t\n\v\f\r", c); at >= 0 {
				b.WriteString(`\` + "abtnvfr"[at:at+1])
			} else {
				b.WriteString(`\` + string([]byte{'0' + c>>6, '0' + c>>3&7, '0' + c&7}))
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// difference describes how the name of an entry differs from a name that looks the same.
func difference(entry, name string) string {
	form := "composed letters (NFC)"
	if !norm.NFC.IsNormalString(entry) {
		form = "decomposed letters (NFD)"
	}
	switch {
	case norm.NFC.String(entry) == norm.NFC.String(name):
		return form
	case !utf8.ValidString(entry):
		return "bytes that are not UTF-8"
	case strings.EqualFold(entry, name):
		return "upper and lower case letters otherwise"
	case quotes.Replace(entry) == quotes.Replace(name):
		return "other quotes"
	case strings.TrimSpace(entry) == strings.TrimSpace(name):
		return "blanks at an end, or none there"
	}
	return "another kind of blank or hyphen, or an invisible character"
}
