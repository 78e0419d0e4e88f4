package shellsafe

import (
	"reflect"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// The functions of this file know words ahead of the shell: variables that a text sets once to a
// literal, each word of a loop, and the words that braces make.

// binding is a list of variables with known values, the newest first.
type binding struct {
	name  string
	value arg
	next  *binding
}

// find returns the value of a variable; nil if it is not known.
func (b *binding) find(name string) *arg {
	for ; b != nil; b = b.next {
		if b.name == name {
			return &b.value
		}
	}
	return nil
}

// common returns what two lists have in common: the variables that were known before they parted.
func (b *binding) common(o *binding) *binding {
	for ; b != nil; b = b.next {
		for x := o; x != nil; x = x.next {
			if x == b {
				return b
			}
		}
	}
	return nil
}

// constants returns the variables that exactly one place of a text sets, by an assignment that
// stands alone, by export, or as a loop over words. It returns nil if the text holds anything else
// that may set variables or give them attributes: then it also holds no function, and no command
// whose name is not literal.
func constants(f *syntax.File) map[string]bool {
	sites, sure := map[string]int{}, true
	var heads []string                    // variables that begin the name of a command
	values := map[string][]*syntax.Word{} // of the sites
	assign := func(as []*syntax.Assign, n int) {
		for _, a := range as {
			if a.Name == nil || a.Append || a.Index != nil || a.Array != nil || a.Naked {
				sure = false
				continue
			}
			sites[a.Name.Value] += n
			values[a.Name.Value] = append(values[a.Name.Value], a.Value)
		}
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				assign(n.Assigns, 1)
				break
			}
			assign(n.Assigns, 2)
			if name := head(n.Args[0]); name != "" {
				heads = append(heads, name)
			} else {
				sure = sure && !setsVariables(n.Args)
			}
		case *syntax.DeclClause:
			assign(n.Args, 1)
			sure = sure && n.Variant.Value == "export"
		case *syntax.ForClause:
			l, ok := n.Loop.(*syntax.WordIter)
			if sure = sure && ok && !n.Select; ok {
				sites[l.Name.Value]++
				values[l.Name.Value] = append(values[l.Name.Value], l.Items...)
			}
		case *syntax.ParamExp:
			sure = sure && !n.Excl && n.Index == nil && n.Slice == nil && (isValue(n) || n.Exp == nil || !has("= :=", n.Exp.Op.String()))
		case *syntax.ArithmExp:
			_, ok := numbers(n.X)
			sure = sure && ok
		case *syntax.BinaryTest:
			sure = sure && !has("-eq -ne -le -ge -lt -gt", n.Op.String())
		case *syntax.UnaryTest:
			sure = sure && n.Op != syntax.TsVarSet && n.Op != syntax.TsRefVar
		case *syntax.Redirect:
			sure = sure && (n.N == nil || digits(n.N.Value))
		case *syntax.FuncDecl, *syntax.CoprocClause, *syntax.ArithmCmd, *syntax.LetClause:
			sure = false
		}
		return sure
	})
	if !sure || sites["IFS"] > 0 {
		return nil
	}
	once := map[string]bool{}
	for name, n := range sites {
		if n == 1 && !steers(name) && !settingName.MatchString(name) && !has(shellVariables, name) {
			once[name] = true
		}
	}
	for _, name := range heads {
		if !once[name] || slices.ContainsFunc(values[name], func(x *syntax.Word) bool {
			return x == nil || strings.ContainsAny(plain(x), " \t\n") || setsVariables([]*syntax.Word{x})
		}) {
			return nil
		}
	}
	return once
}

// head returns the variable whose value is a whole word, or its first folder; "" if there is none.
func head(x *syntax.Word) string {
	parts := x.Parts
	if q, ok := parts[0].(*syntax.DblQuoted); ok && len(parts) == 1 {
		parts = q.Parts
	}
	if len(parts) == 0 {
		return ""
	}
	p, ok := parts[0].(*syntax.ParamExp)
	if !ok || !isValue(p) || p.Exp != nil || p.Length {
		return ""
	}
	if len(parts) == 1 {
		return p.Param.Value
	}
	if l, ok := parts[1].(*syntax.Lit); ok && len(parts) == 2 && strings.HasPrefix(l.Value, "/") {
		return p.Param.Value
	}
	return ""
}

