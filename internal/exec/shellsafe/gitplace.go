package shellsafe

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// GitProbe is the script that prints the information that GitEnv needs about the
// repository of a folder, each ended by NUL: seven fields, the names of the
// settings, an empty field, and then alternately the files and names of the
// repository's own settings.
const GitProbe = `{
near=$(pwd -P); while [ "$near" ] && [ ! -e "$near/.git" ] && [ ! -L "$near/.git" ]; do near=${near%/*}; done
pwd -P; printf '\0%s\0' "$near"
git rev-parse --absolute-git-dir; printf '\0'
git rev-parse --git-common-dir; printf '\0'
git rev-parse --show-toplevel; printf '\0'
(cd "$(git rev-parse --absolute-git-dir)" && to=$(cat gitdir) && cd "${to%/*}" && pwd -P); printf '\0'
git config --local --get core.worktree; printf '\0'
git config --list --name-only -z; printf '\0'
git config --local --includes --list --show-origin --name-only -z
} 2>/dev/null; true`

// gitPlace describes the location of a folder's repository.
type gitPlace struct {
	dir      string   // the folder, with links resolved
	near     string   // the folder itself or the nearest one above it with a .git
	git      string   // the repository's folder
	common   string   // the folder with the shared objects and settings
	top      string   // its working tree
	back     string   // the folder in which a linked working tree is recorded
	worktree string   // core.worktree of the repository's own settings
	settings []string // names
	origins  []string // files, as file:PATH, and names
}

// readProbe parses the output of GitProbe.
func readProbe(text string) (p gitPlace, ok bool) {
	f := strings.Split(text, "\x00")
	if len(f) < 9 || f[0] == "" {
		return p, false
	}
	for i := range f[:7] {
		f[i] = strings.TrimSuffix(f[i], "\n")
	}
	p = gitPlace{dir: f[0], near: f[1], git: f[2], common: below(f[0], f[3]), top: f[4], back: f[5], worktree: f[6]}
	end := slices.Index(f[7:], "")
	if end < 0 {
		return p, false
	}
	p.settings, p.origins = f[7:7+end], f[7+end+1:]
	return p, true
}

func below(dir, path string) string {
	if path = filepath.FromSlash(path); path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// outside returns the reason why git would read outside of the roots in a way that
// the roots do not show, or "". A repository outside of the roots is accepted if it
// belongs to a folder above, or if it names the working tree itself, as those of
// submodules and of linked working trees do.
func (p *gitPlace) outside(roots []string) string {
	inside := func(path string) bool {
		return slices.ContainsFunc(roots, func(r string) bool { return within(filepath.FromSlash(path), r) })
	}
	if p.git == "" || runtime.GOOS == "windows" {
		return "" // there is none, or shell and git print paths in different forms
	}
	if !inside(p.git) {
		own := p.top == "" && within(p.dir, p.git)
		if p.top != "" && p.near == p.top {
			own = p.git == strings.TrimSuffix(p.top, "/")+"/.git" || p.back == p.top || p.worktree != ""
		}
		if !own || !inside(p.dir) {
			return "the repository of this folder is outside of the roots: " + shortForm(p.git)
		}
		return ""
	}
	switch {
	case !inside(p.common):
		return "the repository takes its objects from outside of the roots: " + shortForm(p.common)
	case p.top != "" && !inside(p.top):
		return "the working tree of this repository is outside of the roots (core.worktree): " + shortForm(p.top)
	}
	base := p.dir
	if p.top != "" {
		base = p.top
	}
	for _, origin := range p.origins {
		if file, ok := strings.CutPrefix(origin, "file:"); ok && !inside(below(base, file)) {
			return "the repository includes settings from outside of the roots: " + shortForm(file)
		}
	}
	return ""
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
