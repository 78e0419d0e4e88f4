package pattern

import (
	"fmt"
	"strings"
)

// foreign lists groups of other engines, or that an automaton cannot match. A prefix of
// another entry comes after that entry.
var foreign = []struct{ begin, name, next string }{
	{"?=", "look-ahead (?=", "Search for the part without it, then look through the lines found for the rest."},
	{"?!", "negative look-ahead (?!", "Search for the part without it, then leave out lines found that have the rest."},
	{"?<=", "look-behind (?<=", "Write the text before as a part of the pattern: a line is found by the whole."},
	{"?<!", "negative look-behind (?<!", "Search for the part without it, then leave out lines found that have the rest."},
	{"?>", "an atomic group (?>", "Write (?: instead, which finds at least the same lines."},
	{"?P=", "a backreference (?P=", "Write the repeated text out, or search for the part before it."},
	{"?P>", "recursion (?P>", "Write the inner part out as often as it is needed."},
	{"?&", "recursion (?&", "Write the inner part out as often as it is needed."},
	{"?R)", "", ""}, // the flag of CRLF mode, which is not a recursion here
	{"?(", "a condition (?(", "Write the two cases as alternatives: (?:a|b)."},
	{"?|", "a branch reset (?|", "Write (?: instead: groups are not numbered here."},
	{"?#", "a comment (?#", "Leave the comment out."},
	{"?'", "a group named with quotes (?'", "Write (?: instead, or (?P<name>."},
	{"*", "a verb (*", `Leave it out; a parenthesis of the text is written \(, any text is .* .`},
}

// group parses a group after its parenthesis.
func (p *parser) group(start int) node {
	p.refuseForeign(start)
	outer := p.flags
	switch {
	case p.accept("?:"):
	case p.accept("?P<"), p.accept("?<"):
		p.name(start)
	case p.accept("?"):
		p.readFlags(start)
		p.next() // the colon: setFlags handles the form without
	}
	p.deeper(start)
	n := p.alternation(start)
	if !p.accept(")") {
		p.fail(start, "the group is not closed: it begins", `Close it with ), or write a parenthesis of the text as \(.`)
	}
	p.depth--
	p.flags = outer
	return n
}

func (p *parser) refuseForeign(start int) {
	rest := p.src[p.pos:]
	for _, f := range foreign {
		if !strings.HasPrefix(rest, f.begin) {
			continue
		}
		if f.name != "" {
			p.fail(start, f.name+" is not supported: it is", f.next)
		}
		return
	}
	if len(rest) > 1 && rest[0] == '?' && (rest[1] >= '0' && rest[1] <= '9' || rest[1] == '+') {
		p.fail(start, "recursion "+"("+rest[:2]+" is not supported: it is", "Write the inner part out as often as it is needed.")
	}
}

// name parses the name of a group, to which nothing can refer.
func (p *parser) name(start int) {
	name, _, found := strings.Cut(p.src[p.pos:], ">")
	valid := found && name != ""
	for i, r := range name {
		letter := r == '_' || alphabetic().has(r)
		inner := r == '.' || r == '[' || r == ']' || digit().has(r)
		valid = valid && (letter || i > 0 && inner)
	}
	if !valid {
		p.fail(start, "the name of the group is not valid: it begins", "Write (?:...) for a group without a name, or (?P<name>...) with letters, digits and _.")
	}
	p.pos += len(name) + 1
}

// setFlags parses flags for the rest of the group, as in (?i).
func (p *parser) setFlags() bool {
	start := p.pos
	if !p.looking("(?") {
		return false
	}
	before := p.flags
	p.pos++
	p.refuseForeign(start)
	p.pos++
	if p.looking("P<") || p.looking("<") {
		p.pos = start
		return false
	}
	p.readFlags(start)
	if p.next() == ')' {
		return true
	}
	p.pos, p.flags = start, before
	return false
}

// readFlags parses flags up to the colon or parenthesis after them.
func (p *parser) readFlags(start int) {
	on, any := true, false
	for ; p.more() && !p.looking(":") && !p.looking(")"); p.next() {
		switch r := p.peek(); r {
		case 'i':
			p.flags.fold = on
		case 'm':
			p.flags.lines = on
		case 's':
			p.flags.dotNewline = on
		case 'U':
			p.flags.swap = on
		case 'u':
			p.flags.unicode = on
		case 'x':
			p.flags.spaced = on
		case 'R':
			p.flags.crlf = on
		case '-':
			if !on {
				p.fail(p.pos, "the flags have two minus signs: the second is", "Write them as (?i-s).")
			}
			on, any = false, false
			continue
		default:
			p.fail(p.pos, fmt.Sprintf("%q is no flag of a group: it is", r), `Flags are i, m, s, U, u, x and R; a group is (?:...), a parenthesis of the text \(.`)
		}
		any = true
	}
	if !p.more() {
		p.fail(start, "the group is not closed: it begins", `Close it with ), or write a parenthesis of the text as \(.`)
	}
	if !any && (p.looking(")") || !on) {
		p.fail(start, "the group has no flags: it begins", `Write them as (?i); a question mark of the text is written \?.`)
	}
}
