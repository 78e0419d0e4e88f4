package shellsafe

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// arg is one word of a command.
type arg struct {
	text    string // unquoted, with expansions as written: rules match it
	val     string // as the command receives it, if lit; the pattern, if glob
	lit     bool   // val is a single known word
	folded  bool   // lit only because HOME or PWD was replaced by its value
	glob    bool   // it has unquoted wildcards, and is literal otherwise
	lead    string // the literal text before the first wildcard or expansion
	wide    string // the pattern for path/filepath.Match, if glob: Path.Pattern
	sub     bool   // it contains quoted read-only substitutions, or a number like $?
	number  bool   // it is a single number
	numeric bool   // sub is set, and all substitutions are numbers
	reads   bool   // all that is unknown of it is what commands print that only read
	values  bool   // all that is unknown of it is what commands print, and the values of variables
	stdin   bool   // it contains a placeholder for the input of xargs
	script  string // its form in Script; "" if it has none
	why     string // why script is ""
}

// literal returns an arg that was not in the text.
func literal(s string) arg {
	return arg{text: s, val: s, lit: true, lead: s, script: quote(s)}
}

// quote returns a literal word quoted for bash.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// wordReader builds an arg from the parts of a word.
type wordReader struct {
	w         *walker
	c         context
	a         arg
	val       strings.Builder
	text      strings.Builder
	wide      strings.Builder
	any       bool // wide has a single * for the rest of the path element
	script    strings.Builder
	lit       strings.Builder // pending literal text of script
	lead      int             // length of the leading literal text
	led       bool            // the leading literal text has ended
	brace     int             // index of the first open brace
	open      bool            // an unquoted { was seen
	commas    bool            // and after it a comma or two dots
	dynamic   bool            // some part is unknown
	expansion string          // the reason for dynamic
	unknowns  int             // number of unknown parts
	printed   int             // number of those that commands print that only read
	plain     int             // number of those that commands print, or that are values of variables
}

// word reads a word and walks the commands of its substitutions.
func (w *walker) word(n *syntax.Word, c context) arg {
	if n == nil {
		return arg{}
	}
	if v, ok := w.whole(n, c); ok {
		return v
	}
	r := wordReader{w: w, c: c}
	for i, part := range n.Parts {
		r.part(part, i, len(n.Parts))
	}
	return r.finish()
}

func (r *wordReader) finish() arg {
	a := &r.a
	a.text, a.val, a.wide = r.text.String(), r.val.String(), r.wide.String()
	if r.open && r.commas {
		r.led, r.lead = true, min(r.brace, r.leadOr())
		r.unknown("braces")
	}
	if r.led {
		a.lead = a.val[:r.lead]
	} else {
		a.lead = a.val
	}
	r.flush()
	a.script = r.script.String()
	switch {
	case r.dynamic:
		a.reads, a.values = r.unknowns == r.printed, r.unknowns == r.plain
		a.lit, a.glob, a.sub, a.number, a.numeric, a.script, a.why = false, false, false, false, false, "", r.expansion
	case a.sub:
		a.glob, a.number = false, a.number && a.val == ""
	case a.glob:
		if strings.ContainsRune(a.script, '\n') {
			r.a.script, a.why = "", "a pattern with a line break"
		}
	default:
		a.lit = true
		a.script = quote(a.val)
	}
	if a.lit && (strings.Contains(a.val, "\\\n") || !scriptable(a.val)) {
		a.script, a.why = "", "characters that cannot be shown"
	}
	return *a
}

// scriptable reports whether Script may contain a text, that is, whether the gate
// accepts it.
func scriptable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if refusedRune(r) != "" {
			return false
		}
	}
	return true
}

func (r *wordReader) unknown(why string) {
	r.special()
	r.unknowns++
	if !r.dynamic {
		r.dynamic, r.expansion = true, why
	}
}

// add appends literal text, which is quoted or has no special meaning.
func (r *wordReader) add(s string) {
	r.widen(s)
	r.val.WriteString(s)
	r.text.WriteString(s)
	r.lit.WriteString(s)
}

// leadOr returns the length of the leading literal text so far.
func (r *wordReader) leadOr() int {
	if r.led {
		return r.lead
	}
	return r.val.Len()
}

// special ends the leading literal text of the word.
func (r *wordReader) special() {
	if !r.led {
		r.led, r.lead = true, r.val.Len()
	}
}

// flush writes the pending literal text to the script.
func (r *wordReader) flush() {
	if r.lit.Len() > 0 {
		r.script.WriteString(quote(r.lit.String()))
		r.lit.Reset()
	}
}

