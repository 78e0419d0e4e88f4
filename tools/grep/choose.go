package grep

import (
	"path"
	"strings"

	"mcp-toolset/internal/search/filetype"
	"mcp-toolset/internal/search/ignore"
	"mcp-toolset/internal/text/fault"
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
	list     []string // the globs as given
	isType   func(base string) bool
	globs    *ignore.Override
	excludes *ignore.Override // the excluding globs alone
	prefix   string           // prefix of paths below the folder searched; "": only one reading
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
// the folder searched; dir is the working directory.
func newChoice(in Input, prefix, dir string) (*choice, error) {
	if path.IsAbs(prefix) {
		prefix, dir = "", in.Path // the folder searched is not below the working directory
	}
	c := &choice{list: split(in.Glob), prefix: prefix}
	var err error
	if strings.ContainsAny(in.Type, ", ") {
		return nil, fault.New("type is "+plain.Line(in.Type)+", and it is one type", "Use glob for several, such as *.{go,py}.")
	}
	if in.Type != "" {
		if c.isType, err = filetype.Match(in.Type); err != nil {
			return nil, err
		}
	}
	globs := make([]string, len(c.list))
	var leave []string
	for i, g := range c.list {
		globs[i] = below(g, dir)
		if strings.HasPrefix(g, "!") {
			leave = append(leave, globs[i])
		}
	}
	if c.globs, err = compile(globs); err == nil {
		c.excludes, err = compile(leave)
	}
	return c, err
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
	return c.isType == nil && c.globs == nil && c.secrets == nil && c.any && c.chosen > mostCounted
}

func (c *chooser) chooses(dir, name string) bool {
	switch {
	case c.isType != nil && !c.isType(name):
		return false
	case c.globs == nil:
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
	v := c.globs.Match(path, folder)
	switch {
	case folder:
		return v
	case v != ignore.Ignored:
		return ignore.Included
	case c.excludes.Match(path, false) == ignore.Ignored:
		return ignore.Ignored
	}
	return ignore.Undecided // no glob chooses or excludes it
}
