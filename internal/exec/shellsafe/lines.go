package shellsafe

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The functions of this file handle line breaks that the parser and bash may read
// differently: a backslash before a newline, and carriage returns.

// Normalize returns command with its lines joined as bash joins them: without the pairs
// of a backslash and a newline, except in single quotes and in here-documents whose
// delimiter is quoted. Lines that all end in CRLF end in LF. Run the result in place of
// the command, so that the text that was analysed is the text that runs.
//
// It returns a text unchanged if it is not sure how bash reads it. Analyse does not
// resolve such a text.
func Normalize(command string) string {
	if strings.Contains(command, "\r\n") {
		lf := strings.ReplaceAll(command, "\r\n", "\n")
		lf = strings.TrimSuffix(lf, "\r")
		if strings.Contains(lf, "\r") || strings.Count(lf, "\n") != strings.Count(command, "\r\n") {
			return command
		}
		command = lf
	}
	if !strings.Contains(command, "\\\n") {
		return command
	}
	l := scan(command)
	if !l.sure {
		return command
	}
	return l.joined.String()
}

// weight returns the text of a command without the bodies of here-documents whose
// delimiter is quoted: the shell passes them on unread, so limits do not count them.
func weight(command string) string {
	if !strings.Contains(command, "<<") {
		return command
	}
	l := scan(command)
	if !l.sure {
		return command
	}
	return l.code.String()
}

// lexer finds the quotes, comments and here-documents of a text. It need not be exact:
// what it joins is parsed, and runs as parsed.
type lexer struct {
	text   string
	at     int
	sure   bool
	open   []byte // contexts: ( for commands in brackets, " for quotes, { for an expansion
	docs   []heredoc
	joined strings.Builder
	code   strings.Builder // the joined text without the bodies of quoted here-documents
}

// heredoc is a here-document whose body has not begun.
type heredoc struct {
	end          string
	quoted, tabs bool
}

func scan(text string) *lexer {
	l := &lexer{text: text, sure: true}
	for l.at < len(text) && l.sure {
		l.step()
	}
	return l
}

// keep copies the next n bytes.
func (l *lexer) keep(n int) {
	n = min(n, len(l.text)-l.at)
	s := l.text[l.at : l.at+n]
	l.joined.WriteString(s)
	l.code.WriteString(s)
	l.at += n
}

func (l *lexer) starts(prefix string) bool { return strings.HasPrefix(l.text[l.at:], prefix) }

// context returns the innermost open context, or ( at the top.
func (l *lexer) context() byte {
	if len(l.open) == 0 {
		return '('
	}
	return l.open[len(l.open)-1]
}

func (l *lexer) push(b byte) { l.open = append(l.open, b) }

func (l *lexer) pop() {
	if len(l.open) > 0 {
		l.open = l.open[:len(l.open)-1]
	}
}

// step reads one element of the text.
func (l *lexer) step() {
	c, in := l.text[l.at], l.context()
	switch {
	case l.starts("\\\n"):
		l.at += 2
	case c == '\\':
		l.keep(2)
	case c == '"':
		if in == '"' {
			l.pop()
		} else {
			l.push('"')
		}
		l.keep(1)
	case c == '`':
		// What a backslash means in backquotes depends on what they hold.
		n := strings.IndexByte(l.text[l.at+1:], '`')
		if n < 0 || strings.Contains(l.text[l.at:l.at+1+n], "\\") {
			l.sure = false
			return
		}
		l.keep(n + 2)
	case l.starts("$(("):
		l.arithmetic()
	case l.starts("$("):
		l.push('(')
		l.keep(2)
	case l.starts("${"):
		l.push('{')
		l.keep(2)
	case in == '{' && c == '}':
		l.pop()
		l.keep(1)
	case in == '"':
		l.keep(1)
	case c == '\'':
		l.quotes()
	case in == '{':
		l.keep(1)
	default:
		l.command(c)
	}
}

// command reads one element outside of quotes and expansions.
func (l *lexer) command(c byte) {
	switch {
	case c == '#' && l.wordStart():
		end := strings.IndexByte(l.text[l.at:], '\n')
		if end < 0 {
			end = len(l.text) - l.at
		}
		comment := strings.TrimRight(l.text[l.at:l.at+end], "\\")
		l.joined.WriteString(comment)
		l.code.WriteString(comment)
		l.at += end
	case l.starts("((") && l.wordStart():
		l.arithmetic()
	case c == '(':
		l.push('(')
		l.keep(1)
	case c == ')':
		// The bracket may belong to a pattern of case.
		if strings.IndexByte(string(l.open), '"') >= 0 && strings.Contains(l.text, "esac") {
			l.sure = false
			return
		}
		l.pop()
		l.keep(1)
	case l.starts("<<<"):
		l.keep(3)
	case l.starts("<<"):
		l.redirect()
	case c == '\n':
		l.keep(1)
		for len(l.docs) > 0 && l.sure {
			l.body()
		}
	default:
		l.keep(1)
	}
}

