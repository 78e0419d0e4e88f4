package shellsafe

import "strings"

// sedScripts parses the scripts of sed. It accepts addresses, the commands p d q Q
// = n N h H g G x D P l y, and s with the flags g p i I and numbers. Everything
// else is refused, including e, w, W, r and R.
func sedScripts(_ *walker, p *parsed, _ context) string {
	scripts := append(append([]arg(nil), p.vals["-e"]...), p.vals["--expression"]...)
	if len(scripts) == 0 {
		if len(p.ops) == 0 {
			return "there is no script"
		}
		scripts = p.ops[:1]
	}
	for i := range scripts {
		if !scripts[i].lit {
			return "the script is not literal"
		}
		s := sedReader{s: scripts[i].val}
		if why := s.script(); why != "" {
			return why
		}
	}
	return ""
}

type sedReader struct {
	s string
	i int
	// files that programs has found
	reads, writes []string
}

func (r *sedReader) peek() byte {
	if r.i < len(r.s) {
		return r.s[r.i]
	}
	return 0
}

func (r *sedReader) skip(set string) {
	for r.i < len(r.s) && strings.IndexByte(set, r.s[r.i]) >= 0 {
		r.i++
	}
}

func (r *sedReader) script() string {
	depth := 0
	for {
		r.skip(" \t\n;")
		if r.i >= len(r.s) {
			return ""
		}
		if r.peek() == '#' {
			if r.i == 0 {
				return "its script begins with a comment" // #n would be a flag
			}
			end := strings.IndexByte(r.s[r.i:], '\n')
			if end < 0 {
				return ""
			}
			r.i += end
			continue
		}
		if r.peek() == '}' {
			if depth == 0 {
				return "its script has a } too many"
			}
			depth--
			r.i++
			if why := r.end(); why != "" {
				return why
			}
			continue
		}
		if !r.addresses() {
			return "an address of its script is not plain"
		}
		r.skip(" \t")
		for r.peek() == '!' {
			r.i++
			r.skip(" \t")
		}
		cmd := r.peek()
		r.i++
		switch cmd {
		case '{':
			depth++
			continue
		case 'p', 'd', '=', 'n', 'N', 'h', 'H', 'g', 'G', 'x', 'D', 'P':
		case 'q', 'Q', 'l':
			r.skip(" ")
			r.skip("0123456789")
		case 's':
			if why := r.substitute(); why != "" {
				return why
			}
		case 'y':
			if _, ok := r.delimited(); !ok {
				return "y of its script does not end"
			}
		default:
			if cmd < ' ' || cmd > '~' {
				return "its script has no command behind an address"
			}
			return "the command " + string(rune(cmd)) + " of its script is not on the table"
		}
		if why := r.end(); why != "" {
			return why
		}
	}
}

// end refuses text that must not follow a command.
func (r *sedReader) end() string {
	r.skip(" \t")
	switch r.peek() {
	case 0, ';', '\n', '}', '#':
		return ""
	}
	return "its script has something behind a command"
}

// addresses parses up to two addresses.
func (r *sedReader) addresses() bool {
	found, ok := r.address()
	if !ok || !found {
		return ok
	}
	r.skip(" \t")
	if r.peek() != ',' {
		return true
	}
	r.i++
	r.skip(" \t")
	if b := r.peek(); b == '+' || b == '~' {
		r.i++
		from := r.i
		r.skip("0123456789")
		return r.i > from
	}
	found, ok = r.address()
	return ok && found
}

func (r *sedReader) address() (found, ok bool) {
	switch b := r.peek(); {
	case b == '$':
		r.i++
		return true, true
	case b >= '0' && b <= '9':
		r.skip("0123456789")
		if r.peek() == '~' {
			r.i++
			from := r.i
			r.skip("0123456789")
			return true, r.i > from
		}
		return true, true
	case b == '/' || b == '\\':
		d := b
		if b == '\\' {
			r.i++
			d = r.peek()
			if d == 0 || d == '\n' || d == '\\' || d >= 0x80 {
				return true, false
			}
		}
		r.i++
		if !r.until(d) {
			return true, false
		}
		r.skip("IM")
		return true, true
	}
	return false, true
}

// until skips to after the next d that is not escaped by a backslash. It refuses a
// d in brackets: implementations disagree on it.
func (r *sedReader) until(d byte) bool {
	bracket := false
	for r.i < len(r.s) {
		b := r.s[r.i]
		r.i++
		switch {
		case b == '\n':
			return false
		case b == d:
			return !bracket
		case b == '\\':
			if r.i >= len(r.s) || r.s[r.i] == '\n' {
				return false
			}
			r.i++
		case b == '[':
			bracket = true
		case b == ']':
			bracket = false
		}
	}
	return false
}

// delimited parses two texts, delimited by the next character. It returns the index
// of the second.
func (r *sedReader) delimited() (second int, ok bool) {
	d := r.peek()
	if d == 0 || d == '\n' || d == '\\' || d >= 0x80 {
		return 0, false
	}
	r.i++
	if !r.until(d) {
		return 0, false
	}
	second = r.i
	for r.i < len(r.s) { // brackets have no special meaning in a replacement
		b := r.s[r.i]
		r.i++
		switch {
		case b == d:
			return second, true
		case b == '\n':
			return 0, false
		case b == '\\':
			if r.i >= len(r.s) {
				return 0, false
			}
			r.i++
		}
	}
	return 0, false
}

func (r *sedReader) substitute() string {
	if _, ok := r.delimited(); !ok {
		return "s of its script does not end or is not plain"
	}
	for strings.IndexByte("gpiI0123456789", r.peek()) >= 0 && r.peek() != 0 {
		r.i++
	}
	switch r.peek() {
	case 'e', 'w', 'm', 'M':
		return "the flag " + string(rune(r.peek())) + " of s in its script is not on the table"
	}
	return ""
}
