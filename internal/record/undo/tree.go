package undo

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/file/workspace"
)

// Kind is the type of the entry at a path.
type Kind byte

// The kinds.
const (
	Nothing Kind = iota
	File
	Folder
	Link
	Special // a named pipe, socket or device, or what cannot be looked at; never stored and never touched
)

// stamp is what a listing knows about a path. Equal stamps mean equal content, unless the
// content changed within the resolution of the times.
type stamp struct {
	Size, Modified, Changed int64
	Inode, Device           uint64
	Mode                    fs.FileMode
	Links, User, Group      uint32
}

func (s *stamp) kind() Kind {
	switch {
	case s.Mode.IsRegular():
		return File
	case s.Mode.IsDir():
		return Folder
	case s.Mode&fs.ModeSymlink != 0:
		return Link
	}
	return Special
}

// bits are the parts of a mode that are restored.
const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// content is the stored content of a file, or the target of a link, at a time.
type content struct {
	Hash   Hash
	Target string
	At     int64 // when reading it began, by stampNow
}

// entry is a name in a dir.
type entry struct {
	Name    string
	Stamp   stamp
	Content *content // nil: not stored
	Sub     *dir     // of a folder that was read
}

// dir holds the entries of a folder, sorted by name.
type dir struct {
	Entries []entry
	Hidden  []string // temporary files of this program, which are not recorded

	// seen is the stamp of the folder before its names were read, at the time at, by stampNow.
	// Both are zero if a later listing must read them again: also after loading, since another
	// server may have left out other paths.
	seen stamp
	at   int64
}

// has reports whether d has the names that are in its folder while that has a stamp. A file system
// that stores only seconds (ext4 with small inodes) does not count: the same second comes again when
// the clock is set back.
func (d *dir) has(now stamp) bool {
	return d != nil && d.seen == now && now.Changed%int64(time.Second) != 0 && d.at-max(now.Modified, now.Changed) >= int64(young)
}

// list returns the names in d.
func (d *dir) list() []string {
	out := make([]string, len(d.Entries))
	for i := range d.Entries {
		out[i] = d.Entries[i].Name
	}
	return out
}

// tree is a listing of the roots, sorted by path. Roots within roots are left out.
type tree struct{ Roots []entry } // Name is the path

// root returns the content of the root at a path; nil if t does not have it.
func (t *tree) root(path string) *dir {
	if t != nil {
		for i := range t.Roots {
			if t.Roots[i].Name == path {
				return t.Roots[i].Sub
			}
		}
	}
	return nil
}

// carry gives the entries of fresh the contents of old entries with the same stamp.
func carry(old, fresh *dir) {
	if old == nil || fresh == nil {
		return
	}
	i := 0
	for j := range fresh.Entries {
		f := &fresh.Entries[j]
		for i < len(old.Entries) && old.Entries[i].Name < f.Name {
			i++
		}
		if i == len(old.Entries) {
			return
		}
		o := &old.Entries[i]
		if o.Name != f.Name {
			continue
		}
		if f.Content == nil && o.Stamp == f.Stamp {
			f.Content = o.Content
		}
		carry(o.Sub, f.Sub)
	}
}

// carryFrom gives the entries of a tree the contents of those of old with the same stamp.
func (t *tree) carryFrom(old *tree) {
	if old == nil {
		return
	}
	for i := range t.Roots {
		for j := range old.Roots {
			if old.Roots[j].Name == t.Roots[i].Name {
				carry(old.Roots[j].Sub, t.Roots[i].Sub)
			}
		}
	}
}

const (
	// young is the age of a stamp at which a change may leave it equal on every file system.
	young = 2 * time.Second
	// youngMapping is the same for stores through a shared mapping, which the kernel stamps
	// only now and then. It applies to at most fewYoung files.
	youngMapping = 35 * time.Second
	fewYoung     = 500
)

// unread reports whether something may be below the entry that the listing does not have.
func (e *entry) unread() bool {
	return e.Sub == nil && (e.Stamp.kind() == Folder || e.Stamp.kind() == Special)
}

func (e *entry) age() int64 { return e.Content.At - max(e.Stamp.Modified, e.Stamp.Changed) }

// job is a file or link whose content is to be stored.
type job struct {
	path string
	e    *entry
	rank int
}

