package shellsafe

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call walks a simple command with its redirects.
func (w *walker) call(n *syntax.CallExpr, rs []*syntax.Redirect, c context) flow {
	w.commands++
	at := len(w.a.Commands)
	w.a.Commands = w.appendCommand(Command{}) // reserves its place before its substitutions
	kept := at < len(w.a.Commands)
	reasonBefore := w.reason
	w.reason = ""

	prefix, set := w.prefix(n, c)
	args := w.words(n.Args, c)
	var files []Path
	out := &outputs{}
	redirs, toFile := w.redirects(rs, c, &files, out)
	for _, r := range rs {
		if w.readsDevice(r) && w.reason == "" {
			w.deny("it reads from a device")
		}
	}
	hidden := c.wrapped || toFile || !w.plainSettings(n, args)
	cmd := Command{Wrapped: hidden || c.timed, Inner: c.inner, Redirects: files, Outputs: out.names}
	if len(args) == 0 {
		cmd.Text, cmd.Wrapped = w.source(n), c.wrapped || c.timed || len(out.names) > 0
		w.changes = w.changes || slices.ContainsFunc(n.Assigns, steersBy)
		cmd.Reads = w.reason == "" && !slices.ContainsFunc(n.Assigns, reaches)
		w.soft("it sets a variable: " + shortForm(cmd.Text))
		w.settle(at, kept, cmd, reasonBefore)
		return same(set)
	}
	w.describe(&cmd, args)
	from := len(w.a.Reads)
	if cmd.Name == "!" {
		w.unresolve("a ! stands where it is the name of a command")
	}
	plain := !hidden && allowable(args) && !slices.ContainsFunc(rs, w.readsDevice)
	cmd.Allowable, cmd.Repeated = plain && !c.timed, plain && c.timed

	inner := c
	inner.input = w.inputOf(rs, c)
	cmd.place(inner)
	if n := len(files); n > 0 && len(rs) > 0 && rs[len(rs)-1].Op == syntax.RdrIn {
		if f := files[n-1]; f.Input && !f.Dynamic && path.IsAbs(f.Dir) {
			cmd.InputFile = f.Text
			if !path.IsAbs(f.Text) {
				cmd.InputFile = path.Join(f.Dir, f.Text)
			}
		}
	}
	cmd.Possible = w.possible(args, inner)
	f := w.run(args, inner)
	words, hard := w.judge(args, c)
	w.added = w.added || hard && w.reason == ""
	if w.launched != "" {
		w.deny(w.launched)
		w.launched = ""
	}
	cmd.Reads = w.reason == ""
	cmd.ReadOnly = cmd.Reads && !hard && len(n.Assigns) == 0 && out.why == ""
	if out.why != "" {
		w.reason, w.changes = out.why, true
	}
	cmd.reads = append(w.a.Reads[from:len(w.a.Reads):len(w.a.Reads)], inputs(rs, files)...)
	w.script.WriteString(prefix)
	for i := range words {
		if i > 0 {
			w.script.WriteString(" ")
		}
		w.script.WriteString(words[i].script)
	}
	w.script.WriteString(redirs)
	w.settle(at, kept, cmd, reasonBefore)
	return f
}

// place sets the folders and the input of a command.
func (c *Command) place(in context) {
	c.Dirs = in.dirs.list
	if !in.input.open {
		c.Input = in.input.text
	}
}

// inputs returns the redirected files of a command that reads one of them.
func inputs(rs []*syntax.Redirect, files []Path) []Path {
	for _, r := range rs {
		if r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut {
			return files // a written file among them does no harm
		}
	}
	return nil
}

// settle stores a command in its place, and restores the first reason.
func (w *walker) settle(at int, kept bool, cmd Command, reason string) {
	cmd.UnknownWrites, w.unknownWrites = w.unknownWrites, false
	if kept {
		w.a.Commands[at] = cmd
	}
	if reason != "" {
		w.reason = reason
	}
}

// describe sets the fields that rules match.
func (w *walker) describe(cmd *Command, args []arg) {
	cmd.Words = make([]string, len(args))
	for i := range args {
		cmd.Words[i] = args[i].text
	}
	cmd.Text, cmd.KnownPrefix, cmd.Literal = joined(args)
	if cmd.Literal {
		cmd.KnownPrefix = ""
	}
	cmd.Name = base(args[0].text)
	cmd.Forms = w.forms(args)
}

