package sandbox

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Readable returns the paths for Policy.Read that commands may read besides the
// writable folders, and the secrets for Policy.Hide. It reads complete system
// folders, and the children of the home folder one by one, without secrets and
// without hidden names that are not known to be harmless. granted lists the folders
// that the caller grants itself: an unknown hidden name is not hidden if it is in
// or above one of them. extra lists further secrets, such as the server's own
// state.
//
// The lists describe the present files. A child of the home folder made later is
// not readable until Readable is called again. The same is true for folders that
// contain a secret and were therefore listed child by child (.config, .local/share,
// ...).
//
// A link grants nothing: its target is readable if its own path is. There is one
// exception, since settings are often stored elsewhere: a link with a harmless
// hidden name grants its target in the home folder if the target's only fault is an
// unknown name.
func Readable(home string, granted []string, extra ...string) (read, secret []string) {
	secret = append(secret, clean(extra)...)
	system := expand(systemSecrets, "/")
	for _, path := range system {
		// If we cannot read it, neither can a command: its folder need not be
		// listed child by child.
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
	// It is often a link to a file of the network manager in /run.
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

// Around returns the paths that make up a folder of a toolchain without what may hold credentials. home
// is the home folder of the user. It returns
// the folder itself if nothing in it may. known is false for a folder of a home folder whose
// hidden name is not known to be harmless.
func Around(home, folder string) (paths []string, known bool) {
	l := lister{home: (&Home{home: home}).of(folder), secrets: expand(systemSecrets, "/")}
	known = true
	if l.home != "" {
		l.secrets = slices.Concat(expand(secrets, l.home), expand(cacheSecrets, l.home), credentialFiles(l.home))
		if names, ok := l.names(folder); ok && judgeName(names) == unknownName {
			l.home, known = "", false // its names tell nothing
		}
	}
	l.grant(folder, 0)
	return l.read, known
}

// IsHome reports whether a folder is the home folder of some user, by its name.
func IsHome(folder string) bool { return new(Home).of(folder) == folder }

// InSystem reports whether a path is in a folder of the system that commands may read as a whole.
func InSystem(path string) bool { return belowAny(path, systemFolders) }

func clean(paths []string) []string {
	var out []string
	for _, p := range paths {
		if filepath.IsAbs(p) {
			out = append(out, filepath.Clean(p))
		}
	}
	return out
}

// expand returns the paths of a table below base. A secret defined by its content
// is included only if the file exists and either holds it or cannot be read.
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

// matching returns the existing paths for a path with * in its last name, or the
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

// credentialFiles returns the settings files that include a credential.
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

// holdsAny reports whether the beginning of a file contains one of the texts. It
// returns true for a file that cannot be read.
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

// lister lists the readable paths around secrets.
type lister struct {
	secrets []string // as named and with links resolved
	home    string   // "": none
	granted []string
	read    []string
	linked  []string // targets of links with harmless names
	unknown []string // hidden names of the home folder that are not known to be harmless
	held    []string // the parts of unknown that are not granted
}

// grant lists a path as a whole if it contains no secret, and otherwise its
// children. mode is the file's type.
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

// link grants the target of a link whose name is in the tables of harmless names.
// Links that a command could have made grant nothing: those in a granted folder,
// and those deeper below a harmless folder, such as a cache.
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

// names returns the names of a path below the home folder.
func (l *lister) names(path string) ([]string, bool) {
	if l.home == "" || path == l.home || !below(path, l.home) {
		return nil, false
	}
	return strings.Split(strings.TrimPrefix(path, l.home+"/"), "/"), true
}

// hold records the parts that are not granted of a name that is not known to be
// harmless.
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
