package command

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/exec/gitconfig"
)

// Protected names of editors, agents and package managers are searched where those
// programs are started: in the roots, and in the top folders of repositories that
// existed when the command started. What a command makes there under such a name is
// quarantined, unless a commit of the repository holds it. git clone, checkout, pull
// and merge bring what the user asked for, and a file missing from a merge would be
// lost with the next commit. A command can commit, too, so the result names what stays.

// Changing records that a tool is about to change a file for the model, so that the
// change is not attributed to a running command.
func (c *Commands) Changing(path string) {
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	for w := range c.guard.running {
		for _, o := range w.openings {
			if inside(path, o.Path) {
				o.Agreed = append(o.Agreed, path)
			}
		}
		for _, dir := range w.projects {
			for _, name := range w.names {
				if made := filepath.Join(dir, name); inside(path, made) {
					w.trusted[made] = true
				}
			}
		}
	}
}

// Undisturbed calls f while no change is attributed to a running command. f must be short: no
// command starts meanwhile.
func (c *Commands) Undisturbed(f func()) {
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	f()
}

// planted returns the paths that exist under protected names, by folder.
func (f found) planted(names []string) map[string][]string {
	out := map[string][]string{}
	for dir, entries := range f.projects {
		for _, name := range names {
			first, rest, deep := strings.Cut(name, "/")
			for _, entry := range entries {
				if !strings.EqualFold(entry, first) {
					continue
				}
				path := filepath.Join(dir, entry, rest)
				if _, err := os.Lstat(path); err == nil || !deep {
					out[dir] = append(out[dir], path)
				}
			}
		}
	}
	return out
}

// watchPlants starts to watch a command that must not make protected names.
func (w *watched) watchPlants(f found, names []string) {
	w.names, w.projects = names, slices.Collect(maps.Keys(f.projects))
	for _, paths := range f.planted(names) {
		for _, path := range paths {
			w.trusted[path] = true
		}
	}
}

// watchPrograms finds what the configuration of repositories makes git run in folders that a
// command can change. It returns what exists, which mounts must protect. What is absent is watched
// as a protected name is that a command makes.
func (g *guard) watchPrograms(w *watched, f found) (protect []string) {
	for _, r := range f.repos {
		if r.linked {
			continue // git could not remove it again; as a root it is protected
		}
		of := gitconfig.Repository{Dir: r.dir, Common: r.dir, Top: filepath.Dir(r.dir), Home: g.home}
		if r.super != "" {
			of.Top = of.Worktree()
		}
		for _, path := range of.Programs() {
			base := outermost(w.bases, path)
			if base == "" || g.hides(path) {
				continue
			}
			for _, link := range linksTo(path, w.bases) {
				w.links[link], _ = os.Readlink(link)
			}
			if _, err := lookAt(path); err != nil {
				w.programs[path] = of.Top
				continue
			}
			g.prepare(name{path: path}, w.bases)
			w.trusted[path] = true
			protect = append(protect, path)
		}
	}
	return protect
}

// lookAtPlants quarantines protected names that running commands made. ended lists
// commands that make no more changes; git may still run in others.
func (g *guard) lookAtPlants(f found, bases []string, ended []*watched) {
	var names []string
	for w := range g.running {
		names = append(names, w.names...)
	}
	slices.Sort(names)
	planted := f.planted(slices.Compact(names))
	for w := range g.running {
		for path, dir := range w.programs {
			if exists(path) && !slices.Contains(planted[dir], path) {
				planted[dir] = append(planted[dir], path)
			}
		}
	}
	for dir, paths := range planted {
		made := map[string][]*watched{}
		for _, path := range paths {
			makers := g.planters(dir, path)
			done := slices.ContainsFunc(makers, func(w *watched) bool { return slices.Contains(ended, w) })
			if len(makers) > 0 && (done || g.settled(dir, path)) && !plainAttributes(path, bases) && !plainModules(path, bases) {
				made[path] = makers
			}
		}
		if len(made) == 0 {
			continue
		}
		tracked := g.tracked(dir, slices.Sorted(maps.Keys(made)))
		for path, makers := range made {
			switch {
			case slices.Contains(tracked, path):
				for _, w := range makers {
					w.trusted[path] = true
					w.appeared = append(w.appeared, path)
				}
			case g.quarantine(path, bases) == nil:
				g.tell(makers, path)
			}
		}
	}
}

