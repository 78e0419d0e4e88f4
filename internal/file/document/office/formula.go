package office

import (
	"encoding/xml"
	"strings"
	"unicode/utf8"
)

// formula reads a formula, or a part of one, as a line of text (ISO 29500-1, 22.1).
func (a *archive) formula(t *tokens) (string, error) {
	var b strings.Builder
	err := t.each(func(e xml.StartElement) error {
		switch name := e.Name.Local; {
		case name == "t":
			s, err := t.content()
			b.WriteString(s)
			if err == nil {
				err = a.hold(len(s))
			}
			return err
		case formulas2D[name] != nil:
			of, err := a.operands(t)
			if err == nil {
				b.WriteString(formulas2D[name](of))
			}
			return err
		case skipped[name]:
			return t.skip()
		}
		return nil
	})
	return b.String(), err
}

// operands holds the parts of a formula by the names of their elements, and the values of
// its properties.
type operands map[string][]string

// one returns an operand in parentheses, unless it is a single character.
func (o operands) one(name string) string {
	s := strings.Join(o[name], " ")
	if utf8.RuneCountInString(s) > 1 {
		return "(" + s + ")"
	}
	return s
}

// after returns a sign with an operand, or "" if there is none.
func (o operands) after(sign, name string) string {
	if s := o.one(name); s != "" {
		return sign + s
	}
	return ""
}

// property returns the value of a property, or a default.
func (o operands) property(name, without string) string {
	if v := o[name]; v != nil {
		return v[0]
	}
	return without
}

func (a *archive) operands(t *tokens) (operands, error) {
	out := operands{}
	err := t.each(func(e xml.StartElement) error {
		switch name := e.Name.Local; name {
		case "num", "den", "e", "sup", "sub", "deg", "fName", "lim":
			s, err := a.formula(t)
			out[name] = append(out[name], s)
			return err
		case "chr", "begChr", "endChr":
			out[name] = []string{attr(e, "val")}
		}
		return nil
	})
	return out, err
}

// formulas2D writes the structures that are not a line.
var formulas2D = map[string]func(operands) string{
	"f":       func(o operands) string { return o.one("num") + "/" + o.one("den") },
	"sSup":    func(o operands) string { return o.one("e") + o.after("^", "sup") },
	"sSub":    func(o operands) string { return o.one("e") + o.after("_", "sub") },
	"sSubSup": func(o operands) string { return o.one("e") + o.after("_", "sub") + o.after("^", "sup") },
	"rad":     func(o operands) string { return o.after("", "deg") + "√" + o.one("e") },
	"nary": func(o operands) string {
		return o.property("chr", "∫") + o.after("_", "sub") + o.after("^", "sup") + " " + strings.Join(o["e"], "")
	},
	"d": func(o operands) string {
		return o.property("begChr", "(") + strings.Join(o["e"], "|") + o.property("endChr", ")")
	},
	"func":   func(o operands) string { return strings.Join(o["fName"], "") + " " + o.one("e") },
	"limLow": func(o operands) string { return o.one("e") + o.after("_", "lim") },
}
