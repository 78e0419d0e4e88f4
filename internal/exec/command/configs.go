package command

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/exec/gitconfig"
	"mcp-toolset/internal/text/plain"
)

// Git writes its configuration by renaming a new file over it, so a mount can only make all of
// it read-only. A command therefore gets a copy in its temporary folder, and a link to the copy
// is mounted in the place of the file. The server carries the changes over that make git run
// nothing: while the command runs, as often as it looks, and at its end. The file itself never
// holds anything else, so no git outside of the sandbox reads it, and a killed server leaves
// nothing to take back.

// configLimit is the limit of a configuration that a command gets as a copy, in bytes.
const configLimit = 1 << 20

// lent is the copy of a configuration that a command can change.
type lent struct {
	name
	dir   *os.File // the folder of the copy
	file  string   // the name of the copy
	given []byte   // content of the copy as of the last look
	seen  []byte   // content of the original as of then
	inode uint64   // of the original; 0: the copy is not mounted over it any more
}

// isConfig reports whether a name is that of a configuration of a repository.
func (n name) isConfig() bool {
	base := filepath.Base(n.path)
	return n.repo.dir != "" && (base == "config" || base == "config.worktree")
}

// lend makes copies of the configurations among protect, in a new folder in temp, and returns
// what to mount in their place, with the rest of protect. fixed lists further paths that the
// command must not change. lend also makes copies of hooks that husky generates in folders that
// must not change.
func (g *guard) lend(w *watched, protect []string, temp string, fixed []string) (instead map[string]string, rest []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	instead = map[string]string{}
	for _, path := range protect {
		n, ok := w.configs[path]
		if !ok || slices.ContainsFunc(fixed, func(f string) bool { return f != "" && inside(path, f) }) || g.lendOne(w, n, temp) != nil {
			rest = append(rest, path)
			continue
		}
		l := w.lent[len(w.lent)-1]
		instead[path] = filepath.Join(l.dir.Name(), l.file+".link")
	}
	for _, path := range slices.Concat(protect, fixed) {
		if folder := g.lendHooks(w, path, temp); folder != "" {
			instead[w.hooks[folder]] = folder
		}
	}
	return instead, rest
}

// generatedHooks is the folder in which husky generates hooks whenever packages are installed,
// as the setting core.hooksPath that it makes names it. git ignores it.
const generatedHooks = ".husky/_"

// lendHooks makes a copy of generated hooks in a path that must not change, and returns its
// folder; "" if there are none. What a command does with the copy is lost.
func (g *guard) lendHooks(w *watched, path, temp string) string {
	switch {
	case filepath.Base(path) == filepath.Dir(generatedHooks):
		path = filepath.Join(path, filepath.Base(generatedHooks))
	case !strings.HasSuffix(path, "/"+generatedHooks):
		return ""
	}
	s, err := openParent(outermost(w.bases, path), path)
	if err != nil || w.opens(path) || slices.Contains(slices.Collect(maps.Values(w.hooks)), path) {
		return ""
	}
	defer s.close()
	_ = s.mkdir() // as husky does
	if at, err := s.look(); err != nil || !at.kind.IsDir() || w.folder(temp) != nil {
		return ""
	}
	folder := filepath.Join(w.copies.Name(), "hooks"+strconv.Itoa(len(w.hooks)))
	if os.Mkdir(folder, 0o700) != nil || copyHooks(folder, s) != nil {
		return ""
	}
	w.hooks[folder] = path
	return folder
}

// copyHooks copies the files of a folder into a new one.
func copyHooks(to string, from *spot) error {
	f, err := from.open()
	if err != nil {
		return err
	}
	defer f.Close()
	entries, _ := f.ReadDir(1000)
	for _, e := range entries {
		if text := in(f, e.Name()).read(configLimit); text != nil {
			if err := os.WriteFile(filepath.Join(to, e.Name()), text, 0o700); err != nil {
				return err
			}
		}
	}
	return nil
}

// changedHooks reports whether a command left other files in the copy of a folder of hooks.
func changedHooks(folder, path string, bases []string) bool {
	f, err := openFolder(folder)
	if err != nil {
		return false
	}
	defer f.Close()
	entries, _ := f.ReadDir(1000)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		text := in(f, e.Name()).read(configLimit)
		return text != nil && string(text) != string(readIn(bases, filepath.Join(path, e.Name()), configLimit))
	})
}