// joined returns the text of the words, the part of it that is certain, and whether
// all words are as the command receives them.
func joined(args []arg) (text, sure string, lit bool) {
	words := make([]string, len(args))
	lit = true
	certain := 0
	for i := range args {
		a := &args[i]
		words[i] = a.text
		if !lit {
			continue
		}
		if i > 0 {
			certain++ // the blank
		}
		lit = a.lit && !a.folded
		switch {
		case lit:
			certain += len(a.text)
		case !a.folded && strings.HasPrefix(a.text, a.lead):
			certain += len(a.lead)
		}
	}
	text = strings.Join(words, " ")
	return text, text[:certain], lit
}

// allowable reports whether the words are what they seem to a rule: each is literal, a
// pattern that cannot become a flag, or what a command prints that only reads. echo prints all.
func allowable(args []arg) bool {
	dashes, echo := false, args[0].lit && args[0].val == "echo"
	for i := range args {
		a := &args[i]
		switch {
		case a.lit && (!a.folded || strings.HasPrefix(a.text, "~")):
			dashes = dashes || a.val == "--"
		case a.glob && i > 0 && (dashes || a.lead != "" && a.lead[0] != '-'):
		case (a.sub || a.reads) && i > 0 && !strings.HasPrefix(a.lead, "-"), a.values && echo:
		default:
			return false
		}
	}
	return true
}

// run analyses the effects of a command other than reading: the folder it changes
// to, the commands it runs, the files it writes.
func (w *walker) run(args []arg, c context) flow {
	name := &args[0]
	if !name.lit || name.val == "" {
		w.unresolve("the name of a command is not literal: " + shortForm(name.text))
		w.unwrap(args, c) // still analyse its words
		return same(dirs{unknown: true})
	}
	for i := range args {
		w.suspectText(args[i])
	}
	f := same(c.dirs)
	switch base(name.val) {
	case "cd":
		f.ok = w.cd(args[1:], c)
	case "pushd":
		f.ok = dirs{unknown: true}
		if len(args) == 2 && args[1].lit && !strings.HasPrefix(args[1].val, "+") {
			f.ok = w.cd(args[1:], c)
		}
	case "popd", "source", ".", "eval", "dirs", "builtin", "command":
		f.ok = dirs{unknown: true}
		if base(name.val) == "command" && len(args) > 1 && (args[1].val == "-v" || args[1].val == "-V") {
			f.ok = c.dirs
		}
		f.fail = f.ok
	}
	switch base(name.val) {
	case "shopt", "set":
		w.options = true
	case "printf":
		if len(args) > 1 && strings.HasPrefix(args[1].text, "-v") {
			w.evaluates, w.assigns = true, true
			w.sets(args[1:])
		}
	case "read", "mapfile", "readarray", "unset", "wait", "getopts", "source", ".", "eval":
		w.evaluates, w.assigns = true, true
		w.sets(args[1:])
	case "test", "[":
		w.evaluates = w.evaluates || arithmeticTest(args[1:])
	}
	w.meet()
	w.unwrap(args, c)
	w.touched(args, c)
	w.worksIn(args, c)
	return f
}

// cd returns the folders after a successful cd.
func (w *walker) cd(args []arg, c context) dirs {
	if len(args) > 0 && args[0].lit && args[0].val == "--" {
		args = args[1:]
	}
	switch {
	case len(args) == 0 && w.o.Home != "" && !w.assigns:
		return dirs{list: []string{w.o.Home}, vars: c.dirs.vars}
	case len(args) != 1 || !args[0].lit || args[0].val == "" || args[0].val[0] == '-':
		return dirs{list: c.dirs.list, unknown: true, vars: c.dirs.vars} // a guess, for rules that deny
	case w.assigns: // CDPATH may lead elsewhere
		to := c.dirs.cd(args[0].val)
		to.unknown = true
		return to
	}
	return c.dirs.cd(args[0].val)
}

// prefix walks the assignments before a command, and returns the harmless ones for
// the script: those that choose a language, a time zone or colours. set is c.dirs with the
// variables that the command sets if it has nothing but assignments.
func (w *walker) prefix(n *syntax.CallExpr, c context) (script string, set dirs) {
	assigned := w.assigns
	var out strings.Builder
	for _, a := range n.Assigns {
		v := w.assignment(a, c)
		if len(n.Args) == 0 {
			if a.Value == nil {
				v = literal("")
			}
			c.dirs = w.bind(a.Name, v, c.dirs)
			continue
		}
		name := ""
		if a.Name != nil {
			name = a.Name.Value
		}
		if a.Append || a.Index != nil || a.Array != nil || !harmlessVariable(name) || a.Value != nil && !v.lit || !harmlessValue(name, v.val) {
			w.changes = w.changes || steers(name)
			w.soft("it sets a variable: " + shortForm(w.source(a)))
			continue
		}
		out.WriteString(name + "=" + quote(v.val) + " ")
		assigned = assigned || name == "HOME" || name == "PWD"
	}
	if len(n.Args) > 0 {
		w.assigns = assigned // it applies to this command only
	}
	return out.String(), c.dirs
}

