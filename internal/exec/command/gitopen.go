package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/exec/gitconfig"
	"mcp-toolset/internal/exec/gitfront"
	"mcp-toolset/internal/text/plain"
)

// Git commands that the text of a command shows may change protected names, such as .vscode,
// to what a commit has that was there before. A plan, in the sandbox, finds the names, which
// are then opened for the command. Each file in them must be afterwards as it was before, or
// as one of these commits has it; otherwise it is put back. If the plan cannot tell that a file
// will be like that, the user is asked about it before the command.

// GitCall is a git command that the text of a command shows.
type GitCall struct {
	Words            []string // arguments of git
	Dirs             []string // folders in which it may run; empty: not known
	Input, InputFile string   // its standard input, or the file that it comes from
}

// Writes reports whether the command may write files that git tracks.
func (g GitCall) Writes() bool { return gitfront.Writes(g.Words, gitconfig.PlainSetting) }

// GitPlan describes what git commands would do to protected files.
type GitPlan struct {
	states map[string][]string // what commits have, by file; see gitfront.Planned
	Asked  []string            // files that git changes only if grants open them
}

// opening is a protected name that git in a command may change.
type opening struct {
	Root   string // the root that it is below
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

// PlanGit returns what git commands of a command would do to the protected files of s, or nil for
// nothing. It runs git in the sandbox.
func (c *Commands) PlanGit(ctx context.Context, s Spec, calls []GitCall) *GitPlan {
	calls = slices.DeleteFunc(slices.Clone(calls), func(call GitCall) bool { return !call.Writes() })
	report := c.Report(ctx)
	tracked := slices.ContainsFunc(s.Protect, func(path string) bool { return !inGitFolder(path) && inRepository(path) })
	if len(calls) == 0 || !tracked || !report.Write.Coverage.Mounts || report.ReadOnly.Err != nil || len(c.gits()) == 0 {
		return nil
	}
	may := c.mayOpen(s, s.Protect)
	if c.guard.others(nil) || slices.ContainsFunc(calls, func(call GitCall) bool { return gitfront.Elsewhere(call.Words) }) {
		may = nil
	}
	plan := &GitPlan{states: map[string][]string{}}
	for _, line := range c.planned(ctx, s, calls, may) {
		maps.Copy(plan.states, line.States)
		plan.Asked = append(plan.Asked, line.Asked...)
	}
	for _, name := range may { // ask about names with too much to put back
		below := func(file string) bool { return inside(file, name) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(plan.states)), below) {
			continue
		}
		root, _ := c.protectedAbove(name, s)
		if _, ok := openedNow(root, name); !ok {
			maps.DeleteFunc(plan.states, func(file string, _ []string) bool { return below(file) })
			plan.Asked = append(plan.Asked, name)
		}
	}
	protected := func(path string) bool {
		return slices.ContainsFunc(s.Protect, func(p string) bool { return inside(path, p) })
	}
	plan.Asked = slices.DeleteFunc(plan.Asked, func(path string) bool { return !protected(path) })
	slices.Sort(plan.Asked)
	plan.Asked = slices.Compact(plan.Asked)
	if len(plan.states)+len(plan.Asked) == 0 {
		return nil
	}
	return plan
}

// mayOpen returns the protected names of a command, below a root, that git may change without a
// question: no rule of the user protects something in them, and git runs none of it.
func (c *Commands) mayOpen(s Spec, protect []string) (out []string) {
	for _, path := range s.Protect {
		same := 0
		for _, other := range protect {
			if inside(other, path) {
				same++ // also a rule of the user, or a program that git runs
			}
		}
		if _, name := c.protectedAbove(path, s); same == 1 && name == path {
			out = append(out, path)
		}
	}
	return out
}

// openForGit opens the protected names that the git commands of a command change, as far as
// commits decide what they become. It returns what stays protected. Nothing is opened while
// other commands run: a mount on a file is gone for them when git replaces the file. Of names that
// grants opened for git, everything but the files that the user agreed to must stay, too.
func (e *enclosure) openForGit(s Spec, protect []string) []string {
	g := &e.commands.guard
	opened := map[string]*opening{}
	open := func(root, name string) *opening {
		if opened[name] == nil {
			if before, ok := openedNow(root, name); ok {
				opened[name] = &opening{Root: root, Path: name, Before: before, States: map[string][]string{}}
			}
		}
		return opened[name]
	}
	for _, grant := range s.Grants {
		if root, name := e.commands.protectedAbove(grant.Path, s); grant.Change && name != "" && name != grant.Path && slices.Contains(s.Git.Asked, grant.Path) {
			if o := open(root, name); o != nil {
				o.Agreed = append(o.Agreed, grant.Path)
			}
		}
	}
	for _, grant := range s.Grants { // other parts of the command need the whole name
		maps.DeleteFunc(opened, func(name string, o *opening) bool {
			return grant.Change && (inside(grant.Path, name) || inside(name, grant.Path)) && !slices.Contains(o.Agreed, grant.Path)
		})
	}
	may := e.commands.mayOpen(s, protect)
	if g.others(e.guarded) {
		may = nil
	}
	for file, states := range s.Git.states {
		if i := slices.IndexFunc(may, func(name string) bool { return inside(file, name) }); i >= 0 {
			root, name := e.commands.protectedAbove(may[i], s)
			open(root, name)
		}
		for name, o := range opened {
			if inside(file, name) {
				o.States[file] = states
			}
		}
	}
	e.openings = slices.Collect(maps.Values(opened))
	g.mu.Lock()
	e.guarded.openings = append(e.guarded.openings, e.openings...)
	g.record()
	g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(protect), func(path string) bool { return opened[path] != nil })
}

