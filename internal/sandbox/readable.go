package sandbox

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Readable lists what commands may read beside the writable folders, for
// Policy.Read, and what they may not, for Policy.Hide: the system folders whole
// and the children of the home folder one by one, without secrets and without
// hidden names that are not known to be harmless. Granted are the folders that
// the caller grants itself: such a name is not hidden if it is in or above one.
// Extra is further secrets, such as the server's own state.
//
// The list is of what there is now: a child of the home folder made later is
// not readable until it is made again, nor is one of a folder that holds a
// secret and was therefore listed child by child (.config, .local/share, ...).
// A link grants nothing: what it leads to is readable if it is so by itself. A
// link with a harmless hidden name grants what it leads to in the home folder if
// only the name there is not known: settings are often kept elsewhere.
func Readable(home string, granted []string, extra ...string) (read, secret []string) {
	secret = append(secret, clean(extra)...)
	system := expand(systemSecrets, "/")
	for _, path := range system {
		// One that we cannot read ourselves needs no list of its neighbours.
		if f, err := os.Open(path); err == nil {
			f.Close()
			secret = append(secret, path)
		}
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	if home = filepath.Clean(home); !filepath.IsAbs(home) || home == "/" {
		home = ""
	} else {
		secret = slices.Concat(secret, expand(secrets, home), expand(cacheSecrets, home), credentialFiles(home))
	}
	real := slices.Clone(secret)
	links := NewResolver()
	for _, s := range secret {
		if r := links.Real(s); r != "" && r != s {
			real = append(real, r)
		}
	}
	l := lister{secrets: real, home: home, granted: clean(granted)}
	for _, folder := range systemFolders {
		if st, err := os.Lstat(folder); err == nil {
			l.grant(folder, st.Mode())
		}
	}
	// Often a link to what the manager of the network keeps in /run.
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && !belowAny(real, l.read) {
		l.grant(real, 0)
	}
	if home != "" {
		l.children(home)
		if belowAny(home, l.granted) { // elsewhere nothing grants them
			for _, path := range l.unknown {
				l.hold(path)
			}
			secret = append(secret, l.held...)
		}
		l.read = append(l.read, l.linked...)
	}
	slices.Sort(secret)
	return l.read, slices.Compact(secret)
}

func clean(paths []string) []string {
	var out []string
	for _, p := range paths {
		if filepath.IsAbs(p) {
			out = append(out, filepath.Clean(p))
		}
	}
	return out
}

// expand makes paths of a table. What is a secret by its content is one only
// if it is there and holds it, or cannot be read to tell.
func expand(table []secret, base string) []string {
	var out []string
	for _, s := range table {
		for _, p := range matching(filepath.Join(base, s.path)) {
			if s.holds == nil || holdsAny(p, s.holds) {
				out = append(out, p)
			}
		}
	}
	return out
}

// matching lists what there is for a path with a * in its last name, and the
// path itself if it has none.
func matching(path string) (out []string) {
	name := filepath.Base(path)
	if !strings.Contains(name, "*") {
		return []string{path}
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if nameMatches(name, e.Name()) {
			out = append(out, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return out
}

// credentialFiles lists the settings files that hold a credential.
func credentialFiles(home string) (out []string) {
	for _, file := range settingsFiles {
		for _, path := range matching(filepath.Join(home, file)) {
			if holdsCredential(path) {
				out = append(out, path)
			}
		}
	}
	return out
}

// holdsAny reports whether the beginning of a file has one of these texts.
func holdsAny(path string, texts []string) bool {
	const enough = 64 << 10
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return !os.IsNotExist(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, enough))
	return err != nil || slices.ContainsFunc(texts, func(t string) bool { return bytes.Contains(b, []byte(t)) })
}

// lister lists what may be read around secrets.
type lister struct {
	secrets []string // both as named and as they are
	home    string   // "": none
	granted []string
	read    []string
	linked  []string // what links with harmless names lead to
	unknown []string // hidden names of the home folder that are not known to be harmless
	held    []string // what of unknown is not granted
}

// grant lists a path of a type whole if it holds no secret, else its children.
func (l *lister) grant(path string, mode os.FileMode) {
	if belowAny(path, l.secrets) {
		return
	}
	if mode&os.ModeSymlink != 0 {
		l.link(path)
		return
	}
	if names, ok := l.names(path); ok {
		switch judgeName(names) {
		case unknownName:
			l.unknown = append(l.unknown, path)
			return
		case parentName:
			l.children(path)
			return
		}
	}
	if slices.ContainsFunc(l.secrets, func(s string) bool { return below(s, path) }) {
		l.children(path)
		return
	}
	l.read = append(l.read, path)
}

func (l *lister) children(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		l.grant(filepath.Join(folder, e.Name()), e.Type())
	}
}

// link grants what a link leads to whose name is in the tables of harmless names.
// A link that a command could have made grants nothing: one in a granted folder,
// or further below a harmless one, such as a cache.
func (l *lister) link(path string) {
	names, ok := l.names(path)
	if !ok || belowAny(path, l.granted) || !harmlessNames().has(names) && !settingsNames().has(names) {
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	names, ok = l.names(real)
	holds := slices.ContainsFunc(l.secrets, func(s string) bool { return below(s, real) })
	if ok && judgeName(names) == unknownName && !holds && !belowAny(real, l.secrets) && !holdsCredential(real) {
		l.linked = append(l.linked, real)
	}
}

// names are the names of a path below the home folder.
func (l *lister) names(path string) ([]string, bool) {
	if l.home == "" || path == l.home || !below(path, l.home) {
		return nil, false
	}
	return strings.Split(strings.TrimPrefix(path, l.home+"/"), "/"), true
}

// hold notes a name that is not known to be harmless, as far as it is not granted.
func (l *lister) hold(path string) {
	switch {
	case slices.ContainsFunc(l.granted, func(g string) bool { return g == path || below(path, g) && below(g, l.home) && g != l.home }):
	case slices.ContainsFunc(l.granted, func(g string) bool { return below(g, path) }):
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			l.hold(filepath.Join(path, e.Name()))
		}
	default:
		l.held = append(l.held, path)
	}
}
