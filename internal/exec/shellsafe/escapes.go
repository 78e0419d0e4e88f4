package shellsafe

import "strings"

// escape describes how a word of a program that is not a shell can name a command.
type escape struct {
	marks string // lower-case texts, separated by &; the command follows one of them
	flags string // only in the values of these flags, and in words with the prefix lead
	lead  string
	ends  string // characters that end the command
	doubt string // if a word contains one of these lower-case texts, separated by &, the command it runs is unknown
	all   bool   // every word that is not a flag may be a text for a shell

	// The program reads commands of its own from its input, in which lines with one of
	// hints (by default marks) may run others; \n is the beginning of a line.
	input bool
	hints string
	code  bool // every input may run others
	keys  bool // it reads such commands from a terminal only
}

// inputOnly is a lead that no word has.
const inputOnly = "\x00"

// escapes is a table for rules that deny and ask, by name of the program. Longer
// programs in languages of their own are not analysed.
var escapes = map[string]escape{
	// Databases.
	"sqlite3": sqliteEscape, "sqlite": sqliteEscape, "duckdb": sqliteEscape, "litecli": sqliteEscape,
	"psql": psqlEscape, "pgcli": psqlEscape, "usql": psqlEscape, "mysql": mysqlEscape, "mariadb": mysqlEscape, "mycli": mysqlEscape,
	"sqlplus": {marks: "host &!", code: true}, "sqlcmd": {marks: "!!&:!!", code: true}, "isql": {code: true}, "beeline": {marks: "!sh ", code: true}, "hive": {marks: "!", code: true}, "impala-shell": {marks: "shell &!", code: true}, "cqlsh": {marks: "source ", input: true}, "clickhouse-client": {marks: "outfile ", input: true},
	// Editors, pagers, and other programs on a terminal.
	"vim": vimEscape, "vi": vimEscape, "nvim": vimEscape, "view": vimEscape, "ex": vimEscape, "vimdiff": vimEscape, "gvim": vimEscape, "rvim": vimEscape, "rview": vimEscape, "nvi": vimEscape, "elvis": vimEscape, "kak": {code: true, marks: "%sh{&!&|", flags: "-e -E"}, "hx": {code: true}, "helix": {code: true},
	"ed": {marks: "!", lead: inputOnly, input: true}, "red": {marks: "!", lead: inputOnly, input: true}, "emacs": emacsEscape, "emacsclient": emacsEscape, "jed": {code: true}, "mg": {code: true}, "joe": {code: true}, "ne": {code: true}, "nano": {keys: true}, "pico": {keys: true}, "micro": {keys: true}, "mcedit": {keys: true},
	"less": {marks: "!&|", lead: "+", keys: true}, "more": {marks: "!", lead: "+", keys: true}, "most": {keys: true}, "pg": {keys: true}, "man": {marks: "!", lead: "+", keys: true}, "info": {keys: true}, "pinfo": {keys: true}, "bat": {keys: true}, "batcat": {keys: true}, "delta": {keys: true}, "journalctl": {keys: true}, "systemctl": {keys: true}, "git": {keys: true}, "tig": {keys: true}, "lazygit": {keys: true}, "crontab": {keys: true}, "visudo": {keys: true}, "vipw": {keys: true}, "vigr": {keys: true}, "sudoedit": {keys: true}, "edquota": {keys: true},
	"mc": {keys: true}, "ranger": {keys: true, marks: "shell ", flags: "--cmd"}, "nnn": {keys: true}, "lf": {keys: true, marks: "$&!&%", flags: "-command"}, "vifm": {keys: true, marks: "!", flags: "-c", lead: "+"}, "mutt": {code: true, marks: "`&|&=\"&='&editor=&sendmail=&visual=", flags: "-e -F"}, "neomutt": {code: true, marks: "`&|&=\"&='&editor=&sendmail=&visual=", flags: "-e -F"}, "mail": mailEscape, "mailx": mailEscape, "nail": mailEscape, "s-nail": mailEscape, "w3m": {keys: true}, "lynx": {keys: true}, "links": {keys: true}, "elinks": {keys: true}, "irssi": {keys: true}, "weechat": {keys: true},
	"fzf": {keys: true, marks: "execute(&execute-silent(&become(&reload(&execute:&execute-silent:&become:&reload:&transform(&transform:", ends: ")"},
	// Debuggers, and languages with a word for the shell.
	"gdb": gdbEscape, "cgdb": gdbEscape, "gdb-multiarch": gdbEscape, "rust-gdb": gdbEscape, "lldb": {marks: "shell &!", flags: "-o -O --one-line", code: true}, "rust-lldb": {marks: "shell &!", flags: "-o -O --one-line", code: true}, "crash": {code: true}, "jdb": {code: true}, "dlv": {code: true},
	"expect": {marks: "spawn &exec &system &overlay ", flags: "-c", code: true}, "tclsh": {marks: "exec &open \"|", code: true}, "wish": {marks: "exec &open \"|", code: true}, "jimsh": {marks: "exec ", code: true}, "gnuplot": {marks: "!&system &system(\"&system('&`", code: true}, "ghci": {marks: ":!&system \"", code: true}, "ipython": {marks: "!&system('&system(\"&%sx ", code: true}, "jupyter": {keys: true}, "octave": langEscape, "octave-cli": langEscape, "r": langEscape, "rscript": langEscape, "matlab": langEscape, "scilab": langEscape, "julia": {marks: "run(`&`", code: true}, "maxima": {marks: "system(\"", code: true}, "gp": {marks: "system(\"", code: true}, "sage": {code: true}, "m4": {marks: "syscmd(", ends: ")", code: true}, "dc": {marks: "!", flags: "-e --expression", input: true, hints: "!"}, "bpftrace": {marks: "system(\"", code: true}, "rpm": rpmEscape, "rpmspec": rpmEscape, "rpmbuild": rpmEscape, "tex": texEscape, "latex": texEscape, "pdftex": texEscape, "pdflatex": texEscape, "xelatex": texEscape, "lualatex": texEscape, "gs": {marks: "%pipe%", ends: ")", code: true},
	// Connections.
	"ftp": {marks: "!&|", lead: inputOnly, input: true}, "tnftp": {marks: "!&|", lead: inputOnly, input: true}, "sftp": {marks: "!", lead: inputOnly, input: true}, "tftp": {marks: "!", lead: inputOnly, input: true}, "telnet": {marks: "!", lead: inputOnly, input: true}, "smbclient": {marks: "!", flags: "-c --command", input: true}, "lftp": {marks: "!&shell ", flags: "-c -e", code: true}, "cadaver": {marks: "!", lead: inputOnly, input: true}, "cu": {code: true}, "tip": {code: true}, "minicom": {keys: true}, "nmap": {marks: "!", lead: inputOnly, input: true}, "socat": {marks: "exec:&system:&shell:", ends: ",!"},
	"apt-get": aptEscape, "apt": aptEscape, "aptitude": aptEscape,
	"wget": {marks: "use_askpass="}, "yt-dlp": {marks: ":", flags: "--exec"}, "aws": {marks: "commands=&\"commands\":["}, "mpv": {marks: "run ", keys: true}, "java": javaEscape, "gradle": javaEscape, "gradlew": javaEscape, "mvn": javaEscape, "mvnw": javaEscape, "cargo": {marks: "runner=&linker=&rustc=&wrapper=&rustdoc=", flags: "--config"},
	"tmux": {all: true, code: true}, "byobu": {all: true, keys: true}, "zellij": {all: true, keys: true}, "wezterm": {all: true}, "concurrently": {all: true}, "npm-run-all": {all: true}, "npm-run-all2": {all: true}, "run-p": {all: true}, "run-s": {all: true}, "run-pty": {all: true}, "conc": {all: true}, "start-server-and-test": {all: true}, "start-test": {all: true},
	"screen": {all: true, keys: true},
	"cmake":  {marks: "compiler=&launcher=&make_program=&compiler:filepath=&compiler:string=&launcher:string="},
	"gcc":    gccEscape, "g++": gccEscape, "cc": gccEscape, "c++": gccEscape, "clang": gccEscape, "clang++": gccEscape,
	"gh": {marks: "!", lead: "!", keys: true}, "osascript": {marks: "do shell script "},
	"awk": {}, "gawk": {}, "mawk": {}, "nawk": {}, "original-awk": {}, "hg": {marks: "=", flags: "--config", keys: true},
}

