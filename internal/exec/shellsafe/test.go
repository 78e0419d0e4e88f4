package shellsafe

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Words can run commands where the shell evaluates them as arithmetic or as the
// name of a variable: [[ 'a[$(cmd)]' -eq 0 ]]. A text is refused if it contains
// both data of that form and a place that evaluates.

// suspectText records data that would run a command if it were evaluated.
func (w *walker) suspectText(a arg) {
	if strings.Contains(a.val, "$(") || strings.Contains(a.val, "`") || strings.Contains(a.text, "[$") {
		w.data = true
		w.meet()
	}
}

func (w *walker) meet() {
	if w.data && w.evaluates {
		w.unresolve("it holds text that the shell may evaluate")
	}
}

// suspect records parameter expansions that evaluate a value.
func (w *walker) suspect(p *syntax.ParamExp) {
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps {
		w.unresolve("it evaluates a variable: " + shortForm(w.source(p)))
	}
	if p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) && p.Param != nil && isProgram(p.Param.Value) {
		w.setIncomplete("what the variable " + p.Param.Value + " has programs run is not known")
	}
	if p.Excl && p.Names == 0 {
		w.evaluates = true
		w.meet()
	}
	if p.Index != nil {
		w.arithmetic(p.Index)
	}
	if p.Slice != nil {
		for _, x := range []syntax.ArithmExpr{p.Slice.Offset, p.Slice.Length} {
			if x != nil {
				w.arithmetic(x)
			}
		}
	}
}

// arithmetic records an expression that names a variable or contains text.
func (w *walker) arithmetic(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			if !digits(n.Value) && n.Value != "@" && n.Value != "*" {
				w.evaluates = true
			}
		case *syntax.SglQuoted:
			w.evaluates = true
			w.suspectText(arg{val: n.Value})
		case *syntax.ParamExp:
			w.evaluates = true
		}
		return true
	})
	w.meet()
}

// test walks [[ ... ]].
func (w *walker) test(n *syntax.TestClause, c context) {
	w.commands++
	text := strings.TrimSpace(w.text(n))
	at := len(w.a.Commands)
	w.a.Commands = w.appendCommand(Command{})
	reason := w.reason
	w.reason = ""
	w.script.WriteString("[[ ")
	w.expr(n.X, c)
	w.script.WriteString(" ]]")
	fields := strings.Fields(text)
	cmd := Command{Text: strings.Join(fields, " "), Words: fields, Name: "[[", Wrapped: c.wrapped || c.timed, Inner: c.inner}
	cmd.ReadOnly = w.reason == ""
	w.settle(at, at < len(w.a.Commands), cmd, reason)
}

func (w *walker) expr(n syntax.TestExpr, c context) {
	switch n := n.(type) {
	case *syntax.Word:
		w.operand(n, c, false)
	case *syntax.ParenTest:
		w.script.WriteString("( ")
		w.expr(n.X, c)
		w.script.WriteString(" )")
	case *syntax.UnaryTest:
		w.unary(n, c)
	case *syntax.BinaryTest:
		w.compare(n, c)
	default:
		w.unresolve("it has a test that is not known")
		w.deny("it has a test that is not known")
	}
}

func (w *walker) unary(n *syntax.UnaryTest, c context) {
	op := n.Op.String()
	w.script.WriteString(op + " ")
	switch n.Op {
	case syntax.TsNot:
		w.expr(n.X, c)
	case syntax.TsEmpStr, syntax.TsNempStr, syntax.TsFdTerm, syntax.TsOptSet:
		w.expr(n.X, c)
	case syntax.TsVarSet, syntax.TsRefVar:
		w.evaluates = true
		w.deny("[[: " + op + " evaluates its operand")
		w.expr(n.X, c)
		w.meet()
	case syntax.TsExists, syntax.TsRegFile, syntax.TsDirect, syntax.TsCharSp, syntax.TsBlckSp, syntax.TsNmPipe, syntax.TsSocket,
		syntax.TsSmbLink, syntax.TsSticky, syntax.TsGIDSet, syntax.TsUIDSet, syntax.TsGrpOwn, syntax.TsUsrOwn, syntax.TsModif,
		syntax.TsRead, syntax.TsWrite, syntax.TsExec, syntax.TsNoEmpty:
		if x, ok := n.X.(*syntax.Word); ok {
			a := w.operand(x, c, false)
			w.read(c.dirs.paths(&a, false))
			return
		}
		w.expr(n.X, c)
	default:
		w.unresolve("it has a test that is not known: " + op)
		w.deny("it has a test that is not known: " + op)
		w.expr(n.X, c)
	}
}

func (w *walker) compare(n *syntax.BinaryTest, c context) {
	op := n.Op.String()
	numbers, pattern := false, false
	switch n.Op {
	case syntax.AndTest, syntax.OrTest:
		w.expr(n.X, c)
		w.script.WriteString(" " + op + " ")
		w.expr(n.Y, c)
		return
	case syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch:
		pattern = true
	case syntax.TsBefore, syntax.TsAfter, syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		numbers = true
	case syntax.TsReMatch:
		w.deny("[[: =~ is not on the table")
	default:
		w.unresolve("it has a test that is not known: " + op)
		w.deny("it has a test that is not known: " + op)
	}
	x, okX := n.X.(*syntax.Word)
	y, okY := n.Y.(*syntax.Word)
	if !okX || !okY {
		w.deny("it has a test that is not known")
		w.expr(n.X, c)
		w.expr(n.Y, c)
		return
	}
	a := w.operand(x, c, false)
	w.script.WriteString(" " + op + " ")
	b := w.operand(y, c, pattern)
	if numbers && !(integer(&a) && integer(&b)) {
		w.evaluates = true
		w.deny("[[: " + op + " evaluates its operands")
		w.meet()
	}
	if n.Op == syntax.TsNewer || n.Op == syntax.TsOlder || n.Op == syntax.TsDevIno {
		w.read(c.dirs.paths(&a, false))
		w.read(c.dirs.paths(&b, false))
	}
}

// operand reads a word of a test, in which patterns do not expand to files.
func (w *walker) operand(n *syntax.Word, c context, pattern bool) arg {
	a := w.word(n, c)
	w.suspectText(a)
	switch {
	case a.lit && a.script != "":
		w.script.WriteString(a.script)
	case a.glob && a.why == "":
		if pattern {
			w.script.WriteString(a.script)
		} else {
			w.script.WriteString(quote(a.val))
		}
	case a.sub && a.number:
		w.script.WriteString(a.script)
	default:
		w.deny("[[: a word is not literal: " + shortForm(a.text))
	}
	return a
}

// integer reports whether a word is a plain number.
func integer(a *arg) bool {
	return a.number && a.lead == "" || a.lit && digits(strings.TrimPrefix(a.val, "-"))
}

// arithmeticTest reports whether test or [ would evaluate an operand.
func arithmeticTest(args []arg) bool {
	for i := range args {
		switch args[i].val {
		case "-v", "-R":
			return true
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			if i == 0 || i+1 >= len(args) || !integer(&args[i-1]) || !integer(&args[i+1]) {
				return true
			}
		}
		if !args[i].lit && !args[i].number && i < 2 {
			return true // it may be the operator
		}
	}
	return false
}
