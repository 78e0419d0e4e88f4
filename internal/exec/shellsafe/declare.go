package shellsafe

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The functions of this file handle commands that set variables.

// declare walks export, declare and similar commands, and returns c.dirs with the variables that
// it sets.
func (w *walker) declare(n *syntax.DeclClause, c context) dirs {
	w.soft("it sets variables: " + n.Variant.Value)
	assigned := w.assigns
	w.other(n.Variant.Value, n, c)
	if n.Variant.Value == "export" {
		w.assigns = assigned
	}
	w.changes = w.changes || n.Variant.Value == "nameref" || slices.ContainsFunc(n.Args, steersBy)
	if n.Variant.Value != "export" && n.Variant.Value != "readonly" {
		w.evaluates = true
		w.meet()
	}
	cmd := len(w.a.Commands) - 1
	for _, a := range n.Args {
		v := w.assignment(a, c)
		if a.Value != nil {
			c.dirs = w.bind(a.Name, v, c.dirs)
		}
		if n.Variant.Value == "nameref" || n.Variant.Value != "export" && a.Name == nil && strings.HasPrefix(v.lead, "-") && strings.Contains(v.lead, "n") {
			w.setIncomplete("which variable a name refers to is not known")
		}
	}
	if w.a.Commands[cmd].Name == n.Variant.Value {
		text := w.a.Commands[cmd].Text
		w.a.Commands[cmd].Words = strings.Fields(text)
		w.a.Commands[cmd].Text = strings.Join(w.a.Commands[cmd].Words, " ")
		w.a.Commands[cmd].Reads = n.Variant.Value == "export" && w.plainSettings(&syntax.CallExpr{Assigns: n.Args}, nil)
	}
	return c.dirs
}

// assignment walks the value of a variable.
func (w *walker) assignment(a *syntax.Assign, c context) arg {
	w.assigns = w.assigns || steersBy(a)
	if a.Index != nil {
		w.inside(a.Index, c)
		w.arithmetic(a.Index)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				w.inside(e.Index, c)
				w.arithmetic(e.Index)
			}
			w.suspectText(w.word(e.Value, c))
		}
	}
	v := w.word(a.Value, c)
	w.suspectText(v)
	w.assigned(a, v, c)
	return v
}
