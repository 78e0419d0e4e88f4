package shellsafe

import (
	"cmp"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// outputs holds the files that redirects of a simple command write, and the reason why it does not
// only read because of them.
type outputs struct {
	names []string
	why   string
}

// redirects judges the redirects of a statement and records their files. It returns
// their script, with a leading blank, and whether a file is written that is not in out, which may
// be nil.
func (w *walker) redirects(rs []*syntax.Redirect, c context, files *[]Path, out *outputs) (script string, toFile bool) {
	for _, r := range rs {
		s, file := w.redirect(r, c, files, out)
		script += " " + s
		toFile = toFile || file
	}
	return script, toFile
}

func (w *walker) redirect(r *syntax.Redirect, c context, files *[]Path, out *outputs) (script string, toFile bool) {
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	shown := shortForm(w.source(r))
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
		return w.document(r, fd, c)
	}
	target := w.word(r.Word, c)
	w.suspectText(target)
	if fd != "" && !digits(fd) {
		w.assigns = true // {name}>file sets the variable
	}
	write := func() (string, bool) {
		w.write(content(c.dirs.paths(&target, false)))
		*files = append(*files, c.dirs.paths(&target, false)...)
		why := "output goes to a file: " + shown
		if out != nil && target.lit && !c.dirs.unknown && r.Op != syntax.RdrInOut && (fd == "" || digits(fd)) {
			if out.names = append(out.names, target.text); out.why == "" {
				out.why = cmp.Or(w.reason, why)
			}
			return "", false
		}
		w.deny(why)
		return "", true
	}
	standard := fd == "" || fd == "1" || fd == "2"
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		if !target.lit || target.folded || target.val != "/dev/null" {
			return write()
		}
		if !standard || fd != "" && (r.Op == syntax.RdrAll || r.Op == syntax.AppAll) {
			w.deny("it redirects a descriptor of its own: " + shown)
		}
		return fd + r.Op.String() + target.script, false
	case syntax.DplOut, syntax.DplIn:
		if word := w.source(r.Word); strings.HasPrefix(word, "-") && word != "-" {
			// For bash, <&- is a complete redirect, and a command may follow.
			w.unresolve("it closes a descriptor in front of a word: " + shown)
		}
		if target.lit && (digits(target.val) || target.val == "-" || digits(strings.TrimSuffix(target.val, "-"))) {
			if !standard || target.val != "1" && target.val != "2" || r.Op == syntax.DplIn {
				w.deny("it redirects a descriptor of its own: " + shown)
			}
			return fd + r.Op.String() + target.val, false
		}
		if r.Op == syntax.DplIn {
			w.deny("it redirects a descriptor of its own: " + shown)
			return "", false
		}
		return write()
	case syntax.RdrIn:
		from := c.dirs.paths(&target, false)
		for i := range from {
			from[i].Input = true
		}
		w.read(from)
		*files = append(*files, from...)
		switch {
		case !target.lit:
			w.deny("the file it reads from is not literal: " + shown)
		case target.script == "":
			w.deny(target.why)
		case fd != "" && fd != "0":
			w.deny("it redirects a descriptor of its own: " + shown)
		}
		return fd + "<" + target.script, false
	case syntax.WordHdoc:
		if !target.lit || target.script == "" || fd != "" && fd != "0" {
			w.soft("its input is not literal: " + shown)
		}
		return fd + "<<<" + target.script, false
	case syntax.RdrInOut:
		return write()
	}
	w.unresolve("it has a redirect that is not known: " + shown)
	return write()
}

// document judges a here-document and returns it as a here-string.
func (w *walker) document(r *syntax.Redirect, fd string, c context) (string, bool) {
	quoted, plain := delimiter(r.Word)
	if !plain {
		// The parser and the shell may disagree on its end.
		w.unresolve("a here-document ends with an unusual word")
	}
	var body strings.Builder
	if r.Hdoc != nil {
		for _, p := range r.Hdoc.Parts {
			l, ok := p.(*syntax.Lit)
			if !ok {
				w.inside(p, c)
				if x, ok := p.(*syntax.ArithmExp); ok {
					w.arithmetic(x)
				}
				w.soft("a here-document holds an expansion: " + shortForm(w.source(p)))
				continue
			}
			if quoted {
				body.WriteString(l.Value)
			} else {
				body.WriteString(unescape(l.Value, "$`\\"))
			}
		}
	}
	text := body.String()
	w.suspectText(arg{lit: true, val: text})
	if r.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		text = strings.Join(lines, "")
	}
	switch {
	case fd != "" && fd != "0":
		w.deny("it redirects a descriptor of its own")
	case text == "":
		return fd + "<'/dev/null'", false
	case strings.Contains(text, "\\\n") || !scriptable(text) || !strings.HasSuffix(text, "\n"):
		w.soft("a here-document cannot be written anew")
	}
	return fd + "<<<" + quote(strings.TrimSuffix(text, "\n")), false
}

// delimiter reports whether the word that ends a here-document is quoted, and whether it is plain:
// one word of printable ASCII in one kind of quotes, or none, without quotes, dollar signs and
// backslashes in it.
func delimiter(n *syntax.Word) (quoted, plain bool) {
	if len(n.Parts) != 1 {
		return true, false
	}
	s := ""
	switch p := n.Parts[0].(type) {
	case *syntax.Lit:
		s, quoted = strings.CutPrefix(p.Value, `\`)
	case *syntax.SglQuoted:
		s, quoted = p.Value, true
		if p.Dollar {
			return true, false
		}
	case *syntax.DblQuoted:
		quoted = true
		if len(p.Parts) != 1 || p.Dollar {
			return true, false
		}
		l, ok := p.Parts[0].(*syntax.Lit)
		if !ok {
			return true, false
		}
		s = l.Value
	default:
		return true, false
	}
	for i := 0; i < len(s); i++ {
		if b := s[i]; b <= ' ' && (b != ' ' || i == 0) || b >= 0x7f || strings.IndexByte("\\\"'`$", b) >= 0 {
			return quoted, false
		}
	}
	return quoted, s != ""
}

// readsDevice reports whether a redirect reads a device or a file of the kernel:
// bash opens connections by such names.
func (w *walker) readsDevice(r *syntax.Redirect) bool {
	if r.Op != syntax.RdrIn && r.Op != syntax.RdrInOut {
		return false
	}
	a := w.plainWord(r.Word)
	return !a.lit || isDevice(a.val)
}

func isDevice(p string) bool {
	if p == "/dev/null" {
		return false
	}
	if !strings.HasPrefix(p, "/") {
		return false
	}
	p = path.Clean(p)
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

// plainWord reads a word without walking its expansions.
func (w *walker) plainWord(n *syntax.Word) arg {
	for _, p := range n.Parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if _, ok := q.(*syntax.Lit); !ok {
					return arg{}
				}
			}
		default:
			return arg{}
		}
	}
	return w.word(n, context{})
}

func (w *walker) read(ps []Path) { w.a.Reads = appendPaths(w, w.a.Reads, ps) }
func (w *walker) write(ps []Path) {
	for i := range ps {
		w.unknownWrites = w.unknownWrites || ps[i].Dynamic && !ps[i].Glob
	}
	w.a.Writes = appendPaths(w, w.a.Writes, ps)
}

// content marks paths of which only the content is written.
func content(ps []Path) []Path {
	for i := range ps {
		ps[i].Content = true
	}
	return ps
}

func appendPaths(w *walker, to, ps []Path) []Path {
	if len(to)+len(ps) > maxPaths {
		w.unresolve("it names too many files")
		w.deny("it names too many files")
		return to
	}
	return append(to, ps...)
}
