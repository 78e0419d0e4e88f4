package pattern

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escaped parses an escape outside of a class, after its backslash.
func (p *parser) escaped(start int) node {
	if !p.more() {
		p.fail(start, "the backslash escapes nothing: it is", `A backslash of the text is written \\.`)
	}
	switch p.peek() {
	case 'A':
		p.next()
		return leaf(syntax.OpBeginText)
	case 'z':
		p.next()
		return leaf(syntax.OpEndText)
	case 'b':
		p.next()
		return p.boundary(start)
	case 'B':
		p.next()
		return leaf(syntax.OpNoWordBoundary)
	case '<':
		p.next()
		return half(wordStart, start)
	case '>':
		p.next()
		return half(wordEnd, start)
	}
	r, s := p.escape(start)
	if s == nil {
		return p.char(r, start)
	}
	return p.class(s, start)
}

// boundary parses the part after \b.
func (p *parser) boundary(start int) node {
	for m, name := range map[mark]string{wordStart: "{start}", wordEnd: "{end}", startHalf: "{start-half}", endHalf: "{end-half}"} {
		if p.accept(name) {
			return half(m, start)
		}
	}
	if p.looking("{") {
		if _, _, ok := p.count(); !ok {
			p.fail(start, "the word boundary is unknown: it is", `Write \b, \b{start}, \b{end}, \b{start-half} or \b{end-half}; a brace of the text after it is written \{.`)
		}
		p.pos = start + len(`\b`)
	}
	return leaf(syntax.OpWordBoundary)
}

// controls maps letters to the control characters that they escape.
var controls = map[rune]rune{'a': '\a', 'f': '\f', 't': '\t', 'n': '\n', 'r': '\r', 'v': '\v'}

// advice maps the letters of escapes of other engines to a replacement.
var advice = map[rune]string{
	'Z': `Write \z for the end of the file, $ for that of a line.`,
	'G': `Leave it out.`,
	'K': `Leave it out: the line is found all the same.`,
	'R': `Write \r?\n with multiline: true.`,
	'X': `Write . for one character.`,
	'C': `Write . for one character.`,
	'N': `Write . for any character of a line.`,
	'h': `Write [ \t].`,
	'H': `Write [^ \t].`,
	'e': `Write \x1b.`,
	'c': `Write the character as \x and two hexadecimal digits.`,
	'E': `Leave it out: no \Q is open.`,
	'Q': `Write the characters with a backslash before each.`,
	'k': `Write the repeated text out, or search for the part before it.`,
	'g': `Write the repeated text out, or search for the part before it.`,
	'b': `Write \x08 for a backspace; a word boundary stands outside of a class.`,
	'l': `Write \p{Ll} for a lower case letter.`,
	'y': `Write \b for a word boundary.`,
}

// escape parses an escape for a rune or, if s is not nil, for a set.
func (p *parser) escape(start int) (r rune, s set) {
	if !p.more() {
		p.fail(start, "the backslash escapes nothing: it is", `A backslash of the text is written \\.`)
	}
	r = p.next()
	switch r {
	case 'd', 'D', 'w', 'W', 's', 'S':
		return 0, p.perl(r)
	case 'p', 'P':
		return 0, p.property(start, r == 'P')
	case 'x', 'u', 'U':
		return p.hex(start, r), nil
	case '0':
		return p.octal(), nil
	}
	if c, ok := controls[r]; ok {
		return c, nil
	}
	switch {
	case r >= '1' && r <= '9':
		p.fail(start, fmt.Sprintf("the backreference \\%c is not supported: it is", r), "Write the repeated text out, or search for the part before it.")
	case r < utf8.RuneSelf && (unicode.IsLetter(r) || r == '<' || r == '>'):
		next := advice[r]
		if next == "" {
			next = fmt.Sprintf(`For the character write %c, for a backslash before it \\%c.`, r, r)
		}
		p.fail(start, fmt.Sprintf("the escape \\%c is not supported here: it is", r), next)
	}
	return r, nil
}

// perl returns the class of a letter.
func (p *parser) perl(letter rune) set {
	var s set
	switch unicode.ToLower(letter) {
	case 'd':
		s = asciiDigit
		if p.flags.unicode {
			s = digit()
		}
	case 'w':
		s = asciiWord
		if p.flags.unicode {
			s = word()
		}
	default:
		s = asciiSpace
		if p.flags.unicode {
			s = space()
		}
	}
	if unicode.IsUpper(letter) {
		return s.negate()
	}
	return s
}

// octal parses up to two octal digits after \0.
func (p *parser) octal() rune {
	r := rune(0)
	for i := 0; i < 2 && p.more() && p.peek() >= '0' && p.peek() <= '7'; i++ {
		r = r*8 + p.next() - '0'
	}
	return r
}

// hex parses the digits after \x, \u or \U: in braces, or the number that belongs to
// the letter.
func (p *parser) hex(start int, letter rune) rune {
	digits := ""
	if p.accept("{") {
		body, _, found := strings.Cut(p.src[p.pos:], "}")
		if !found {
			p.fail(start, "the escape has no closing brace: it is", `Write the code in hexadecimal digits, as \x{1F600}.`)
		}
		digits = body
		p.pos += len(body) + 1
	} else {
		n := map[rune]int{'x': 2, 'u': 4, 'U': 8}[letter]
		for i := 0; i < n && p.more(); i++ {
			digits += string(p.next())
		}
		if utf8.RuneCountInString(digits) < n {
			digits = "" // cut off
		}
	}
	code, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || !utf8.ValidRune(rune(min(code, unicode.MaxRune+1))) {
		p.fail(start, "the escape is no character's code: it is", `Write the code in hexadecimal digits, as \x41, \u0041 or \x{1F600}.`)
	}
	if !p.flags.unicode && code >= utf8.RuneSelf && letter == 'x' && p.src[p.pos-1] != '}' {
		p.fail(start, "a byte that is not ASCII cannot be searched for: it is", "Leave out (?-u) to search for the character of that code.")
	}
	return rune(code)
}
