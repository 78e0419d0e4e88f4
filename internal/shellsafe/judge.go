package shellsafe

import (
	"fmt"
	"strings"
)

// spec is an entry of the table: what a command may have to only read.
type spec struct {
	why   string // what it does, and why what is left out is left out
	short string // letters; ":" behind one means a value, "%" one that is attached if it is there, "/" a value that is a path
	long  string // names divided by blanks; "=" behind one means a value, "=?" an optional one, "=/" a path, "==" two of them
	ops   string // operands: t text, p path; the last may be followed by * for any number
	least int    // operands at the least
	num   bool   // -5 is a number of lines
	// harmless says that no flag of the command at all, listed or not, writes or
	// runs anything, so that a pattern may stand where it could become one.
	harmless bool
	// outside says that it is a program, not only a builtin: find, xargs and
	// timeout can run it.
	outside bool
	raw     bool // all its words are operands
	// listed says that a word @FILE stands for the words in a file, flags among
	// them: no word may begin with @ or become one that does.
	listed bool
	first  string   // flags that take the place of the first operand, as -e of grep
	need   string   // one of these flags must be there
	below  string   // flags that make it read all below its paths; "*" always
	dot    bool     // without a path it reads the working folder
	inject []string // flags put behind the name
	check  func(w *walker, p *parsed, c context) string
}

// parsed is a command read by its spec.
type parsed struct {
	name   string
	s      *spec
	args   []arg // with the name
	seen   []string
	vals   map[string][]arg // by flag
	ops    []arg
	inject []string // flags to be put behind the name, or behind the word behind it
	at     int
}

func (p *parsed) has(flags string) bool {
	for _, f := range p.seen {
		for _, g := range strings.Fields(flags) {
			if f == g {
				return true
			}
		}
	}
	return false
}

// judge says whether a command only reads and how it is to be run. A reason
// goes to the walker; hard says that Script differs from what was written.
func (w *walker) judge(args []arg, c context) (out []arg, hard bool) {
	out, hard, why := w.verdict(args, c)
	if why != "" {
		w.deny(why)
	}
	return out, hard
}

func (w *walker) verdict(args []arg, c context) (out []arg, hard bool, why string) {
	name := args[0]
	if !name.lit || name.script == "" {
		return args, false, "the name of a command is not literal: " + brief(name.text)
	}
	key := name.val
	if strings.Contains(key, "/") {
		resolved, ok := "", false
		if w.o.LookPath != nil && strings.HasPrefix(key, "/") {
			resolved, ok = w.o.LookPath(key)
		}
		if !ok {
			w.bestReads(args, c)
			return args, false, "not a trusted program: " + brief(key)
		}
		key = base(key)
		args = append([]arg{literal(resolved)}, args[1:]...)
	}
	if key == "cd" {
		return w.judgeCd(args, c)
	}
	if key == "git" {
		return w.judgeGit(args, c)
	}
	s, ok := table[key]
	if !ok {
		if versions[key] != "" && len(args) == 2 && args[1].lit && has(versions[key], args[1].val) {
			w.goTool = w.goTool || key == "go"
			return args, key == "go", ""
		}
		w.bestReads(args, c)
		return args, false, brief(key) + " is not on the table of commands that only read"
	}
	if len(args) == 2 && args[1].lit && s.outside && (args[1].val == "--help" || args[1].val == "--version") {
		return args, false, ""
	}
	switch key {
	case "find":
		out, why = w.judgeFind(args, c)
	case "xargs", "timeout":
		out, why = w.judgeRunner(key, args, c)
	default:
		out, why = w.bySpec(key, s, args, c)
	}
	if key == "go" {
		w.goTool = true
	}
	if why != "" {
		w.bestReads(args, c)
	}
	return out, len(out) != len(args) || key == "go" || key == "timeout" || key == "find" || key == "xargs", why
}

func has(list, s string) bool {
	for _, f := range strings.Fields(list) {
		if f == s {
			return true
		}
	}
	return false
}

