package shellsafe

import (
	"slices"
	"strings"
)

// shells lists the programs that take a text with -c.
const shells = "sh bash dash zsh ksh ksh93 mksh lksh oksh loksh pdksh ash hush fish rbash rksh rzsh yash posh bosh bsh osh csh tcsh nu elvish xonsh rc es"

// otherLanguages lists the shells whose texts bash would read in another way, apart from plain
// words.
const otherLanguages = "zsh rzsh fish csh tcsh nu elvish xonsh rc es"

// foreign reports whether a text may mean something else in one of otherLanguages.
func foreign(text string) bool {
	for i := range len(text) {
		if strings.IndexByte("[](){}^!`%", text[i]) >= 0 || text[i] == '$' && (i+1 == len(text) || !letter(text[i+1])) {
			return true
		}
	}
	return false
}

// unwrap lists the commands that a command runs, and the texts that it gives to a
// shell.
func (w *walker) unwrap(args []arg, c context) {
	if w.depth++; w.depth > maxNesting {
		w.unresolve("it is nested too deeply")
		w.depth--
		return
	}
	defer func() { w.depth-- }()
	args = canonical(args)
	name := base(args[0].val)
	if !args[0].lit {
		name = ""
	}
	c.inner, c.wrapped = true, true
	for _, sign := range []string{"=", "^", "e:"} { // zsh, nu, and elvish find a program behind it
		if bare, ok := strings.CutPrefix(args[0].text, sign); ok && bare != "" && args[0].lit {
			w.inner(append([]arg{literal(bare)}, args[1:]...), c)
		}
	}
	w.escapes(name, args, c)
	w.speaks(name, args, c)
	w.codeFiles(name, args, c)
	if name == "xargs" || name == "parallel" {
		c.fed, c.place = true, replaced(args)
	}
	if name == "xargs" && !slices.ContainsFunc(args, func(a arg) bool { return strings.HasPrefix(a.val, "-") && strings.ContainsAny(a.val, "oa") }) {
		c.input = input{} // its command gets an empty one
	}
	if name == "runuser" && !slices.ContainsFunc(args, func(a arg) bool { return strings.HasPrefix(a.val, "-u") || strings.HasPrefix(a.val, "--u") }) {
		name = "su"
	}
	switch {
	case name == "":
		return
	case has(shells, name):
		w.shell(name, args[1:], c)
		if x, ok := wrappers[name]; ok {
			w.listUncertain(func() { w.skipWrapper(name, x, args, c) })
		}
	case name == "command" && len(args) > 1 && strings.HasPrefix(args[1].val, "-") && strings.ContainsAny(args[1].val, "vV"):
	case name == "eval":
		w.text2(args[1:], c)
	case name == "trap" && len(args) > 1:
		rest := args[1:]
		if rest[0].val == "--" {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].val != "-" && rest[0].val != "-l" && rest[0].val != "-p" {
			w.text2(rest[:1], c)
		}
	case name == "hash" && slices.ContainsFunc(args[1:], func(a arg) bool {
		return strings.HasPrefix(a.val, "-") && strings.Contains(a.val, "p") || strings.Contains(a.text, "=")
	}):
		w.unresolve("hash gives a program another name")
	case (name == "source" || name == ".") && len(args) > 1 && (!args[1].lit || isDevice(args[1].val)):
		w.unresolve("what " + name + " runs is only known then: " + shortForm(args[1].text))
	case name == "alias":
		for i := 1; i < len(args); i++ {
			if _, v, ok := strings.Cut(args[i].text, "="); ok {
				w.reparse(v, args[i].lit, c)
			} else if i == 1 && len(args) > 2 && !strings.HasPrefix(args[1].val, "-") { // csh
				w.listUncertain(func() { w.text2(args[2:], c) })
			}
		}
	case name == "mapfile" || name == "readarray" || name == "compgen" || name == "complete":
		for i := 1; i < len(args)-1; i++ {
			if args[i].val == "-C" { // words are added: an index, and what was read
				w.text2([]arg{args[i+1], literal(`0 "$_"`)}, c)
			}
		}
	case name == "jobs":
		w.jobs(args, c)
	case name == "bind":
		for i := 1; i < len(args); i++ {
			if args[i-1].lead != "" && strings.HasPrefix(args[i-1].lead, "-") && strings.HasSuffix(args[i-1].val, "x") {
				_, text, _ := strings.Cut(args[i].text, ":")
				w.reparse(text, args[i].lit, c)
			}
		}
	case name == "find" || name == "fd" || name == "fdfind":
		w.finds(args, c)
	case name == "git":
		w.launches(name, args, c)
	default:
		if len(args) == 2 && (args[1].val == "--version" || args[1].val == "--help") {
			return
		}
		if x, ok := wrappers[name]; ok {
			w.skipWrapper(name, x, args, c)
		} else if x, ok := runners[name]; ok {
			w.listUncertain(func() { w.skipWrapper(name, x, args, c) })
		}
		w.launches(name, args, c)
	}
}

