package shellsafe

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The functions of this file list the programs that variables name, for rules that
// deny and ask: GIT_SSH_COMMAND, PAGER, BASH_ENV.

// programVariables lists variables whose value is a command, run by a shell or
// directly.
const programVariables = "GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND " +
	"EDITOR VISUAL PAGER BROWSER FCEDIT SUDO_EDITOR SUDO_ASKPASS SSH_ASKPASS LESSOPEN LESSCLOSE MANPAGER MANROFF MANBROWSER SYSTEMD_PAGER SYSTEMD_EDITOR BAT_PAGER DELTA_PAGER GH_PAGER GH_EDITOR GH_BROWSER GLAB_PAGER AWS_PAGER PSQL_PAGER PSQL_EDITOR KUBE_EDITOR KUBECTL_EXTERNAL_DIFF CVSEDITOR SVN_EDITOR SVN_SSH HGEDITOR HGMERGE HG P4EDITOR P4DIFF P4MERGE " +
	"RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH CVS_SERVER RSH PROMPT_COMMAND FZF_DEFAULT_COMMAND FZF_CTRL_T_COMMAND FZF_ALT_C_COMMAND " +
	"CC CXX CPP LD AR AS NM FC F77 GCC HOSTCC HOSTCXX STRIP RANLIB OBJCOPY YACC LEX INSTALL MAKE SHELL CONFIG_SHELL MAKEINFO PKG_CONFIG NVCC SWIFTC CCACHE_PREFIX CCACHE_COMPILER SCCACHE_PATH AWK SED GREP PERL PYTHON RUBY " +
	"RUSTC RUSTDOC RUSTFMT CARGO RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTC_LINKER PIP_PYTHON JAVACMD NINJA " +
	"GEM_EDITOR npm_config_script_shell npm_config_shell npm_config_editor npm_config_viewer npm_config_git npm_config_node_gyp npm_config_browser npm_config_python"

// fileVariables lists variables whose value is one or more files that programs run
// or load when they start. Each file counts as a command.
const fileVariables = "BASH_ENV ENV ZDOTDIR LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES PYTHONSTARTUP PERL5DB GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM RIPGREP_CONFIG_PATH OPENSSL_ENGINES GCONV_PATH IN_SYSTEM VIMINIT EXINIT GVIMINIT GOCACHEPROG GCC_EXEC_PREFIX COMPILER_PATH "

// flagVariables maps variables to programs that take the value as further words.
var flagVariables = map[string]string{
	"TAR_OPTIONS": "tar", "GOFLAGS": "go", "ZIPOPT": "zip", "MANOPT": "man", "MAKEFLAGS": "make", "GNUMAKEFLAGS": "make", "MFLAGS": "make", "FZF_DEFAULT_OPTS": "fzf",
	"NODE_OPTIONS": "node", "PERL5OPT": "perl", "RUBYOPT": "ruby", "JAVA_TOOL_OPTIONS": "java", "_JAVA_OPTIONS": "java", "JDK_JAVA_OPTIONS": "java",
}

// loads lists flags of interpreters that load code.
const loads = "-r --require --import --loader --experimental-loader -M -m -d -I -agentlib -agentpath -javaagent"

// isProgram reports whether a variable names a program or code.
func isProgram(name string) bool {
	lower := strings.ToLower(name)
	return has(programVariables, name) || has(fileVariables, name) || flagVariables[name] != "" || strings.HasPrefix(lower, "npm_config_") && has(programVariables, lower) ||
		strings.HasPrefix(name, "GIT_CONFIG_") || strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(name, "CARGO_") && cargoProgram(name) ||
		strings.HasPrefix(name, "CMAKE_") && (strings.HasSuffix(name, "_LAUNCHER") || strings.HasSuffix(name, "_COMPILER") || strings.HasSuffix(name, "_MAKE_PROGRAM")) ||
		len(name) == 3 && name[:2] == "PS"
}

// namesProgram reports whether the name of a variable that is on no list says that its value is a
// command.
func namesProgram(name string) bool {
	return slices.ContainsFunc(strings.Fields("EDITOR EDIT PAGER BROWSER SHELL CMD COMMAND PROG PROGRAM HOOK RUNNER WRAPPER LAUNCHER ASKPASS VIEWER OPENER BIN BINARY EXE EXEC EXECUTABLE"), func(s string) bool { return strings.HasSuffix(name, s) })
}

// steers reports whether a variable decides which programs run, or how the shell reads words.
func steers(name string) bool {
	return name == "" || isProgram(name) || has("PATH IFS CDPATH GLOBIGNORE BASHOPTS SHELLOPTS HOME PWD", name)
}

// steersBy reports whether an assignment may set a variable that steers.
func steersBy(a *syntax.Assign) bool { return a.Name == nil || steers(a.Name.Value) }

// cargoProgram reports whether a variable is a setting of cargo that names a
// program.
func cargoProgram(name string) bool {
	return slices.ContainsFunc([]string{"_RUNNER", "_LINKER", "_RUSTC", "_RUSTDOC", "_WRAPPER", "_PROVIDER"}, func(s string) bool { return strings.HasSuffix(name, s) })
}

// variable records a variable with its value, and lists the commands that programs
// run because of it.
func (w *walker) variable(name, value string, lit bool, c context) {
	if w.vars == nil {
		w.vars = map[string]arg{}
	}
	w.vars[name] = arg{text: value, val: value, lit: lit}
	if value == "" || !isProgram(name) && !(lit && namesProgram(name)) {
		return
	}
	c.inner, c.wrapped, c.fed = true, true, false
	w.listUncertain(func() { w.named(name, value, lit, c) })
	if !lit {
		w.setIncomplete("what the variable " + name + " has programs run is not known")
	}
}