// bySpec reads words by an entry of the table.
func (w *walker) bySpec(key string, s *spec, args []arg, c context) (out []arg, why string) {
	if s.listed {
		if why := listsWords(key, args[1:]); why != "" {
			return args, why
		}
	}
	p, why := parseFlags(key, s, args)
	if why != "" {
		return args, why
	}
	if s.need != "" && !p.has(s.need) {
		return args, fmt.Sprintf("%s only reads with %s", key, strings.Join(strings.Fields(s.need), " or "))
	}
	ops := s.ops
	if s.first != "" && p.has(s.first) {
		ops = strings.TrimPrefix(ops, "t")
	}
	many := strings.HasSuffix(ops, "*")
	kinds := strings.TrimSuffix(ops, "*")
	if len(p.ops) < s.least {
		return args, fmt.Sprintf("%s: too few operands", key)
	}
	if !many && len(p.ops) > len(kinds) {
		return args, fmt.Sprintf("%s: with more than %d operands it may not only read", key, len(kinds))
	}
	var reads []Path
	below := s.below == "*" || s.below != "" && p.has(s.below)
	for i := range p.ops {
		a := &p.ops[i]
		if (a.glob || a.stdin) && !many {
			return args, fmt.Sprintf("%s: a pattern may become more operands than it may have: %s", key, brief(a.text))
		}
		if kinds != "" && kinds[min(i, len(kinds)-1)] == 'p' && !(a.lit && a.val == "-") {
			reads = append(reads, c.dirs.paths(a, below)...)
		}
	}
	if s.dot && len(reads) == 0 {
		dot := literal(".")
		reads = c.dirs.paths(&dot, true)
	}
	if s.check != nil {
		if why := s.check(w, p, c); why != "" {
			return args, key + ": " + why
		}
	}
	for flag, values := range p.vals {
		if strings.HasPrefix(flag, "\x00") {
			for i := range values {
				reads = append(reads, c.dirs.paths(&values[i], false)...)
			}
		}
	}
	w.read(reads)
	return inject(p.args, p.at, p.inject), ""
}

// inject puts flags behind the word at index at unless they are there.
func inject(args []arg, at int, flags []string) []arg {
	var missing []arg
next:
	for _, f := range flags {
		for _, a := range args[1:] {
			if a.lit && a.val == "--" {
				break
			}
			if a.lit && a.val == f {
				continue next
			}
		}
		missing = append(missing, literal(f))
	}
	if missing == nil {
		return args
	}
	return append(append(args[:at+1:at+1], missing...), args[at+1:]...)
}

// parseFlags divides words into flags and operands. Flags may stand anywhere,
// as GNU programs take them; an unknown one is refused, abbreviations too.
func parseFlags(key string, s *spec, args []arg) (*parsed, string) {
	p := &parsed{name: key, s: s, args: args, vals: map[string][]arg{}, inject: s.inject}
	dashes := false
	for i := 1; i < len(args); i++ {
		a := &args[i]
		if why := usable(key, s, a, dashes); why != "" {
			return p, why
		}
		if s.raw {
			p.ops = append(p.ops, *a)
			continue
		}
		if a.lit && a.val == "--" && !dashes {
			dashes = true
			continue
		}
		if dashes || !strings.HasPrefix(a.lead, "-") || a.lit && a.val == "-" || a.stdin {
			p.ops = append(p.ops, *a)
			continue
		}
		n, why := p.flag(i)
		if why != "" {
			return p, why
		}
		i += n
	}
	return p, ""
}

// listsWords refuses words that name a file of more words, wherever they stand:
// such a program looks for them before it looks for flags, values and --.
func listsWords(key string, args []arg) string {
	for i := range args {
		if a := &args[i]; a.lead == "" && !a.lit || strings.HasPrefix(a.lead, "@") {
			return fmt.Sprintf("%s: @FILE stands for the words in a file: %s", key, brief(a.text))
		}
	}
	return ""
}

// usable refuses words whose value is not known or could become a flag.
func usable(key string, s *spec, a *arg, dashes bool) string {
	switch {
	case a.stdin:
		if !s.harmless {
			return fmt.Sprintf("%s: what is read from standard input could become a flag", key)
		}
	case a.lit:
		if a.script == "" {
			return fmt.Sprintf("%s: a word cannot be written anew: %s", key, a.why)
		}
		if dashLike(a.val) {
			return fmt.Sprintf("%s: a word begins with a dash that is not -: %s", key, brief(a.text))
		}
	case a.glob:
		if a.why != "" {
			return fmt.Sprintf("%s: %s: %s", key, a.why, brief(a.text))
		}
		if a.lead == "" && !dashes && !s.harmless {
			return fmt.Sprintf("%s: a pattern could become a flag: %s", key, brief(a.text))
		}
	case a.number:
	case a.sub && key == "echo":
	default:
		return fmt.Sprintf("%s: a word is not literal: %s", key, brief(a.text))
	}
	return ""
}

