package command

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/exec/gitfront"
	"mcp-toolset/internal/text/plain"
)

// Git commands that the text of a command shows may change protected names, such as .vscode,
// to what a commit has that was there before. A plan, in the sandbox, finds the names, which
// are then opened for the command. Each file in them must be afterwards as it was before, or
// as one of these commits has it; otherwise it is put back.

// opening is a protected name that git in a command may change.
type opening struct {
	Path   string
	Before map[string]openedFile // its files before the command, by absolute path
	States map[string][]string   // see gitfront.Paths
	Agreed []string              // files that a tool changed meanwhile, as the user permits
}

// openedFile is a file, or a link and its target.
type openedFile struct {
	Mode string // as in git
	Text []byte
}

const (
	openedFiles = 200     // limit of the files in an opening
	openedBytes = 1 << 20 // limit of their contents
	planTime    = 10 * time.Second
)

// openForGit opens the protected names that the git commands of a command change, as far as
// commits decide what they become. It returns what stays protected. Nothing is opened while
// other commands run: a mount on a file is gone for them when git replaces the file.
func (e *enclosure) openForGit(s Spec, protect []string) []string {
	g := &e.commands.guard
	calls := slices.DeleteFunc(slices.Clone(s.Git), func(words []string) bool { return !gitfront.Opens(words) })
	var may []string
	for _, path := range s.Protect {
		same := 0
		for _, other := range protect {
			if inside(other, path) {
				same++ // also a rule of the user, or a program that git runs
			}
		}
		if same == 1 && slices.Contains(s.Names, filepath.Base(path)) && slices.Contains(e.commands.config.Roots, filepath.Dir(path)) {
			may = append(may, path)
		}
	}
	if len(calls) == 0 || len(may) == 0 || s.Workspace != nil || g.others(e.guarded) {
		return protect
	}
	opened := map[string]*opening{}
	for name, states := range e.commands.planGit(s, calls, may, protect) {
		i := slices.IndexFunc(may, func(m string) bool { return inside(name, m) })
		if i < 0 {
			continue
		}
		o := opened[may[i]]
		if o == nil {
			before, ok := openedNow(may[i])
			if !ok {
				continue
			}
			o = &opening{Path: may[i], Before: before, States: map[string][]string{}}
			opened[may[i]] = o
		}
		o.States[name] = states
	}
	e.openings = slices.Collect(maps.Values(opened))
	g.mu.Lock()
	e.guarded.openings = append(e.guarded.openings, e.openings...)
	g.record()
	g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(protect), func(path string) bool { return opened[path] != nil })
}

// others reports whether further commands run.
func (g *guard) others(w *watched) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.running) > 1 || !g.running[w]
}

// planGit returns the states of the files, in the protected names may, that git commands would
// change. It returns none if one of the commands cannot be planned.
func (c *Commands) planGit(s Spec, calls [][]string, may, protect []string) map[string][]string {
	programs := c.gits()
	if len(programs) == 0 {
		return nil
	}
	script := ""
	for _, words := range calls {
		script += quote(programs[0])
		for _, word := range words {
			script += " " + quote(word)
		}
		script += " </dev/null 2>/dev/null\n"
	}
	ctx, cancel := context.WithTimeout(context.Background(), planTime)
	defer cancel()
	closed := slices.DeleteFunc(slices.Clone(protect), func(path string) bool { return slices.Contains(may, path) })
	r, err := c.Start(ctx, Spec{Script: script, Dir: s.Dir, Owner: "guard", Name: "guard", ReadOnly: true, Hide: s.Hide, Protect: closed, plan: true, opened: may})
	if err != nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = r.End(Timeout, 0) })
	defer stop()
	res := r.Result()
	text, whole, err := r.Output.Content(1 << 20)
	_ = r.Output.Remove()
	if err != nil || !whole || res.EndReason != ByItself {
		return nil
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		var states map[string][]string
		if json.Unmarshal([]byte(line), &states) == nil {
			maps.Copy(out, states)
		}
	}
	return out
}