// plainSettings reports whether the assignments before a command set nothing that could have
// it do something else than a rule on its words allows.
func (w *walker) plainSettings(n *syntax.CallExpr, args []arg) bool {
	for _, a := range n.Assigns {
		if a.Name == nil || a.Append || a.Index != nil || a.Array != nil {
			return false
		}
		name, v := a.Name.Value, literal("")
		if a.Value != nil {
			v = w.plainWord(a.Value)
		}
		plain := harmlessVariable(name) || has(plainVariables, name) || name == "PYTHONPATH" && len(args) > 0 && strings.HasPrefix(args[0].val, "py")
		if !plain || !v.lit || !harmlessValue(name, v.val) && !has("RUST_LOG DEBUG PYTHONPATH", name) || strings.HasPrefix(v.val, "/") || strings.Contains(v.val, "..") {
			return false
		}
	}
	return true
}

// plainVariables lists variables that choose how much programs of development print, and in which
// environment of the project they run. Their values name neither files nor programs.
const plainVariables = "CI NODE_ENV MIX_ENV RAILS_ENV RACK_ENV APP_ENV FLASK_ENV DEBUG RUST_LOG RUST_BACKTRACE LOG_LEVEL VERBOSE PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUTF8 PYTHONWARNINGS CGO_ENABLED GOOS GOARCH GOMAXPROCS CARGO_TERM_COLOR NEXT_TELEMETRY_DISABLED DO_NOT_TRACK HUSKY PORT TEST_SCALE"

// reaches reports whether an assignment may change what a program does, if the variable is exported
// already: it steers, or is a setting of a program.
func reaches(a *syntax.Assign) bool {
	if steersBy(a) || a.Append || a.Index != nil || a.Array != nil || settingName.MatchString(a.Name.Value) {
		return true
	}
	return a.Value != nil && !valued(a.Value)
}

// settingName matches the names of variables that are settings of shells, libraries and tools.
var settingName = regexp.MustCompile(`(?i)^(LC_|LANG|XDG_|GIT|GO|CGO|CARGO|RUST|NODE|NPM|YARN|PNPM|BUN|DENO|COREPACK|PYTHON|PIP|UV_|VIRTUAL|CONDA|PYENV|POETRY|JAVA|JDK|MAVEN|M2_|GRADLE|SBT|KOTLIN|ANDROID|DOTNET|NUGET|RUBY|GEM|BUNDLE|RBENV|COMPOSER|PHP|PERL|MIX|HEX|ERL|STACK|CABAL|NIX|GUIX|HOMEBREW|ASDF|MISE|BAZEL|CONAN|FLUTTER|ZIG|SSL_|CURL|DOCKER|KUBE|AWS|LD_|DYLD|BASH|SHELL|EDITOR|TMPDIR|OPTIND|HIST|TIMEFORMAT)|(PROXY|FLAGS|PATH|_CONFIG|_HOME|_CACHE|_FILE|_INDEX|_REGISTRY|_OPTS|_OPTIONS)$`)

// valued reports whether all that is unknown of a word are values of variables and what commands
// print.
func valued(n *syntax.Word) bool {
	for _, part := range n.Parts {
		parts := []syntax.WordPart{part}
		if q, ok := part.(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
		for _, part := range parts {
			switch p := part.(type) {
			case *syntax.Lit, *syntax.SglQuoted, *syntax.CmdSubst:
			case *syntax.ParamExp:
				if !isValue(p) {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

func harmlessVariable(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ", "NO_COLOR", "TERM", "COLUMNS", "LINES", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR":
		return true
	}
	return strings.HasPrefix(name, "LC_") && syntax.ValidName(name)
}

// harmlessValue rejects values with paths: time zones and terminals can be files.
func harmlessValue(name, v string) bool {
	if len(v) > 64 || strings.Contains(v, "..") || strings.HasPrefix(v, "/") {
		return false
	}
	for i := 0; i < len(v); i++ {
		b := v[i]
		if b == '/' && name == "TZ" || strings.IndexByte("_.@+-,:", b) >= 0 && i > 0 || strings.IndexByte("_.@+-", b) >= 0 {
			continue
		}
		if (b < '0' || b > '9') && (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') {
			return false
		}
	}
	return true
}
