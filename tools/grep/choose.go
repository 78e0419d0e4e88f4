package grep

import (
	"path"
	"slices"
	"strings"

	"mcp-toolset/internal/search/filetype"
	"mcp-toolset/internal/search/ignore"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools/file"
)

// mostCounted is the limit for counting files. The rules are checked for each counted file,
// which takes about 2 µs. Above the limit the answer says "more than".
const mostCounted = 100

// choice holds the parsed globs and type of a call, which select the files to search. A
// glob with a slash is relative to the working directory, as in ripgrep. If another folder
// is searched, models often mean globs relative to that folder, so both readings apply: a
// file is chosen if either reading chooses it and neither excludes it.
type choice struct {
	list   []glob
	isType func(base string) bool
	globs  *globs
	alike  *globs // the same globs, for what looks the same: see nearest.Look
	prefix string // prefix of paths below the folder searched; "": only one reading
	dir    string // folder to which globs are relative
	wrong  error  // why a glob is none, if its brackets are not literal; nil: all are valid
}

// globs holds compiled globs.
type globs struct {
	all      *ignore.Override
	excludes *ignore.Override // the excluding globs alone
}

// chooser selects and counts the files of one search.
type chooser struct {
	*choice
	asked string // last folder checked
	shut  bool   // whether asked or one of its parents is excluded

	// Only files that may be shown are counted: a count reveals something, too.
	show    func(path string) bool // nil: all
	secrets *file.Secrets          // files to leave out; nil: none
	chosen  int                    // number of files chosen, up to mostCounted+1
	any     bool                   // whether any file was seen, chosen or not
}

// newChoice parses the globs and the type of a call. prefix is the prefix of paths below
// the folder searched; dir is the working directory. exists reports whether a path relative
// to one of both exists; if it is nil, blanks always separate globs.
func newChoice(in Input, prefix, dir string, exists func(name string) bool) (*choice, error) {
	if path.IsAbs(prefix) {
		prefix, dir = "", in.Path // the folder searched is not below the working directory
	}
	c := &choice{list: split(in.Glob, dir), prefix: prefix, dir: dir}
	if exists != nil && len(c.list) > 1 {
		c.list = join(in.Glob, dir, c.list, exists)
	}
	if strings.ContainsAny(in.Type, ", ") {
		return nil, fault.New("type is "+plain.Line(in.Type)+", and it is one type", "Use glob for several, such as *.{go,py}.")
	}
	var err error
	if in.Type != "" {
		if c.isType, err = filetype.Match(in.Type); err != nil {
			return nil, err
		}
	}
	return c, c.compile()
}

// whole returns a choice that takes all globs for one with blanks or commas in it, or nil if
// that is none.
func (c *choice) whole(glob string) *choice {
	one := *c
	one.list = append(one.list[:0:0], whole(glob, c.dir))
	same := len(c.list) == 1 && c.list[0].given == glob
	if len(c.list) == 0 || same || strings.HasPrefix(glob, "!") || one.compile() != nil {
		return nil
	}
	return &one
}

// lower returns a choice for paths in lower case, or nil if there is none.
func (c *choice) lower() *choice {
	low := *c
	low.prefix, low.list = strings.ToLower(c.prefix), slices.Clone(c.list)
	for i, g := range low.list {
		low.list[i].text = strings.ToLower(g.text)
	}
	if low.compile() != nil {
		return nil
	}
	return &low
}

// compile compiles the globs of the list.
func (c *choice) compile() (err error) {
	c.globs, c.alike = &globs{}, &globs{}
	var all, leave, allAlike, leaveAlike []string
	for _, g := range c.list {
		all, allAlike = append(all, g.text), append(allAlike, nearest.Look(g.text))
		if strings.HasPrefix(g.text, "!") {
			leave, leaveAlike = append(leave, g.text), append(leaveAlike, nearest.Look(g.text))
		}
	}
	if c.globs.all, c.wrong, err = compile(all); err != nil {
		return err
	}
	if c.globs.excludes, _, err = compile(leave); err != nil || slices.Equal(all, allAlike) {
		c.alike = c.globs
		return err
	}
	if c.alike.all, _, err = compile(allAlike); err == nil {
		c.alike.excludes, _, err = compile(leaveAlike)
	}
	return err
}

// chooser returns a chooser that has seen no file.
func (c *choice) chooser() *chooser { return &chooser{choice: c, asked: "\x00"} }

// pick reports whether to search a file, and counts it.
func (c *chooser) pick(dir, name string) bool {
	ok := c.chooses(dir, name)
	if ok && c.secrets.Holds(dir, name) {
		return false
	}
	if (ok && c.chosen <= mostCounted || !c.any) && (c.show == nil || c.show(path.Join(dir, name))) {
		c.any = true
		if ok {
			c.chosen++
		}
	}
	return ok
}

// anew resets the counts.
func (c *chooser) anew() {
	c.chosen, c.any = 0, false
	c.secrets.Anew()
}

// rest reports whether every further file is chosen and needs no counting.
func (c *chooser) rest() bool {
	return c.isType == nil && c.globs.all == nil && c.secrets == nil && c.any && c.chosen > mostCounted
}

func (c *chooser) chooses(dir, name string) bool {
	switch {
	case c.isType != nil && !c.isType(name):
		return false
	case c.globs.all == nil:
		return true
	}
	if dir != c.asked {
		c.asked, c.shut = dir, false
		for at := dir; at != "" && at != "." && !c.shut; at = path.Dir(at) {
			c.shut = c.verdict(at, true) == ignore.Ignored
		}
	}
	return !c.shut && c.verdict(path.Join(dir, name), false) == ignore.Included
}

// verdict returns the verdict of both readings on a path below the folder searched: Ignored
// if a glob excludes it, and Included for a chosen file.
func (c *choice) verdict(below string, folder bool) ignore.Verdict {
	v := c.oneWay(below, folder)
	if c.prefix == "" || v == ignore.Ignored {
		return v
	}
	if w := c.oneWay(c.prefix+below, folder); w != ignore.Undecided {
		return w
	}
	return v
}

func (c *choice) oneWay(path string, folder bool) ignore.Verdict {
	v := c.globs.verdict(path, folder)
	if look := nearest.Look(path); look != path || v == ignore.Undecided && c.alike != c.globs {
		if w := c.alike.verdict(look, folder); w != ignore.Undecided && v != ignore.Ignored {
			return w
		}
	}
	return v
}

// verdict is Ignored if a glob excludes a path, and Included for a chosen file.
func (g *globs) verdict(path string, folder bool) ignore.Verdict {
	v := g.all.Match(path, folder)
	switch {
	case folder:
		return v
	case v != ignore.Ignored:
		return ignore.Included
	case g.excludes.Match(path, false) == ignore.Ignored:
		return ignore.Ignored
	}
	return ignore.Undecided // no glob chooses or excludes it
}