// wordStart reports whether a word would begin here.
func (l *lexer) wordStart() bool {
	before := l.joined.String()
	return before == "" || strings.IndexByte(" \t\n;&|()", before[len(before)-1]) >= 0
}

// quotes reads text in single quotes. In $'...', where backslashes have a meaning, and
// inside of an expansion in double quotes, where single quotes may have none, nothing is
// sure.
func (l *lexer) quotes() {
	n := strings.IndexByte(l.text[l.at+1:], '\'')
	before := l.joined.String()
	ansi := n > 0 && strings.HasSuffix(before, "$") && strings.Contains(l.text[l.at:l.at+n], "\\")
	expansion := l.context() == '{' && strings.IndexByte(string(l.open), '"') >= 0
	if n < 0 || ansi || expansion {
		l.sure = false
		return
	}
	l.keep(n + 2)
}

// arithmetic reads an arithmetic expression, in which << is an operator.
func (l *lexer) arithmetic() {
	depth := 0
	for i := l.at; i < len(l.text); i++ {
		switch l.text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				s := strings.ReplaceAll(l.text[l.at:i+1], "\\\n", "")
				l.joined.WriteString(s)
				l.code.WriteString(s)
				l.at = i + 1
				return
			}
		case '\'', '"', '`', '#', '\\':
			if l.text[i] == '\\' && strings.HasPrefix(l.text[i:], "\\\n") {
				continue
			}
			l.sure = false
			return
		}
	}
	l.sure = false
}

// redirect reads the operator of a here-document and its delimiter.
func (l *lexer) redirect() {
	l.keep(2)
	d := heredoc{tabs: l.starts("-")}
	if d.tabs {
		l.keep(1)
	}
	for l.at < len(l.text) && (l.text[l.at] == ' ' || l.text[l.at] == '\t') {
		l.keep(1)
	}
	word := l.text[l.at:]
	for end := 0; end < len(word); end++ {
		if b := word[end]; b == '\'' || b == '"' {
			if more := strings.IndexByte(word[end+1:], b); more >= 0 {
				end += 1 + more
			}
		} else if strings.IndexByte(" \t\n;&|<>()", b) >= 0 {
			word = word[:end]
		}
	}
	d.end = strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(word)
	d.quoted = d.end != word
	if d.end == "" || strings.ContainsAny(d.end, "$`") {
		l.sure = false
		return
	}
	l.docs = append(l.docs, d)
	l.keep(len(word))
}

// body reads the body of the first here-document that has been announced.
func (l *lexer) body() {
	d := l.docs[0]
	l.docs = l.docs[1:]
	for l.at < len(l.text) {
		line, next := "", l.at
		for {
			end := strings.IndexByte(l.text[next:], '\n')
			if end < 0 {
				end = len(l.text) - next - 1
			}
			line += l.text[next : next+end+1]
			next += end + 1
			text, whole := strings.CutSuffix(line, "\\\n")
			if d.quoted || !whole || (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1 || next >= len(l.text) {
				break
			}
			line = text
		}
		l.at = next
		l.joined.WriteString(line)
		name := strings.TrimSuffix(line, "\n")
		if d.tabs {
			name = strings.TrimLeft(name, "\t")
		}
		if !d.quoted || name == d.end {
			l.code.WriteString(line)
		}
		if name == d.end {
			return
		}
	}
}

// continues reports whether a line of the tree's text ends with an unescaped backslash in
// a place that is not certainly literal. The parser and bash may join such a line
// differently.
func continues(f *syntax.File, text string) bool {
	left := continuations(text)
	if left == 0 {
		return false
	}
	literal := func(n syntax.Node) {
		left -= continuations(text[n.Pos().Offset():min(n.End().Offset(), uint(len(text)))])
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			if !n.Dollar {
				literal(n)
			}
		case *syntax.Redirect:
			if n.Hdoc == nil {
				break
			}
			if quoted, plain := delimiter(n.Word); quoted && plain {
				literal(n.Hdoc)
				return false
			}
		}
		return true
	})
	return left != 0
}

// continuations counts the newlines after an odd number of backslashes.
func continuations(text string) (n int) {
	for at := strings.Index(text, "\\\n"); at >= 0; {
		before := text[:at]
		n += 1 - (at-len(strings.TrimRight(before, "\\")))%2
		next := strings.Index(text[at+2:], "\\\n")
		if next < 0 {
			break
		}
		at += 2 + next
	}
	return n
}
