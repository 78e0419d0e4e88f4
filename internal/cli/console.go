package cli

import (
	"fmt"
	"io"
	"os"
)

// console is what a command prints to. The zero value is a file or a pipe.
type console struct {
	width   int  // in columns, 0 if there is no terminal or its width is not known
	escapes bool // it takes escape sequences
	colour  bool // the user wants colours, too
	out     io.Writer
}

// consoleOf describes where w leads. Colours are off for NO_COLOR and for
// TERM=dumb, see no-color.org.
func consoleOf(host *Host, w io.Writer) console {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return console{out: w}
	}
	escapes := host.Getenv("TERM") != "dumb" && takesEscapes(f)
	return console{width: consoleWidth(f), escapes: escapes, colour: escapes && host.Getenv("NO_COLOR") == "", out: w}
}

// Styles of words, as parameters of SGR sequences.
const (
	green  = "32"
	yellow = "33"
	red    = "31"
)

// styles are those of the words by which commands judge.
var styles = map[string]string{
	"allow": green, "ask": yellow, "deny": red,
	"ok": green, "warn": yellow, "fail": red,
	"pass": green, "FAIL": red,
	"ready": green, "refused": yellow, "failed": red,
}

// judged returns one of the words of styles in its colour; any other as it is.
func (c console) judged(word string) string {
	style := styles[word]
	if !c.colour || style == "" {
		return word
	}
	return "\x1b[" + style + "m" + word + "\x1b[0m"
}

// progress shows a line until the function that it returns is called. It prints
// nothing but on a terminal that takes escape sequences.
func (c console) progress(format string, args ...any) (done func()) {
	if !c.escapes {
		return func() {}
	}
	fmt.Fprintf(c.out, format, args...)
	return func() { fmt.Fprint(c.out, "\r\x1b[K") }
}
