package shellsafe

import "strings"

// The functions of this file handle the effects of a wrapper on the command it
// runs: xargs and similar programs add words; env -C and similar ones choose the
// folder.

// replaced returns the placeholder that xargs or parallel replaces by its input, or
// "" if the input goes after the command. For two placeholders it returns a blank,
// so that no text after the name counts as known.
func replaced(args []arg) string {
	place := ""
	for i := 1; i < len(args); i++ {
		v := args[i].val
		at := strings.IndexAny(v, "IiJ")
		name, value, eq := strings.Cut(v, "=")
		found := ""
		switch {
		case at > 0 && v[0] == '-' && strings.Trim(v[1:at], "0rtxpo") == "":
			switch {
			case at+1 < len(v):
				found = v[at+1:]
			case v[at] == 'i':
				found = "{"
			case i+1 < len(args):
				i++
				found = args[i].val
			}
		case len(name) > 2 && strings.HasPrefix("--replace", name):
			if found = "{"; eq {
				found = value
			}
		case place == "" && strings.Contains(v, "{"):
			place = "{"
		}
		switch {
		case found == "" || found == place:
		case place == "":
			place = found
		case place != "{":
			return " "
		}
	}
	return place
}

// replaces reports whether another program replaces a part of the text.
func (c *context) replaces(text string) bool {
	place := c.place
	if place == "{" {
		place = "{}"
	}
	return c.fed && place != "" && strings.Contains(text, place)
}

// fedUpTo returns the certain beginning of a command's text to which another
// program adds words: the whole text, or the text before the placeholder.
func fedUpTo(text, place string) string {
	if place != "" {
		if before, _, ok := strings.Cut(text, place); ok {
			return before
		}
	}
	return text + " "
}

// into returns the folders in which a wrapper runs its command, given the flag at
// the start of args.
func (w *walker) into(x *wrapper, args []arg, from dirs) dirs {
	t := fileCommand{vals: x.dir}
	flag, value, next := t.flag(args[0].val)
	if flag == "" {
		return from
	}
	to := literal(value)
	if next {
		if len(args) < 2 {
			return from
		}
		to = args[1]
	}
	if !to.lit {
		return dirs{unknown: true}
	}
	w.read(from.paths(&to, false))
	return from.cd(to.val)
}

// finds lists the commands that find and fd run.
func (w *walker) finds(args []arg, c context) {
	c.fed, c.place = true, "{"
	for i := 1; i < len(args); i++ {
		v := args[i].val
		if args[0].val == "find" || base(args[0].val) == "find" {
			if !has("-exec -execdir -ok -okdir", v) {
				continue
			}
			end := i + 1
			for end < len(args) && args[end].val != ";" && (args[end].val != "+" || args[end-1].val != "{}") {
				end++
			}
			w.inner(args[i+1:end], c)
			i = end
			continue
		}
		flag, attached, eq := strings.Cut(v, "=")
		switch {
		case has("-x -X --exec --exec-batch", flag) && eq:
			w.reparse(attached, true, c)
		case has("-x -X --exec --exec-batch", v):
			w.inner(args[i+1:], c)
			return
		case len(v) > 2 && v[0] == '-' && v[1] != '-' && strings.ContainsAny(v, "xX"):
			w.listPossible("fd", args[i+1:], c)
			return
		}
	}
}
