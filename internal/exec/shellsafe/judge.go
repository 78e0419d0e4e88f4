package shellsafe

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// spec is an entry of the table: the words with which a command is read-only.
type spec struct {
	why   string // purpose of the command, and reasons for omissions
	short string // letters of short flags; a following ":" means a value, "%" an optional attached value, "/" a value that is a path
	long  string // names of long flags, separated by blanks; a following "=" means a value, "=?" an optional one, "=/" a path, "==" two values
	ops   string // kinds of operands: t text, p path; a final * allows any number of the last kind
	least int    // minimum number of operands
	num   bool   // whether -5 is a number of lines
	// harmless reports that no flag of the command, listed or not, writes or runs
	// anything, so that a pattern may stand where it could become a flag.
	harmless bool
	// outside reports that it is a program, not only a builtin: find, xargs and
	// timeout can run it.
	outside bool
	raw     bool // all words are operands
	// listed reports that a word @FILE means the words in a file, which may be
	// flags. So no word may begin with @ or become a word that does.
	listed bool
	// ahead reports that flags are recognised only before the operands. Later words
	// with a dash are operands, which may be executed, written or set.
	ahead bool
	// exact reports that flags cannot be clustered: each is a separate word, with
	// one dash or two, and only a number may be attached to it.
	exact  bool
	first  string   // flags that replace the first operand, as -e of grep
	need   string   // one of these flags is required
	below  string   // flags that make it read everything below its paths; "*": always
	dot    bool     // whether it reads the working folder if no path is given
	inject []string // flags to add after the name
	check  func(w *walker, p *parsed, c context) string
}

// parsed is a command parsed by its spec.
type parsed struct {
	name   string
	s      *spec
	args   []arg // including the name
	seen   []string
	vals   map[string][]arg // by flag
	ops    []arg
	inject []string // flags to add after the word at index at
	at     int
}

func (p *parsed) hasFlag(flags string) bool {
	for _, f := range p.seen {
		for _, g := range strings.Fields(flags) {
			if f == g {
				return true
			}
		}
	}
	return false
}

// judge decides whether a command is read-only, and returns the words to run
// instead. It gives a reason to the walker. hard reports that Script differs from
// the original words.
func (w *walker) judge(args []arg, c context) (out []arg, hard bool) {
	out, hard, why := w.verdict(args, c)
	switch {
	case why == "":
	case w.views(args, c):
		w.soft(why)
	default:
		w.deny(why)
	}
	return out, hard
}

// views reports whether a command that is not known to only read would if its words that are not
// literal are no flags, or only shows its version or help.
func (w *walker) views(args []arg, c context) bool {
	if !args[0].lit {
		return false
	}
	if n := len(args); n == 2 && args[1].lit && has("--version --help", args[1].val) && !has(choosers, base(args[0].val)) {
		return true
	}
	reads := len(w.a.Reads)
	defer func() { w.a.Reads = w.a.Reads[:reads] }()
	for _, word := range []string{"1", "p"} {
		known, changed := slices.Clone(args), false
		for i := 1; i < len(known); i++ {
			if known[i].lit && known[i].script != "" {
				continue
			}
			if strings.HasPrefix(known[i].lead, "-") || strings.Contains(known[i].text, "..") {
				return false // a flag, or numbers that braces count
			}
			known[i], changed = literal(word), true
		}
		if !changed && args[0].val != "cd" {
			return false
		}
		if args[0].val == "cd" {
			return true
		}
		if _, _, why := w.verdict(known, c); why == "" {
			return true
		}
	}
	return false
}

// choosers lists programs that may download or write something before they show their version.
const choosers = "gradlew gradle mvnw yarn yarnpkg pnpm pnpx npx bunx uvx pipx corepack cargo rustc rustup rustfmt dotnet bazel bazelisk swift terraform tofu nix"

func (w *walker) verdict(args []arg, c context) (out []arg, hard bool, why string) {
	name := args[0]
	if !name.lit || name.script == "" {
		return args, false, "the name of a command is not literal: " + shortForm(name.text)
	}
	key := name.val
	if wide(base(key), args[1:]) {
		w.bestReads(args, c)
		return args, false, shortForm(base(key)) + ": a field is too wide"
	}
	if strings.Contains(key, "/") {
		resolved, ok := "", false
		if w.o.LookPath != nil && strings.HasPrefix(key, "/") {
			resolved, ok = w.o.LookPath(key)
		}
		if !ok {
			w.bestReads(args, c)
			return args, false, "not a trusted program: " + shortForm(key)
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
		if looks(args) {
			w.looked = shortForm(strings.Join(texts(args), " "))
			return args, false, ""
		}
		w.bestReads(args, c)
		return args, false, shortForm(key) + " is not on the table of commands that only read"
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

// fieldWidth matches a width or precision of 10,000 or more in a format, as in %99999d, of
// git (%<(99999)) and of ps (pid:99999).
var fieldWidth = regexp.MustCompile(`[%:][-+ #'^_<>(|.0-9]*[1-9][0-9]{4}`)

// wide reports whether a format in the words writes much more than its input has.
func wide(name string, words []arg) bool {
	for i := range words {
		s := words[i].text
		if at := strings.IndexAny(s, "%:"); at >= 0 && (strings.Contains(s, "%") || name == "ps") && fieldWidth.MatchString(s[at:]) {
			return true
		}
		flag := strings.HasPrefix(s, "-") || i > 0 && strings.HasPrefix(words[i-1].text, "-")
		if flag && has("nl expand unexpand pr fmt column", name) && longNumber.MatchString(s) {
			return true
		}
	}
	return false
}

var longNumber = regexp.MustCompile(`[1-9][0-9]{4}`)

func has(list, s string) bool {
	for _, f := range strings.Fields(list) {
		if f == s {
			return true
		}
	}
	return false
}

// bySpec judges words by an entry of the table.
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
	if s.need != "" && !p.hasFlag(s.need) {
		return args, fmt.Sprintf("%s only reads with %s", key, strings.Join(strings.Fields(s.need), " or "))
	}
	ops := s.ops
	if s.first != "" && p.hasFlag(s.first) {
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
	below := s.below == "*" || s.below != "" && p.hasFlag(s.below)
	for i := range p.ops {
		a := &p.ops[i]
		if (a.glob || a.stdin) && !many {
			return args, fmt.Sprintf("%s: a pattern may become more operands than it may have: %s", key, shortForm(a.text))
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

// inject adds the missing flags after the word at index at.
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

// judgeCd allows a literal folder inside the roots. The words it returns cannot be
// flags, and are not searched for in CDPATH.
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
		return args, false, "cd: it leads out of the roots or to an unknown folder"
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

// bestReads records all words of a command that could not be parsed as paths, for
// rules that deny.
func (w *walker) bestReads(args []arg, c context) {
	args = canonical(args)
	if s, ok := table[base(args[0].val)]; has("go npm tar", base(args[0].val)) || !ok || !strings.Contains(s.ops, "p") && s.check == nil {
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
