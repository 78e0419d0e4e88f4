package gitconfig

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Repository says where a checkout and its settings are. Paths are absolute.
type Repository struct {
	Dir    string // the folder with config.worktree, index and HEAD
	Common string // the folder with config and hooks; the same, but for a linked worktree
	Top    string // the top folder of the checkout
	Home   string // for names that begin with ~/; "": none
}

// maxFile is the limit of a file with settings, in bytes; maxFiles that of the files of one
// repository.
const (
	maxFile  = 1 << 20
	maxFiles = 50
)

// hookNames lists the names of hooks, for a folder of hooks that holds other files, too.
var hookNames = strings.Fields("applypatch-msg commit-msg fsmonitor-watchman p4-changelist p4-post-changelist p4-pre-submit p4-prepare-changelist post-applypatch post-checkout post-commit post-index-change post-merge post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg proc-receive push-to-checkout reference-transaction sendemail-validate update")

// Programs returns the files and folders that the configuration of a repository makes git run,
// or read as settings: the folder of hooks, included files, and files that commands name. The
// folder of hooks may be absent; the others exist. If the folder of hooks holds the checkout, the
// hooks in it are returned in its place.
func (r Repository) Programs() (out []string) {
	if r.Top == "" {
		return nil
	}
	files := []string{filepath.Join(r.Common, "config"), filepath.Join(r.Dir, "config.worktree")}
	hooks := ""
	for i := 0; i < len(files) && i < maxFiles; i++ {
		f := readFile(files[i])
		if f == nil {
			continue
		}
		if i > 1 {
			out = append(out, files[i])
		}
		n := f.Names()
		if n.Hooks != "" {
			hooks = r.resolve(n.Hooks, r.Top)
		}
		for _, path := range n.Includes {
			if path = r.resolve(path, filepath.Dir(files[i])); path != "" && !slices.Contains(files, path) {
				files = append(files, path)
			}
		}
		for _, w := range n.Words {
			if path := r.resolve(w, r.Top); path != "" && isFile(path) {
				out = append(out, path)
			}
		}
	}
	switch {
	case hooks == "" || hooks == os.DevNull:
	case hooks == filepath.Dir(hooks) || inside(r.Top, hooks):
		for _, name := range hookNames {
			out = append(out, filepath.Join(hooks, name))
		}
	default:
		out = append(out, hooks)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Worktree returns the checkout that the configuration of a submodule names; "" if it names none.
func (r Repository) Worktree() string {
	f := readFile(filepath.Join(r.Common, "config"))
	if f == nil || f.Last("core", "worktree") == "" {
		return ""
	}
	return in(r.Dir, f.Last("core", "worktree"))
}

// resolve returns the path that a value names; "" if it names none.
func (r Repository) resolve(value, base string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		if r.Home == "" {
			return ""
		}
		return filepath.Join(r.Home, rest)
	}
	if value == "" || strings.HasPrefix(value, "%(prefix)") || strings.HasPrefix(value, "~") {
		return ""
	}
	if filepath.IsAbs(value) {
		return filepath.Clean(value)
	}
	return filepath.Join(base, value)
}

// Find returns the repository whose checkout holds a path, with links resolved. It looks up to
// the folder root.
func Find(path, root string) (r Repository, ok bool) {
	for top := path; inside(top, root); top = filepath.Dir(top) {
		git := filepath.Join(top, ".git")
		info, err := os.Stat(git)
		switch {
		case err != nil:
		case info.IsDir():
			return Repository{Dir: git, Common: git, Top: top}, true
		default:
			if r, ok := linked(git, top); ok {
				return r, true
			}
		}
		if top == filepath.Dir(top) {
			break
		}
	}
	return Repository{}, false
}

// linked returns the repository that a file .git names.
func linked(git, top string) (Repository, bool) {
	dir, ok := strings.CutPrefix(string(read(git)), "gitdir: ")
	if !ok {
		return Repository{}, false
	}
	dir = in(top, strings.TrimRight(dir, "\r\n"))
	r := Repository{Dir: dir, Common: dir, Top: top}
	if common := strings.TrimRight(string(read(filepath.Join(dir, "commondir"))), "\r\n"); common != "" {
		r.Common = in(dir, common)
	}
	return r, true
}

// Root is a workspace folder whose repository is elsewhere: a linked worktree or the checkout of a
// submodule. Paths are canonical.
type Root struct{ Top, Dir, Common string }

// Linked returns the repository of a folder with a file .git, if that repository names the folder
// as its checkout. A file .git alone proves nothing: it may name any repository.
func Linked(top string) (Root, bool) {
	git := filepath.Join(top, ".git")
	if info, err := os.Lstat(git); err != nil || !info.Mode().IsRegular() {
		return Root{}, false
	}
	r, ok := linked(git, top)
	if !ok {
		return Root{}, false
	}
	dir, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		return Root{}, false
	}
	common, err := filepath.EvalSymlinks(r.Common)
	if err != nil || !pointsBack(dir, common, top) {
		return Root{}, false
	}
	return Root{Top: top, Dir: dir, Common: common}, true
}

func pointsBack(dir, common, top string) bool {
	var back string
	if dir == common { // of a submodule
		if back = (Repository{Dir: dir, Common: common}).Worktree(); back == "" {
			return false
		}
	} else {
		text := strings.TrimRight(string(read(filepath.Join(dir, "gitdir"))), "\r\n")
		if text == "" || filepath.Dir(dir) != filepath.Join(common, "worktrees") {
			return false
		}
		back = filepath.Dir(in(dir, text))
	}
	real, err := filepath.EvalSymlinks(back)
	return err == nil && real == top
}

func in(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func inside(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// readFile parses a file; nil if there is none, or none that git would read.
func readFile(path string) *File {
	text := read(path)
	if text == nil {
		return nil
	}
	f, err := Parse(text)
	if err != nil {
		return nil
	}
	return f
}

// read returns the content of a regular file of at most maxFile bytes; nil for anything else. It
// does not wait for a pipe.
func read(path string) []byte {
	if !isFile(path) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil || len(text) > maxFile {
		return nil
	}
	return text
}
