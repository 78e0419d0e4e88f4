// Package shellsafe judges shell commands without running them: which simple
// commands a text holds, whether all of them only read, and what to run instead
// of the text if they do. It reads nothing and starts nothing.
//
// Whatever it does not know makes a command less trusted: a node of the syntax
// tree, a flag, a form of a word, a text over a limit.
package shellsafe

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of what is analysed. What is over one is unresolved.
const (
	MaxBytes    = 16 << 10 // of the text
	MaxCommands = 64       // simple commands, at any depth
	maxNesting  = 100      // of brackets, quotes and keywords, and of our own recursion
	maxReparse  = 3        // sh -c within sh -c
	maxListed   = 2048     // commands kept in Analysis.Commands
	maxPaths    = 1024     // of each kind
)

// Options are the circumstances of a command.
type Options struct {
	Dir   string   // absolute working folder; "" if not known: then no cd is read-only
	Roots []string // absolute folders in which cd and git -C may lead; Dir if there are none
	Home  string   // for ~ and $HOME; "" makes both unknown
	// LookPath says whether an absolute name of a command is a trusted program,
	// and its path as it is to be run. With nil no absolute name is trusted.
	LookPath func(name string) (string, bool)
}

// Analysis is what is known of a command.
type Analysis struct {
	// Commands are the simple commands at any depth, in order of appearance:
	// of lists, pipes, substitutions, functions, and behind wrappers. With
	// Unresolved they are those that were found, for rules that deny.
	Commands []Command
	// ReadOnly says that every part is on the table. Only then are Script and
	// Env set.
	ReadOnly bool
	// Reason is why the command is not ReadOnly: one fact that names the part.
	Reason string
	// Unresolved is why Commands may not be all of them; "" if they are. Rules
	// must then ask or deny, and never allow.
	Unresolved string
	// Syntax is where and why the parser failed on the text, "" if it did not. It is
	// the parser's opinion: bash accepts some texts that the parser does not.
	Syntax string
	// Doubtful is why Commands may not have all that a program is told to run by
	// words and variables that are not fully known; "" if they have. Rules that
	// deny or ask must then ask; without such rules it does not matter.
	Doubtful string
	// Script is what is to be run in place of the text: written anew from the
	// tree, every literal word quoted, with flags that keep programs from
	// writing and from running others. It is meant for bash
	// --norc --noprofile -p (in this order: bash takes long flags first) with an allowlisted environment and a PATH of trusted folders.
	Script string
	// Env holds the variables that Script needs beside.
	Env []string
	// GitDirs are folders in which Script runs git. Filters of a repository
	// have names of its own: see GitEnv.
	GitDirs []string
	// Reads and Writes are the operands that are paths: of commands on the
	// table and of known readers; of redirects and of known writers.
	Reads, Writes []Path

	answers bool // see ResultExit
}

// Path is an operand that names files.
type Path struct {
	Text string // as the command gets it; as it is written if Dynamic
	Dir  string // absolute folder that it is relative to; "" if not known
	// Dynamic says that Text is not the path: it holds an expansion or a
	// pattern, comes from standard input, or Dir is not known.
	Dynamic bool
	Glob    bool // Text is a pattern of the shell
	// Pattern is a pattern as path/filepath.Match knows it, which matches at least
	// what Text does as the shell has it; "" if Text is none.
	Pattern string
	Below   bool // everything below it is meant too
	// Content says of a path in Writes that only the content of the file is written,
	// or the file made: the name is not removed, replaced, linked or made a folder.
	Content bool
	// Guess says of a path in Reads that what the program does to it is not known.
	Guess bool
	Input bool // a redirect reads it
}

// Command is a simple command.
type Command struct {
	// Text is the words joined by one blank, unquoted: what a pattern sees.
	Text  string
	Words []string
	// Name is the first word without its folder; "" for assignments alone.
	Name    string
	Literal bool // every word is what the command gets
	// Sure is what Text begins with for certain, if that is not all of it: words
	// behind it are only known when it runs.
	Sure string
	// Forms are other spellings of Text, for rules that deny or ask: without the
	// flags ahead of a subcommand, with its synonyms.
	Forms []Form
	// Blind says that it changes files which are only known when it runs.
	Blind bool
	// Wrapped says that it was seen through something: a wrapper, sh -c, a
	// substitution, a function, a loop, an assignment in front or a redirect to
	// a file. Rules that deny or ask see it, rules that allow do not.
	Wrapped bool
	// Inner says that it is what an earlier Command of the list runs, so that
	// allowing that one covers it.
	Inner bool
	// Allowable says that a rule may allow it as it stands.
	Allowable bool
	// ReadOnly says that it only reads even as it was written, without what
	// Script adds.
	ReadOnly  bool
	Redirects []Path // files that it is redirected to or from
	reads     []Path // the files that its words name to be read
}

// DenyText is Text with the name in place of its path, so that a rule for curl
// sees /usr/bin/curl.
func (c *Command) DenyText() string {
	if len(c.Words) == 0 || c.Name == "" {
		return c.Text
	}
	return c.Name + c.Text[len(c.Words[0]):]
}

var parsers = sync.Pool{New: func() any {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(false))
}}

// Analyse judges a command. It never panics, and its time and memory are
// bounded whatever the text is.
func Analyse(command string, o Options) (a *Analysis) {
	a = &Analysis{}
	w := &walker{a: a, o: &o}
	defer func() {
		if r := recover(); r != nil {
			// The parser or we have a fault: nothing is known.
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
	if err := w.parse(command, context{dirs: startDirs(&o)}); err != nil {
		a.Syntax = syntaxError(err)
	}
	return a
}

// syntaxError words an error of the parser; "" if it is not about the syntax.
func syntaxError(err error) string {
	var syntaxErr syntax.ParseError
	if !errors.As(err, &syntaxErr) {
		return ""
	}
	return fmt.Sprintf("line %d, column %d: %s", syntaxErr.Pos.Line(), syntaxErr.Pos.Col(), syntaxErr.Text)
}

// bestEffort fills Commands of a text that the gate refused, as it stands and as
// the shell may join it, so that rules that deny see what there is.
func (w *walker) bestEffort(command string) {
	joined := strings.NewReplacer("\\\r\n", "", "\\\n", "").Replace(command)
	plain := strings.Map(func(r rune) rune {
		if refusedRune(r) != "" {
			return ' '
		}
		return r
	}, joined)
	w.parse(plain, context{dirs: startDirs(w.o)})
	if plain != command {
		w.parse(command, context{dirs: startDirs(w.o)})
	}
}

// parse walks a text, and returns the error of the parser. Only the first text of
// a walker makes its script.
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
	before := w.src
	w.src = text
	w.list(f.Stmts, c)
	if n := len(f.Stmts); n > 0 && c.reparse == 0 {
		w.a.answers = w.answers(f.Stmts[n-1])
	}
	w.src = before
	return err
}

// finish settles what depends on the whole.
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
	if a.ReadOnly = w.reason == ""; !a.ReadOnly {
		return
	}
	if a.Script = w.script.String(); a.Script == "" {
		a.Script = quote(":")
	}
	a.Env, a.GitDirs = w.env(), w.gitDirs
}
