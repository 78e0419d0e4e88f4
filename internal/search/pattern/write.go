package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// String returns the tree in the syntax of package regexp. The meaning differs:
//   - A match that ends with $ may include the carriage return before it.
//   - A dot and a negated class match an invalid byte, as U+FFFD.
//   - Word boundaries are ASCII.
//
// Tree.String is not used: as of Go 1.26 it can misplace the parenthesis of a flag, as
// in the tree of (?i:ab)*(?i:ab)[0-9].
func (p *Pattern) String() string {
	var b strings.Builder
	write(&b, p.Tree)
	return b.String()
}

// write writes a tree so that every part is independent of flags.
func write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpNoMatch:
		b.WriteString(`[^\x00-\x{10FFFF}]`)
	case syntax.OpEmptyMatch:
		b.WriteString(`(?:)`)
	case syntax.OpLiteral:
		text := regexp.QuoteMeta(string(re.Rune))
		if re.Flags&syntax.FoldCase != 0 {
			text = "(?i:" + text + ")"
		}
		b.WriteString(text)
	case syntax.OpCharClass:
		b.WriteByte('[')
		for i := 0; i < len(re.Rune); i += 2 {
			fmt.Fprintf(b, `\x{%x}-\x{%x}`, re.Rune[i], re.Rune[i+1])
		}
		b.WriteByte(']')
	case syntax.OpAnyChar:
		b.WriteString(`(?s:.)`)
	case syntax.OpAnyCharNotNL:
		b.WriteString(`(?-s:.)`)
	case syntax.OpBeginLine:
		b.WriteString(`(?m:^)`)
	case syntax.OpEndLine:
		b.WriteString(`(?m:\r??$)`)
	case syntax.OpBeginText:
		b.WriteString(`\A`)
	case syntax.OpEndText:
		b.WriteString(`\z`)
	case syntax.OpWordBoundary:
		b.WriteString(`\b`)
	case syntax.OpNoWordBoundary:
		b.WriteString(`\B`)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		writeGroup(b, re.Sub[0])
		b.WriteByte("*+?"[re.Op-syntax.OpStar])
		if re.Flags&syntax.NonGreedy != 0 {
			b.WriteByte('?')
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if sub.Op == syntax.OpAlternate {
				writeGroup(b, sub)
			} else {
				write(b, sub)
			}
		}
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			if i > 0 {
				b.WriteByte('|')
			}
			write(b, sub)
		}
	}
}

func writeGroup(b *strings.Builder, re *syntax.Regexp) {
	b.WriteString("(?:")
	write(b, re)
	b.WriteByte(')')
}
