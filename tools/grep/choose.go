package grep

import (
	"path"
	"strings"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/search/filetype"
	"mcp-toolset/internal/search/ignore"
	"mcp-toolset/tools/file"
)

// mostCounted is how many files are counted, since the rules are asked about each
// (some 2 µs): what is more is "more than" it.
const mostCounted = 100

// chooser chooses the files of a search by glob and type. A glob with a slash is
// relative to the working directory, as it would be for ripgrep. Where another
// folder is searched it may also be relative to that, as it is often meant: then
// a file is chosen that either way of reading chooses and none leaves out.
type chooser struct {
	isType func(base string) bool
	globs  *ignore.Override
	leave  *ignore.Override // those that leave out
	prefix string           // of paths below the folder searched; "": they are read one way
	asked  string           // the folder asked about last
	shut   bool             // it, or a folder it is in, is left out

	// Only what may be shown is counted: a count is an answer, too.
	show    func(path string) bool // nil: all
	secrets *file.Secrets          // which are left out; nil: none
	chosen  int                    // files, up to mostCounted+1
	any     bool                   // there is a file, chosen or not
}

// newChooser reads the globs and the type of a call. prefix is that of paths
// below the folder searched, dir the working directory.
func newChooser(in Input, prefix, dir string) (*chooser, error) {
	if path.IsAbs(prefix) {
		prefix, dir = "", in.Path // nothing there is below the working directory
	}
	c := &chooser{prefix: prefix, asked: "\x00"}
	var err error
	if strings.ContainsAny(in.Type, ", ") {
		return nil, fault.New("type is "+plain.Line(in.Type)+", and it is one type", "Use glob for several, such as *.{go,py}.")
	}
	if in.Type != "" {
		if c.isType, err = filetype.Match(in.Type); err != nil {
			return nil, err
		}
	}
	globs := split(in.Glob)
	var leave []string
	for i, g := range globs {
		globs[i] = below(g, dir)
		if strings.HasPrefix(g, "!") {
			leave = append(leave, globs[i])
		}
	}
	if c.globs, err = compile(globs); err == nil {
		c.leave, err = compile(leave)
	}
	return c, err
}

// pick reports whether a file is to be searched.
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

// anew forgets what was counted.
func (c *chooser) anew() {
	c.chosen, c.any = 0, false
	c.secrets.Anew()
}

// rest reports whether there is nothing to choose, and enough was counted.
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

// verdict judges what is below the folder searched, by either way of reading:
// Ignored is what a glob leaves out, Included a file that is chosen.
func (c *chooser) verdict(below string, folder bool) ignore.Verdict {
	v := c.oneWay(below, folder)
	if c.prefix == "" || v == ignore.Ignored {
		return v
	}
	if w := c.oneWay(c.prefix+below, folder); w != ignore.Undecided {
		return w
	}
	return v
}

func (c *chooser) oneWay(path string, folder bool) ignore.Verdict {
	v := c.globs.Match(path, folder)
	switch {
	case folder:
		return v
	case v != ignore.Ignored:
		return ignore.Included
	case c.leave.Match(path, false) == ignore.Ignored:
		return ignore.Ignored
	}
	return ignore.Undecided // no glob chooses it, and none leaves it out
}