// named lists the commands in the value of a variable.
func (w *walker) named(name, value string, lit bool, c context) {
	known := literal(value)
	known.lit = lit
	switch {
	case strings.HasPrefix(name, "BASH_FUNC_"):
		w.reparse(strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(value), "()"), " "), true, c)
	case len(name) == 3 && name[:2] == "PS":
		if strings.ContainsAny(value, "$`") && (strings.Contains(value, "$(") || strings.Contains(value, "`")) {
			w.reparse(": "+value, true, c)
		}
	case strings.HasPrefix(name, "GIT_CONFIG_VALUE_"):
		key := w.vars["GIT_CONFIG_KEY_"+strings.TrimPrefix(name, "GIT_CONFIG_VALUE_")]
		w.gitPair(key.val, value, c)
	case strings.HasPrefix(name, "GIT_CONFIG_KEY_"):
		if v, ok := w.vars["GIT_CONFIG_VALUE_"+strings.TrimPrefix(name, "GIT_CONFIG_KEY_")]; ok {
			w.gitPair(value, v.val, c)
		}
	case name == "GIT_CONFIG_PARAMETERS":
		w.setIncomplete("what the variable GIT_CONFIG_PARAMETERS has git run is not known")
		key, v, _ := strings.Cut(strings.ReplaceAll(value, "'", ""), "=")
		w.gitPair(key, v, c)
	case name == "GIT_CONFIG_COUNT" || value == "/dev/null":
	case has(fileVariables, name):
		for _, f := range strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ' ' }) {
			if !lit || isDevice(f) || strings.HasPrefix(name, "GIT_") {
				w.setIncomplete("what the variable " + name + " has programs run is not known")
			}
			w.inner([]arg{literal(f)}, c)
		}
		if strings.Contains(value, "!") { // VIMINIT
			_, value, _ = strings.Cut(value, "!")
			w.reparse(value, true, c)
		}
	case flagVariables[name] != "":
		w.flagVariable(flagVariables[name], value, c)
	case has(shells, base(value)):
		w.inner([]arg{literal(value), literal("--version")}, c) // the word names the shell, not the command it runs
	default:
		value = strings.TrimLeft(value, "|-") // LESSOPEN
		w.reparse(value, true, c)
	}
}

// flagVariable lists the commands that a program runs because of words from the
// environment.
func (w *walker) flagVariable(program, value string, c context) {
	words := append([]arg{literal(program)}, literalWords(value)...)
	switch program {
	case "node", "perl", "ruby", "java":
		if slices.ContainsFunc(words[1:], func(a arg) bool {
			return slices.ContainsFunc(strings.Fields(loads), func(f string) bool { return strings.HasPrefix(a.val, f) })
		}) {
			w.inner(words, c)
		}
	case "make":
		w.launches(program, append(words, literal(value)), c) // covers a value with blanks
	default:
		w.launches(program, words, c)
		if at := strings.IndexByte(value, '='); at > 0 { // or the whole value is one word
			w.launches(program, []arg{words[0], literal(value)}, c)
		}
	}
}

// gitPair lists the commands that git runs because of a setting from the
// environment. An alias may be called by any words of git.
func (w *walker) gitPair(key, value string, c context) {
	lower := strings.ToLower(key)
	switch {
	case strings.HasPrefix(lower, "alias.") && !strings.HasPrefix(value, "!"):
		w.inner(append([]arg{literal("git")}, literalWords(value)...), c)
	case key == "" && value != "":
		w.reparse(strings.TrimPrefix(value, "!"), true, c)
		w.inner(append([]arg{literal("git")}, literalWords(value)...), c)
	default:
		w.gitSetting(key+"="+value, true, c)
	}
}

// listUncertain calls list, which lists commands that may not run, or may run in another
// form. Parts that list finds unresolved become doubts, and do not affect whether
// the text is read-only.
func (w *walker) listUncertain(list func()) {
	unresolved, known := w.a.Unresolved, w.verdicts
	list()
	if w.a.Unresolved != unresolved {
		w.setIncomplete(w.a.Unresolved)
	}
	w.a.Unresolved, w.verdicts = unresolved, known
}

func (w *walker) setIncomplete(why string) {
	if w.a.Incomplete == "" {
		w.a.Incomplete = why
	}
}

// assigned lists the commands that programs run because of an assignment, including
// a quoted one after export.
func (w *walker) assigned(a *syntax.Assign, v arg, c context) {
	switch {
	case a.Name != nil && a.Value != nil && a.Index == nil:
		w.variable(a.Name.Value, v.text, v.lit, c)
	case a.Name == nil && a.Value != nil && !strings.HasPrefix(v.lead, "-"):
		if name, value, ok := strings.Cut(v.text, "="); ok && (v.lit || strings.Contains(v.lead, "=")) {
			w.variable(name, value, v.lit, c)
		} else if !v.lit {
			w.setIncomplete("which variables are set is not known: " + shortForm(v.text))
		}
	}
}

// sets records that a builtin sets variables to values known only at run time.
func (w *walker) sets(args []arg) {
	if slices.ContainsFunc(args, func(a arg) bool { return isProgram(a.text) }) {
		w.setIncomplete("what a variable has programs run is not known")
	}
}
