package shellsafe

import (
	"fmt"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// verdicts holds what is known of whether the text only reads.
type verdicts struct {
	reason   string // why it does not
	changes  bool   // there is a reason against Views
	looked   string // a command that looks: see Analysis.Looks
	added    bool   // Script differs from a command that only reads
	launched string // why a launcher's command is not read-only: see launches
}

// walker walks a tree once. It lists commands and paths, decides whether they are
// read-only, and writes the script.
type walker struct {
	a             *Analysis
	o             *Options
	src           string // source of the tree being walked
	script        buffer
	verdicts                      // on the commands that were walked
	constants     map[string]bool // variables that one place of the text sets: see constants
	commands      int
	depth         int
	assigns       bool // some variable is set, so $HOME is unknown
	data          bool // there is text that would run a command if it were evaluated
	evaluates     bool // there is a place that evaluates
	takes         bool // a program takes the text of Typed for commands
	git           bool // Script runs git other than git config
	gitConf       bool // Script runs git config
	goTool        bool // Script runs go
	options       bool // the shell may have options other than its first ones
	unknownWrites bool // the current command changes unknown files
	gitDirs       []string
	formBytes     int            // total size of the texts of Command.Forms
	vars          map[string]arg // variables that the text sets, with their last values
}

// context describes the surroundings of a statement.
type context struct {
	wrapped bool // Command.Wrapped
	timed   bool // in a loop over words, or after time
	inner   bool // Command.Inner
	dirs    dirs
	reparse int // depth of sh -c
	// fed reports that another program adds words that it reads or finds. They
	// replace place unless that is "".
	fed   bool
	place string
	input input
	guess bool // in the commands of possible
}

func (c context) seenThrough() context {
	c.wrapped = true
	return c
}

// deny records why the whole text is not read-only. Only the first reason is
// stored.
func (w *walker) deny(why string) {
	w.changes = true
	w.soft(why)
}

// soft is deny for a reason that does not mean that the text changes something: there is no
// Script for it, or what a program does is not known.
func (w *walker) soft(why string) {
	if w.reason == "" {
		w.reason = why
	}
}

func (w *walker) unresolve(why string) {
	if w.a.Unresolved == "" {
		w.a.Unresolved = why
	}
}

// source returns the text of a node.
func (w *walker) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || from > to || to > len(w.src) {
		return "?"
	}
	return w.src[from:to]
}

// list walks consecutive statements.
func (w *walker) list(stmts []*syntax.Stmt, c context) flow {
	f := same(c.dirs)
	for i, s := range stmts {
		if i > 0 {
			w.script.WriteString("; ")
		}
		c.dirs = f.either()
		f = w.stmt(s, c)
	}
	return f
}

func (w *walker) stmt(s *syntax.Stmt, c context) flow {
	if w.depth++; w.depth > maxNesting {
		w.unresolve("it is nested too deeply")
		w.deny("it is nested too deeply")
		w.depth--
		return same(dirs{unknown: true})
	}
	defer func() { w.depth-- }()
	if s.Background || s.Coprocess || s.Disown {
		w.deny("a part of it runs in the background")
	}
	if s.Negated {
		w.script.WriteString("! ")
	}
	var f flow
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		f = w.call(call, s.Redirs, c)
	} else {
		var files []Path
		before := w.script.Len()
		redirs, toFile := w.redirects(s.Redirs, c, &files, nil)
		if toFile {
			c.wrapped = true
		}
		c.input = w.inputOf(s.Redirs, c)
		if s.Cmd == nil {
			w.deny("a redirect stands alone")
			w.a.Commands = w.appendCommand(Command{Text: w.text(s), Wrapped: c.wrapped || c.timed, Redirects: files, UnknownWrites: w.unknownWrites})
			w.unknownWrites = false
			f = same(c.dirs)
		} else {
			f = w.compound(s.Cmd, c)
		}
		if w.script.Len() > before || redirs != "" {
			w.script.WriteString(redirs)
		}
	}
	if s.Negated {
		f.ok, f.fail = f.fail, f.ok
	}
	if s.Background {
		return same(c.dirs)
	}
	return f
}

// text returns the source of a node that is not a simple command.
func (w *walker) text(n syntax.Node) string { return w.source(n) }

