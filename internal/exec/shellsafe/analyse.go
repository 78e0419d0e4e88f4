// Package shellsafe analyses shell commands without running them. It finds the
// simple commands of a text, decides whether all of them are read-only, and if so,
// writes a script to run instead of the text. It reads no files and starts no
// processes.
//
// Everything it does not know makes a command less trusted: a node of the syntax
// tree, a flag, a form of a word, a text over a limit.
//
// # Details
//
// Parsing is not running. The parser and bash differ in ways that each hide a command (a
// comment that ends in a backslash, $ before a line break, a carriage return, <&-curl x,
// the word after coproc). Such texts are refused before the parser or called unresolved,
// which rules may never allow; Normalize joins lines before that. Programs' commands in words are listed for
// deny and ask rules only (launch.go), with variables that name programs (variables.go),
// escapes of vim, awk and tmux (escapes.go, awkrun.go) and of what programs read (input.go), words of
// unknown programs (possible.go), and spellings without the flags ahead of a
// subcommand (forms.go). Code for an interpreter is not looked into. What these cannot
// tell makes a command doubtful, which matters only where there are such rules.
// FuzzParserDiff runs random texts in bash, with programs that print their arguments, and
// compares.
package shellsafe

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the analysis. A text that exceeds one is unresolved.
const (
	MaxBytes    = 16 << 10 // of the text without the bodies of quoted here-documents
	maxText     = 128 << 10
	MaxCommands = 64   // simple commands, at any depth
	maxNesting  = 100  // of brackets, quotes and keywords, and of our own recursion
	maxReparse  = 3    // sh -c within sh -c
	maxListed   = 2048 // commands in Analysis.Commands
	maxPaths    = 1024 // of each kind
)

// Options describes the environment of a command.
type Options struct {
	Dir   string   // absolute working folder; "" if unknown: then no cd is read-only
	Roots []string // absolute folders to which cd and git -C may lead; empty: Dir
	Home  string   // for ~ and $HOME; "": both are unknown
	// Input reports that the command's standard input, or its terminal, is open for what is
	// only known later. Otherwise it is empty.
	Input bool
	typed *input // see Typed
	// LookPath reports whether an absolute name of a command is a trusted program,
	// and returns the path to run. nil: no absolute name is trusted.
	LookPath func(name string) (string, bool)
}

// Analysis is the result of analysing a command.
type Analysis struct {
	// Commands holds the simple commands at any depth, in order of appearance:
	// those of lists, pipes, substitutions, functions, and those after wrappers. If
	// Unresolved is set, it holds the ones that were found, for rules that deny.
	Commands []Command
	// ReadOnly reports that every part is on the table. Script and Env are set only
	// then.
	ReadOnly bool
	// Looks reports that the command changes nothing, but asks a server or shows the
	// environment, and must run as written.
	Looks bool
	// Views reports that no part of the command is known to change anything, that most are known
	// to only read, and that none Looks. Where the kernel prevents changes, it only reads.
	Views bool
	// Reason is the reason why the command is not ReadOnly: one fact that names the
	// part.
	Reason string
	// Unresolved is the reason why Commands may be incomplete; "" if it is
	// complete. Rules must then ask or deny, and never allow.
	Unresolved string
	// Syntax is the place and the error if the parser failed, and "" otherwise.
	// bash accepts some texts that the parser does not.
	Syntax string
	// Incomplete is the reason why Commands may lack commands that a program runs
	// because of words or variables that are not fully known; "" if it has all.
	// Rules that deny or ask must then ask; without such rules it has no effect.
	Incomplete string
	// Script is the text to run instead of the command. It is generated from the
	// tree: every literal word is quoted, and flags are added that prevent programs
	// from writing and from running others. Run it with bash --norc --noprofile -p
	// (in this order: bash takes long flags first), with an allowlisted environment
	// and a PATH of trusted folders.
	Script string
	// Env holds the additional variables that Script needs.
	Env []string
	// GitDirs lists the folders in which Script runs git. The names of filters
	// depend on the repository: see GitEnv.
	GitDirs []string
	// Reads and Writes list the operands that are paths: of commands on the table,
	// of other commands known to read or write, and of redirects.
	Reads, Writes []Path

	answers bool // see ResultExit
}

