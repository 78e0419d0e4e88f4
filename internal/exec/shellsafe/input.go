package shellsafe

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The functions of this file follow standard input to the programs that read commands
// from it, for rules that deny and ask: shells that a wrapper starts, and programs with
// an escape to a shell. Code for an interpreter is not looked into.

// input describes the standard input of a command. The zero value is an empty one.
type input struct {
	text string // the input, if it is known
	open bool   // it may hold anything
	tty  bool   // the command has a terminal, from which pagers and editors read keys
}

// none reports whether the input is known to be empty.
func (in input) none() bool { return in.text == "" && !in.open && !in.tty }

// inputOf returns the standard input of a command with these redirects.
func (w *walker) inputOf(rs []*syntax.Redirect, c context) input {
	in := c.input
	for _, r := range rs {
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		switch r.Op {
		case syntax.RdrIn:
			in = input{open: true, tty: c.input.tty}
			if a := w.plainWord(r.Word); a.lit && a.val == "/dev/null" {
				in.open = false
			}
		case syntax.WordHdoc:
			a := w.plainWord(r.Word)
			in = input{text: a.val, open: !a.lit, tty: c.input.tty}
		case syntax.Hdoc, syntax.DashHdoc:
			in = input{tty: c.input.tty}
			for i := 0; r.Hdoc != nil && i < len(r.Hdoc.Parts); i++ {
				l, ok := r.Hdoc.Parts[i].(*syntax.Lit)
				if ok {
					in.text += l.Value
				}
				in.open = in.open || !ok
			}
		case syntax.DplIn, syntax.RdrInOut:
			in = input{open: true, tty: c.input.tty}
		}
	}
	return in
}

