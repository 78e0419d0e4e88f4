package shellsafe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// git runs programs that a repository names, even for a plain status. A read-only
// git therefore runs with the settings below, which a repository cannot override.
// They are set in the environment, so that they also apply in pipes.

// gitSettings lists the overriding settings, as keys and values.
var gitSettings = []string{
	"core.fsmonitor", "false", // a program, run by status, diff, grep ...
	"core.hooksPath", "/dev/null", // post-index-change runs at status
	"core.sshCommand", "false", // run by a lazy fetch
	"core.gitProxy", "",
	"core.askPass", "false",
	"core.attributesFile", "/dev/null",
	"core.pager", "cat",
	"core.alternateRefsCommand", "false",
	"protocol.allow", "never",
	"gpg.program", "false", "gpg.openpgp.program", "false", "gpg.x509.program", "false", "gpg.ssh.program", "false",
	"log.showSignature", "false",
	"submodule.recurse", "false",
	"diff.submodule", "short", // log would run git in a submodule
	"status.submoduleSummary", "false",
	"diff.autoRefreshIndex", "false", // writes the index
	"safe.bareRepository", "explicit", // a folder that looks like a repository
	// A merge that log repeats would run drivers and write objects.
	"log.diffMerges", "separate",
	"merge.default", "text",
	// Files outside of the repository would be read.
	"mailmap.file", "/dev/null",
	"diff.orderFile", "/dev/null",
	// Newer versions accept an alias for a deprecated command.
	"alias.whatchanged", "log --raw --no-merges",
}

// gitVariables lists further variables for git.
var gitVariables = []string{
	"GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
	"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=", "GIT_PAGER=cat", "GIT_NO_REPLACE_OBJECTS=1",
}

// env returns the variables for Script.
func (w *walker) env() []string {
	var env []string
	if w.git || w.gitConf {
		env = append(env, gitVariables...)
		if w.git {
			env = append(env, "GIT_CONFIG_GLOBAL=/dev/null")
		}
		env = append(env, configVariables(gitSettings)...)
	}
	if w.goTool {
		// go.mod could name another toolchain, which would be downloaded and run.
		env = append(env, "GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=")
	}
	return env
}

func configVariables(settings []string) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings)/2)}
	for i := 0; i+1 < len(settings); i += 2 {
		n := strconv.Itoa(i / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+settings[i], "GIT_CONFIG_VALUE_"+n+"="+settings[i+1])
	}
	return env
}

// GitEnv completes env, the Env of an Analysis, for the repositories in which its
// Script runs git. probes holds the output of GitProbe in each of GitDirs, run with
// env. roots must be canonical. Filters and merge drivers have names that only the
// repository knows; GitEnv turns each of them off. refuse is the reason if
// something cannot be turned off: then the Script must not run as read-only.
func GitEnv(env, probes, roots []string) (out []string, refuse string) {
	settings := slices.Clone(gitSettings)
	for _, probe := range probes {
		place, ok := readProbe(probe)
		if !ok {
			return nil, "git did not list its settings, by which it may run programs"
		}
		if why := place.outside(roots); why != "" {
			return nil, why
		}
		for _, key := range place.settings {
			add, why := neutral(key)
			if why != "" {
				return nil, why
			}
			if settings = append(settings, add...); len(settings) > 2000 {
				return nil, "the repository has too many filters"
			}
		}
	}
	for _, v := range env {
		if !strings.HasPrefix(v, "GIT_CONFIG_COUNT=") && !strings.HasPrefix(v, "GIT_CONFIG_KEY_") && !strings.HasPrefix(v, "GIT_CONFIG_VALUE_") {
			out = append(out, v)
		}
	}
	return append(out, configVariables(settings)...), ""
}