// flag reads the flag at index i and says how many words it takes beside.
func (p *parsed) flag(i int) (int, string) {
	a := &p.args[i]
	text := a.val
	refuse := func(f string) string {
		return fmt.Sprintf("%s: the flag %s is not on the table of flags that only read", p.name, brief(f))
	}
	if !a.lit {
		// --include=*.go: what it becomes still begins with --include=.
		eq := strings.IndexByte(a.lead, '=')
		if !strings.HasPrefix(a.lead, "--") || eq < 0 || !a.glob {
			return 0, refuse(a.text)
		}
		name := a.lead[2:eq]
		if k := lookLong(p.s.long, name); k != "=" && k != "=?" {
			return 0, refuse("--" + name)
		}
		quoted := literal(a.val) // without files of that name the pattern stays as it is
		p.args[i] = quoted
		p.seen = append(p.seen, "--"+name)
		p.vals["--"+name] = append(p.vals["--"+name], literal(a.val[eq+1:]))
		return 0, ""
	}
	if strings.HasPrefix(text, "--") {
		name, value, attached := strings.Cut(text[2:], "=")
		flag := "--" + name
		kind := lookLong(p.s.long, name)
		switch {
		case kind == "none" || (kind == "" || kind == "==") && attached:
			return 0, refuse(flag)
		case attached:
			p.take(flag, kind == "=/", literal(value))
			return 0, ""
		case kind == "=" || kind == "=/":
			return p.next(i, flag, kind == "=/")
		case kind == "==":
			if _, why := p.next(i, flag, false); why != "" {
				return 0, why
			}
			_, why := p.next(i+1, flag, false)
			return 2, why
		}
		p.seen = append(p.seen, flag)
		return 0, ""
	}
	if p.s.num && digits(text[1:]) {
		p.seen = append(p.seen, "-0")
		return 0, ""
	}
	for j := 1; j < len(text); j++ {
		flag := "-" + text[j:j+1]
		k := strings.IndexByte(p.s.short, text[j])
		if k < 0 || strings.IndexByte(":%/", text[j]) >= 0 {
			return 0, refuse(flag)
		}
		kind := byte(0)
		if k+1 < len(p.s.short) {
			kind = p.s.short[k+1]
		}
		switch kind {
		case '%':
			p.take(flag, false, literal(text[j+1:]))
			return 0, ""
		case ':', '/':
			if j+1 < len(text) {
				p.take(flag, kind == '/', literal(text[j+1:]))
				return 0, ""
			}
			return p.next(i, flag, kind == '/')
		}
		p.seen = append(p.seen, flag)
	}
	return 0, ""
}

// take notes the value of a flag; values that are paths have a name of their own too.
func (p *parsed) take(flag string, path bool, value arg) {
	p.seen = append(p.seen, flag)
	p.vals[flag] = append(p.vals[flag], value)
	if path {
		p.vals["\x00"+flag] = append(p.vals["\x00"+flag], value)
	}
}

// next takes the following word as a flag's value.
func (p *parsed) next(i int, flag string, path bool) (int, string) {
	if i+1 >= len(p.args) {
		return 0, fmt.Sprintf("%s: the flag %s has no value", p.name, flag)
	}
	v := &p.args[i+1]
	if !v.lit && !v.number || v.stdin || v.lit && v.script == "" {
		return 0, fmt.Sprintf("%s: the value of %s is not literal: %s", p.name, flag, brief(v.text))
	}
	p.take(flag, path, *v)
	return 1, ""
}

// lookLong finds a long flag in a list: "none" if it is not there, else what
// follows its name.
func lookLong(list, name string) string {
	for name != "" && list != "" {
		item, rest, _ := strings.Cut(list, " ")
		if n, kind, ok := strings.Cut(item, "="); n == name {
			if ok {
				return "=" + kind
			}
			return ""
		}
		list = rest
	}
	return "none"
}

// judgeCd allows a literal folder inside the roots. What is written can be no
// flag and is not searched in CDPATH.
func (w *walker) judgeCd(args []arg, c context) ([]arg, bool, string) {
	to := args[1:]
	if len(to) > 0 && to[0].lit && to[0].val == "--" {
		to = to[1:]
	}
	target := w.cd(args[1:], c)
	if len(to) > 1 || len(to) == 1 && (!to[0].lit || to[0].script == "") {
		return args, false, "cd: where it leads is not literal"
	}
	if !target.within(w.o) {
		return args, false, "cd: it leads out of the roots or nobody knows where"
	}
	if len(to) == 0 {
		to = []arg{literal(target.list[0])}
	}
	w.read(c.dirs.paths(&to[0], false))
	dir := to[0].val
	if dir[0] != '/' && dir[0] != '.' {
		dir = "./" + dir
	}
	return []arg{args[0], literal("--"), literal(dir)}, false, ""
}

// bestReads notes the words of a command that could not be read as if all of
// them were paths, for rules that deny.
func (w *walker) bestReads(args []arg, c context) {
	args = canonical(args)
	if s, ok := table[base(args[0].val)]; !ok || !strings.Contains(s.ops, "p") && s.check == nil {
		return
	}
	program := strings.HasPrefix(table[base(args[0].val)].ops, "t")
	for i := 1; i < len(args); i++ {
		program = program && !has("-e -f --expression --file --regexp", args[i].val)
	}
	for i := 1; i < len(args) && len(w.a.Reads) < maxPaths; i++ {
		switch a := &args[i]; {
		case a.text == "" || a.text[0] == '-':
		case program:
			program = false // a pattern or a script
		default:
			w.read(c.dirs.paths(a, false))
		}
	}
}
