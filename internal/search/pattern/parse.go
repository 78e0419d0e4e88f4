package pattern

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// flags are the inline flags. A group inherits them; its changes end with it.
type flags struct {
	fold       bool // i
	lines      bool // m: ^ and $ match at the ends of lines
	dotNewline bool // s
	swap       bool // U: x* is lazy and x*? greedy
	unicode    bool // u
	spaced     bool // x: white space and comments are not part of the pattern
	crlf       bool // R: a dot does not match a carriage return
}

// parser parses one pattern by recursive descent. If the pattern is wrong, it panics
// with an *Error.
type parser struct {
	src     string
	pos     int // in bytes
	depth   int // number of open groups or classes
	line    bool
	newline int // offset of a required newline, which a line cannot contain; -1 if there is none
	flags   flags
	sets    map[string]set // cached properties
}

func (p *parser) more() bool             { return p.pos < len(p.src) }
func (p *parser) looking(at string) bool { return strings.HasPrefix(p.src[p.pos:], at) }
func (p *parser) peek() rune             { r, _ := utf8.DecodeRuneInString(p.src[p.pos:]); return r }
func (p *parser) from(start int) string  { return p.src[start:p.pos] }
func (p *parser) deeper(offset int)      { p.depth++; p.checkDepth(offset) }

// accept skips a text if it is next.
func (p *parser) accept(text string) bool {
	if p.looking(text) {
		p.pos += len(text)
		return true
	}
	return false
}

// next skips one rune and returns it.
func (p *parser) next() rune {
	r, n := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += n
	return r
}

// blanks skips white space and comments if they are not part of the pattern.
func (p *parser) blanks() {
	for p.flags.spaced && p.more() {
		switch r := p.peek(); {
		case unicode.IsSpace(r):
			p.next()
		case r == '#':
			for p.more() && p.next() != '\n' {
			}
		default:
			return
		}
	}
}

func (p *parser) checkDepth(offset int) {
	if p.depth > maxDepth {
		p.tooDeep(offset)
	}
}

func (p *parser) tooDeep(offset int) {
	p.fail(offset, "the pattern is nested too deeply", "Leave out groups and repeats that change nothing, or search for a part of it.")
}

// pattern parses the whole pattern.
func (p *parser) pattern() *syntax.Regexp {
	n := p.alternation(0)
	if p.more() {
		p.fail(p.pos, "there is no group for ) to close", `A parenthesis of the text is written \).`)
	}
	if n.size > maxSize || n.runes > maxRunes {
		p.tooBig(0)
	}
	if n.height > maxHeight {
		p.tooDeep(0)
	}
	if n.re.Op == syntax.OpNoMatch && p.newline >= 0 {
		p.fail(p.newline, "a match would need a newline, which needs multiline: true; it is asked for", "Set multiline: true, or search for the text of one line.")
	}
	return n.re.Simplify()
}

// alternation parses up to the end of a group or of the pattern.
func (p *parser) alternation(start int) node {
	var branches []node
	for {
		branches = append(branches, p.branch())
		if !p.accept("|") {
			break
		}
	}
	n := alternate(branches)
	if n.size > maxSize || n.runes > maxRunes {
		p.tooBig(start)
	}
	return n
}

// branch parses one alternative.
func (p *parser) branch() node {
	var parts []node
	for {
		p.blanks()
		if !p.more() || p.looking("|") || p.looking(")") {
			return p.resolve(parts)
		}
		start := p.pos
		if p.quoted(&parts) || p.setFlags() {
			continue
		}
		parts = append(parts, p.repeated(p.atom(start), start))
	}
}

func (p *parser) nothingToRepeat() {
	p.fail(p.pos, fmt.Sprintf("there is nothing for %c to repeat", p.peek()), fmt.Sprintf(`A %[1]c of the text is written \%[1]c; for any text write .* .`, p.peek()))
}

// quoted parses \Q..\E, or up to the end without \E. A repeat applies to the last rune
// only.
func (p *parser) quoted(parts *[]node) bool {
	start := p.pos
	if !p.accept(`\Q`) {
		return false
	}
	text, _, _ := strings.Cut(p.src[p.pos:], `\E`)
	for i, r := range text {
		n := p.char(r, p.pos+i)
		if i+utf8.RuneLen(r) == len(text) {
			p.pos += len(text)
			p.accept(`\E`)
			n = p.repeated(n, start)
		}
		*parts = append(*parts, n)
	}
	if text == "" {
		p.accept(`\E`)
	}
	return true
}

