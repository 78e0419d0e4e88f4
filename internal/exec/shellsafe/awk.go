package shellsafe

import (
	"regexp"
	"strings"
)

// awkProgram refuses programs that run commands, write files, or read files other than the
// operands.
func awkProgram(_ *walker, p *parsed, _ context) string {
	program := &p.ops[0]
	if !program.lit || program.stdin {
		return notLiteral
	}
	r := awkReader{s: program.val}
	return r.read()
}

// awkReader reads the tokens of an awk program, in the way in which all versions of awk read them. It
// refuses texts that they could read differently.
type awkReader struct {
	s       string
	i       int
	round   int  // depth of parentheses and brackets
	operand bool // the previous token ends an operand, so that a slash divides
	either  bool // operand is set, but a slash may also begin a regular expression
}

const (
	awkRuns    = "it may run a command"
	awkUnclear = "versions of awk may read the program differently"
)

func (r *awkReader) read() string {
	curly := 0
	for r.i < len(r.s) {
		switch b := r.s[r.i]; {
		case b == ' ' || b == '\t':
			r.i++
			continue
		case b == '#':
			for r.i < len(r.s) && r.s[r.i] != '\n' {
				r.i++
			}
			continue
		case letter(b):
			if why := r.word(); why != "" {
				return why
			}
			continue
		case b >= '0' && b <= '9' || b == '.':
			for r.i < len(r.s) && (letter(r.s[r.i]) || r.s[r.i] >= '0' && r.s[r.i] <= '9' || r.s[r.i] == '.') {
				r.i++
			}
			r.operand, r.either = true, false
			continue
		case b == '"':
			if why := r.text(); why != "" {
				return why
			}
			continue
		case b == '/' && !r.operand:
			if why := r.pattern(); why != "" {
				return why
			}
			continue
		case b == '/' && r.either && strings.Contains(r.s[r.i+1:], "/"):
			return awkUnclear
		case b == '|':
			if !strings.HasPrefix(r.s[r.i:], "||") {
				return awkRuns
			}
			r.i++
		case b == '>':
			if !strings.HasPrefix(r.s[r.i:], ">=") && curly > 0 && r.round == 0 {
				return "it may write a file"
			}
			if strings.HasPrefix(r.s[r.i:], ">>") {
				return "it may write a file"
			}
		case b == '(' || b == '[':
			r.round++
		case b == ')' || b == ']':
			r.round--
		case b == '{':
			curly++
		case b == '}':
			curly--
		case strings.IndexByte("$;,\n!~=<+-*%^&?:/", b) >= 0:
		default:
			return awkUnclear // a backslash, @, and what is not of the language
		}
		if r.round < 0 || curly < 0 || r.round > 0 && (r.s[r.i] == '{' || r.s[r.i] == ';' && !strings.Contains(r.s, "for")) {
			return awkUnclear
		}
		r.operand, r.either = strings.IndexByte(")]$", r.s[r.i]) >= 0, r.s[r.i] != ']'
		if strings.HasPrefix(r.s[r.i:], "++") || strings.HasPrefix(r.s[r.i:], "--") {
			r.i++
			rest := strings.TrimLeft(r.s[r.i+1:], " \t")
			if strings.HasPrefix(rest, "/") {
				return awkUnclear
			}
		}
		r.i++
	}
	if r.round != 0 || curly != 0 {
		return awkUnclear
	}
	return ""
}

// word reads a name. Variables that stand for files, and functions that run commands, are refused.
func (r *awkReader) word() string {
	from := r.i
	for r.i < len(r.s) && (letter(r.s[r.i]) || r.s[r.i] >= '0' && r.s[r.i] <= '9') {
		r.i++
	}
	rest := strings.TrimLeft(r.s[r.i:], " \t")
	slash := strings.HasPrefix(rest, "/")
	r.operand, r.either = true, false
	switch name := r.s[from:r.i]; name {
	case "system", "popen", "ARGV", "ARGC", "ARGIND", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "extension", "asorti", "asort", "function", "func":
		return "the program uses " + name
	case "getline":
		if rest != "" && strings.IndexByte(";}\n)", rest[0]) < 0 {
			return "it may read a file"
		}
	case "length", "next", "exit", "nextfile", "delete", "break", "continue":
		if slash {
			return awkUnclear
		}
	case "print", "printf": // in the parentheses of for they may write a file
		if r.round > 0 {
			return awkUnclear
		}
		r.operand = false
	case "return", "in", "else", "do", "case", "BEGIN", "END", "if", "while", "for", "switch":
		r.operand = false
	}
	return ""
}

// text reads a string.
func (r *awkReader) text() string {
	for r.i++; r.i < len(r.s); r.i++ {
		switch r.s[r.i] {
		case '\\':
			r.i++
		case '\n':
			return awkUnclear
		case '"':
			r.i++
			r.operand, r.either = true, false
			return ""
		}
	}
	return awkUnclear
}

// awkClass matches the name of a class of characters.
var awkClass = regexp.MustCompile(`^\[:(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]`)

// pattern reads a regular expression. Versions of awk disagree on a slash in brackets, and on where
// brackets end that hold one.
func (r *awkReader) pattern() string {
	open := false
	for r.i++; r.i < len(r.s); r.i++ {
		switch rest := r.s[r.i:]; rest[0] {
		case '\\':
			r.i++
		case '\n':
			return awkUnclear
		case '[':
			class := awkClass.FindString(rest)
			switch {
			case open && class == "", !open && (strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]")):
				return awkUnclear
			case open:
				r.i += len(class) - 1
			}
			open = true
		case ']':
			if !open {
				return awkUnclear
			}
			open = false
		case '/':
			if open {
				return awkUnclear
			}
			r.i++
			r.operand, r.either = true, false
			return ""
		}
	}
	return awkUnclear
}