// HarmlessGit returns the variables with which git runs no program that a repository names. keys
// lists the settings of the repository. refuse is the reason if something cannot be turned off.
func HarmlessGit(keys []string) (env []string, refuse string) {
	settings := slices.Clone(gitSettings)
	for _, key := range keys {
		add, why := neutral(key)
		if why != "" {
			return nil, why
		}
		if settings = append(settings, add...); len(settings) > 2000 {
			return nil, "the repository has too many filters"
		}
	}
	return slices.Concat(gitVariables, []string{"GIT_CONFIG_GLOBAL=/dev/null"}, configVariables(settings)), ""
}

// neutral returns the settings that override a setting of a repository. A name may
// be empty, as in the key filter..clean.
func neutral(key string) (settings []string, refuse string) {
	section, rest, _ := strings.Cut(key, ".")
	dot := strings.LastIndexByte(rest, '.')
	switch {
	case section == "filter" && dot >= 0:
		filter := section + "." + rest[:dot]
		for _, v := range []string{"clean", "smudge", "process"} {
			settings = append(settings, filter+"."+v, "")
		}
		return append(settings, filter+".required", "false"), ""
	case section == "merge" && dot >= 0 && rest[dot+1:] == "driver":
		return []string{key, "false"}, ""
	case key == "core.excludesfile":
		return []string{key, "/dev/null"}, "" // check-ignore -v prints its lines
	case section == "remote" && dot >= 0 && has("promisor partialclonefilter", rest[dot+1:]), key == "extensions.partialclone":
		return nil, "git would run programs that this repository names: objects may have to be fetched: " + shortForm(key)
	}
	return nil, ""
}

// judgeGit judges a git command: its global flags, its subcommand, and the words of
// that.
func (w *walker) judgeGit(args []arg, c context) (out []arg, hard bool, why string) {
	where := c.dirs
	i := 1
	for ; i < len(args) && strings.HasPrefix(args[i].lead, "-"); i++ {
		a := &args[i]
		switch {
		case !a.lit:
			return args, true, "git: a word is not literal: " + shortForm(a.text)
		case has("--no-pager --no-optional-locks --literal-pathspecs", a.val):
		case a.val == "--version" && len(args) == 2:
			w.git = true
			return args, true, ""
		case a.val == "-C":
			if i++; i >= len(args) || !args[i].lit || args[i].script == "" || args[i].val == "" {
				return args, true, "git: the folder of -C is not literal"
			}
			where = where.cd(args[i].val)
			if !where.within(w.o) {
				return args, true, "git: -C leads out of the roots or to an unknown folder"
			}
			w.read(c.dirs.paths(&args[i], true))
		default:
			return args, true, "git: the flag " + shortForm(a.val) + " is not on the table of flags that only read"
		}
	}
	if i >= len(args) || !args[i].lit {
		return args, true, "git: its subcommand is not literal"
	}
	verb := args[i].val
	s, ok := gitTable[verb]
	if !ok {
		return args, true, "git " + shortForm(verb) + " is not on the table of commands that only read"
	}
	c.dirs = where
	rest, why := w.bySpec("git "+verb, s, args[i:], c)
	if why != "" {
		return args, true, why
	}
	dot := literal(".")
	if verb == "config" {
		w.gitConf = true
		dot = literal(".git/config")
	} else {
		w.git = true
	}
	w.read(where.paths(&dot, true))
	if where.unknown {
		return args, true, "git: the folder it runs in is unknown"
	}
	for _, d := range where.list {
		if !slices.Contains(w.gitDirs, d) {
			w.gitDirs = append(w.gitDirs, d)
		}
	}
	return append(append([]arg(nil), args[:i]...), rest...), true, ""
}

// gitLists requires that branch and tag only list: an operand creates a ref, unless
// a flag makes operands patterns or commits.
func gitLists(w *walker, p *parsed, c context) string {
	if why := gitFormat(w, p, c); why != "" {
		return why
	}
	if len(p.ops) > 0 && !p.hasFlag("-l --list --contains --no-contains --merged --no-merged --points-at") {
		return "with a name it creates"
	}
	if p.name == "git branch" && p.hasFlag("-l") && !p.hasFlag("--list") && len(p.ops) > 0 {
		return "-l made a reflog in older versions"
	}
	return ""
}