// planters returns the running commands that may have made a protected name. It returns
// none if one of them is allowed to.
func (g *guard) planters(dir, path string) []*watched {
	var out []*watched
	for _, w := range g.makers(name{path: path}) {
		if w.programs[path] != "" && !g.opened(path) {
			out = append(out, w)
			continue
		}
		if len(w.names) == 0 {
			for other := range g.running {
				other.trusted[path] = true
			}
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		watches := slices.ContainsFunc(w.names, func(name string) bool { return strings.EqualFold(name, rel) })
		if watches && slices.Contains(w.projects, dir) {
			out = append(out, w)
		}
	}
	return out
}

// settled reports whether git seems to have finished in a folder: git writes files
// first and the commit that holds them later.
func (g *guard) settled(dir, path string) bool {
	git := filepath.Join(dir, ".git")
	if real := pointed(git, readSome(git)); real != "" {
		git = real
	}
	if _, err := os.Lstat(filepath.Join(git, "index.lock")); err == nil {
		return false
	}
	at, err := lookAt(path)
	return err == nil && time.Since(time.Unix(0, at.changed)) >= g.settle
}

// attributeDriver matches an attribute that makes git run a program of its
// configuration. plainDrivers lists the values that name no program or that of Git LFS.
var (
	attributeDriver = regexp.MustCompile(`(?m)(?:^|[ \t])(?:filter|diff|merge)=([^ \t\r\n]*)`)
	plainDrivers    = []string{"lfs", "text", "binary", "union"}
)

// moduleNames lists the settings of .gitmodules by which git runs nothing.
var moduleNames = []string{"path", "url", "branch", "shallow", "ignore", "fetchrecursesubmodules"}

// plainModules reports whether path is a file .gitmodules that makes git run nothing,
// such as git submodule add writes.
func plainModules(path string, bases []string) bool {
	if filepath.Base(path) != ".gitmodules" {
		return false
	}
	s, err := openParent(outermost(bases, path), path)
	if err != nil {
		return false
	}
	defer s.close()
	at, err := s.look()
	if err != nil || at.kind != 0 || at.links != 1 {
		return false
	}
	f, err := gitconfig.Parse(s.read(64 << 10))
	return err == nil && len(f.Entries) > 0 && !slices.ContainsFunc(f.Entries, func(e gitconfig.Entry) bool {
		flag := strings.HasPrefix(e.Value, "-") || strings.HasPrefix(e.Value, ":") || strings.Contains(e.Value, "::")
		return e.Section != "submodule" || e.Sub == "" || !slices.Contains(moduleNames, e.Name) || flag
	})
}

// plainAttributes reports whether path is a file .gitattributes that makes git run no
// program that a command can choose.
func plainAttributes(path string, bases []string) bool {
	if !strings.EqualFold(filepath.Base(path), ".gitattributes") {
		return false
	}
	s, err := openParent(outermost(bases, path), path)
	if err != nil {
		return false
	}
	defer s.close()
	at, err := s.look()
	text := s.read(64 << 10)
	return err == nil && at.links == 1 && text != nil &&
		!slices.ContainsFunc(attributeDriver.FindAllSubmatch(text, -1), func(m [][]byte) bool { return !slices.Contains(plainDrivers, string(m[1])) })
}

// trackedTime is the timeout for git to compare a few files.
const trackedTime = 10 * time.Second

// trackedScript defines a shell function that succeeds for a path that is unchanged
// since the last commit. It also succeeds if the index has the path with contents that
// a commit of some branch has at that path, as after a merge in conflict or git
// checkout BRANCH -- PATH. Lines of git status begin with two letters: ?? and !! are
// not tracked, and the second letter is a change of the file itself.
const trackedScript = `export GIT_OPTIONAL_LOCKS=0
git rev-parse --git-dir >/dev/null || exit 0
tracked() {
	new=$(git -c core.fsmonitor=false status --porcelain --untracked-files=all --ignored -- "$1") || return 1
	test -z "$new" && { git rev-parse --quiet --verify HEAD >/dev/null; return; }
	printf '%s\n' "$new" | grep -qE '^(\?\?|!!|.[MTD])' && return 1
	known=$(git log --all -m --root --raw --no-abbrev --no-renames --format= -- "$1")
	git ls-files -s -- "$1" | while read -r mode blob rest; do
		case "$known" in *" $blob "*) ;; *) exit 1 ;; esac
	done
}
`

// tracked returns those of paths, in folder dir, that come from commits of its
// repository; see trackedScript. The command controls the files, so git runs in the
// sandbox. If git fails, tracked returns all paths: losing a file is worse than leaving
// one that the result names.
func (c *Commands) tracked(dir string, paths []string) (out []string) {
	script := trackedScript
	for i, path := range paths {
		rel, _ := filepath.Rel(dir, path)
		script += "tracked " + quote(rel) + " && echo " + strconv.Itoa(i) + "\n"
	}
	script += "exit 0\n"
	ctx, cancel := context.WithTimeout(context.Background(), trackedTime)
	defer cancel()
	r, err := c.Start(ctx, Spec{Script: script, Dir: dir, Owner: "guard", Name: "guard", ReadOnly: true})
	if err != nil {
		return paths
	}
	stop := context.AfterFunc(ctx, func() { _ = r.End(Timeout, 0) })
	defer stop()
	res := r.Result()
	v, err := r.Output.View(4000)
	_ = r.Output.Remove()
	if err != nil || res.Code != 0 || res.EndReason != ByItself {
		return paths
	}
	for line := range strings.Lines(v.Head + v.Tail) {
		if i, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && i < len(paths) && holdsFile(paths[i]) {
			out = append(out, paths[i])
		}
	}
	return out
}

// holdsFile reports whether a path is a file or a folder that holds one: git stores no
// empty folders.
func holdsFile(path string) (holds bool) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			holds = true
			return fs.SkipAll
		}
		return nil
	})
	return holds
}
