package cli

import (
	"fmt"
	"io"
	"os"
)

// screen is the destination of a command's output. The zero value is a file or a pipe.
type screen struct {
	terminal bool
	width    int  // in columns; 0 without a terminal or if unknown
	escapes  bool // whether it supports escape sequences
	colour   bool // whether the user wants colours; implies escapes
	out      io.Writer
}

// screenOf describes the destination of w. Colours are off if NO_COLOR is set (no-color.org) and
// for TERM=dumb.
func screenOf(host *Host, w io.Writer) screen {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return screen{out: w}
	}
	escapes := host.Getenv("TERM") != "dumb" && takesEscapes(f)
	return screen{terminal: true, width: screenWidth(f), escapes: escapes, colour: escapes && host.Getenv("NO_COLOR") == "", out: w}
}

// Styles of words, as parameters of SGR sequences.
const (
	green  = "32"
	yellow = "33"
	red    = "31"
	cyan   = "36"
)

// styles maps the words of judgements to their styles.
var styles = map[string]string{
	"allow": green, "ask": yellow, "deny": red,
	"ok": green, "warn": yellow, "fail": red,
	"pass": green, "FAIL": red,
	"ready": green, "refused": yellow, "failed": red,
}

// judged returns a word in its style, or unchanged if it has none.
func (c screen) judged(word string) string {
	return c.styled(word, styles[word])
}

// styled returns a text in a style. "" is none.
func (c screen) styled(text, style string) string {
	if !c.colour || style == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// progress shows a line until the returned function is called. It prints only to a terminal that
// supports escape sequences.
func (c screen) progress(format string, args ...any) (done func()) {
	if !c.escapes {
		return func() {}
	}
	fmt.Fprintf(c.out, format, args...)
	return func() { fmt.Fprint(c.out, "\r\x1b[K") }
}
