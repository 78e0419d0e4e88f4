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
)

// Protected names of editors, agents and package managers are looked for where
// those are started: in the roots and in the top folders of repositories that
// were there when the command started. What a command makes there under such a
// name is taken away, unless the last commit of the repository has it: git clone,
// checkout and pull bring what the user asked for. A command can commit, too, so
// the result names what stays.

// Changing says that a tool changes a file for the model, which no running
// command is taken to have made.
func (c *Commands) Changing(path string) {
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	for w := range c.guard.running {
		for _, dir := range w.projects {
			for _, name := range w.names {
				if made := filepath.Join(dir, name); inside(path, made) {
					w.trusted[made] = true
				}
			}
		}
	}
}

// planted lists what is there under protected names, by the folders they are in.
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

// watchPlants has a command watched that may not make protected names.
func (w *watched) watchPlants(f found, names []string) {
	w.names, w.projects = names, slices.Collect(maps.Keys(f.projects))
	for _, paths := range f.planted(names) {
		for _, path := range paths {
			w.trusted[path] = true
		}
	}
}

// lookAtPlants takes away what running commands have made under protected names.
// ended are commands that do nothing more: of others git may be at work.
func (g *guard) lookAtPlants(f found, bases []string, ended []*watched) {
	var names []string
	for w := range g.running {
		names = append(names, w.names...)
	}
	slices.Sort(names)
	for dir, paths := range f.planted(slices.Compact(names)) {
		made := map[string][]*watched{}
		for _, path := range paths {
			makers := g.planters(dir, path)
			done := slices.ContainsFunc(makers, func(w *watched) bool { return slices.Contains(ended, w) })
			if len(makers) > 0 && (done || g.settled(dir, path)) && !plainAttributes(path, bases) {
				made[path] = makers
			}
		}
		if len(made) == 0 {
			continue
		}
		committed := g.committed(dir, slices.Sorted(maps.Keys(made)))
		for path, makers := range made {
			switch {
			case slices.Contains(committed, path):
				for _, w := range makers {
					w.trusted[path] = true
					w.appeared = append(w.appeared, path)
				}
			case g.putAway(path, bases) == nil:
				g.tell(makers, path)
			}
		}
	}
}

// planters lists the running commands that can have made a protected name; none
// if one of them may.
func (g *guard) planters(dir, path string) []*watched {
	var out []*watched
	for _, w := range g.makers(name{path: path}) {
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

// settled reports whether git does not seem to be at work in a folder: it
// writes files first and the commit that has them later.
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

// attributeDriver matches an attribute by which git runs a program of its
// configuration, plainDrivers the values that name none or that of Git LFS.
var (
	attributeDriver = regexp.MustCompile(`(?m)(?:^|[ \t])(?:filter|diff|merge)=([^ \t\r\n]*)`)
	plainDrivers    = []string{"lfs", "text", "binary", "union"}
)

// plainAttributes reports whether a path is a file .gitattributes by which git
// runs no program that a command can choose.
func plainAttributes(path string, bases []string) bool {
	if !strings.EqualFold(filepath.Base(path), ".gitattributes") {
		return false
	}
	s, err := reach(outermost(bases, path), path)
	if err != nil {
		return false
	}
	defer s.close()
	at, err := s.look()
	text := s.read(64 << 10)
	return err == nil && at.links == 1 && text != nil &&
		!slices.ContainsFunc(attributeDriver.FindAllSubmatch(text, -1), func(m [][]byte) bool { return !slices.Contains(plainDrivers, string(m[1])) })
}

// committedTime is how long git may take to compare a few files.
const committedTime = 10 * time.Second

// committed lists those of some paths in a folder that are in the last commit of
// its repository as they are. The files are the command's, so git is contained.
func (c *Commands) committed(dir string, paths []string) (out []string) {
	script := "export GIT_OPTIONAL_LOCKS=0; git rev-parse --quiet --verify HEAD >/dev/null || exit 1\n"
	for i, path := range paths {
		rel, _ := filepath.Rel(dir, path)
		script += "if new=$(git -c core.fsmonitor=false status --porcelain --untracked-files=all --ignored -- " + quote(rel) + `) && test -z "$new"; then echo ` + strconv.Itoa(i) + "; fi\n"
	}
	ctx, cancel := context.WithTimeout(context.Background(), committedTime)
	defer cancel()
	r, err := c.Start(ctx, Spec{Script: script, Dir: dir, Owner: "guard", Name: "guard", ReadOnly: true})
	if err != nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = r.End(Timeout, 0) })
	defer stop()
	res := r.Result()
	v, err := r.Output.View(4000)
	_ = r.Output.Remove()
	if err != nil || res.Code != 0 || res.Why != ByItself {
		return nil
	}
	for line := range strings.Lines(v.Head + v.Tail) {
		if i, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && i < len(paths) && holdsFile(paths[i]) {
			out = append(out, paths[i])
		}
	}
	return out
}

// holdsFile reports whether a path is a file or a folder with one: git knows no
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