func (w *walker) appendCommand(c Command) []Command {
	if len(w.a.Commands) >= maxListed {
		w.unresolve("it has more than 64 commands")
		return w.a.Commands
	}
	return append(w.a.Commands, c)
}

// compound walks a command that is not a simple one. An unknown kind of node makes
// the whole text unresolved.
func (w *walker) compound(n syntax.Command, c context) flow {
	in := c.dirs
	switch n := n.(type) {
	case *syntax.BinaryCmd:
		return w.binary(n, c)
	case *syntax.Block:
		w.script.WriteString("{ ")
		f := w.list(n.Stmts, c)
		w.script.WriteString("; }")
		return f
	case *syntax.Subshell:
		w.script.WriteString("( ")
		w.list(n.Stmts, c)
		w.script.WriteString(" )")
		return same(in)
	case *syntax.TestClause:
		w.test(n, c)
		return same(in)
	case *syntax.IfClause:
		w.soft("it has an if")
		return same(w.branches(n, c))
	case *syntax.WhileClause:
		w.deny("it has a loop")
		c.dirs.unknown = in.unknown || w.moves(n)
		f := w.list(n.Cond, c)
		c.dirs = f.either()
		return same(in.or(w.list(n.Do, c).either()))
	case *syntax.ForClause:
		if l, ok := n.Loop.(*syntax.WordIter); !ok || n.Select || steers(l.Name.Value) {
			w.changes = true // it may have no end, or change what the words after it mean
		}
		w.soft("it has a loop")
		return w.loop(n, c)
	case *syntax.CaseClause:
		w.soft("it has a case")
		w.word(n.Word, c)
		out := in
		for _, item := range n.Items {
			for _, p := range item.Patterns {
				w.word(p, c)
			}
			out = out.or(w.list(item.Stmts, c).either())
		}
		return same(out)
	case *syntax.FuncDecl:
		w.deny("it defines a function")
		c = c.seenThrough()
		c.dirs.unknown, c.input.open = true, true // it runs in the folder and with the input of the call
		w.stmt(n.Body, c)
		return same(in)
	case *syntax.DeclClause:
		return same(w.declare(n, c))
	case *syntax.LetClause:
		w.soft("it has arithmetic")
		w.other("let", n, c)
		for _, e := range n.Exprs {
			w.inside(e, c)
			w.arithmetic(e)
		}
		return same(in)
	case *syntax.ArithmCmd:
		w.soft("it has arithmetic")
		w.other("((", n, c)
		w.inside(n.X, c)
		w.arithmetic(n.X)
		return same(in)
	case *syntax.TimeClause:
		w.soft("it runs time")
		if n.Stmt == nil {
			return same(in)
		}
		c.timed = true
		return w.stmt(n.Stmt, c)
	case *syntax.CoprocClause:
		// The shell recognises assignments and redirects after coproc. The parser
		// takes them for the name of a command.
		w.unresolve("what coproc runs is not known for sure")
		w.deny("a part of it runs in the background")
		w.stmt(n.Stmt, c.seenThrough())
		return same(in)
	default:
		w.unresolve(fmt.Sprintf("it has a part that is not known (%T)", n))
		w.deny("it has a part that is not known")
		return same(dirs{unknown: true})
	}
}

// other lists a command that is not a simple one and sets variables.
func (w *walker) other(name string, n syntax.Node, c context) {
	w.commands++
	w.assigns = true
	text := strings.TrimSpace(w.text(n))
	w.a.Commands = w.appendCommand(Command{Text: text, Words: []string{text}, Name: name, Wrapped: c.wrapped || c.timed, Inner: c.inner})
}

func (w *walker) binary(n *syntax.BinaryCmd, c context) flow {
	switch n.Op {
	case syntax.AndStmt:
		x := w.stmt(n.X, c)
		w.script.WriteString(" && ")
		c.dirs = x.ok
		y := w.stmt(n.Y, c)
		return flow{y.ok, x.fail.or(y.fail)}
	case syntax.OrStmt:
		x := w.stmt(n.X, c)
		w.script.WriteString(" || ")
		c.dirs = x.fail
		y := w.stmt(n.Y, c)
		return flow{x.ok.or(y.ok), y.fail}
	case syntax.Pipe, syntax.PipeAll:
		if n.Op == syntax.PipeAll {
			w.soft("it has |&")
		}
		w.stmt(n.X, c)
		w.script.WriteString(" | ")
		c.input = w.piped(n.X, c)
		w.stmt(n.Y, c)
		return same(c.dirs)
	}
	w.unresolve("it has an operator that is not known: " + n.Op.String())
	w.deny("it has an operator that is not known")
	w.stmt(n.X, c)
	w.stmt(n.Y, c)
	return same(dirs{unknown: true})
}