// gitVerb returns a check that allows one verb after the subcommand.
func gitVerb(verb string) func(*walker, *parsed, context) string {
	return func(_ *walker, p *parsed, _ context) string {
		if len(p.ops) == 0 {
			return ""
		}
		if !p.ops[0].lit || p.ops[0].val != verb || p.args[1].val != verb && !strings.HasPrefix(p.args[1].lead, "-") {
			return "only " + verb + " is on the table"
		}
		return ""
	}
}

// gitFormat refuses formats that verify signatures, which runs gpg, and repeated
// merges, which run merge drivers.
func gitFormat(_ *walker, p *parsed, _ context) string {
	for _, v := range p.vals["--diff-merges"] {
		if !has("off none on m first-parent 1 separate combined c dense-combined cc", v.val) {
			return "it does merges again"
		}
	}
	for _, f := range []string{"--format", "--pretty", "--sort"} {
		for _, v := range p.vals[f] {
			if strings.Contains(v.val, "%G") || strings.Contains(v.val, "signature") || strings.Contains(v.val, "%(trailers") {
				return "its format runs programs"
			}
		}
	}
	return ""
}

// gitSubmodules refuses to enter submodules, whose settings have not been examined.
func gitSubmodules(_ *walker, p *parsed, _ context) string {
	for _, v := range p.vals["--ignore-submodules"] {
		if v.val != "all" && v.val != "dirty" {
			return "it enters submodules"
		}
	}
	return ""
}

func gitNoRecurse(_ *walker, p *parsed, _ context) string {
	if p.hasFlag("--recurse-submodules") {
		return "it enters submodules"
	}
	return ""
}

func gitRevision(_ *walker, p *parsed, _ context) string {
	for i := range p.ops {
		if p.args[len(p.args)-1].val != "--" && !strings.Contains(p.ops[i].val, "/") {
			return ""
		}
	}
	if p.hasFlag("--all") || len(p.ops) > 0 {
		return ""
	}
	return "without a revision it waits for standard input"
}

func gitStash(_ *walker, p *parsed, _ context) string {
	if !p.args[1].lit || p.args[1].val != "list" && p.args[1].val != "show" {
		return "only list and show are on the table"
	}
	for i := 1; i < len(p.ops); i++ {
		if p.ops[0].val == "list" || !strings.HasPrefix(p.ops[i].lead, "stash") && !digits(p.ops[i].val) {
			return fmt.Sprintf("the operand %s is not a stash", shortForm(p.ops[i].text))
		}
	}
	// Flags before the verb would make it a push. With flags, show no longer prints
	// its summary, so it needs --stat.
	p.at, p.inject = 1, noPrograms
	if p.ops[0].val == "show" && len(p.seen) == 0 {
		p.inject = append(slices.Clone(noPrograms), "--stat")
	}
	return ""
}

func gitReflog(_ *walker, p *parsed, _ context) string {
	for i := range p.ops {
		v := p.ops[i].val
		if !p.ops[i].lit || i == 0 && v != "show" && v != "exists" && v != "HEAD" && v != "main" && v != "master" && !strings.ContainsAny(v, "/@") {
			return "only show is on the table"
		}
	}
	return ""
}

// gitConfig requires a flag that reads, or one name without a value.
func gitConfig(_ *walker, p *parsed, _ context) string {
	words, ok := literals(p.ops)
	if !ok {
		return notLiteral
	}
	if p.hasFlag("--get --get-all --get-regexp --get-urlmatch --list -l") {
		return ""
	}
	if len(words) == 1 && strings.Contains(words[0], ".") {
		return ""
	}
	if len(words) == 2 && words[0] == "get" && strings.Contains(words[1], ".") || len(words) == 1 && words[0] == "list" {
		return "" // older versions treat get as a name and fail
	}
	return "it may set a value or open an editor"
}