// Path is an operand that names files.
type Path struct {
	Text string // as the command receives it; as written if Dynamic
	Dir  string // absolute folder that Text is relative to; "" if unknown
	// Dynamic reports that Text is not the path: it contains an expansion or a
	// pattern, comes from standard input, or Dir is unknown.
	Dynamic bool
	Glob    bool // Text is a pattern of the shell
	// Pattern is a pattern for path/filepath.Match that matches at least the same
	// paths as the shell pattern Text; "" if Text is no pattern.
	Pattern string
	Below   bool // includes everything below the path
	// Content reports of a path in Writes that the command only changes the file's
	// content or creates it. It does not remove, replace or link the name, or make
	// it a folder.
	Content bool
	// Uncertain reports of a path in Reads that it is unknown what the program does
	// with it.
	Uncertain bool
	Input     bool // whether a redirect reads it
	Place     bool // whether it is a folder in which a program works; it is Uncertain
}

// Command is a simple command.
type Command struct {
	// Text is the words joined by single blanks, without quotes. Patterns match it.
	Text  string
	Words []string
	// Name is the first word without its folder; "" for assignments alone.
	Name    string
	Literal bool // whether every word is exactly as the command receives it
	// KnownPrefix is the beginning of Text that is certain, if that is not all of it. The
	// later words are known only at run time.
	KnownPrefix string
	// Forms lists other spellings of Text, for rules that deny or ask: without the
	// flags before a subcommand, and with its synonyms.
	Forms []Form
	// Possible lists the commands that the command runs if it is an unknown wrapper, for
	// rules that deny or ask.
	Possible []string
	// UnknownWrites reports that the command changes files that are known only at run time.
	UnknownWrites bool
	// Wrapped reports that the command appeared in a wrapper, sh -c, a
	// substitution, a function or a loop, with an assignment, or with a redirect of a
	// compound command to a file. Rules that deny or ask match it; rules that allow do not.
	Wrapped bool
	// Inner reports that an earlier Command of the list runs this one, so that
	// allowing that one covers it.
	Inner bool
	// Allowable reports that a rule may allow the command as written. Repeated reports that
	// a rule might, if the command were not in a loop over words or after time.
	Allowable, Repeated bool
	// ReadOnly reports that the command only reads even as written, without the
	// additions of Script.
	ReadOnly bool
	// Reads reports that the command only reads, but for the files in Outputs, and for
	// programs that the additions of Script prevent it from running.
	Reads     bool
	Outputs   []string // names of files that its redirects write
	Redirects []Path   // files of its redirects
	// Dirs lists folders in which it may run, as far as they are known.
	Dirs []string
	// Input is its standard input; "" if that is empty, not known or from a file. InputFile is the
	// absolute path of the file; "" if there is none.
	Input, InputFile string
	reads            []Path // the files to be read that its words name
}

// DenyText returns Text with the command's name instead of its path, so that a rule
// for curl matches /usr/bin/curl.
func (c *Command) DenyText() string {
	if len(c.Words) == 0 || c.Name == "" {
		return c.Text
	}
	return c.Name + c.Text[len(c.Words[0]):]
}

var parsers = sync.Pool{New: func() any {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(false))
}}