// shellVariables lists variables that bash sets, or whose values it changes, beside the names that
// settingName matches.
const shellVariables = "_ COMP_CWORD COMP_KEY COMP_LINE COMP_POINT COMP_TYPE COMP_WORDBREAKS COMP_WORDS COMPREPLY COPROC COLUMNS LINES DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HOSTNAME HOSTTYPE LINENO MACHTYPE MAPFILE OLDPWD OPTARG OPTERR OPTIND OSTYPE PIPESTATUS POSIXLY_CORRECT PPID RANDOM READLINE_ARGUMENT READLINE_LINE READLINE_MARK READLINE_POINT REPLY SECONDS SHLVL SRANDOM UID"

// setsVariables reports whether a command may set a variable of the shell, or run a text that does.
func setsVariables(args []*syntax.Word) bool {
	name := plain(args[0])
	switch name {
	case "", "eval", "source", ".", "read", "mapfile", "readarray", "unset", "wait", "getopts", "trap", "alias", "unalias", "enable", "exec", "declare", "typeset", "local", "let", "readonly", "export", "nameref", "builtin", "command", "bind", "complete", "compgen", "fc", "coproc":
		return true
	case "printf":
		return len(args) > 1 && (plain(args[1]) == "" || strings.HasPrefix(plain(args[1]), "-"))
	case "test":
		return evaluates(args[1:])
	case "[":
		return evaluates(args[1:max(1, len(args)-1)])
	}
	return false
}

// evaluates reports whether test may take one of its words for an operator that evaluates the next
// one, as -v does: [ -v 'a[x=1]' ] sets x.
func evaluates(words []*syntax.Word) bool {
	known := 0
	for i, x := range words {
		switch s := plain(x); {
		case has("-v -R", s):
			return true
		case s != "":
			known++
		case !quoted(x), i > 0 && i < len(words)-1, i == 0 && len(words) == 2:
			return true // it may be several words, or the operator
		}
	}
	return len(words) > 3 && known < len(words)
}

// quoted reports whether all expansions of a word are in quotes.
func quoted(x *syntax.Word) bool {
	return !slices.ContainsFunc(x.Parts, func(p syntax.WordPart) bool {
		switch p.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
			return false
		}
		return true
	})
}

// plain returns the value of a word without expansions and escapes; "" for any other word.
func plain(x *syntax.Word) string {
	var b strings.Builder
	for _, part := range x.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok {
					return ""
				}
				b.WriteString(l.Value)
			}
		default:
			return ""
		}
	}
	if s := b.String(); !strings.ContainsAny(s, "\\{}*?[~$") || s == "[" {
		return s
	}
	return ""
}

// bind returns the folders d with the value of a variable, if it is a constant with a known value.
func (w *walker) bind(name *syntax.Lit, v arg, d dirs) dirs {
	if name != nil && w.constants[name.Value] && (v.lit || v.glob && v.why == "") && !strings.Contains(v.text, ":~") {
		d.vars = &binding{name.Value, v, d.vars}
	}
	return d
}

// constant returns the value of a variable, and whether the expansion gives exactly this value as a
// single word or a part of one. whole reports that the expansion is the whole word.
func (w *walker) constant(p *syntax.ParamExp, c context, quoted, whole bool) (arg, bool) {
	if p.Param == nil || p.Exp != nil || p.Length || !isValue(p) || !w.constants[p.Param.Value] {
		return arg{}, false
	}
	v := c.dirs.vars.find(p.Param.Value)
	switch {
	case v == nil, v.glob && !(quoted && whole), !quoted && (v.val == "" || strings.ContainsAny(v.val, " \t\n*?[\\")):
		return arg{}, false
	}
	return *v, true
}