// folder makes the folder for copies.
func (w *watched) folder(temp string) error {
	if w.copies != nil {
		return nil
	}
	folder, err := os.MkdirTemp(temp, ".git-")
	if err == nil {
		w.copies, err = os.Open(folder)
	}
	return err
}

func (g *guard) lendOne(w *watched, n name, temp string) error {
	s, err := openParent(outermost(w.bases, n.path), n.path)
	if err != nil {
		return err
	}
	defer s.close()
	text := s.read(configLimit)
	at, err := s.look()
	if text == nil || err != nil || at.links != 1 {
		return fs.ErrInvalid
	}
	if _, err := gitconfig.Parse(text); err != nil {
		return err
	}
	if err := w.folder(temp); err != nil {
		return err
	}
	l := &lent{name: n, dir: w.copies, file: strconv.Itoa(len(w.lent)), given: text, seen: text, inode: at.inode}
	path := filepath.Join(w.copies.Name(), l.file)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	if err := os.Symlink(path, path+".link"); err != nil {
		return err
	}
	w.lent = append(w.lent, l)
	return nil
}

// takeBack removes the copies of a command that has ended.
func (w *watched) takeBack() {
	for folder, path := range w.hooks {
		if changedHooks(folder, path, w.bases) {
			w.tellRestored(plain.Line(path) + " stays as it was, since git could run the hooks in it. If they are wanted, ask the user to run npx husky")
		}
	}
	if w.copies != nil {
		_ = w.copies.Close()
		_ = removeAll(w.copies.Name())
	}
	w.lent, w.copies, w.hooks = nil, nil, nil
}

// carry carries what a command has changed in its copies over to the configurations of the
// repositories, and changes of those to the copies. Git reads a config.worktree only with a
// setting of config, so that setting waits for the end of the command.
func (g *guard) carry(w *watched, f found, bases []string, ended bool) {
	for _, l := range w.lent {
		now := in(l.dir, l.file).read(configLimit)
		s, err := openParent(outermost(bases, l.path), l.path)
		if err != nil {
			continue
		}
		g.carryOne(w, l, s, now, g.judge(l.name, f, bases), ended)
		s.close()
	}
}

func (g *guard) carryOne(w *watched, l *lent, s *spot, now []byte, j gitconfig.Judge, ended bool) {
	real, ok := g.unmounted(w, l, s, j)
	if !ok || now == nil || string(now) == string(l.given) && string(real) == string(l.seen) {
		return
	}
	waits, replaced := false, false
	out, refused, ok := gitconfig.Carry(l.given, now, real, func(from, to *gitconfig.File, k gitconfig.Key) bool {
		waits = waits || k == gitconfig.Key{Section: "extensions", Name: "worktreeconfig"}
		// git init sets it, and no command of git removes it.
		replaced = replaced || k == gitconfig.Key{Section: "core", Name: "repositoryformatversion"} && to.Last(k.Section, k.Name) == ""
		return j.Allows(from, to, k)
	})
	switch {
	case (waits || replaced || !ok) && !ended:
		return
	case replaced || !ok:
		w.tellRestored(plain.Line(l.path) + " stays as it was: the command wrote another file, or one that git cannot read. Change it with git config")
		return
	case string(out) != string(real) && store(s, out, ended) != nil:
		return
	}
	back, _, ok := gitconfig.Carry(l.seen, real, now, func(_, _ *gitconfig.File, _ gitconfig.Key) bool { return true })
	if !ok || string(back) == string(now) || ended || in(l.dir, l.file).replace(back) != nil {
		back = now
	}
	l.given, l.seen = back, out
	for _, key := range refused {
		w.tellRefused(key, l.name)
	}
}

// store changes the content of a configuration. It stays the same file, since a mount on it, for
// any command or language server, would be gone with another one. store holds the lock that git
// uses; at the end of a command it waits for it, and then does without.
func store(s *spot, content []byte, ended bool) error {
	lock := s.beside(".lock")
	err := lock.create()
	for until := time.Now().Add(lockWait); ended && os.IsExist(err) && time.Now().Before(until); err = lock.create() {
		time.Sleep(10 * time.Millisecond)
	}
	switch {
	case err == nil:
		defer func() { _ = lock.unlink() }()
	case !ended || !os.IsExist(err):
		return err
	}
	return s.overwrite(content)
}