// Analyse analyses a command. It never panics, and its time and memory are bounded
// for every text.
func Analyse(command string, o Options) (a *Analysis) {
	a = &Analysis{}
	w := &walker{a: a, o: &o}
	defer func() {
		if r := recover(); r != nil {
			// The parser or this package has a bug: nothing is known.
			a.Unresolved = "it could not be analysed"
			w.deny("it could not be analysed")
		}
		w.finish()
	}()
	if why, parse := gate(command); why != "" {
		w.unresolve(why)
		w.deny(why)
		if parse {
			w.bestEffort(command)
		}
		return a
	}
	if err := w.parse(command, start(&o)); err != nil {
		a.Syntax = syntaxError(err)
	}
	if a.Unresolved != "" && strings.Contains(command, "\\\n") {
		w.bestEffort(command)
	}
	return a
}

// syntaxError formats an error of the parser. It returns "" if the error is not
// about syntax.
func syntaxError(err error) string {
	var syntaxErr syntax.ParseError
	if !errors.As(err, &syntaxErr) {
		return ""
	}
	return fmt.Sprintf("line %d, column %d: %s", syntaxErr.Pos.Line(), syntaxErr.Pos.Col(), syntaxErr.Text)
}

// start returns the context of the first statement of a text.
func start(o *Options) context {
	if o.typed != nil {
		return context{dirs: startDirs(o), input: *o.typed}
	}
	return context{dirs: startDirs(o), input: input{open: o.Input, tty: o.Input}}
}

// bestEffort fills Commands for a text that the gate refused, so that rules that
// deny match its commands. It parses the text as it is, and as the shell may join
// it.
func (w *walker) bestEffort(command string) {
	joined := strings.NewReplacer("\\\r\n", "", "\\\n", "").Replace(command)
	plain := strings.Map(func(r rune) rune {
		if refusedRune(r) != "" {
			return ' '
		}
		return r
	}, joined)
	w.parse(plain, start(w.o))
	if plain != command {
		w.parse(command, start(w.o))
	}
}

// parse walks a text and returns the error of the parser. Only the first text of a
// walker contributes to its script.
func (w *walker) parse(text string, c context) error {
	p := parsers.Get().(*syntax.Parser)
	f, err := p.Parse(strings.NewReader(text), "")
	parsers.Put(p)
	if err != nil {
		w.unresolve("it cannot be parsed")
		w.deny("it cannot be parsed")
		if f == nil {
			return err
		}
	}
	if continues(f, text) {
		w.unresolve(continued)
		w.deny(continued)
	}
	before, known := w.src, w.constants
	w.src, w.constants = text, nil
	c.dirs.vars = nil
	if w.o.typed == nil { // else variables are left from earlier texts
		w.constants = constants(f)
	}
	c.input.open = c.input.open || changesInput(f.Stmts)
	w.list(f.Stmts, c)
	if n := len(f.Stmts); n > 0 && c.reparse == 0 {
		w.a.answers = w.answers(f.Stmts[n-1])
	}
	w.src, w.constants = before, known
	return err
}

// finish sets the results that depend on the whole text.
func (w *walker) finish() {
	a := w.a
	if w.commands > MaxCommands {
		w.unresolve("it has more than 64 commands")
		w.deny("it has more than 64 commands")
	}
	if w.git && w.gitConf {
		w.deny("git config beside other git commands would not see the user's settings")
	}
	if a.Unresolved != "" {
		w.deny(a.Unresolved)
	}
	if w.assigns || w.options {
		for _, list := range [][]Path{a.Reads, a.Writes} {
			for i := range list { // dotglob or GLOBIGNORE may be set
				list[i].Pattern = strings.ReplaceAll(list[i].Pattern, notDot, "?")
			}
		}
	}
	a.Reason = w.reason
	a.Views = a.Unresolved == "" && !w.changes && w.reason != "" && w.looked == ""
	if w.looked != "" && w.reason == "" {
		a.Looks, a.Reason = !w.added, w.looked+" is not limited to files"
		return
	}
	if a.ReadOnly = w.reason == ""; !a.ReadOnly {
		return
	}
	if a.Script = w.script.String(); a.Script == "" {
		a.Script = quote(":")
	}
	a.Env, a.GitDirs = w.env(), w.gitDirs
}
