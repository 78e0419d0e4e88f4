package shellsafe

import (
	"fmt"
	"strings"
)

// The functions of this file parse the words of a command by its entry of the
// table.

// parseFlags divides words into flags and operands. Flags may come anywhere, as in
// GNU programs. Unknown flags are refused, and abbreviations too.
func parseFlags(key string, s *spec, args []arg) (*parsed, string) {
	p := &parsed{name: key, s: s, args: args, vals: map[string][]arg{}, inject: s.inject}
	dashes := false
	for i := 1; i < len(args); i++ {
		a := &args[i]
		if why := usable(key, s, a, dashes); why != "" {
			return p, why
		}
		if s.raw {
			p.ops = append(p.ops, *a)
			continue
		}
		if s.ahead && !dashes && len(p.ops) > 0 && strings.HasPrefix(a.lead, "-") && !(a.lit && a.val == "-") {
			return p, fmt.Sprintf("%s: behind an operand %s may not be a flag", key, shortForm(a.text))
		}
		if a.lit && a.val == "--" && !dashes {
			dashes = true
			continue
		}
		if dashes || !strings.HasPrefix(a.lead, "-") || a.lit && a.val == "-" || a.stdin {
			p.ops = append(p.ops, *a)
			continue
		}
		n, why := p.flag(i)
		if why != "" {
			return p, why
		}
		i += n
	}
	return p, ""
}

// listsWords refuses words that name a file with further words, at any place: such
// a program looks for them before it looks for flags, values and --.
func listsWords(key string, args []arg) string {
	for i := range args {
		if a := &args[i]; a.lead == "" && !a.lit || strings.HasPrefix(a.lead, "@") {
			return fmt.Sprintf("%s: @FILE stands for the words in a file: %s", key, shortForm(a.text))
		}
	}
	return ""
}

// usable refuses words whose value is unknown or could become a flag.
func usable(key string, s *spec, a *arg, dashes bool) string {
	switch {
	case a.stdin:
		if !s.harmless {
			return fmt.Sprintf("%s: what is read from standard input could become a flag", key)
		}
	case a.lit:
		if a.script == "" {
			return fmt.Sprintf("%s: a word cannot be written anew: %s", key, a.why)
		}
		if dashLike(a.val) {
			return fmt.Sprintf("%s: a word begins with a dash that is not -: %s", key, shortForm(a.text))
		}
	case a.glob:
		if a.why != "" {
			return fmt.Sprintf("%s: %s: %s", key, a.why, shortForm(a.text))
		}
		if a.lead == "" && !dashes && !s.harmless {
			return fmt.Sprintf("%s: a pattern could become a flag: %s", key, shortForm(a.text))
		}
	case a.number:
	case a.sub && key == "echo":
	default:
		return fmt.Sprintf("%s: a word is not literal: %s", key, shortForm(a.text))
	}
	return ""
}

// flag parses the flag at index i and returns the number of further words it takes.
func (p *parsed) flag(i int) (int, string) {
	a := &p.args[i]
	text := a.val
	refuse := func(f string) string {
		return fmt.Sprintf("%s: the flag %s is not on the table of flags that only read", p.name, shortForm(f))
	}
	if !a.lit {
		// For example --include=*.go: its expansion still begins with --include=.
		eq := strings.IndexByte(a.lead, '=')
		if !strings.HasPrefix(a.lead, "--") || eq < 0 || !a.glob {
			return 0, refuse(a.text)
		}
		name := a.lead[2:eq]
		if k := lookLong(p.s.long, name); k != "=" && k != "=?" {
			return 0, refuse("--" + name)
		}
		quoted := literal(a.val) // if no file matches, the shell leaves the pattern unchanged
		p.args[i] = quoted
		p.seen = append(p.seen, "--"+name)
		p.vals["--"+name] = append(p.vals["--"+name], literal(a.val[eq+1:]))
		return 0, ""
	}
	if p.s.exact {
		return p.exact(i)
	}
	if strings.HasPrefix(text, "--") {
		name, value, attached := strings.Cut(text[2:], "=")
		flag := "--" + name
		kind := lookLong(p.s.long, name)
		switch {
		case kind == "none" || (kind == "" || kind == "==") && attached:
			return 0, refuse(flag)
		case attached:
			p.recordFlag(flag, kind == "=/", literal(value))
			return 0, ""
		case kind == "=" || kind == "=/":
			return p.next(i, flag, kind == "=/")
		case kind == "==":
			if _, why := p.next(i, flag, false); why != "" {
				return 0, why
			}
			_, why := p.next(i+1, flag, false)
			return 2, why
		}
		p.seen = append(p.seen, flag)
		return 0, ""
	}
	if p.s.num && digits(text[1:]) {
		p.seen = append(p.seen, "-0")
		return 0, ""
	}
	for j := 1; j < len(text); j++ {
		flag := "-" + text[j:j+1]
		k := strings.IndexByte(p.s.short, text[j])
		if k < 0 || strings.IndexByte(":%/", text[j]) >= 0 {
			return 0, refuse(flag)
		}
		kind := byte(0)
		if k+1 < len(p.s.short) {
			kind = p.s.short[k+1]
		}
		switch kind {
		case '%':
			p.recordFlag(flag, false, literal(text[j+1:]))
			return 0, ""
		case ':', '/':
			if j+1 < len(text) {
				p.recordFlag(flag, kind == '/', literal(text[j+1:]))
				return 0, ""
			}
			return p.next(i, flag, kind == '/')
		}
		p.seen = append(p.seen, flag)
	}
	return 0, ""
}

