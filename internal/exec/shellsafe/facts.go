package shellsafe

import "mvdan.cc/sh/v3/syntax"

// LeadingSleep reports whether the first simple command of a text is a sleep.
func LeadingSleep(command string) bool {
	a := Analyse(command, Options{})
	return len(a.Commands) > 0 && a.Commands[0].Name == "sleep"
}

// ResultExit reports whether an exit code is an answer and not a failure: exit code
// 1 of the last command of the last pipeline, if that command means "no" by it.
func ResultExit(a *Analysis, code int) bool { return code == 1 && a.answers }

// answers reports whether exit code 1 of a statement means "no".
func (w *walker) answers(s *syntax.Stmt) bool {
	switch n := s.Cmd.(type) {
	case *syntax.TestClause:
		return true
	case *syntax.CallExpr:
		if len(n.Args) == 0 {
			return false
		}
		switch base(w.plainWord(n.Args[0]).val) {
		case "grep", "rg", "egrep", "fgrep", "diff", "test", "[", "find", "cmp":
			return true
		}
	case *syntax.BinaryCmd:
		if n.Op == syntax.AndStmt && w.onlyPrints(n.Y) {
			return w.answers(n.X) // [ -f x ] && echo yes
		}
		// An earlier command may be the one that failed. For cd that is visible in
		// the folder at the end.
		return w.answers(n.Y) && (n.Op != syntax.AndStmt || w.answers(n.X) || w.onlyPrints(n.X) || w.onlyChangesFolder(n.X))
	}
	return false
}

// onlyChangesFolder reports whether a statement only changes the folder.
func (w *walker) onlyChangesFolder(s *syntax.Stmt) bool {
	n, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(n.Args) > 0 && w.plainWord(n.Args[0]).val == "cd"
}

// onlyPrints reports whether a statement only prints, so that it cannot be the one that
// failed.
func (w *walker) onlyPrints(s *syntax.Stmt) bool {
	n, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(n.Args) == 0 {
		return false
	}
	name := w.plainWord(n.Args[0]).val
	return name == "echo" || name == "printf" || name == "true" || name == ":"
}
