package ignore

import "strings"

type kind uint8

const (
	literal kind = iota // the byte b
	one                 // ? : any byte except a slash
	class               // [..]: a byte of set
	star                // * : any number of bytes except slashes
	folders             // **/ : nothing, or anything that ends with a slash
	all                 // ** at the end or before \/ : anything
)

// op is one step of a pattern.
type op struct {
	kind kind
	b    byte
	set  *byteSet
}

// rule is a compiled pattern: prefix, then ops, then suffix.
type rule struct {
	prefix, suffix string // literal
	ops            []op   // between them; nil if the pattern is a literal, which is then prefix
	need           mask   // bytes required in the name
	least          int32  // minimum number of bytes of a match
	depth          int32  // slashes in a match; anyDepth if their number varies
	next           int32  // next older rule of the same bucket, as an index + 1
	negated        bool
	folders        bool // matches folders only
	path           bool // matches the path, not the name
}

const anyDepth = -1

// compile compiles a pattern, with fold for texts in lower case. It returns false if the
// pattern can match nothing.
func compile(p pattern, fold bool) (rule, bool) {
	r := rule{negated: p.negated, folders: p.folders, path: p.path}
	ops, ok := parseOps(p, fold)
	if !ok || len(ops) == 0 {
		return r, false
	}
	if r.path && ops[0].kind == folders && isName(ops[1:]) {
		// **/name is name at any depth.
		r.path = false
		ops = ops[1:]
	}
	r.measure(ops)
	ops, r.prefix = cutLiteral(ops, true)
	ops, r.suffix = cutLiteral(ops, false)
	if len(ops) > 0 {
		r.ops = ops
	}
	return r, true
}

// measure computes the conditions that are cheap to check first.
func (r *rule) measure(ops []op) {
	dots := 0 // in the name
	for _, o := range ops {
		if o.kind < star {
			r.least++
		}
		switch {
		case o.kind == folders || o.kind == all:
			r.depth = anyDepth
			r.need, dots = 0, 0 // the bytes before may be in the name of a folder
		case o.kind == literal && o.b == '/':
			if r.depth != anyDepth {
				r.depth++
			}
			r.need, dots = 0, 0
		case o.kind == literal:
			r.need |= bit(o.b)
			if o.b == '.' {
				if dots++; dots == 2 {
					r.need |= secondDot
				}
			}
		}
	}
}

// isName reports whether no step can match a slash.
func isName(ops []op) bool {
	for _, o := range ops {
		if o.kind == folders || o.kind == all || o.kind == literal && o.b == '/' {
			return false
		}
	}
	return len(ops) > 0
}

func parseOps(p pattern, fold bool) (ops []op, ok bool) {
	s := p.text
	for i := 0; i < len(s); {
		switch s[i] {
		case '\\':
			if i++; i == len(s) {
				return nil, false
			}
			ops = append(ops, op{kind: literal, b: s[i]}) // git does not fold it either
			i++
		case '?':
			ops = append(ops, op{kind: one})
			i++
		case '[':
			set, n, _, fault := parseClass(s[i:], fold)
			if fault != "" {
				return nil, false
			}
			ops = append(ops, op{kind: class, set: &set})
			i += n
		case '*':
			kind, n := parseStars(p, i)
			if kind != folders || len(ops) == 0 || ops[len(ops)-1].kind != folders {
				ops = append(ops, op{kind: kind})
			}
			i += n
		default:
			b := s[i]
			if fold {
				b = lowerByte(b)
			}
			ops = append(ops, op{kind: literal, b: b})
			i++
		}
	}
	return ops, true
}

// parseStars parses the asterisks at p.text[i]. Two or more are special in a path if
// they are alone between two slashes, or between an end and a slash.
func parseStars(p pattern, i int) (k kind, n int) {
	rest := strings.TrimLeft(p.text[i:], "*")
	n = len(p.text) - i - len(rest)
	switch {
	case n < 2 || !p.path || i != p.start && p.text[i-1] != '/':
		return star, n
	case rest == "" || strings.HasPrefix(rest, `\/`):
		return all, n
	case rest[0] == '/':
		return folders, n + 1
	}
	return star, n
}

// cutLiteral removes the literal bytes from the front, or from the end, of ops.
func cutLiteral(ops []op, front bool) ([]op, string) {
	n := 0
	for n < len(ops) {
		i := n
		if !front {
			i = len(ops) - 1 - n
		}
		if ops[i].kind != literal {
			break
		}
		n++
	}
	cut, rest := ops[:n], ops[n:]
	if !front {
		cut, rest = ops[len(ops)-n:], ops[:len(ops)-n]
	}
	text := make([]byte, n)
	for i, o := range cut {
		text[i] = o.b
	}
	return rest, string(text)
}