// jobs lists the command of jobs -x.
func (w *walker) jobs(args []arg, c context) {
	for i := 1; i < len(args); i++ {
		a := &args[i]
		switch {
		case !a.lit && (a.lead == "" || a.lead[0] == '-'):
			w.listPossible("jobs", args[i:], c)
			return
		case !strings.HasPrefix(a.val, "-") || a.val == "--":
			return
		case strings.Contains(a.val, "x"):
			w.inner(args[i+1:], c)
			return
		}
	}
}

// inner lists a command that another one runs.
func (w *walker) inner(args []arg, c context) {
	if len(args) == 0 || w.commands > maxListed {
		return // a text over the limit of commands is unresolved
	}
	w.commands++
	cmd := Command{Wrapped: true, Inner: true}
	w.describe(&cmd, args)
	cmd.place(c)
	if c.fed && cmd.Literal {
		cmd.Literal, cmd.KnownPrefix = false, fedUpTo(cmd.Text, c.place)
	}
	for i := range cmd.Forms {
		if f := &cmd.Forms[i]; c.fed && f.KnownPrefix == "" {
			f.KnownPrefix = fedUpTo(f.Text, c.place)
		}
	}
	cmd.Possible = w.possible(args, c)
	at := len(w.a.Commands)
	w.a.Commands = w.appendCommand(cmd)
	if !args[0].lit || args[0].val == "" {
		w.unresolve("the name of a command is not literal: " + shortForm(args[0].text))
		return
	}
	if c.replaces(args[0].val) {
		w.setIncomplete("the name of a command is only known when it runs: " + shortForm(args[0].text))
	}
	w.unwrap(args, c)
	outer := w.unknownWrites
	w.unknownWrites = false
	from := len(w.a.Reads)
	w.touched(args, c)
	w.worksIn(args, c)
	w.bestReads(args, c)
	if at < len(w.a.Commands) {
		w.a.Commands[at].UnknownWrites = w.unknownWrites || c.fed && fileCommands[cmd.Name].writes != ""
		w.a.Commands[at].reads = w.a.Reads[from:len(w.a.Reads):len(w.a.Reads)]
	}
	w.unknownWrites = outer
}

// shell finds the text of sh -c.
func (w *walker) shell(name string, args []arg, c context) {
	w.options = true
	text, input := false, false
	for i := 0; i < len(args); i++ {
		v := args[i].val
		if !args[i].lit && (args[i].lead == "" || args[i].lead[0] == '-') && !text {
			w.unresolve("the words of a shell are not literal: " + shortForm(args[i].text))
		}
		if v == "--rcfile" || v == "--init-file" {
			if i++; i < len(args) && (!args[i].lit || isDevice(args[i].val)) {
				w.unresolve("a file that a shell reads is only known then: " + shortForm(args[i].text))
			}
			continue
		}
		if len(v) > 1 && (v[0] == '-' || v[0] == '+') && v != "--" && args[i].lit {
			if v[1] != '-' {
				text = text || strings.ContainsRune(v, 'c')
				input = input || v[0] == '-' && strings.ContainsRune(v, 's')
				if strings.ContainsAny(v[1:], "oO") {
					i++
				}
			}
			continue
		}
		if v == "--" || v == "-" {
			continue
		}
		if text {
			if has(otherLanguages, name) && foreign(args[i].text) {
				w.setIncomplete(name + " has a language of its own, in which the text may run other commands")
			}
			w.reparse(args[i].text, args[i].lit, c)
		} else if input {
			break
		} else if isDevice(v) {
			w.unresolve("what a shell reads from " + v + " is only known then")
		}
		return
	}
	switch {
	case len(args) == 1 && (args[0].val == "--version" || args[0].val == "--help"):
	case w.typing(c):
		if has(otherLanguages, name) && foreign(c.input.text) {
			w.setIncomplete(name + " has a language of its own, in which the text may run other commands")
		}
		w.reparse(c.input.text, true, c)
	default:
		w.unresolve("a shell reads its commands from its input")
	}
}

// text2 joins words to one text for a shell, and walks it.
func (w *walker) text2(args []arg, c context) {
	lit := true
	words := make([]string, len(args))
	for i := range args {
		words[i] = args[i].text
		lit = lit && args[i].lit
	}
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	w.reparse(strings.Join(words, " "), lit, c)
}

// reparse walks a text that a command gives to a shell.
func (w *walker) reparse(text string, lit bool, c context) {
	if !lit {
		w.unresolve("the text that a shell gets is not literal: " + shortForm(text))
	}
	if c.reparse++; c.reparse > maxReparse {
		w.unresolve("shells within shells within shells")
		return
	}
	if !strings.ContainsAny(text, "'\"`#<$") {
		text = Normalize(text) // the shell cannot join its lines otherwise
	}
	why, parse := gate(text)
	if why != "" {
		w.unresolve(why)
	}
	if !parse && why != "" {
		return
	}
	if c.replaces(text) {
		w.setIncomplete("the text that a shell gets is only known when it runs: " + shortForm(text))
	}
	c.fed = false // c.dirs stays: the shell runs in the wrapper's folder, as far as it is known
	script := w.script
	w.script = buffer{}
	w.parse(text, c)
	w.script = script
	w.deny("it gives a text to a shell")
}
