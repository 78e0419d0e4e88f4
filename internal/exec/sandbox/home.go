package sandbox

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Home decides which files of home folders may hold credentials.
type Home struct {
	home  string   // canonical; "": unknown
	roots []string // canonical
}

// NewHome returns a Home for the user's home folder; home is "" if there is none.
// Home folders of other users are judged by the same names. A root below a home
// folder is the user's choice: in it, only names that are known to hold credentials
// count.
func NewHome(home string, roots []string) *Home {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	if home = filepath.Clean(home); !filepath.IsAbs(home) || home == "/" {
		home = ""
	}
	roots = clean(roots)
	for i, root := range roots {
		roots[i] = filepath.ToSlash(root)
	}
	return &Home{filepath.ToSlash(home), roots}
}

// folded splits a path below a home folder into lower-case names: some file systems
// ignore case.
func folded(path string) []string { return strings.Split(strings.ToLower(path), "/") }

// Secret describes a file that may hold credentials.
type Secret struct {
	Path   string // the file, or the secret folder above it
	Reason string // the possible content
	Known  bool   // by its name or content, not only by an unknown hidden name
}

// Secret reports whether the file or folder at a clean absolute path may hold
// credentials. It reads only settings files with certain names.
func (h *Home) Secret(path string) (Secret, bool) {
	path = filepath.ToSlash(path)
	home := h.of(path)
	if home == "" || path == home {
		return Secret{}, false
	}
	written := strings.Split(path[len(home)+1:], "/")
	names := folded(path[len(home)+1:])
	if e, ok := secretNames().covering(names); ok {
		return Secret{filepath.Join(home, filepath.Join(written[:len(e.names)]...)), e.reason, true}, true
	}
	switch judgeName(names) {
	case settingsName:
		if holdsCredential(path) {
			return Secret{path, "settings with a credential in them", true}, true
		}
	case unknownName:
		if slices.ContainsFunc(h.roots, func(r string) bool { return r != home && below(r, home) && below(path, r) }) {
			return Secret{}, false
		}
		n := 1
		for n < len(names) && judgeName(names[:n]) == parentName {
			n++
		}
		return Secret{filepath.Join(home, filepath.Join(written[:n]...)), "its hidden name in the home folder is not known to be harmless", false}, true
	}
	return Secret{}, false
}

// SystemSecret reports whether a clean absolute path outside of home folders is known to hold
// credentials, whether or not this process can read it. It accesses no file.
func SystemSecret(path string) bool {
	_, ok := systemSecretNames().covering(folded(strings.TrimPrefix(filepath.ToSlash(path), "/")))
	return ok
}

// Below reports whether Secret may report a file in the folder at a clean absolute
// path. It accesses no file.
func (h *Home) Below(folder string) bool {
	folder = filepath.ToSlash(folder)
	home := h.of(folder)
	if home == "" {
		above := func(path string) bool { return path != "" && below(path, folder) }
		return above(h.home) || above("/root") || above("/home") || above("/Users")
	}
	if folder == home {
		return true
	}
	names := folded(folder[len(home)+1:])
	if _, ok := secretNames().covering(names); ok || secretNames().below(names) || settingsNames().below(names) {
		return true
	}
	return judgeName(names) != plainName
}

// of returns the home folder that contains a path, or "".
func (h *Home) of(path string) string {
	if h.home != "" && below(path, h.home) {
		return h.home
	}
	if below(path, "/root") {
		return "/root"
	}
	for _, homes := range []string{"/home/", "/Users/"} {
		if rest, ok := strings.CutPrefix(path, homes); ok {
			name, _, _ := strings.Cut(rest, "/")
			return homes + name
		}
	}
	return ""
}

// nameKind is the result of judging a path below a home folder by its names.
type nameKind uint8

const (
	plainName    nameKind = iota // not hidden, or known to be harmless
	settingsName                 // its content decides
	parentName                   // a folder with harmless and other names
	unknownName
)

// judgeName judges a path below a home folder that is no known secret.
func judgeName(names []string) nameKind {
	names = folded(strings.Join(names, "/"))
	first := names[0]
	if !strings.HasPrefix(first, ".") && !(first == "library" && len(names) > 1 && names[1] == "application support") {
		return plainName
	}
	if settingsNames().has(names) {
		return settingsName
	}
	if _, ok := harmlessNames().covering(names); ok {
		return plainName
	}
	if settingsNames().below(names) || harmlessNames().below(names) {
		return parentName
	}
	return unknownName
}

// nameTable is a table of paths below a home folder, indexed by their first names.
type nameTable struct {
	exact map[string][]nameEntry
	wild  []nameEntry // entries whose first name contains *
}

type nameEntry struct {
	names  []string
	reason string
}

var (
	secretNames = sync.OnceValue(func() *nameTable {
		t := &nameTable{}
		for _, s := range slices.Concat(secrets, cacheSecrets) {
			t.add(s.path, s.reason)
		}
		return t
	})
	systemSecretNames = sync.OnceValue(func() *nameTable {
		t := &nameTable{}
		for _, s := range systemSecrets {
			t.add(strings.TrimPrefix(s.path, "/"), s.reason)
		}
		return t
	})
	harmlessNames = sync.OnceValue(func() *nameTable { return tableOf(harmless) })
	settingsNames = sync.OnceValue(func() *nameTable { return tableOf(settingsFiles) })
)

func tableOf(paths []string) *nameTable {
	t := &nameTable{}
	for _, p := range paths {
		t.add(p, "")
	}
	return t
}

func (t *nameTable) add(path, why string) {
	e := nameEntry{folded(path), why}
	if strings.Contains(e.names[0], "*") {
		t.wild = append(t.wild, e)
		return
	}
	if t.exact == nil {
		t.exact = map[string][]nameEntry{}
	}
	t.exact[e.names[0]] = append(t.exact[e.names[0]], e)
}

// covering returns the entry that contains a path or equals it.
func (t *nameTable) covering(names []string) (nameEntry, bool) {
	for _, list := range [][]nameEntry{t.exact[names[0]], t.wild} {
		for _, e := range list {
			n := len(e.names)
			if n <= len(names) && slices.Equal(e.names[:n-1], names[:n-1]) && nameMatches(e.names[n-1], names[n-1]) {
				return e, true
			}
		}
	}
	return nameEntry{}, false
}

// has reports whether the table contains the path itself.
func (t *nameTable) has(names []string) bool {
	e, ok := t.covering(folded(strings.Join(names, "/")))
	return ok && len(e.names) == len(names)
}

// below reports whether the table contains a path below this one.
func (t *nameTable) below(names []string) bool {
	return slices.ContainsFunc(t.exact[names[0]], func(e nameEntry) bool {
		return len(e.names) > len(names) && slices.Equal(e.names[:len(names)], names)
	})
}

// nameMatches reports whether a name matches a name of a table, in which * matches
// any characters.
func nameMatches(pattern, name string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == name
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