// unmounted returns the content of a configuration. If another program has renamed a file over it,
// as the user's git does, the mount is gone, and the command could change the file itself since. So
// all changes are judged then.
func (g *guard) unmounted(w *watched, l *lent, s *spot, j gitconfig.Judge) (real []byte, ok bool) {
	at, err := s.look()
	real = s.read(configLimit)
	if err == nil && at.inode == l.inode && real != nil {
		return real, true
	}
	if err == nil && real == nil && g.quarantine(l.path, w.bases) != nil {
		return nil, false
	}
	l.inode = 0 // from now on
	out, refused, parsed := gitconfig.Carry(l.seen, real, l.seen, j.Allows)
	if real == nil || !parsed {
		out, refused = l.seen, []string{"the content"}
	}
	if string(out) != string(real) && s.replace(out) != nil {
		return nil, false
	}
	if l.seen = out; len(refused) > 0 {
		g.log.Warn("settings by which git runs a program, and that changed while a command ran, were taken back", "file", l.path, "settings", refused)
	}
	for _, key := range refused {
		w.tellRefused(key, l.name)
	}
	return out, true
}

// tellRefused records that a setting was not kept.
func (w *watched) tellRefused(key string, n name) {
	fact := plain.Line(key) + " of " + plain.Line(n.path) + " stays as it was, since git could run a program by it; the other changes were kept. If it is wanted, ask the user to set it"
	if n.repo.outside {
		fact = plain.Line(key) + " of " + plain.Line(n.path) + " stays as it was: the repository is outside of the workspace, and commands change only the settings of branches there"
	}
	w.tellRestored(fact)
}

func (w *watched) tellRestored(fact string) {
	if !slices.Contains(w.restored, fact) {
		w.restored = append(w.restored, fact)
	}
}

// judge returns what decides on changes of a configuration.
func (g *guard) judge(n name, f found, bases []string) gitconfig.Judge {
	top := filepath.Dir(n.repo.dir)
	return gitconfig.Judge{
		BranchesOnly: n.repo.outside,
		Local: func(path string) bool {
			if path == "" || strings.HasPrefix(path, "~") {
				return false
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(top, path)
			}
			real, err := filepath.EvalSymlinks(path)
			return err == nil && (f.known[real] || f.known[filepath.Join(real, ".git")]) || elsewhere(path, bases)
		},
		Worktree: func(value string) bool {
			at := filepath.Join(n.repo.dir, value)
			return n.repo.super != "" && strings.HasPrefix(value, "../") && at != n.repo.super && inside(at, n.repo.super) && !slices.Contains(strings.Split(at, "/"), ".git")
		},
	}
}

// plainConfig reports whether a configuration that a command made holds only settings by which git
// runs nothing.
func (g *guard) plainConfig(text []byte, n name, f found, bases []string) bool {
	_, refused, ok := gitconfig.Carry(nil, text, nil, g.judge(n, f, bases).Allows)
	return ok && len(refused) == 0
}

// clean takes the settings by which git runs a program out of a configuration that commands made.
// It also replaces a link to a copy, as cp -r of a repository makes it. It returns false if the file
// must be quarantined.
func (g *guard) clean(n name, f found, bases []string, makers []*watched) bool {
	s, err := openParent(outermost(bases, n.path), n.path)
	if err != nil {
		return false
	}
	defer s.close()
	at, err := s.look()
	if err != nil {
		return false
	}
	if at.links > 1 && s.alone() != nil {
		return false
	}
	text, copied := s.read(configLimit), false
	if at.kind&fs.ModeSymlink != 0 {
		text, copied = g.lentAt(n.path), true
	}
	if text == nil {
		return false
	}
	out, refused, ok := gitconfig.Carry(nil, text, nil, g.judge(n, f, bases).Allows)
	if !ok || (copied || len(refused) > 0) && s.replace(out) != nil {
		return false
	}
	for _, w := range makers {
		for _, key := range refused {
			w.tellRefused(key, n)
		}
	}
	return true
}

// lentAt returns the content of the copy that a link names; nil if it names none.
func (g *guard) lentAt(link string) []byte {
	text, err := os.Readlink(link)
	if err != nil {
		return nil
	}
	for w := range g.running {
		for _, l := range w.lent {
			if text == filepath.Join(l.dir.Name(), l.file) {
				return in(l.dir, l.file).read(configLimit)
			}
		}
	}
	return nil
}

// lockWait is the timeout for another git to give back its lock of a configuration.
const lockWait = 200 * time.Millisecond