var (
	vimEscape    = escape{marks: "!&system(&term &terminal ", flags: "-c --cmd", lead: "+", code: true}
	emacsEscape  = escape{marks: "shell-command &call-process &shell-command-to-string &start-process ", code: true}
	gdbEscape    = escape{marks: "shell &!&pipe &make ", flags: "-ex -iex --ex -eval-command --eval-command", code: true}
	sqliteEscape = escape{marks: ".shell &.system &.sh &'|&\"|&once |&output |", doubt: "edit(", input: true, hints: "\n.sh&\n.sy&\n.rea&\n.lo&\n.im&\n.o&\n.ex&\n.ed&\n.w&edit("}
	psqlEscape   = escape{doubt: "program $", marks: `\!&program '&program e'&program $$&\o |&\g |&\w |`, input: true, hints: "\\&program&`"}
	mysqlEscape  = escape{marks: `\!&system &pager &pager=`, input: true, hints: `\&system&pager&edit&source`}
	mailEscape   = escape{marks: "~!&~|&!", lead: inputOnly, input: true, hints: "~&!&|"}
	langEscape   = escape{marks: "system(\"&system('&shell_cmd(\"&system \"&unix(\"&unix('", code: true}
	rpmEscape    = escape{marks: "%(", ends: ")", doubt: "%{lua:"}
	javaEscape   = escape{marks: "exec.executable=&onerror=&onoutofmemoryerror="}
	texEscape    = escape{marks: "write18{", ends: "}", code: true}
	aptEscape    = escape{marks: "invoke::=&invoke=&bin::=&proxyautodetect=&proxy-auto-detect=&proxycommand="}
	gccEscape    = escape{flags: "-wrapper"}
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
		if strings.HasSuffix(name, "awk") {
			w.awkRuns(args, c)
			return
		}
		for i := 1; i < len(args); i++ {
			a := &args[i]
			switch {
			case e.all:
				w.anyCommand(name, args[i:], c)
				if i > 16 {
					w.setIncomplete("what " + name + " runs is not known")
					return
				}
			case e.marks == "" && e.flags == "" || !e.in(args[i-1], a):
			case e.marks == "":
				w.reparse(strings.ReplaceAll(a.text, ",", " "), true, c)
			default:
				w.escaped(&e, a.text, c)
			}
			for text := range strings.SplitSeq(e.doubt, "&") {
				if text != "" && strings.Contains(strings.ToLower(a.text), text) {
					w.setIncomplete("what " + name + " runs is not known")
				}
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
	if has("send send-keys", text) {
		w.typed(args[1:], c)
	}
	w.inner(args, c)
}

// typed lists the commands that words are when they are typed into a terminal.
func (w *walker) typed(words []arg, c context) {
	flags := true
	var text strings.Builder
	for i := 0; i < len(words); i++ {
		v := words[i].text
		if flags = flags && strings.HasPrefix(v, "-"); flags {
			if strings.Contains(v, "H") {
				w.setIncomplete("what the keys type is not known")
			}
			if has("-t -N", v) {
				i++
			}
			continue
		}
		switch v {
		case "Enter", "C-m", "C-j", "KPEnter":
			v = "\n"
		case "Space":
			v = " "
		}
		text.WriteString(v)
	}
	w.reparse(text.String(), true, c)
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
		if at < 0 || m == "" {
			continue
		}
		rest := strings.TrimLeft(text[at+len(m):], " |!")
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			quoted, _, _ := strings.Cut(rest[1:], rest[:1])
			w.reparse(quoted, true, c)
			continue
		}
		if at := strings.IndexAny(m, "'\"`"); at >= 0 { // it ends with the same quote
			rest, _, _ = strings.Cut(rest, m[at:at+1])
		}
		if end := strings.IndexAny(rest, e.ends); e.ends != "" && end >= 0 {
			rest = rest[:end]
		}
		w.reparse(rest, true, c)
	}
}
