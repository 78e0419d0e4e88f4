package shellsafe

import "strings"

// escape describes how a word of a program that is not a shell can name a command.
type escape struct {
	marks string // lower-case texts, separated by &; the command follows one of them
	flags string // only in the values of these flags, and in words with the prefix lead
	lead  string
	ends  string // characters that end the command
	doubt string // if a word contains this, the command it runs is unknown
	all   bool   // every word that is not a flag may be a text for a shell
}

// escapes is a table for rules that deny and ask, by name of the program. Longer
// programs in languages of their own are not analysed.
var escapes = map[string]escape{
	"sqlite3": {marks: ".shell &.system &.sh &'|&\"|&once |&output |", doubt: "edit("},
	"vim":     vimEscape, "vi": vimEscape, "nvim": vimEscape, "view": vimEscape, "ex": vimEscape, "vimdiff": vimEscape, "gvim": vimEscape, "rvim": vimEscape,
	"gdb": {marks: "shell &!&pipe &make ", flags: "-ex -iex --ex -eval-command --eval-command"}, "lldb": {marks: "shell &!", flags: "-o -O --one-line"},
	"psql": {marks: `\!&program '&\o |&\g |&\w |`}, "mysql": {marks: `\!&system &pager `}, "mariadb": {marks: `\!&system &pager `},
	"expect": {marks: "spawn &exec &system &overlay ", flags: "-c"},
	"socat":  {marks: "exec:&system:&shell:", ends: ",!"},
	"less":   {marks: "!&|", lead: "+"}, "more": {marks: "!", lead: "+"}, "man": {marks: "!", lead: "+"},
	"lftp": {marks: "!&shell ", flags: "-c -e"}, "dc": {marks: "!", flags: "-e --expression"}, "emacs": {marks: "shell-command &call-process &shell-command-to-string &start-process "},
	"apt-get": aptEscape, "apt": aptEscape, "aptitude": aptEscape,
	"wget": {marks: "use_askpass="}, "mvn": {marks: "exec.executable="}, "mvnw": {marks: "exec.executable="}, "cargo": {marks: "runner=&linker=&rustc=&wrapper=&rustdoc=", flags: "--config"},
	"fzf":  {marks: "execute(&execute-silent(&become(&reload(&execute:&execute-silent:&become:&reload:&transform(&transform:", ends: ")"},
	"tmux": {all: true}, "byobu": {all: true}, "zellij": {all: true}, "wezterm": {all: true}, "concurrently": {all: true}, "npm-run-all": {all: true},
	"screen": {all: true},
	"cmake":  {marks: "compiler=&launcher=&make_program=&compiler:filepath=&compiler:string=&launcher:string="},
	"gcc":    gccEscape, "g++": gccEscape, "cc": gccEscape, "c++": gccEscape, "clang": gccEscape, "clang++": gccEscape,
	"gh": {marks: "!", lead: "!"}, "osascript": {marks: "do shell script "},
	"awk": {}, "gawk": {}, "mawk": {}, "nawk": {}, "original-awk": {}, "hg": {marks: "=", flags: "--config"},
}

var (
	vimEscape = escape{marks: "!&system(&term &terminal ", flags: "-c --cmd", lead: "+"}
	aptEscape = escape{marks: "invoke::=&invoke=&bin::=&proxyautodetect=&proxy-auto-detect=&proxycommand="}
	gccEscape = escape{flags: "-wrapper"}
)

// escapes lists the commands that the words of a program contain in the program's
// own language. Unknown ones make the analysis doubtful, not unresolved.
func (w *walker) escapes(name string, args []arg, c context) {
	e, ok := escapes[name]
	if !ok {
		return
	}
	c.fed = c.fed && c.place != ""
	w.listUncertain(func() {
		for i := 1; i < len(args); i++ {
			a := &args[i]
			switch {
			case strings.HasSuffix(name, "awk"):
				w.awkRuns(a, c)
			case e.all:
				w.anyCommand(name, args[i:], c)
				if i > 16 {
					w.setIncomplete("what " + name + " runs is not known")
					return
				}
			case !e.in(args[i-1], a):
			case e.marks == "":
				w.reparse(strings.ReplaceAll(a.text, ",", " "), true, c)
			default:
				w.escaped(&e, a.text, c)
			}
			if e.doubt != "" && strings.Contains(a.text, e.doubt) {
				w.setIncomplete("what " + name + " runs is not known")
			}
		}
	})
}

// anyCommand lists the first word as a text for a shell, and the words as a
// command.
func (w *walker) anyCommand(name string, args []arg, c context) {
	text := args[0].text
	if w.commands > maxListed || strings.HasPrefix(text, "-") || strings.TrimSpace(text) == "" {
		return
	}
	if strings.ContainsAny(text, " \t\n;&|$`<>(") {
		w.reparse(text, true, c)
		if name == "tmux" {
			w.reparse(name+" "+text, true, c)
		}
	}
	w.inner(args, c)
}

// in reports whether a word may contain a command, according to the word itself and
// the word before it.
func (e *escape) in(ahead arg, a *arg) bool {
	if e.flags == "" && e.lead == "" || e.lead != "" && strings.HasPrefix(a.lead, e.lead) {
		return true
	}
	flag, _, eq := strings.Cut(a.lead, "=")
	return has(e.flags, ahead.val) || eq && has(e.flags, flag)
}

// escaped lists the commands in one word.
func (w *walker) escaped(e *escape, text string, c context) {
	lower := strings.ToLower(text)
	for m := range strings.SplitSeq(e.marks, "&") {
		at := strings.Index(lower, m)
		if at < 0 {
			continue
		}
		rest := strings.TrimLeft(text[at+len(m):], " |!")
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			quoted, _, _ := strings.Cut(rest[1:], rest[:1])
			w.reparse(quoted, true, c)
			continue
		}
		if at := strings.IndexAny(m, `'"`); at >= 0 { // it ends with the same quote
			rest, _, _ = strings.Cut(rest, m[at:at+1])
		}
		if end := strings.IndexAny(rest, e.ends); e.ends != "" && end >= 0 {
			rest = rest[:end]
		}
		w.reparse(rest, true, c)
	}
}

// awkRuns lists the texts that an awk program may give to a shell: quoted texts in
// programs that contain system or a pipe.
func (w *walker) awkRuns(a *arg, c context) {
	if !strings.Contains(a.text, "system") && !strings.Contains(a.text, "|") {
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

// plausible reports whether a text begins like a command.
func (w *walker) plausible(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return text != "" && (letter(text[0]) || strings.IndexByte("/.~\\", text[0]) >= 0)
}