// atom parses one item that can be repeated.
func (p *parser) atom(start int) node {
	switch r := p.next(); r {
	case '(':
		return p.group(start)
	case '[':
		return p.class(p.bracket(start), start)
	case '\\':
		return p.escaped(start)
	case '.':
		return p.dot()
	case '^':
		if p.flags.lines {
			return leaf(syntax.OpBeginLine)
		}
		return leaf(syntax.OpBeginText)
	case '$':
		if p.flags.lines {
			return leaf(syntax.OpEndLine)
		}
		return leaf(syntax.OpEndText)
	case '*', '+', '?':
		p.pos = start
		p.nothingToRepeat()
		return node{}
	case '{':
		p.pos = start
		if _, _, ok := p.count(); ok {
			p.pos = start
			p.nothingToRepeat()
		}
		p.pos = start + 1
		return p.char(r, start)
	default:
		return p.char(r, start)
	}
}

func (p *parser) dot() node {
	s := anyRune
	if !p.flags.dotNewline || p.line {
		s = s.minus(newline)
	}
	if p.flags.crlf && !p.flags.dotNewline {
		s = s.minus(rangeSet('\r', '\r'))
	}
	return class(s)
}

// char returns the node of a literal rune.
func (p *parser) char(r rune, offset int) node {
	if r == '\n' && p.line {
		p.needNewline(offset)
		return never()
	}
	return literal(r, p.flags.fold)
}

// class returns the node of a class, without a newline if that cannot match.
func (p *parser) class(s set, offset int) node {
	if p.line && s.has('\n') {
		s = s.minus(newline)
		if len(s) == 0 {
			p.needNewline(offset)
		}
	}
	return class(s)
}

func (p *parser) needNewline(offset int) {
	if p.newline < 0 {
		p.newline = offset
	}
}

// repeated parses the repeats after an atom that begins at start.
func (p *parser) repeated(n node, start int) node {
	for {
		p.blanks()
		at := p.pos
		low, high := 0, unlimited
		switch {
		case p.accept("*"):
		case p.accept("+"):
			low = 1
		case p.accept("?"):
			high = 1
		case p.looking("{"):
			var ok bool
			if low, high, ok = p.count(); !ok {
				p.pos = at
				return n
			}
		default:
			return n
		}
		lazy := p.accept("?") != p.flags.swap
		if p.looking("+") {
			p.possessive(at)
		}
		if n.mark != 0 {
			p.fail(n.pos, "a word boundary cannot be repeated", "Leave out the repeat after it.")
		}
		n = p.repeat(n, low, high, lazy, start)
	}
}

func (p *parser) possessive(at int) {
	p.fail(at, fmt.Sprintf("the possessive repeat %s+ is not supported: it is", p.from(at)),
		fmt.Sprintf("Write %s, which finds at least the same lines; a + of the text is written \\+.", p.from(at)))
}

// count parses {n}, {n,}, {n,m} or {,m}. In any other form the brace is literal.
func (p *parser) count() (low, high int, ok bool) {
	start := p.pos
	body, _, found := strings.Cut(p.src[p.pos+1:], "}")
	if !found {
		return 0, 0, false
	}
	first, second, comma := strings.Cut(body, ",")
	low, lowOK := number(first)
	high, highOK := number(second)
	switch {
	case !comma:
		high, ok = low, lowOK
	case strings.TrimSpace(second) == "":
		high, ok = unlimited, lowOK
	case strings.TrimSpace(first) == "":
		low, ok = 0, highOK
	default:
		ok = lowOK && highOK
	}
	if !ok {
		return 0, 0, false
	}
	p.pos += len(body) + 2
	if high != unlimited && low > high {
		p.fail(start, fmt.Sprintf("the repeat {%s} has its counts reversed: it is", body),
			fmt.Sprintf(`Write {%d,%d}; a brace of the text is written \{.`, high, low))
	}
	if max(low, high) > maxSize {
		p.tooBig(start)
	}
	return low, high, true
}

// number parses a count, which may have blanks around it.
func number(s string) (int, bool) {
	s = strings.Trim(s, " \t")
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		n = maxSize + 1 // too many digits: over the limit in any case
	}
	return n, true
}
