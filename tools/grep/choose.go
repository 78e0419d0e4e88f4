package grep

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/search/filetype"
	"mcp-toolset/internal/search/ignore"
)

// chooser chooses the files of a search by glob and type. A glob with a slash is
// relative to the working directory, as it would be for ripgrep. Where another
// folder is searched it may also be relative to that, as it is often meant: then
// a file is chosen that either way of reading chooses and none leaves out.
type chooser struct {
	isType  func(base string) bool
	globs   *ignore.Override // all, for a search of the working directory
	in, out *ignore.Override // those that choose, those that leave out
	prefix  string           // of paths below the folder searched
	asked   string           // the folder asked about last
	dir     string           // it with the prefix
}

// newChooser reads the globs and the type of a call.
func newChooser(in Input, prefix string) (*chooser, error) {
	c := &chooser{prefix: prefix, asked: "\x00"}
	var err error
	if in.Type != "" {
		if c.isType, err = filetype.Match(in.Type); err != nil {
			return nil, err
		}
	}
	globs := split(in.Glob)
	if c.globs, err = compile(globs); err != nil {
		return nil, err
	}
	var choose, leave []string
	for _, g := range globs {
		if strings.HasPrefix(g, "!") {
			leave = append(leave, g)
		} else {
			choose = append(choose, g)
		}
	}
	if c.in, err = compile(choose); err == nil {
		c.out, err = compile(leave)
	}
	return c, err
}

func compile(globs []string) (*ignore.Override, error) {
	o, err := ignore.Globs(globs)
	var wrong *ignore.GlobError
	if errors.As(err, &wrong) {
		return nil, fault.New(fmt.Sprintf("glob %s is not valid: %s, at position %d", plain.Line(wrong.Glob), wrong.Fact, wrong.Offset+1),
			`Mend it, or put a \ before a character that is meant as it is.`)
	}
	return o, err
}

// split divides several globs: at blanks, and at commas outside of braces.
func split(globs string) []string {
	depth := 0
	return strings.FieldsFunc(globs, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return r == ' ' || r == '\t' || r == '\n' || r == ',' && depth <= 0
	})
}

// pick reports whether a file is to be searched.
func (c *chooser) pick(dir, name string) bool {
	switch {
	case c.isType != nil && !c.isType(name):
		return false
	case c.globs == nil:
		return true
	case c.prefix == "" || path.IsAbs(c.prefix):
		return c.globs.Match(path.Join(dir, name), false) != ignore.Ignored
	}
	if dir != c.asked {
		c.asked, c.dir = dir, path.Join(c.prefix, dir)
	}
	here, there := path.Join(c.dir, name), path.Join(dir, name)
	if c.out.Match(here, false) == ignore.Ignored || c.out.Match(there, false) == ignore.Ignored {
		return false
	}
	return c.in == nil || c.in.Match(here, false) == ignore.Included || c.in.Match(there, false) == ignore.Included
}
