package shellsafe

import (
	"slices"
	"strings"
)

// The functions of this file list the commands that git runs because of its words
// and settings.

// gitRuns lists the commands that git runs because of its arguments.
func (w *walker) gitRuns(args []arg, c context) {
	rebase := slices.ContainsFunc(args, func(a arg) bool { return a.val == "rebase" })
	difftool := slices.ContainsFunc(args, func(a arg) bool { return a.val == "difftool" })
	for i := 1; i < len(args); i++ {
		v := args[i].text
		switch {
		case v == "run" && args[i-1].val == "bisect", v == "foreach" && slices.ContainsFunc(args[:i], func(a arg) bool { return a.val == "submodule" }):
			rest := args[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].val, "-") {
				rest = rest[1:]
			}
			if len(rest) == 1 {
				w.reparse(rest[0].text, rest[0].lit, c)
			} else {
				w.inner(rest, c)
			}
			return
		case v == "-x" && i+1 < len(args):
			w.reparse(args[i+1].text, args[i+1].lit, c)
		case strings.HasPrefix(v, "-x") && (rebase || difftool), strings.HasPrefix(v, "-i") && rebase, strings.HasPrefix(v, "-O") && slices.ContainsFunc(args, func(a arg) bool { return a.val == "grep" }):
			flags := "-x"
			if v[1] == 'O' {
				flags = "-O"
			}
			if text, used, is := commandFlag(flags, v, args[i+1:]); is {
				w.reparse(text, args[i+used].lit, c)
			}
		case v == "for-each-repo" && i+1 < len(args):
			at := operandsAt(args[i+1:], &global{vals: "--config"}, false)
			for _, k := range at {
				w.inner(append([]arg{literal("git")}, args[i+1+k:]...), c)
			}
		case v == "remote-ext" && i+2 < len(args):
			w.reparse(args[i+2].text, args[i+2].lit, c)
		case v == "--config-env" && i+1 < len(args):
			w.gitVariable(args[i+1].text, args[i+2:], c)
		case strings.HasPrefix(v, "--config-env="):
			w.gitVariable(v[len("--config-env="):], args[i+1:], c)
		case v == "config" && i+2 < len(args):
			w.gitConfigured(args[i+1:], c)
		case v == "-c" && i+1 < len(args):
			w.gitSetting(args[i+1].text, args[i+1].lit, c)
			w.gitAlias(&args[i+1], args[i+2:], c)
		case strings.HasPrefix(v, "-c") && strings.Contains(v, "=") && slices.ContainsFunc(args, func(a arg) bool { return a.val == "clone" }):
			w.gitSetting(v[2:], args[i].lit, c)
		case strings.HasPrefix(v, "--config="):
			w.gitSetting(v[len("--config="):], args[i].lit, c)
		case strings.HasPrefix(v, "--template"):
			w.setIncomplete("what the hooks of a template run is not known")
		case (v == "--config" || v == "-u") && i+1 < len(args) && slices.ContainsFunc(args, func(a arg) bool { return a.val == "clone" }):
			if v == "-u" {
				w.reparse(args[i+1].text, args[i+1].lit, c)
			} else {
				w.gitSetting(args[i+1].text, args[i+1].lit, c)
			}
		case strings.HasPrefix(v, "ext::"):
			w.reparse(v[5:], args[i].lit, c)
		case strings.HasPrefix(v, "--") && !has("--to --cc", strings.SplitN(v, "=", 2)[0]):
			if text, used, is := commandFlag(gitFlags, v, args[i+1:]); is {
				w.reparse(text, args[i+used].lit, c)
			}
		}
	}
}

// gitAlias lists the git command that an alias on its command line means.
func (w *walker) gitAlias(setting *arg, rest []arg, c context) {
	key, value, ok := strings.Cut(setting.text, "=")
	name, is := strings.CutPrefix(strings.ToLower(key), "alias.")
	if !ok || !is || strings.HasPrefix(value, "!") {
		return
	}
	for i := range rest {
		if strings.ToLower(rest[i].text) != name {
			continue
		}
		words := []arg{literal("git")}
		for f := range strings.FieldsSeq(value) {
			words = append(words, literal(f))
		}
		w.inner(append(words, rest[i+1:]...), c)
		return
	}
	w.inner(append([]arg{literal("git")}, literalWords(value)...), c) // another alias may use it
}

// gitPrograms lists the last parts of the names of settings whose value is a
// command.
const gitPrograms = "sshcommand pager editor external helper fsmonitor clean smudge process command textconv driver cmd program askpass gitproxy packobjectshook alternaterefscommand sendmailcmd cccmd tocmd uploadpack receivepack difffilter"

// gitSetting lists the commands that git runs because of a setting KEY=VALUE.
func (w *walker) gitSetting(text string, lit bool, c context) {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return
	}
	key = strings.ToLower(key)
	cmd, shell := strings.CutPrefix(value, "!")
	last := key[strings.LastIndexByte(key, '.')+1:]
	switch {
	case key == "help.autocorrect" && value != "0" && value != "never", has("path", last) && strings.HasPrefix(key, "include"), has("hookspath templatedir", last) && value != "/dev/null":
		w.setIncomplete("what the setting " + key + " has git run is not known")
	case strings.HasPrefix(key, "alias.") && !shell:
	case strings.HasPrefix(key, "url.ext::"):
		w.reparse(text[len("url.ext::"):len(key)-len(last)-1], lit, c)
	case last == "path" && has("browser man difftool mergetool", key[:strings.IndexByte(key+".", '.')]):
		w.reparse(cmd, lit, c)
	case shell, strings.HasPrefix(key, "pager."), has(gitPrograms, last) && !slices.Contains([]string{"", "true", "false"}, value):
		w.reparse(cmd, lit, c)
	}
}

// gitFlags lists flags of git's subcommands whose value is a command.
const gitFlags = "--access-hook --exec --httpd --browser --extcmd --upload-pack --receive-pack --open-files-in-pager --tree-filter --index-filter --msg-filter --commit-filter --env-filter --parent-filter --tag-name-filter --setup --smtp-server --sendmail-cmd --to-cmd --cc-cmd"

// gitVariable lists the commands that git runs because of a setting whose value is
// in a variable (KEY=NAME).
func (w *walker) gitVariable(text string, rest []arg, c context) {
	key, name, _ := strings.Cut(text, "=")
	v, known := w.vars[name]
	if !known || !v.lit {
		w.setIncomplete("what the variable " + name + " has git run is not known")
	}
	setting := literal(key + "=" + v.text)
	w.listUncertain(func() {
		w.gitSetting(setting.text, true, c)
		w.gitAlias(&setting, rest, c)
	})
}

// gitConfigured lists the commands that git will run because of settings that git
// config sets.
func (w *walker) gitConfigured(args []arg, c context) {
	args = slices.DeleteFunc(slices.Clone(args), func(a arg) bool {
		return strings.HasPrefix(a.lead, "-") && !strings.Contains(a.text, " ") || has("set add", a.val)
	})
	for i := 0; i+1 < len(args) && i < 2; i++ {
		if strings.Contains(args[i].text, ".") {
			w.listUncertain(func() { w.gitPair(args[i].text, args[i+1].text, c) })
		}
	}
}