// piped returns the input that a statement prints for the next one in a pipe. It is
// known if the statement is an echo of literal words.
func (w *walker) piped(s *syntax.Stmt, c context) input {
	in := input{open: true, tty: c.input.tty}
	n, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(n.Args) < 2 || len(n.Assigns)+len(s.Redirs) > 0 {
		return in
	}
	words := make([]string, len(n.Args))
	for i, x := range n.Args {
		a := w.plainWord(x)
		if words[i] = a.val; !a.lit || a.folded {
			return in
		}
	}
	text := strings.Join(words[1:], " ")
	if words[0] == "printf" {
		text = strings.ReplaceAll(text, `\n`, "\n")
		if strings.Contains(text, "%") {
			return in
		}
	}
	if words[0] != "echo" && words[0] != "printf" || strings.Contains(text, `\`) {
		return in
	}
	return input{text: text, tty: c.input.tty}
}

// changesInput reports whether a text changes the input of the shell, and so that of
// commands without a redirect.
func changesInput(stmts []*syntax.Stmt) (changes bool) {
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			s, ok := n.(*syntax.Stmt)
			if !ok || len(s.Redirs) == 0 {
				return true
			}
			call, ok := s.Cmd.(*syntax.CallExpr)
			changes = changes || ok && len(call.Args) > 0 && strings.Trim(strings.ToLower(call.Args[len(call.Args)-1].Lit()), `\`) == "exec"
			return true
		})
	}
	return changes
}

// Typed analyses a text that is typed into a running command: the commands that a shell takes it
// for, and those that it has a program with an escape to a shell run. whole reports that the text
// does not end within a line, and holds all that is typed. It returns nil if the command takes no
// text for commands.
func Typed(command, text string, tty, whole bool, o Options) *Analysis {
	started := Analyse(command, o)
	o.typed = &input{text: text, tty: tty}
	a := &Analysis{}
	w := &walker{a: a, o: &o}
	if why, _ := gate(command); why != "" {
		w.unresolve(why)
		return a
	}
	w.parse(command, start(&o))
	if !w.takes && a.Unresolved == "" {
		return nil
	}
	if !whole {
		w.setIncomplete("the text ends within a line, or keys change what it is")
	}
	known := map[string]int{}
	for i := range started.Commands {
		known[started.Commands[i].Text]++
	}
	a.Commands = slices.DeleteFunc(a.Commands, func(c Command) bool { // those that run already
		known[c.Text]--
		return known[c.Text] >= 0
	})
	return a
}

// typing reports whether a program with this input gets the text of Typed, and records it.
func (w *walker) typing(c context) bool {
	is := w.o.typed != nil && !c.input.open && c.input.text == w.o.typed.text
	w.takes = w.takes || is
	return is
}

// startsShell records that a program starts a shell that reads commands.
func (w *walker) startsShell(name string, c context) {
	if w.typing(c) {
		w.reparse(c.input.text, true, c)
		return
	}
	why := name + " without a command starts a shell, which reads its commands from its input"
	if c.input.none() {
		w.setIncomplete(why)
		return
	}
	w.unresolve(why)
}

// quietKeys lists keys with which pagers and questions of git run nothing.
const quietKeys = "qynadGgjkbfu/ \n"

// speaks lists the commands that a program with an escape to a shell runs because of
// its input. What is not known of them makes the analysis doubtful.
func (w *walker) speaks(name string, args []arg, c context) {
	e, ok := escapes[name]
	if !ok || len(args) == 2 && (args[1].val == "--version" || args[1].val == "--help") {
		return
	}
	switch in := c.input; {
	case (e.input || e.keys || e.code) && w.typing(c):
		if e.code || e.keys && strings.Trim(in.text, quietKeys) != "" {
			w.setIncomplete(name + " can run commands that its input names")
		}
	case in.tty && (e.input || e.keys || e.code), in.open && (e.input || e.code), in.text != "" && e.code:
		w.setIncomplete(name + " can run commands that its input names")
	}
	if !e.input && !e.code || c.input.text == "" {
		return
	}
	hints := e.hints
	if hints == "" {
		hints = e.marks
	}
	for line := range strings.Lines(c.input.text) {
		line = strings.TrimRight(line, "\r\n")
		for h := range strings.SplitSeq(hints, "&") {
			if h = strings.TrimRight(h, " "); h != "" && strings.Contains("\n"+strings.ToLower(line), h) {
				w.setIncomplete(name + " can run commands that its input names")
			}
		}
		if e.marks != "" {
			w.listUncertain(func() { w.escaped(&e, line, c) })
		}
	}
}

// codeFlags lists, by program, the flags whose value is a file with commands of the program. Those
// of make are read by makeRuns.
var codeFlags = map[string]string{
	"sed": "-f --file", "gsed": "-f --file", "awk": awkFiles, "gawk": awkFiles, "mawk": awkFiles, "nawk": awkFiles, "original-awk": awkFiles,
	"ip": "-b -batch --batch", "tc": "-b -batch --batch", "ssh": "-F", "scp": "-F", "sftp": "-F", "autossh": "-F", "cmake": "-P -C", "ctest": "-S -SP --script", "at": "-f", "parallel": "-a --arg-file", "just": "-f --justfile",
}

const awkFiles = "-f --file -i --include -E --exec"

// codeFiles lists the commands that a program runs because a word of it makes it read its own
// commands from its input. Files with names of their own are not looked into.
func (w *walker) codeFiles(name string, args []arg, c context) {
	flags := codeFlags[name]
	e := escapes[name]
	for i := 1; i < len(args); i++ {
		from := args[i]
		if strings.HasPrefix(from.text, "-") {
			text, used, is := commandFlag(flags, from.text, args[i+1:])
			if !is {
				continue
			}
			i += used
			from = arg{text: text, val: text, lit: args[i].lit}
		} else if !e.input && !e.code {
			continue
		}
		standard := from.lit && has("- /dev/stdin /dev/fd/0 /proc/self/fd/0", from.val)
		switch {
		case standard && !c.input.open && flags != "":
			w.listUncertain(func() { w.codeText(name, args, c) })
		case standard, from.lit && isDevice(from.val), !from.lit && strings.HasPrefix(from.text, "<("):
			w.setIncomplete(name + " can run commands that its input names")
		}
	}
}

// codeText lists the commands that a program runs because of the text of its input.
func (w *walker) codeText(name string, args []arg, c context) {
	text := c.input.text
	c.input = input{}
	switch {
	case strings.HasSuffix(name, "sed"):
		w.sedRuns([]arg{args[0], literal("-e"), literal(text)}, c)
	case strings.HasSuffix(name, "awk"):
		program := literal(text)
		w.awkProgram(&program, c)
	case name == "ip" || name == "tc":
		for line := range strings.Lines(text) {
			w.reparse(name+" "+line, true, c)
		}
	case text != "":
		w.setIncomplete(name + " can run commands that its input names")
	}
}