// openedNow returns the files at a path and below it; false if they are too many or too large,
// or something else is there.
func openedNow(top string) (map[string]openedFile, bool) {
	root, err := os.OpenRoot(filepath.Dir(top))
	if err != nil {
		return nil, false
	}
	defer root.Close()
	out, size := map[string]openedFile{}, int64(0)
	if target, err := root.Readlink(filepath.Base(top)); err == nil {
		return map[string]openedFile{top: {"120000", []byte(target)}}, true
	}
	err = fs.WalkDir(root.FS(), filepath.Base(top), func(name string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		var f openedFile
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, failed := root.Readlink(name)
			f, err = openedFile{"120000", []byte(target)}, failed
		case info.Mode().IsRegular() && size+info.Size() <= openedBytes && len(out) < openedFiles:
			f.Mode = "100644"
			if info.Mode()&0o100 != 0 {
				f.Mode = "100755"
			}
			f.Text, err = root.ReadFile(name)
			size += info.Size()
		default:
			err = fs.ErrInvalid
		}
		out[filepath.Join(root.Name(), filepath.FromSlash(name))] = f
		return err
	})
	return out, err == nil
}

func (f openedFile) equal(g openedFile) bool { return f.Mode == g.Mode && bytes.Equal(f.Text, g.Text) }

// has reports whether a state of git is that of the file.
func (f openedFile) has(state string) bool {
	mode, blob, _ := strings.Cut(state, " ")
	if mode != f.Mode {
		return false
	}
	var h hash.Hash = sha1.New()
	if len(blob) > 40 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(f.Text))
	h.Write(f.Text)
	return hex.EncodeToString(h.Sum(nil)) == blob
}

// judgeOpenings puts the files back that running commands changed in openings to what no
// commit has. While a command runs, git may be at work: then it looks only at what has settled.
func (g *guard) judgeOpenings(bases []string, ended []*watched) {
	for w := range g.running {
		for _, o := range w.openings {
			g.judgeOpening(w, o, bases, slices.Contains(ended, w))
		}
	}
}

func (g *guard) judgeOpening(w *watched, o *opening, bases []string, done bool) {
	now, ok := openedNow(o.Path)
	if !ok {
		if !done || g.quarantine(o.Path, bases) != nil {
			return
		}
		now = map[string]openedFile{}
	}
	all := maps.Clone(now)
	maps.Copy(all, o.Before)
	names := slices.Sorted(maps.Keys(all))
	bad := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return o.allows(name, now) })
	if len(bad) > 0 || !ok { // what is gone made room for something else
		bad = slices.DeleteFunc(names, func(name string) bool {
			_, there := now[name]
			return there && o.allows(name, now)
		})
	} else if done {
		for name := range now {
			single(name, bases)
		}
		if !maps.EqualFunc(now, o.Before, openedFile.equal) {
			w.tellRestored(plain.Line(o.Path) + " is protected; git made it what an earlier commit has")
		}
		o.Before = now
	}
	for _, name := range bad {
		if !done && !g.settled(filepath.Dir(o.Path), name) || w.until != 0 && madeSince(name, w.until) {
			continue
		}
		if exists(name) && g.quarantine(name, bases) != nil {
			continue
		}
		if f, had := o.Before[name]; had {
			if err := f.write(filepath.Dir(o.Path), name); err != nil {
				g.log.Warn("a protected file could not be put back", "file", name, "err", err)
			}
		}
		g.log.Warn("a protected file was put back, since no commit has what a command made of it", "file", name)
		w.tellRestored(plain.Line(name) + " is protected and was put back as it was, since no earlier commit has what the command made of it; that is in " + plain.Line(g.quarantinePath) + ". If it is wanted, ask the user to move it back")
	}
}

// single replaces a file that has further names (hard links) by a copy: other commands could
// change it through them.
func single(name string, bases []string) {
	s, err := openParent(outermost(bases, name), name)
	if err != nil {
		return
	}
	defer s.close()
	if at, err := s.look(); err == nil && at.kind == 0 && at.links > 1 {
		_ = s.alone()
	}
}

// allows reports whether a file may be as it is now.
func (o *opening) allows(name string, now map[string]openedFile) bool {
	f, there := now[name]
	before, had := o.Before[name]
	switch {
	case slices.Contains(o.Agreed, name), there == had && f.equal(before):
		return true
	case !there:
		return slices.Contains(o.States[name], gitfront.Absent)
	}
	return slices.ContainsFunc(o.States[name], f.has)
}

// write makes the file again in a folder, in which no link is followed out.
func (f openedFile) write(folder, name string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	rel, err := filepath.Rel(folder, name)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(filepath.ToSlash(rel)), 0o755); err != nil {
		return err
	}
	switch f.Mode {
	case "120000":
		return root.Symlink(string(f.Text), rel)
	case "100755":
		return root.WriteFile(rel, f.Text, 0o755)
	}
	return root.WriteFile(rel, f.Text, 0o644)
}