// exact parses the flag at index i of a program whose flags cannot be clustered.
func (p *parsed) exact(i int) (int, string) {
	name := strings.TrimPrefix(strings.TrimPrefix(p.args[i].val, "-"), "-")
	if lookLong(p.s.long, name) == "" {
		p.seen = append(p.seen, "-"+name)
		return 0, ""
	}
	if name == "" {
		name = "-"
	}
	k := strings.IndexByte(p.s.short, name[0])
	value := k >= 0 && k+1 < len(p.s.short) && p.s.short[k+1] == ':'
	switch {
	case value && len(name) == 1:
		return p.next(i, "-"+name, false)
	case value && digits(name[1:]):
		p.recordFlag("-"+name[:1], false, literal(name[1:]))
		return 0, ""
	case k < 0 || value || len(name) > 1 || name == ":":
		return 0, fmt.Sprintf("%s: the flag %s is not on the table of flags that only read", p.name, shortForm(p.args[i].val))
	}
	p.seen = append(p.seen, "-"+name)
	return 0, ""
}

// leading parses the flags before the first operand and returns the operand's
// index: a program that runs another one takes no flags after the other's name.
func (p *parsed) leading() (int, string) {
	for i := 1; i < len(p.args); i++ {
		a := &p.args[i]
		switch {
		case !strings.HasPrefix(a.lead, "-") || a.lit && a.val == "-":
			return i, ""
		case !a.lit || a.script == "":
			return i, p.name + ": a word cannot be written anew"
		case a.val == "--":
			return i + 1, ""
		}
		n, why := p.flag(i)
		if why != "" {
			return i, why
		}
		i += n
	}
	return len(p.args), ""
}

// recordFlag records the value of a flag. Values that are paths are also recorded under a
// key of their own.
func (p *parsed) recordFlag(flag string, path bool, value arg) {
	p.seen = append(p.seen, flag)
	p.vals[flag] = append(p.vals[flag], value)
	if path {
		p.vals["\x00"+flag] = append(p.vals["\x00"+flag], value)
	}
}

// next uses the next word as a flag's value.
func (p *parsed) next(i int, flag string, path bool) (int, string) {
	if i+1 >= len(p.args) {
		return 0, fmt.Sprintf("%s: the flag %s has no value", p.name, flag)
	}
	v := &p.args[i+1]
	if !v.lit && !v.number || v.stdin || v.lit && v.script == "" {
		return 0, fmt.Sprintf("%s: the value of %s is not literal: %s", p.name, flag, shortForm(v.text))
	}
	if d := v.val; v.lit && len(d) > 1 && d[0] == '-' && (d[1] < '0' || d[1] > '9') && !has(p.s.first, flag) {
		// If the value were optional or not allowed, it would be a flag.
		return 0, fmt.Sprintf("%s: the value of %s could be a flag: %s", p.name, flag, shortForm(v.text))
	}
	p.recordFlag(flag, path, *v)
	return 1, ""
}

// lookLong finds a long flag in a list. It returns the text from "=" on that
// follows the name, or "none" if the flag is not listed.
func lookLong(list, name string) string {
	for name != "" && list != "" {
		item, rest, _ := strings.Cut(list, " ")
		if n, kind, ok := strings.Cut(item, "="); n == name {
			if ok {
				return "=" + kind
			}
			return ""
		}
		list = rest
	}
	return "none"
}
