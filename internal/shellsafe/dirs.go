package shellsafe

import (
	"path"
	"slices"
	"strings"
)

// dirs are the folders a command may run in: more than one behind a cd that
// may have failed.
type dirs struct {
	list    []string
	unknown bool
}

// flow is where a command leaves the shell, by whether it succeeds.
type flow struct{ ok, fail dirs }

func same(d dirs) flow { return flow{d, d} }

func (f flow) either() dirs { return f.ok.or(f.fail) }

func startDirs(o *Options) dirs {
	if !path.IsAbs(o.Dir) {
		return dirs{unknown: true}
	}
	return dirs{list: []string{path.Clean(o.Dir)}}
}

// or joins two sets; over four folders it is no longer known.
func (d dirs) or(e dirs) dirs {
	list := slices.Clone(d.list)
	for _, x := range e.list {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	if len(list) > 4 {
		return dirs{unknown: true}
	}
	return dirs{list, d.unknown || e.unknown}
}

// cd is where cd TO leads. The shell's cd takes ".." away from the text, as
// path.Join does.
func (d dirs) cd(to string) dirs {
	if path.IsAbs(to) {
		return dirs{list: []string{path.Clean(to)}}
	}
	e := dirs{unknown: d.unknown}
	for _, x := range d.list {
		e = e.or(dirs{list: []string{path.Join(x, to)}})
	}
	return e
}

// within reports whether all folders are in a root.
func (d dirs) within(o *Options) bool {
	roots := o.Roots
	if len(roots) == 0 && path.IsAbs(o.Dir) {
		roots = []string{o.Dir}
	}
	if d.unknown || len(d.list) == 0 {
		return false
	}
	for _, x := range d.list {
		if !slices.ContainsFunc(roots, func(r string) bool {
			r = path.Clean(r)
			return x == r || r == "/" || strings.HasPrefix(x, r+"/")
		}) {
			return false
		}
	}
	return true
}

// paths makes what a word means as a path in each folder.
func (d dirs) paths(a *arg, below bool) []Path {
	p := Path{Text: a.val, Dynamic: !a.lit, Glob: a.glob, Below: below}
	if !a.lit && !a.glob {
		p.Text = a.text
	}
	if a.glob {
		p.Pattern = a.wide
	}
	if path.IsAbs(a.val) && (a.lit || a.glob) {
		return []Path{p}
	}
	var out []Path
	for _, x := range d.list {
		q := p
		q.Dir = x
		out = append(out, q)
	}
	if d.unknown {
		p.Dynamic = true
		out = append(out, p)
	}
	return out
}
