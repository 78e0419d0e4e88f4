package pattern

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcp-toolset/internal/text/nearest"
)

// posix holds the classes [:name:], which are ASCII as in the Rust crate.
var posix = map[string]set{
	"alnum": {'0', '9', 'A', 'Z', 'a', 'z'}, "alpha": {'A', 'Z', 'a', 'z'}, "ascii": {0, 0x7f},
	"blank": {'\t', '\t', ' ', ' '}, "cntrl": {0, 0x1f, 0x7f, 0x7f}, "digit": asciiDigit,
	"graph": {'!', '~'}, "lower": {'a', 'z'}, "print": {' ', '~'},
	"punct": {'!', '/', ':', '@', '[', '`', '{', '~'}, "space": asciiSpace, "upper": {'A', 'Z'},
	"word": asciiWord, "xdigit": {'0', '9', 'A', 'F', 'a', 'f'},
}

// unclosed reports a class without an end.
func (p *parser) unclosed(start int) {
	p.fail(start, "the class is not closed: it begins", `Close it with ], or write a bracket of the text as \[ .`)
}

// bracket parses a class after its opening bracket. The operators && (both), --
// (without) and ~~ (only one) have the same precedence, from left to right.
func (p *parser) bracket(start int) set {
	p.deeper(start)
	negated := p.accept("^")
	var left set
	op := ""
	items := p.firstItems(start)
	for {
		p.blanks()
		if !p.more() {
			p.unclosed(start)
		}
		found := ""
		for _, o := range []string{"&&", "--", "~~", "]"} {
			if p.accept(o) {
				found = o
				break
			}
		}
		if found == "" {
			items = append(items, p.item(start)...)
			continue
		}
		left = p.operate(left, op, p.foldSet(normal(items)))
		if items, op = nil, found; op == "]" {
			break
		}
	}
	p.depth--
	if negated {
		return left.negate()
	}
	return left
}

// firstItems parses members that are literal only at the beginning of a class: minus
// signs, or a closing bracket if there are none.
func (p *parser) firstItems(start int) []rune {
	var items []rune
	p.blanks()
	for p.accept("-") {
		items = append(items, '-', '-')
		p.blanks()
	}
	if items == nil && p.accept("]") {
		items = append(items, ']', ']')
		if !strings.Contains(p.src[p.pos:], "]") {
			p.fail(start, "the class is not closed, for a ] right at its beginning is text: it begins", `Close it with ], or write brackets of the text as \[\] .`)
		}
	}
	return items
}

func (p *parser) operate(left set, op string, right set) set {
	switch op {
	case "&&":
		return left.intersect(right)
	case "--":
		return left.minus(right)
	case "~~":
		return left.differ(right)
	}
	return right
}

func (p *parser) foldSet(s set) set {
	if p.flags.fold {
		return s.folded()
	}
	return s
}

// item parses one member of a class: a rune, a range, an escape or a class.
func (p *parser) item(class int) set {
	start := p.pos
	if p.accept("[") {
		if s, ok := p.posixClass(start); ok {
			return s
		}
		return p.bracket(start)
	}
	lo, s := p.member()
	if s != nil {
		return s // a minus after it is literal, as in [\w-.]
	}
	p.blanks()
	before := p.pos
	if !p.accept("-") {
		return rangeSet(lo, lo)
	}
	p.blanks()
	if !p.more() {
		p.unclosed(class)
	}
	if p.looking("]") || p.looking("-") {
		p.pos = before
		return rangeSet(lo, lo)
	}
	hi, s := p.member()
	switch {
	case s != nil:
		p.fail(start, "the range ends with a class: it is", `Put the minus sign first or last in the class, or write it \- .`)
	case hi < lo:
		p.fail(start, "the range is reversed: it is", fmt.Sprintf(`Write %s-%s; a minus sign of the text is written \- .`, shownRune(hi), shownRune(lo)))
	}
	return rangeSet(lo, hi)
}

func shownRune(r rune) string {
	if r <= ' ' || r == 0x7f {
		return fmt.Sprintf(`\x%02x`, r)
	}
	return string(r)
}

// member parses a rune, or an escape that may be a set.
func (p *parser) member() (rune, set) {
	start := p.pos
	r := p.next()
	if r == '\\' {
		return p.escape(start)
	}
	return r, nil
}

// posixClass parses [:name:] after its bracket.
func (p *parser) posixClass(start int) (set, bool) {
	if !p.looking(":") {
		return nil, false
	}
	name, _, found := strings.Cut(p.src[p.pos+1:], ":]")
	negated := strings.HasPrefix(name, "^")
	bare := strings.TrimPrefix(name, "^")
	if !found || strings.Trim(bare, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil, false
	}
	s, ok := posix[bare]
	if !ok {
		names := slices.Sorted(maps.Keys(posix))
		if near := nearest.Names(bare, names, 3); len(near) > 0 {
			names = near
		}
		p.fail(start, fmt.Sprintf("the class [:%s:] is unknown: it is", bare), "Known here: "+strings.Join(names, ", ")+".")
	}
	p.pos += len(name) + len("::]")
	if negated {
		return s.negate(), true
	}
	return s, true
}