// jobs returns the files and links to store, in order of importance: sources before repositories, and
// those before what tools can make again; small files first.
func (t *tree) jobs() []job {
	var out, mapped []job
	t.each(func(folder string, rank int, e *entry) {
		if k := e.Stamp.kind(); k != File && k != Link || k == File && e.Stamp.Size > maxFile {
			return
		}
		switch {
		case e.Content == nil || e.Stamp.kind() == File && e.age() < int64(young):
			out = append(out, job{join(folder, e.Name), e, rank})
		case e.Stamp.kind() == File && len(mapped) <= fewYoung && e.age() < int64(youngMapping):
			mapped = append(mapped, job{join(folder, e.Name), e, rank})
		}
	})
	if len(mapped) <= fewYoung {
		out = append(out, mapped...)
	}
	slices.SortStableFunc(out, func(a, b job) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.e.Stamp.Size>>16, b.e.Stamp.Size>>16))
	})
	return out
}

// madeAgain lists folders whose content tools can make again.
var madeAgain = []string{"node_modules", ".venv", "venv", "target", "build", "dist", "out", ".cache", "__pycache__", ".gradle", ".next", ".tox"}

// each calls f for all entries below the roots, with their folder, parents first.
func (t *tree) each(f func(folder string, rank int, e *entry)) {
	for i := range t.Roots {
		t.Roots[i].Sub.each(t.Roots[i].Name, 0, f)
	}
}

func (d *dir) each(folder string, rank int, f func(string, int, *entry)) {
	if d == nil {
		return
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		f(folder, rank, e)
		if e.Sub == nil {
			continue
		}
		r := rank
		if r == 0 {
			switch {
			case e.Name == ".git":
				r = 1
			case slices.Contains(madeAgain, e.Name):
				r = 2
			}
		}
		e.Sub.each(join(folder, e.Name), r, f)
	}
}

func join(dir, name string) string {
	if strings.HasSuffix(dir, string(filepath.Separator)) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}

// inode identifies a file with several names.
type inode struct{ device, number uint64 }

func inodeOf(s stamp) inode { return inode{s.Device, s.Inode} }

// groups returns the paths of each file that has several names.
func (t *tree) groups() map[inode][]string {
	out := map[inode][]string{}
	t.each(func(folder string, _ int, e *entry) {
		if e.Stamp.kind() == File && e.Stamp.Links > 1 {
			key := inodeOf(e.Stamp)
			out[key] = append(out[key], join(folder, e.Name))
		}
	})
	return out
}

// inodes returns all files.
func (t *tree) inodes() map[inode]bool {
	out := map[inode]bool{}
	t.each(func(_ string, _ int, e *entry) {
		if e.Stamp.kind() == File {
			out[inodeOf(e.Stamp)] = true
		}
	})
	return out
}

// State describes the entry at a path at some time.
type State struct {
	Kind        Kind
	Mode        fs.FileMode // permission bits
	Size        int64
	Known       bool // the content or target is stored
	Hash        Hash
	Target      string
	User, Group uint32
	Links       uint32   // number of names of the file
	Others      []string // other names of the same file, if all of them are in the roots
	Stamp       stamp    // identifies an unknown content
	Moved       bool     // the call has moved the file in from outside of the roots
	writing     bool     // a program has the file open for writing
}

// same reports whether two states have the same content and mode, as far as that is known.
func (s *State) same(o *State) bool {
	if s.Kind != o.Kind {
		return false
	}
	switch s.Kind {
	case Nothing:
		return true
	case Link:
		return s.Known && o.Known && s.Target == o.Target
	case Folder:
		return s.Mode == o.Mode
	case File:
		return s.Known && o.Known && s.Hash == o.Hash && s.Mode == o.Mode
	}
	return false
}

// maxOthers is the limit of names of one file.
const maxOthers = 16

func (e *entry) state(path string, groups map[inode][]string) State {
	s := State{
		Kind: e.Stamp.kind(), Mode: e.Stamp.Mode & bits, Size: e.Stamp.Size, User: e.Stamp.User, Group: e.Stamp.Group,
		Links: e.Stamp.Links, Stamp: e.Stamp,
	}
	switch {
	case s.Kind == Folder:
		s.Known = e.Sub != nil
	case e.Content != nil:
		s.Known, s.Hash, s.Target = true, e.Content.Hash, e.Content.Target
	}
	s.findOthers(path, groups)
	return s
}