// protectedAbove returns the protected name below a root of a command that is path or holds it,
// and the root; "" if there is none.
func (c *Commands) protectedAbove(path string, s Spec) (root, protected string) {
	roots := c.config.Roots
	if s.Workspace != nil {
		roots = s.Workspace.roots()
	}
	for _, root := range roots {
		for _, name := range c.config.Names {
			if protected := filepath.Join(root, name); inside(path, protected) {
				return root, protected
			}
		}
	}
	return "", ""
}

// refused reports whether the user did not agree to something that git would change.
func (p *GitPlan) refused(grants []Grant) bool {
	return p != nil && slices.ContainsFunc(p.Asked, func(path string) bool {
		return !slices.ContainsFunc(grants, func(g Grant) bool { return g.Change && inside(path, g.Path) })
	})
}

// others reports whether further commands run.
func (g *guard) others(w *watched) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.running) > 1 || len(g.running) == 1 && !g.running[w]
}

// planned runs a plan of git commands in the sandbox, where the protected names may can be opened.
// It returns nothing if that fails.
func (c *Commands) planned(ctx context.Context, s Spec, calls []GitCall, may []string) (out []gitfront.Planned) {
	script, git := "", quote(c.gits()[0])
	for i, call := range calls {
		text := git
		if away, _ := gitfront.Stash(call.Words); away && slices.ContainsFunc(calls[i:], func(g GitCall) bool { _, back := gitfront.Stash(g.Words); return back }) {
			text = gitfront.Undone + "=1 " + text
		}
		for _, word := range call.Words {
			text += " " + quote(word)
		}
		switch {
		case call.InputFile != "":
			text += " <" + quote(call.InputFile)
		case call.Input != "":
			text = "printf %s " + quote(call.Input) + " | " + text
		default:
			text += " </dev/null"
		}
		if len(call.Dirs) == 0 {
			call.Dirs = []string{s.Dir}
		}
		for _, dir := range call.Dirs {
			script += "(cd " + quote(dir) + " && " + text + ") 2>/dev/null\n"
		}
	}
	ctx, cancel := context.WithTimeout(ctx, planTime)
	defer cancel()
	closed := slices.DeleteFunc(slices.Clone(s.Protect), func(path string) bool { return slices.Contains(may, path) })
	r, err := c.Start(ctx, Spec{Script: script, Dir: s.Dir, Workspace: s.Workspace, Owner: "guard", Name: "guard", ReadOnly: true, Hide: s.Hide, Protect: closed, plan: true, opened: may})
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
	for line := range strings.Lines(string(text)) {
		var one gitfront.Planned
		if json.Unmarshal([]byte(line), &one) == nil {
			out = append(out, one)
		}
	}
	return out
}

// openedNow returns the files at a path in a folder, and below it. It returns false if there are too
// many, if they are too large, or if there are other things than files, links and folders.
func openedNow(folder, top string) (map[string]openedFile, bool) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	rel, err := filepath.Rel(folder, top)
	if err != nil {
		return nil, false
	}
	out, size := map[string]openedFile{}, int64(0)
	if target, err := root.Readlink(rel); err == nil {
		return map[string]openedFile{top: {"120000", []byte(target)}}, true
	}
	err = fs.WalkDir(root.FS(), filepath.ToSlash(rel), func(name string, d fs.DirEntry, err error) error {
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
	return gitfront.Blob(f.Text, len(blob)) == blob
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
	for _, above := range between(o.Root, o.Path) {
		at, err := lookAt(above)
		if err == nil && at.kind&fs.ModeSymlink != 0 {
			if g.quarantine(above, bases) != nil {
				return
			}
			g.tell([]*watched{w}, above)
		}
	}
	now, ok := openedNow(o.Root, o.Path)
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
		if slices.ContainsFunc(names, func(name string) bool { return o.changed(name, now) && !slices.Contains(o.Agreed, name) }) {
			w.tellRestored(plain.Line(o.Path) + " is protected; git made it what an earlier commit has")
		}
		o.Before = now
	}
	for _, name := range bad {
		if !done && !g.settled(o.Root, name) || w.until != 0 && madeSince(name, w.until) {
			continue
		}
		if exists(name) && g.quarantine(name, bases) != nil {
			continue
		}
		if f, had := o.Before[name]; had {
			if err := f.write(o.Root, name); err != nil {
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
	switch {
	case slices.Contains(o.Agreed, name), !o.changed(name, now):
		return true
	case !there:
		return slices.Contains(o.States[name], gitfront.Absent)
	}
	return slices.ContainsFunc(o.States[name], f.has)
}

// changed reports whether a file is not as it was before.
func (o *opening) changed(name string, now map[string]openedFile) bool {
	f, there := now[name]
	before, had := o.Before[name]
	return there != had || !f.equal(before)
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
