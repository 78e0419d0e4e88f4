package shellsafe

import "strings"

// awkVals lists the flags of awk programs that take the next word.
const awkVals = "-F -v -f -i -l -m -W --field-separator --assign --file --include --load"

// awkRuns lists the commands that an awk program gives to a shell. It does not see program files.
func (w *walker) awkRuns(args []arg, c context) {
	file := false
	for i := 1; i < len(args); i++ {
		v := args[i].text
		if len(v) < 2 || v[0] != '-' {
			if !file {
				w.awkProgram(&args[i], c)
			}
			return
		}
		flag, _, eq := strings.Cut(v, "=")
		switch text, used, is := commandFlag("-e --source", v, args[i+1:]); {
		case is:
			i += used
			w.awkProgram(&arg{text: text, lead: text, lit: args[i].lit}, c)
			file = true
		case v == "--":
		default:
			file = file || strings.HasPrefix(v, "-f") || flag == "--file" || strings.HasPrefix(v, "-E") || flag == "--exec"
			if has(awkVals, flag) && !eq {
				i++
			}
		}
	}
}

func (w *walker) awkProgram(a *arg, c context) {
	starts := strings.Contains(a.text, "system") || strings.Contains(strings.ReplaceAll(a.text, "||", ""), "|")
	if !a.lit && (a.lead == "" || starts) || awkOpen(a.text) {
		w.setIncomplete("awk can run commands that its input or its variables name")
	}
	if !starts {
		return
	}
	for rest := a.text; ; {
		_, tail, ok := strings.Cut(rest, `"`)
		if !ok {
			return
		}
		text, after, ok := strings.Cut(tail, `"`)
		if !ok {
			return
		}
		if w.plausible(text) {
			w.reparse(text, true, c)
		}
		rest = after
	}
}

// awkOpen reports whether an awk program may give a shell a text that is not one string of the
// program.
func awkOpen(s string) bool {
	ahead, last := byte(0), byte(0) // the last characters that are no blanks; a string counts as one "
	for i := 0; i < len(s); {
		b, rest := s[i], s[i+1:]
		switch {
		case b == ' ' || b == '\t':
			i++
			continue
		case b == '"':
			i += awkEnd(s[i:])
			ahead, last = last, b
			continue
		case b == '#':
			i += len(untilAny(s[i:], "\n"))
			continue
		case b == '/' && strings.IndexByte("\x00\n~(,!&|{};", last) >= 0:
			i += awkEnd(s[i:])
			ahead, last = last, b
			continue
		case b == '|' && strings.HasPrefix(rest, "|"):
			i++
		case b == '|':
			to := strings.TrimLeft(rest, "& \t")
			if strings.HasPrefix(to, "getline") {
				if last != '"' || strings.IndexByte("\x00\n(,!&|{};", ahead) < 0 {
					return true
				}
			} else if !awkString(to, "\n;}") {
				return true
			}
		case strings.HasPrefix(s[i:], "system") && !letter(last):
			call, is := strings.CutPrefix(strings.TrimLeft(rest[len("ystem"):], " \t"), "(")
			if is && !awkString(strings.TrimLeft(call, " \t"), ")") {
				return true
			}
		}
		ahead, last = last, b
		i++
	}
	return false
}

// awkString reports whether s begins with a string, and with one of ends after that.
func awkString(s, ends string) bool {
	if !strings.HasPrefix(s, `"`) {
		return false
	}
	rest := strings.TrimLeft(s[awkEnd(s):], " \t")
	return rest == "" || strings.IndexByte(ends, rest[0]) >= 0
}

// awkEnd returns the length of the string or regular expression at the start of s.
func awkEnd(s string) int {
	class := false
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[0] == '/' && s[i] == '[':
			class = true
		case s[i] == ']':
			class = false
		case s[i] == s[0] && !class:
			return i + 1
		}
	}
	return len(s)
}

// plausible reports whether a text begins like a command.
func (w *walker) plausible(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return text != "" && (letter(text[0]) || strings.IndexByte("/.~\\", text[0]) >= 0)
}