func (w *walker) branches(n *syntax.IfClause, c context) dirs {
	f := same(c.dirs)
	if len(n.Cond) > 0 {
		f = w.list(n.Cond, c)
	}
	c.dirs = f.ok
	out := w.list(n.Then, c).either()
	if n.Else != nil {
		if w.depth++; w.depth > maxNesting {
			w.unresolve("it is nested too deeply")
			w.depth--
			return dirs{unknown: true}
		}
		c.dirs = f.fail
		out = out.or(w.branches(n.Else, c))
		w.depth--
	} else {
		out = out.or(f.fail)
	}
	return out
}

func (w *walker) loop(n *syntax.ForClause, c context) flow {
	in := c.dirs
	var values []arg
	switch l := n.Loop.(type) {
	case *syntax.WordIter:
		for _, x := range l.Items {
			for _, v := range w.words([]*syntax.Word{x}, c) {
				w.suspectText(v)
				w.variable(l.Name.Value, v.text, v.lit, c)
				values = append(values, v)
			}
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			if x != nil {
				w.inside(x, c)
				w.arithmetic(x)
			}
		}
	default:
		w.unresolve(fmt.Sprintf("it has a part that is not known (%T)", l))
	}
	l, over := n.Loop.(*syntax.WordIter)
	w.assigns = w.assigns || !over || steers(l.Name.Value)
	if !over || n.Select || steers(l.Name.Value) || settingName.MatchString(l.Name.Value) {
		c = c.seenThrough() // the variable may be PATH
	}
	c.timed = true
	moves := w.moves(n)
	c.dirs.unknown = in.unknown || moves
	if !over || !w.unrolls(n, values, moves) {
		return same(in.or(w.list(n.Do, c).either()))
	}
	return same(in.or(w.unroll(l.Name, values, n.Do, c)))
}

// moves reports whether a loop may change the folder.
func (w *walker) moves(n syntax.Node) (moves bool) {
	if w.constants != nil {
		syntax.Walk(n, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			moves = moves || ok && len(call.Args) > 0 && has("cd pushd popd", plain(call.Args[0]))
			return !moves
		})
		return moves
	}
	s := w.source(n)
	return strings.Contains(s, "cd") || strings.Contains(s, "pushd") || strings.Contains(s, "popd") || strings.ContainsAny(s, `\'"$`) && strings.Contains(s, "d")
}

// substitution walks $(...) and returns its script. It reports whether the script
// is read-only.
func (w *walker) substitution(p *syntax.CmdSubst, c context, source string) (string, bool) {
	if p.Backquotes && strings.Contains(source, `\`) {
		w.unresolve("it has backslashes in backquotes")
		w.deny("it has backslashes in backquotes")
	}
	if p.TempFile || p.ReplyVar {
		w.unresolve("it has a substitution that is not known")
		w.deny("it has a substitution that is not known")
	}
	outer, commands := w.script, len(w.a.Commands)
	w.script = buffer{}
	c = c.seenThrough()
	c.inner = false
	w.list(p.Stmts, c)
	script := w.script.String()
	w.script = outer
	if script == "" || len(w.a.Commands) == commands {
		w.deny("it has an empty substitution")
	}
	return script, w.reason == ""
}

// inside walks the substitutions in a part that is not read word by word.
func (w *walker) inside(n syntax.Node, c context) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.substitution(n, c, w.source(n))
			return false
		case *syntax.ProcSubst:
			w.deny("it starts a process: " + shortForm(w.source(n)))
			w.list(n.Stmts, c.seenThrough())
			return false
		case *syntax.ExtGlob:
			w.unresolve("it holds an extended pattern: " + shortForm(w.source(n)))
		case *syntax.ParamExp:
			w.suspect(n)
		}
		return true
	})
}

// base returns the last element of a command's path.
func base(name string) string {
	if name == "" {
		return ""
	}
	return path.Base(name)
}