// findOthers sets the other names of the file, if all of them are in the groups.
func (s *State) findOthers(path string, groups map[inode][]string) {
	if s.Kind != File || s.Links <= 1 {
		return
	}
	if names := groups[inodeOf(s.Stamp)]; len(names) == int(s.Links) && len(names) <= maxOthers {
		s.Others = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == path })
	}
}

// restorable reports whether the state can be made again. Of a file with names elsewhere, the
// connection with these cannot.
func (s *State) restorable() bool {
	return s.Kind == Nothing || s.Kind != Special && s.Known && (s.Kind != File || s.Links <= 1 || s.Others != nil)
}

// Change is what happened to a path.
type Change struct {
	Path          string
	Before, After State
}

// relinked reports whether the path became the name of another file, and one of the two has
// further names.
func (c *Change) relinked() bool {
	b, a := &c.Before, &c.After
	return b.Kind == File && a.Kind == File && (b.Links > 1 || a.Links > 1) && inodeOf(b.Stamp) != inodeOf(a.Stamp)
}

// pair is a difference between two listings; either entry may be nil.
type pair struct {
	path          string
	before, after *entry
}

// diff returns the differences between two listings, parents first.
func diff(old, fresh *tree) (out []pair) {
	for i := range fresh.Roots {
		for j := range old.Roots {
			o, f := &old.Roots[j], &fresh.Roots[i]
			if o.Name != f.Name {
				continue
			}
			diffDirs(f.Name, o.Sub, f.Sub, &out)
			if inodeOf(o.Stamp) != inodeOf(f.Stamp) {
				// Another folder took the place of the root. Its other entries may be older than the call.
				out = slices.DeleteFunc(out, func(p pair) bool { return p.before == nil && workspace.Within(f.Name, p.path) })
			}
		}
	}
	return out
}

func diffDirs(path string, old, fresh *dir, out *[]pair) {
	var o, f []entry
	if old != nil {
		o = old.Entries
	}
	if fresh != nil {
		f = fresh.Entries
	}
	for len(o) > 0 || len(f) > 0 {
		var p pair
		switch {
		case len(f) == 0 || len(o) > 0 && o[0].Name < f[0].Name:
			p = pair{join(path, o[0].Name), &o[0], nil}
			o = o[1:]
		case len(o) == 0 || f[0].Name < o[0].Name:
			p = pair{join(path, f[0].Name), nil, &f[0]}
			f = f[1:]
		default:
			p = pair{join(path, o[0].Name), &o[0], &f[0]}
			o, f = o[1:], f[1:]
		}
		if p.differs() {
			*out = append(*out, p)
		}
		var was, is *dir
		if p.before != nil {
			was = p.before.Sub
		}
		if p.after != nil {
			is = p.after.Sub
		}
		// The entries of a folder that could not be read are unknown, so none of them counts as new.
		if was != nil || is != nil && (p.before == nil || !p.before.unread()) {
			diffDirs(p.path, was, is, out)
		}
	}
}

func (p *pair) differs() bool {
	if p.before == nil || p.after == nil {
		return true
	}
	if p.before.Stamp.kind() == Folder && p.after.Stamp.kind() == Folder {
		return p.before.Stamp.Mode != p.after.Stamp.Mode
	}
	if p.before.Stamp.kind() == Special && p.after.Stamp.kind() == Special {
		return p.before.Stamp.Inode != p.after.Stamp.Inode || p.before.Stamp.Mode != p.after.Stamp.Mode
	}
	return p.before.Stamp != p.after.Stamp
}

// skipped reports whether a name is that of a temporary file of this program.
func skipped(name string) bool {
	return name != "" && name[0] == '.' && (workspace.IsTempName(name) || workspace.IsSpotName(name))
}

// fromInfo returns the stamp in info.
func fromInfo(info os.FileInfo) stamp {
	s := stamp{Size: info.Size(), Modified: info.ModTime().UnixNano(), Mode: info.Mode(), Links: 1}
	s.fill(info.Sys())
	if !s.Mode.IsRegular() && s.Mode&fs.ModeSymlink == 0 {
		s.Size = 0
	}
	return s
}

// statFile returns the stamp of an open file.
func statFile(f *os.File) (s stamp, err error) {
	info, err := f.Stat()
	if err != nil {
		return s, err
	}
	return fromInfo(info), nil
}
