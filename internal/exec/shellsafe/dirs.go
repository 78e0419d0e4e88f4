package shellsafe

import (
	"path"
	"slices"
	"strings"
)

// dirs holds the folders in which a command may run, and the variables whose values it sees.
// There are several folders after a cd that may have failed.
type dirs struct {
	list    []string
	unknown bool
	vars    *binding
}

// flow holds the folders after a command, for success and failure.
type flow struct{ ok, fail dirs }

func same(d dirs) flow { return flow{d, d} }

func (f flow) either() dirs { return f.ok.or(f.fail) }

func startDirs(o *Options) dirs {
	if !path.IsAbs(o.Dir) {
		return dirs{unknown: true}
	}
	return dirs{list: []string{path.Clean(o.Dir)}}
}

// or returns the union of two sets. A union of more than four folders counts as
// unknown.
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
	return dirs{list, d.unknown || e.unknown, d.vars.common(e.vars)}
}

// cd returns the folders after cd TO. The shell's cd removes ".." from the text, as
// path.Join does.
func (d dirs) cd(to string) dirs {
	if path.IsAbs(to) {
		return dirs{list: []string{path.Clean(to)}, vars: d.vars}
	}
	e := dirs{unknown: d.unknown, vars: d.vars}
	for _, x := range d.list {
		e = e.or(dirs{list: []string{path.Join(x, to)}, vars: d.vars})
	}
	return e
}

// within reports whether all folders are known and in a root.
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

// paths returns the paths that a word means, one for each folder.
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