// whole returns the value of a word that is a single variable with a known value.
func (w *walker) whole(n *syntax.Word, c context) (arg, bool) {
	if len(n.Parts) != 1 {
		return arg{}, false
	}
	part, quoted := n.Parts[0], false
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 && !q.Dollar {
		part, quoted = q.Parts[0], true
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok {
		return arg{}, false
	}
	return w.constant(p, c, quoted, true)
}

// words reads the words of a command, in which braces may stand for several.
func (w *walker) words(list []*syntax.Word, c context) []arg {
	out := make([]arg, 0, len(list))
	for _, x := range list {
		for _, y := range w.braces(x) {
			out = append(out, w.word(y, c))
		}
	}
	return out
}

// maxBraces limits the words that one word with braces makes.
const maxBraces = 64

// braces returns the words that the braces of a word make. It returns the word itself if it has
// none, too many, or forms that bash and the parser may read in different ways.
func (w *walker) braces(x *syntax.Word) []*syntax.Word {
	same := []*syntax.Word{x}
	open := false
	for i, p := range x.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
		case *syntax.ParamExp: // bash reads $x{a,b} as $xa and $xb
			if i+1 == len(x.Parts) || open || !isValue(p) || p.Exp != nil {
				return same
			}
			if l, ok := x.Parts[i+1].(*syntax.Lit); !ok || !strings.HasPrefix(l.Value, "/") {
				return same
			}
		case *syntax.Lit:
			if strings.Contains(p.Value, `\`) || strings.Contains(p.Value, "{}") {
				return same
			}
			open = open || strings.Contains(p.Value, "{")
		default:
			return same
		}
	}
	split := *x
	if !open || w.options || !syntax.SplitBraces(&split) || counts(&split) {
		return same
	}
	var out []*syntax.Word
	for y, err := range expand.BracesSeq(nil, &split) {
		if err != nil || len(out) == maxBraces {
			return same
		}
		if parts := merge(y.Parts); len(parts) > 0 { // bash drops words of nothing
			out = append(out, &syntax.Word{Parts: parts})
		}
	}
	if len(out) == 0 {
		return same
	}
	return out
}

// counts reports whether braces count with anything but a few numbers.
func counts(x *syntax.Word) bool {
	return slices.ContainsFunc(x.Parts, func(p syntax.WordPart) bool {
		b, ok := p.(*syntax.BraceExp)
		return ok && slices.ContainsFunc(b.Elems, func(e *syntax.Word) bool {
			return b.Sequence && (!digits(e.Lit()) || len(e.Lit()) > 4) || counts(e)
		})
	})
}

// merge joins literal parts that follow each other.
func merge(parts []syntax.WordPart) (out []syntax.WordPart) {
	for _, p := range parts {
		l, ok := p.(*syntax.Lit)
		if ok && l.Value == "" {
			continue
		}
		if n := len(out); ok && n > 0 {
			if before, ok := out[n-1].(*syntax.Lit); ok {
				out[n-1] = &syntax.Lit{Value: before.Value + l.Value}
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// unrolls reports whether the body of a loop is walked once for each word: all words are known, and
// the commands are few. A pattern means files of one folder only.
func (w *walker) unrolls(n *syntax.ForClause, values []arg, moves bool) bool {
	l := n.Loop.(*syntax.WordIter)
	if !w.constants[l.Name.Value] || len(values) == 0 || len(values)*commandsIn(n.Do) > maxUnrolled {
		return false
	}
	return !slices.ContainsFunc(values, func(v arg) bool { return !v.lit && (!v.glob || v.why != "" || moves) })
}

// maxUnrolled limits the commands of an unrolled loop. More would hide what a question is about.
const maxUnrolled = 24

// commandsIn counts the simple commands that statements may become, loops unrolled.
func commandsIn(list []*syntax.Stmt) (n int) {
	for _, s := range list {
		syntax.Walk(s, func(x syntax.Node) bool {
			switch x := x.(type) {
			case *syntax.CallExpr, *syntax.DeclClause, *syntax.TestClause:
				n++
			case *syntax.ForClause:
				if l, ok := x.Loop.(*syntax.WordIter); ok {
					n += max(1, len(l.Items)) * commandsIn(x.Do)
				}
			}
			return true
		})
	}
	return n
}

// unroll walks the body of a loop for each value of its variable, and returns the folders after it.
// Commands that are the same in each turn are listed once.
func (w *walker) unroll(name *syntax.Lit, values []arg, body []*syntax.Stmt, c context) dirs {
	var out dirs
	script, start, commands := w.script, len(w.a.Commands), 0
	for i, v := range values {
		turn, from := c, len(w.a.Commands)
		turn.dirs = w.bind(name, v, c.dirs)
		w.script = script // a loop has no script
		after := w.list(body, turn).either()
		if i == 0 {
			out, commands = after, w.commands
			continue
		}
		out, w.commands = out.or(after), commands
		kept := w.a.Commands[:from]
		for _, x := range w.a.Commands[from:] {
			if !slices.ContainsFunc(w.a.Commands[start:from], func(y Command) bool { return reflect.DeepEqual(x, y) }) {
				kept = append(kept, x)
			}
		}
		w.a.Commands = kept
	}
	return out
}
