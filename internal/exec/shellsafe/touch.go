package shellsafe

import (
	"slices"
	"strings"
)

// The functions of this file handle programs whose words name files in special
// ways.

func (w *walker) touchedByDD(args []arg, c context) {
	for i := range args {
		a := &args[i]
		_, text, _ := strings.Cut(a.val, "=")
		v := literal(text)
		if v.lit = a.lit; !a.lit {
			v.text = a.text
		}
		if strings.HasPrefix(a.lead, "of=") {
			w.write(content(c.dirs.paths(&v, false)))
		} else if strings.HasPrefix(a.lead, "if=") {
			w.read(c.dirs.paths(&v, false))
		}
	}
}

// touchedByGit records the words of git that lead out of its folder: git may read
// there, whatever they mean to it.
func (w *walker) touchedByGit(args []arg, c context) {
	w.touchedByGitVerb(args, c)
	for i := range args {
		v := args[i]
		if name, value, eq := strings.Cut(v.val, "="); v.lit && (name == "--output" || name == "-o") {
			if to := literal(value); eq {
				w.write(content(c.dirs.paths(&to, false)))
			} else if i+1 < len(args) {
				w.write(content(c.dirs.paths(&args[i+1], false)))
			}
			continue
		}
		if name, value, eq := strings.Cut(v.val, "="); eq && strings.HasPrefix(name, "--") && v.lit {
			if has(gitValues, name) {
				continue
			}
			v = literal(value)
		}
		if !v.lit || strings.ContainsAny(v.val, " \n") || i > 0 && (has(gitValues, args[i-1].val) && !has("-o --output", args[i-1].val) || args[i-1].val == "grep") {
			continue // a pattern, or other text
		}
		if strings.HasPrefix(v.val, "/") || strings.HasPrefix(v.val, "../") || strings.Contains(v.val, "/../") {
			if made := gitMakes(args[:i], i == len(args)-1); made {
				w.write(c.dirs.paths(&v, false))
			} else {
				from := c.dirs.paths(&v, false)
				for j := range from {
					from[j].Uncertain = slices.ContainsFunc(args[:i], func(a arg) bool { return has("config push bundle submodule", a.val) })
				}
				w.read(from)
			}
		}
	}
}

// gitMakes reports whether git creates a folder at a path operand, given the words
// before it. git clone creates the last operand if a source comes before it; git
// init and git worktree create every operand.
func gitMakes(ahead []arg, last bool) bool {
	for i := range ahead {
		switch ahead[i].val {
		case "init", "worktree":
			return true
		case "clone":
			return last && slices.ContainsFunc(ahead[i+1:], func(a arg) bool {
				return !strings.HasPrefix(a.lead, "-") && (strings.ContainsAny(a.val, "/:") || a.val == ".")
			})
		case "bundle":
			return i+1 < len(ahead) && ahead[i+1].val == "create" && i+2 == len(ahead)
		}
	}
	return false
}

// touchedByFind records the files that find writes to and, with -delete, the
// folders below which it removes files.
func (w *walker) touchedByFind(args []arg, c context) {
	starts := 0
	for starts < len(args) && (!strings.HasPrefix(args[starts].lead, "-") || has("-H -L -P", args[starts].val)) && !has("( ! ,", args[starts].val) {
		starts++
	}
	words := findWords(texts(args))
	for i := range args {
		switch {
		case has("-fprint -fprint0 -fprintf -fls", words[i]) && i+1 < len(args):
			w.write(content(c.dirs.paths(&args[i+1], false)))
		case words[i] == "-delete":
			for j := range args[:starts] {
				if !strings.HasPrefix(args[j].lead, "-") {
					w.write(c.dirs.paths(&args[j], true))
				}
			}
		}
	}
}

// values returns the words as the command receives them, as far as known.
func values(args []arg) []string {
	out := make([]string, len(args))
	for i := range args {
		out[i] = args[i].val
	}
	return out
}

// touchedByAwk records the files that a program names after < and >.
func (w *walker) touchedByAwk(args []arg, c context) {
	for i := range args {
		for rest := args[i].text; ; {
			at := strings.IndexAny(rest, "<>")
			if at < 0 {
				break
			}
			out := rest[at] == '>'
			rest = strings.TrimLeft(rest[at+1:], "> \t")
			if name, _, ok := strings.Cut(strings.TrimPrefix(rest, `"`), `"`); ok && strings.HasPrefix(rest, `"`) {
				v := literal(name)
				if out {
					w.write(content(c.dirs.paths(&v, false)))
				} else {
					w.read(c.dirs.paths(&v, false))
				}
			}
		}
	}
}

// touchedBySed records the files that a script names: by r, R, w, W and s///w.
func (w *walker) touchedBySed(args []arg, c context) {
	scripts, _ := sedTexts(args)
	if scripts == "" {
		return
	}
	r := sedReader{s: scripts}
	r.programs()
	for _, name := range r.reads {
		v := literal(name)
		w.read(c.dirs.paths(&v, false))
	}
	for _, name := range r.writes {
		v := literal(name)
		w.write(content(c.dirs.paths(&v, false)))
	}
}
