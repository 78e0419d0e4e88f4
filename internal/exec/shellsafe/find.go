package shellsafe

import (
	"slices"
	"strings"
)

// judgeFind judges a find command: flags, starting points, then tests and actions.
func (w *walker) judgeFind(args []arg, c context) (out []arg, why string) {
	i := 1
	follow := literal("-P")
	for ; i < len(args) && args[i].lit && (args[i].val == "-P" || args[i].val == "-H"); i++ {
		follow = args[i]
	}
	out = []arg{args[0], follow}
	var starts []arg
	for ; i < len(args); i++ {
		a := args[i]
		if a.lit && a.val != "" && (strings.IndexByte("-(!,", a.val[0]) >= 0 || dashLike(a.val)) {
			break
		}
		switch {
		case a.lit && a.script != "":
		case a.glob && a.why == "" && a.lead != "" && strings.IndexByte("-(!,", a.lead[0]) < 0:
		default:
			return args, "find: where it starts is not literal: " + shortForm(a.text)
		}
		starts = append(starts, a)
		out = append(out, a)
	}
	if len(starts) == 0 {
		starts = []arg{literal(".")}
	}
	for j := range starts {
		w.read(c.dirs.paths(&starts[j], true))
	}
	for ; i < len(args); i++ {
		a := args[i]
		if !a.lit || a.script == "" {
			return args, "find: a word is not literal: " + shortForm(a.text)
		}
		if a.val == "-exec" {
			inner, used, why := w.findExec(args[i+1:], starts, c)
			if why != "" {
				return args, why
			}
			out = append(append(out, a), inner...)
			i += used
			continue
		}
		kinds, ok := findTests[a.val]
		if !ok {
			return args, "find: " + shortForm(a.val) + " is not on the table of tests that only read"
		}
		out = append(out, a)
		for k := range kinds {
			if i++; i >= len(args) || !args[i].lit || args[i].script == "" {
				return args, "find: the value of " + a.val + " is not literal"
			}
			if kinds[k] == 'p' {
				w.read(c.dirs.paths(&args[i], false))
			}
			out = append(out, args[i])
		}
	}
	return out, ""
}

// findExec judges the command of -exec. {} becomes a text that begins with a
// starting point. So it is no flag; it begins with @ if a starting point does.
func (w *walker) findExec(args, starts []arg, c context) (out []arg, used int, why string) {
	end := -1
	for i := range args {
		if !args[i].lit {
			return nil, 0, "find: a word is not literal: " + shortForm(args[i].text)
		}
		if args[i].val == ";" || args[i].val == "+" && i > 0 && args[i-1].val == "{}" {
			end = i
			break
		}
	}
	if end < 1 {
		return nil, 0, "find: -exec has no command or no end"
	}
	lead := "./"
	for i := range starts {
		if strings.HasPrefix(starts[i].lead, "@") {
			lead = "@"
		}
	}
	inner := make([]arg, end)
	copy(inner, args[:end])
	for i := range inner {
		switch {
		case inner[i].val == "{}" && i > 0:
			// Any number of paths. The literal text is only for the analysis: the
			// word is written unchanged.
			inner[i] = arg{text: "{}", val: "{}", glob: true, lead: lead, script: quote("{}")}
		case strings.Contains(inner[i].val, "{}"):
			return nil, 0, "find: {} is part of a word"
		}
	}
	out, why = w.within("find -exec", inner, c)
	return append(append([]arg(nil), out...), args[end]), end + 1, why
}

// within judges a command that another program runs.
func (w *walker) within(by string, args []arg, c context) ([]arg, string) {
	name := args[0].val
	s := table[name]
	if !args[0].lit || strings.Contains(name, "/") || s == nil || !s.outside || name == "find" {
		return nil, by + ": " + shortForm(args[0].text) + " is not on the table of commands that it may run"
	}
	return w.bySpec(name, s, args, c)
}

// judgeRunner judges xargs and timeout: their flags, then a command of the table.
func (w *walker) judgeRunner(key string, args []arg, c context) ([]arg, string) {
	p := &parsed{name: key, s: table[key], args: args, vals: map[string][]arg{}}
	i, why := p.leading()
	if why != "" {
		return args, why
	}
	if key == "timeout" {
		if i >= len(args) || !args[i].lit || args[i].val == "" || args[i].val[0] < '0' || args[i].val[0] > '9' {
			return args, "timeout: it has no time"
		}
		i++
	}
	for j := range args[:i] {
		if args[j].script == "" {
			return args, key + ": a word cannot be written anew"
		}
	}
	inner := append([]arg(nil), args[i:]...)
	if len(inner) == 0 {
		if key == "timeout" {
			return args, "timeout: it has no command"
		}
		inner = []arg{literal("echo")}
	}
	if key == "xargs" {
		if why := w.addInput(inner, replacements(p)); why != "" {
			return args, why
		}
	}
	var out []arg
	if key == "timeout" && inner[0].lit && inner[0].val == "git" {
		out, _, why = w.judgeGit(inner, c)
	} else if key == "timeout" && inner[0].lit && inner[0].val == "find" {
		out, why = w.judgeFind(inner, c)
	} else {
		out, why = w.within(key, inner, c)
	}
	if why != "" {
		return args, why
	}
	return append(append([]arg(nil), args[:i]...), out...), ""
}

// replacements returns the placeholders that xargs replaces by its input. GNU's -i
// and --replace take only attached values.
func replacements(p *parsed) []string {
	var out []string
	for _, f := range []string{"-I", "-i", "--replace"} {
		for _, v := range p.vals[f] {
			if v.val != "" {
				out = append(out, v.val)
			}
		}
	}
	if p.hasFlag("-i --replace") {
		out = append(out, "{}")
	}
	return out
}

// addInput adds the input of xargs to a command: any number of unknown words, which may
// look like flags.
func (w *walker) addInput(inner []arg, replace []string) string {
	name := inner[0].val
	s := table[name]
	if s == nil || !s.harmless || !s.outside {
		return "xargs: " + shortForm(inner[0].text) + " is not on the table of commands that it may run"
	}
	w.read([]Path{{Dynamic: true}})
	for _, r := range replace {
		if strings.Contains(name, r) {
			return "xargs: the name of the command comes from standard input"
		}
		for i := 1; i < len(inner); i++ {
			if strings.Contains(inner[i].val, r) {
				inner[i].stdin = true
			}
		}
	}
	return ""
}

// findWords returns the words of find with "" in place of those that are values of tests: -delete
// after -name is a name.
func findWords(words []string) []string {
	out := slices.Clone(words)
	for i := 0; i < len(out); i++ {
		for range findTests[out[i]] {
			if i++; i < len(out) {
				out[i] = ""
			}
		}
	}
	return out
}
