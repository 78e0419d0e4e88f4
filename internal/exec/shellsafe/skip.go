package shellsafe

import (
	"slices"
	"strings"
)

// startsShell reports whether the wrapper starts a shell, given that no command was found.
func (x *wrapper) startsShell(args []arg) bool {
	words := texts(args[1:])
	if n := len(words); n > 1 && x.skip == 99 && has(x.sh, "bare") && words[n-1] != "" && words[n-1][0] != '-' && !has(x.sh, words[n-1]) && !(words[n-2][:min(1, len(words[n-2]))] == "-" && endsIn(x.vals, words[n-2])) {
		return false // the last word is a command
	}
	return x.sh == "always" || has(x.sh, "bare") && len(words) == 0 || x.sh != "" && flagged(words, x.sh) ||
		slices.ContainsFunc(words, func(v string) bool { return has(x.sh, v) })
}

// skipWrapper skips the flags of a wrapper and lists its command.
func (w *walker) skipWrapper(name string, x wrapper, args []arg, c context) {
	skip := x.skip
	c.input.tty = c.input.tty || x.tty && !c.input.none()
	i := 1
	for ; i < len(args); i++ {
		a := &args[i]
		v := a.val
		switch {
		case !a.lit && a.lead == "" || !a.lit && a.lead[0] == '-':
			if x.text || i == len(args)-1 && skip == 0 {
				break
			}
			if skip == 0 || strings.HasPrefix(a.lead, "-") {
				w.listPossible(name, args[i:], c)
				return
			}
		case v == "--" && x.dash:
			w.inner(args[i+1:], c)
			return
		case v == "--", x.env && v == "-":
			continue
		case strings.HasPrefix(v, "-") && len(v) > 1 || strings.HasPrefix(v, "+") && name == "xargs":
			flag, attached, eq := strings.Cut(v, "=")
			if x.dir != "" {
				c.dirs = w.into(&x, args[i:], c.dirs)
			}
			switch {
			case has(x.c, flag) || x.c != "" && !strings.HasPrefix(v, "--") && hasShort(x.c, v):
				w.shellText(name, &x, args[i:], c)
				return
			case has(x.exec, flag) && !eq:
				w.inner(args[i+1:], c)
				return
			case has(x.vals, flag) && !eq:
				if i++; i < len(args) {
					w.passed(&args[i], args[i].text, c)
				}
			case eq && w.passed(a, attached, c):
			case has(x.opt, flag):
			case eq || has(plainFlags, v) || has(x.bare, v) || numeric(v[1:]):
			default:
				next, ok := cluster(&x, v)
				if next {
					i++
				}
				if !ok && skip < 90 {
					w.listPossible(name, args[i+1:], c)
					return
				}
			}
			continue
		case x.env && strings.Contains(a.text, "=") && !strings.HasPrefix(a.text, "="):
			key, value, _ := strings.Cut(a.text, "=")
			w.variable(key, value, a.lit, c)
			continue
		}
		if skip > 0 {
			if x.less {
				w.inner(args[i:], c)
			}
			skip--
			continue
		}
		break
	}
	w.wrapped(name, &x, args, args[min(i, len(args)):], skip, c)
}

// shellText lists the commands of the flag at the start of args, whose value is a text for a
// shell.
func (w *walker) shellText(name string, x *wrapper, args []arg, c context) {
	v, lit, rest := args[0].val, args[0].lit, args[1:]
	flag, text, eq := strings.Cut(v, "=")
	switch isFlag := has(x.c, flag); {
	case eq && strings.HasPrefix(v, "--"):
	case !isFlag && !endsIn(x.c, v): // -S'touch x'
		text = v[shortAt(x.c, v)+1:]
	case len(rest) > 0:
		text, lit, rest = rest[0].text, rest[0].lit, rest[1:]
	}
	if name == "env" { // the rest are further words
		for j := range rest {
			text += " " + quote(rest[j].text)
			lit = lit && rest[j].lit
		}
	}
	w.reparse(text, lit, c)
}

// wrapped lists the command at rest, the words of args behind those of the wrapper. skip is the
// number of the wrapper's words that are missing.
func (w *walker) wrapped(name string, x *wrapper, args, rest []arg, skip int, c context) {
	if (name == "at" || name == "batch" || name == "crontab") && !flagged(texts(args[1:]), "-l -r") {
		w.setIncomplete(name + " reads its commands from its input")
	}
	if len(rest) == 0 {
		if name == "parallel" || c.fed && skip == 0 {
			w.setIncomplete("what " + name + " runs is only known when it runs")
		}
		if x.startsShell(args) {
			w.startsShell(name, c)
		}
		return
	}
	if x.text {
		lit := true
		words := make([]string, 0, len(rest))
		for j := range rest {
			if rest[j].val == ":::" || rest[j].val == "::::" {
				w.parallel(rest[j:], len(words) == 0 || strings.Contains(words[0], "{"), c)
				break
			}
			words = append(words, rest[j].text)
			lit = lit && rest[j].lit
		}
		if len(words) == 0 {
			return
		}
		w.inner(rest[:len(words)], c)
		w.reparse(strings.Join(words, " "), lit, c)
		return
	}
	if name == "flock" && rest[0].val == "-c" && len(rest) > 1 {
		w.reparse(rest[1].text, rest[1].lit, c)
		return
	}
	w.inner(rest, c)
}

// passed reports whether the value of a flag is an assignment, as for --setenv. It
// lists the commands that programs run because of it.
func (w *walker) passed(a *arg, value string, c context) bool {
	name, value, ok := strings.Cut(value, "=")
	if ok {
		w.variable(name, value, a.lit, c)
	}
	return ok
}

// parallel lists the words after ::: that become the name of the command, if named
// is set.
func (w *walker) parallel(inputs []arg, named bool, c context) {
	for i := range inputs {
		switch {
		case !named:
		case inputs[i].val == "::::":
			w.setIncomplete("what parallel runs is only known when it runs")
		case inputs[i].val != ":::":
			w.listUncertain(func() { w.reparse(inputs[i].text, inputs[i].lit, c) })
		}
	}
}

// cluster parses a word of short flags. next reports that the last one takes the
// next word; ok reports that all are known.
func cluster(x *wrapper, v string) (next, ok bool) {
	for i := 1; i < len(v); i++ {
		f := "-" + v[i:i+1]
		if has(x.opt, f) {
			return false, true // the rest is its value
		}
		if has(x.vals, f) {
			return i == len(v)-1, true
		}
		if f == "--" || !has(plainFlags, f) && !has(x.bare, f) {
			return false, false
		}
	}
	return false, true
}

func numeric(s string) bool { return digits(strings.TrimPrefix(s, "-")) }

// hasShort reports whether a cluster contains one of the short flags.
func hasShort(flags, cluster string) bool { return shortAt(flags, cluster) > 0 }

func shortAt(flags, cluster string) int {
	for i := 1; i < len(cluster); i++ {
		if has(flags, "-"+cluster[i:i+1]) {
			return i
		}
	}
	return 0
}

func endsIn(flags, cluster string) bool { return shortAt(flags, cluster) == len(cluster)-1 }

// listPossible lists every remaining word as a possible command.
func (w *walker) listPossible(name string, args []arg, c context) {
	w.unresolve("what " + name + " runs is not known")
	for i := range args {
		if i > 16 {
			return
		}
		if args[i].lit && args[i].val != "" && args[i].val[0] != '-' {
			w.inner(args[i:], c)
		}
	}
}