func (r *wordReader) part(part syntax.WordPart, i, n int) {
	switch p := part.(type) {
	case *syntax.Lit:
		r.unquoted(p.Value, i == 0, n)
	case *syntax.SglQuoted:
		if !p.Dollar {
			r.add(p.Value)
		} else if s, ok := ansiC(p.Value); ok {
			r.add(s)
		} else {
			r.add(p.Value)
			r.unknown("$'...'")
		}
	case *syntax.DblQuoted:
		if p.Dollar {
			r.unknown(`$"..."`)
		}
		for _, q := range p.Parts {
			if l, ok := q.(*syntax.Lit); ok {
				r.add(unescape(l.Value, "$`\"\\"))
			} else {
				r.expand(q, true)
			}
		}
	default:
		r.expand(part, false)
	}
}

// unescape removes backslashes before the given bytes.
func unescape(s, special string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(special, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unquoted reads text outside of quotes.
func (r *wordReader) unquoted(s string, first bool, parts int) {
	if first && strings.HasPrefix(s, "~") {
		user, rest, slash := strings.Cut(s[1:], "/")
		switch {
		case user == "" && r.w.o.Home != "" && (slash || parts == 1):
			r.fold("~", r.w.o.Home)
			s = ""
			if slash {
				s = "/" + rest
			}
		case user == "" && !slash && parts > 1: // ~"/x" is no home
		default:
			r.unknown("~")
		}
	}
	if first && (strings.Contains(s, "=~") || strings.Contains(s, ":~")) && syntax.ValidName(s[:max(0, strings.IndexByte(s, '='))]) {
		r.unknown("~ in an assignment")
	}
	for i := 0; i < len(s); i++ {
		switch b := s[i]; b {
		case '\\':
			if i++; i < len(s) {
				r.add(s[i : i+1])
			}
		case '*', '?':
			r.pattern(s[i : i+1])
		case '[':
			// A plain set is copied as it is. Any other bracket that could begin a
			// set makes the word unknown.
			n := plainSet(s[i:])
			if n == 0 {
				if s == "[" && parts == 1 {
					r.add("[")
					continue
				}
				r.special()
				if !r.any {
					r.wide.WriteString(r.undotted() + "*")
				}
				r.any = true
				r.add("[")
				r.a.glob = true
				r.a.why = "a bracket that may be a pattern"
				continue
			}
			r.pattern(s[i : i+n])
			i += n - 1
		case '{':
			if !r.open {
				r.open, r.brace = true, r.val.Len()
			}
			r.add("{")
		case ',':
			r.commas = r.commas || r.open
			r.add(",")
		case '.':
			r.commas = r.commas || r.open && strings.HasPrefix(s[i:], "..")
			r.add(".")
		case '}':
			// In HEAD@{1}..HEAD the dots come after the brace.
			if r.open && !r.commas {
				r.open = false
			}
			r.add("}")
		default:
			r.add(s[i : i+1])
		}
	}
}

func (r *wordReader) fold(text, val string) {
	r.text.WriteString(text)
	r.widen(val)
	r.val.WriteString(val)
	r.lit.WriteString(val)
	r.a.folded = true
}

// expand reads an expansion inside or outside of double quotes.
func (r *wordReader) expand(part syntax.WordPart, quoted bool) {
	w := r.w
	source := w.source(part)
	switch p := part.(type) {
	case *syntax.ParamExp:
		if s, ok := w.knownVariable(p, r.c); ok {
			r.fold(source, s)
			return
		}
		if v, ok := w.constant(p, r.c, quoted, false); ok {
			r.add(v.val)
			r.a.folded = r.a.folded || v.folded
			return
		}
		w.inside(p, r.c)
		w.suspect(p)
		if s, ok := number(p); ok && !r.a.glob {
			r.raw(source, `"`+s+`"`)
			return
		}
		if r.unknown(source); isValue(p) {
			r.plain++
		}
	case *syntax.CmdSubst:
		script, ok := w.substitution(p, r.c, source)
		if ok && quoted && !r.a.glob {
			r.special()
			r.a.number, r.a.numeric = false, false
			r.text.WriteString(source)
			r.flush()
			r.script.WriteString(`"$( ` + script + ` )"`) // the blanks are needed: $(( begins arithmetic
			r.a.sub = true
			return
		}
		r.text.WriteString(source)
		r.unknown("a substitution")
		if r.plain++; ok {
			r.printed++
		}
		return
	case *syntax.ProcSubst:
		w.deny("it starts a process: " + shortForm(source))
		w.list(p.Stmts, r.c.seenThrough())
		r.unknown("a substitution")
	case *syntax.ArithmExp:
		w.inside(p, r.c)
		w.arithmetic(p)
		if s, ok := numbers(p.X); ok && !r.a.glob && !p.Bracket && !p.Unsigned {
			r.raw(source, `"$((`+s+`))"`)
			return
		}
		r.unknown("arithmetic")
	case *syntax.ExtGlob:
		// Its text may contain a substitution that the parser has not parsed.
		w.unresolve("it holds an extended pattern: " + shortForm(source))
		r.unknown("an extended pattern")
	default:
		w.unresolve("it holds an expansion that is not known: " + shortForm(source))
		r.unknown("an expansion that is not known")
	}
	r.text.WriteString(source)
}

// raw adds a number to the script.
func (r *wordReader) raw(text, script string) {
	r.special()
	r.text.WriteString(text)
	r.flush()
	r.script.WriteString(script)
	r.a.numeric = r.a.numeric || !r.a.sub
	r.a.sub, r.a.number = true, !r.a.sub
}

// isValue reports whether an expansion gives the value of a variable, its length, or a literal
// instead, and evaluates and sets nothing.
func isValue(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Flags != nil || p.Excl || p.Width || p.IsSet || p.NestedParam != nil || p.Index != nil ||
		len(p.Modifiers) > 0 || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		return false
	}
	if p.Exp == nil {
		return true
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		return p.Exp.Word == nil || p.Exp.Word.Lit() != ""
	}
	return false
}

// number returns the text of a parameter whose value is always a number.
func number(p *syntax.ParamExp) (string, bool) {
	if p.Excl || p.Length || p.Width || p.IsSet || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil || p.Param == nil {
		return "", false
	}
	switch p.Param.Value {
	case "?":
		return "$?", p.Index == nil
	case "PIPESTATUS":
		x, ok := p.Index.(*syntax.Word)
		if !ok || len(x.Parts) != 1 {
			return "", false
		}
		if l, ok := x.Parts[0].(*syntax.Lit); ok && len(l.Value) < 3 && digits(l.Value) {
			return "${PIPESTATUS[" + l.Value + "]}", true
		}
	}
	return "", false
}

// numbers returns the text of an arithmetic expression of numbers alone, and whether it is one.
func numbers(x syntax.ArithmExpr) (string, bool) {
	switch x := x.(type) {
	case *syntax.Word:
		if len(x.Parts) == 1 {
			if l, ok := x.Parts[0].(*syntax.Lit); ok && len(l.Value) < 19 && digits(l.Value) {
				return l.Value, true
			}
		}
	case *syntax.ParenArithm:
		s, ok := numbers(x.X)
		return "(" + s + ")", ok
	case *syntax.BinaryArithm:
		a, okA := numbers(x.X)
		b, okB := numbers(x.Y)
		op := x.Op.String()
		return a + " " + op + " " + b, okA && okB && has("+ - * / %", op)
	}
	return "", false
}

// knownVariable returns the value of $HOME or $PWD if it is known.
func (w *walker) knownVariable(p *syntax.ParamExp, c context) (string, bool) {
	if p.Param == nil || p.Flags != nil || p.Excl || p.Length || p.Width || p.IsSet || p.NestedParam != nil || p.Index != nil ||
		len(p.Modifiers) > 0 || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil || w.assigns {
		return "", false
	}
	switch {
	case p.Param.Value == "HOME" && w.o.Home != "":
		return w.o.Home, true
	case p.Param.Value == "PWD" && !c.dirs.unknown && len(c.dirs.list) == 1:
		return c.dirs.list[0], true
	}
	return "", false
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// shortForm shortens a part of a command for use in a reason.
func shortForm(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || refusedRune(r) != "" {
			return ' '
		}
		return r
	}, s)
	if len(s) <= 40 {
		return s
	}
	cut := 37
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// dashLike reports whether a word begins with a dash other than "-".
func dashLike(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r >= utf8.RuneSelf && (unicode.Is(unicode.Pd, r) || r == '−')
}

// ansiC decodes the inside of $'...'. It refuses forms that are not plain.
func ansiC(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		switch e := s[i]; e {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '\\', '\'', '"', '?':
			b.WriteByte(e)
		case 'x', 'u', 'U', '0', '1', '2', '3', '4', '5', '6', '7':
			from, base, most := i+1, 16, map[byte]int{'x': 2, 'u': 4, 'U': 8}[e]
			if most == 0 {
				from, base, most = i, 8, 3
			}
			to := from
			for to < len(s) && to-from < most {
				if _, err := strconv.ParseUint(s[to:to+1], base, 8); err != nil {
					break
				}
				to++
			}
			n, err := strconv.ParseUint(s[from:to], base, 32)
			if err != nil || n == 0 || n > unicode.MaxRune || n > 0x7f && e != 'u' && e != 'U' {
				return "", false
			}
			b.WriteRune(rune(n))
			i = to - 1
		default:
			return "", false
		}
	}
	return b.String(), true
}
