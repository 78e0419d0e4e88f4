package dfa

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// reference is the obvious matcher: it tries all ways through the tree.
type reference struct {
	line       []byte
	begin, end bool
	crlf       bool
	steps      int
}

const tooManySteps = 200_000

// lines returns the lines of buf that match.
func (r *reference) lines(re *syntax.Regexp, buf []byte) (out [][2]int, ok bool) {
	for start := 0; start < len(buf); {
		end := len(buf)
		if n := bytes.IndexByte(buf[start:], '\n'); n >= 0 {
			end = start + n
		}
		r.line, r.begin, r.end = buf[start:end], start == 0, end == len(buf)
		if r.match(re) {
			out = append(out, [2]int{start, end})
		}
		start = end + 1
	}
	return out, r.steps < tooManySteps
}

func (r *reference) match(re *syntax.Regexp) bool {
	for i := 0; i <= len(r.line); {
		if r.at(re, i, func(int) bool { return true }) {
			return true
		}
		_, n := utf8.DecodeRune(r.line[i:])
		i += max(n, 1)
	}
	return false
}

func (r *reference) at(re *syntax.Regexp, i int, then func(int) bool) bool {
	if r.steps++; r.steps > tooManySteps {
		return false
	}
	c, n := utf8.DecodeRune(r.line[i:])
	readable := n > 0 && !(c == utf8.RuneError && n == 1)
	switch re.Op {
	case syntax.OpEmptyMatch:
		return then(i)
	case syntax.OpLiteral:
		if len(re.Rune) == 0 {
			return then(i)
		}
		want := []rune{re.Rune[0]}
		if re.Flags&syntax.FoldCase != 0 {
			want = foldings(re.Rune[0])
		}
		rest := *re
		rest.Rune = re.Rune[1:]
		return readable && slices.Contains(want, c) && r.at(&rest, i+n, then)
	case syntax.OpCharClass:
		for k := 0; k < len(re.Rune); k += 2 {
			if readable && c >= re.Rune[k] && c <= re.Rune[k+1] {
				return then(i + n)
			}
		}
		return false
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return readable && then(i+n)
	case syntax.OpCapture:
		return r.at(re.Sub[0], i, then)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		lo, hi := re.Min, re.Max
		switch re.Op {
		case syntax.OpStar:
			lo, hi = 0, -1
		case syntax.OpPlus:
			lo, hi = 1, -1
		case syntax.OpQuest:
			lo, hi = 0, 1
		}
		return r.repeat(re.Sub[0], lo, hi, i, then)
	case syntax.OpConcat:
		if len(re.Sub) == 0 {
			return then(i)
		}
		rest := *re
		rest.Sub = re.Sub[1:]
		return r.at(re.Sub[0], i, func(j int) bool { return r.at(&rest, j, then) })
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if r.at(sub, i, then) {
				return true
			}
		}
		return false
	}
	return r.holds(re.Op, i) && then(i)
}

func (r *reference) repeat(re *syntax.Regexp, lo, hi, i int, then func(int) bool) bool {
	if lo <= 0 && then(i) {
		return true
	}
	return hi != 0 && r.at(re, i, func(j int) bool {
		return (j > i || lo > 0) && r.repeat(re, lo-1, hi-1, j, then)
	})
}

func (r *reference) holds(op syntax.Op, i int) bool {
	rest := string(r.line[i:])
	before, n := utf8.DecodeLastRune(r.line[:i])
	after, k := utf8.DecodeRune(r.line[i:])
	boundary := (n > 0 && IsWord(before)) != (k > 0 && IsWord(after))
	switch op {
	case syntax.OpBeginLine:
		return i == 0
	case syntax.OpBeginText:
		return i == 0 && r.begin
	case syntax.OpEndLine:
		return rest == "" || rest == "\r" && r.crlf
	case syntax.OpEndText:
		return rest == "" && r.end
	case syntax.OpWordBoundary:
		return boundary
	case syntax.OpNoWordBoundary:
		invalid := before == utf8.RuneError && n == 1 || after == utf8.RuneError && k == 1
		return !boundary && !invalid
	}
	return false
}
