package shellsafe

import "strings"

// sedRuns lists the commands that a sed script gives to a shell. Unlike sedScripts
// it accepts the whole language of GNU sed: it finds commands, and allows nothing.
func (w *walker) sedRuns(args []arg, c context) {
	scripts, lit := sedTexts(args)
	if scripts == "" {
		return
	}
	r := sedReader{s: scripts}
	cmds, unknown := r.programs()
	for _, cmd := range cmds {
		w.reparse(cmd, lit, c)
	}
	if unknown && (lit || len(cmds) > 0) {
		w.unresolve("what sed runs is not known")
	}
}

// sedTexts joins the scripts among the words of a sed command. It does not see
// script files.
func sedTexts(args []arg) (scripts string, lit bool) {
	var found, ops []arg
	file := false
	for i := 1; i < len(args); i++ {
		v := args[i].text
		if v == "--" {
			ops = append(ops, args[i+1:]...)
			break
		}
		if len(v) < 2 || v[0] != '-' {
			ops = append(ops, args[i])
			continue
		}
		flags := v
		if at := strings.IndexAny(v, "il"); !strings.HasPrefix(v, "--") && at > 0 {
			flags = v[:at+1] // the rest belongs to -i or -l
			if v[at] == 'l' && at == len(v)-1 {
				i++
				continue
			}
		}
		if text, used, is := commandFlag("-e --expression", flags, args[i+1:]); is {
			found = append(found, arg{text: text, lit: args[i+used].lit})
			i += used
		} else if _, used, is := commandFlag("-f --file", flags, args[i+1:]); is {
			file = true
			i += used
		}
	}
	for len(ops) > 1 && ops[0].text == "" {
		ops = ops[1:] // BSD: the value of -i
	}
	if len(found) == 0 && !file && len(ops) > 0 {
		found = ops[:1]
	}
	lit = true
	texts := make([]string, len(found))
	for i := range found {
		texts[i], lit = found[i].text, lit && found[i].lit
	}
	return strings.Join(texts, "\n"), lit
}

// programs lists the commands of e and s///e. unknown reports that the input is
// part of a command, or that the script cannot be parsed and may contain commands.
func (r *sedReader) programs() (cmds []string, unknown bool) {
	for {
		r.skip(" \t\n;{}")
		if r.i >= len(r.s) {
			return cmds, unknown
		}
		if !r.skipAddresses() {
			return cmds, unknown || strings.Contains(r.s, "e")
		}
		r.skip(" \t!")
		cmd := r.peek()
		r.i++
		switch cmd {
		case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'F', 'z', '{', '}', ';', '\n':
		case 'q', 'Q', 'l', 'L':
			r.skip(" 0123456789")
		case 'a', 'i', 'c', '#':
			r.line()
		case 'r', 'R':
			r.reads = append(r.reads, strings.TrimLeft(r.line(), " \t"))
		case 'w', 'W':
			r.writes = append(r.writes, strings.TrimLeft(r.line(), " \t"))
		case ':', 'b', 't', 'T', 'v':
			r.i += len(untilAny(r.s[r.i:], ";\n}"))
		case 'e':
			if text := strings.TrimLeft(r.line(), " \t"); text != "" {
				cmds = append(cmds, text)
			} else {
				unknown = true
			}
		case 's', 'y':
			d := r.peek()
			r.i++
			_, ok := r.skipPast(d, cmd == 's')
			second, ended := r.skipPast(d, false)
			if !ok || !ended || d == 0 || d == '\\' || d == '\n' {
				return cmds, unknown || strings.Contains(r.s, "e")
			}
			for cmd == 's' {
				f := r.peek()
				if f == 0 || strings.IndexByte("gpiImMe0123456789", f) < 0 {
					if f == 'w' {
						r.i++
						r.writes = append(r.writes, strings.TrimLeft(r.line(), " \t"))
					}
					break
				}
				if r.i++; f == 'e' {
					cmds, unknown = append(cmds, second), true
				}
			}
		default:
			return cmds, unknown || strings.Contains(r.s, "e")
		}
	}
}

func untilAny(s, set string) string {
	if i := strings.IndexAny(s, set); i >= 0 {
		return s[:i]
	}
	return s
}

// line reads to the end of the line. A backslash continues the line.
func (r *sedReader) line() string {
	from := r.i
	for r.i < len(r.s) && r.s[r.i] != '\n' {
		if r.s[r.i] == '\\' {
			r.i++
		}
		r.i++
	}
	r.i = min(r.i, len(r.s))
	return r.s[from:r.i]
}

// skipPast skips to after the next d. In an expression, a d in brackets is text.
func (r *sedReader) skipPast(d byte, expression bool) (text string, ok bool) {
	from := r.i
	for r.i < len(r.s) {
		b := r.s[r.i]
		r.i++
		switch {
		case b == d:
			return r.s[from : r.i-1], true
		case b == '\\':
			r.i++
		case b == '[' && expression:
			end := r.i
			if end < len(r.s) && r.s[end] == '^' {
				end++
			}
			if end < len(r.s) {
				end++ // a leading ] is text
			}
			if n := strings.IndexByte(r.s[min(end, len(r.s)):], ']'); n >= 0 {
				r.i = end + n + 1
			}
		}
	}
	return "", false
}

// skipAddresses skips all addresses, of any form.
func (r *sedReader) skipAddresses() bool {
	for {
		switch b := r.peek(); {
		case b == '/' || b == '\\':
			if r.i++; b == '\\' {
				b = r.peek()
				r.i++
			}
			if _, ok := r.skipPast(b, true); !ok {
				return false
			}
			r.skip("IM")
		case b != 0 && strings.IndexByte("0123456789$~+, \t", b) >= 0:
			r.i++
		default:
			return true
		}
	}
}
