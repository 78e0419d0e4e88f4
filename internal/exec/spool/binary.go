package spool

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A log is binary if more than one in oddShare of its bytes is a control character that text does
// not need, more than one in oddShare is invalid UTF-8, and both together are at least leastOdd.
// Text in another encoding has no such control characters, and lists with NUL between names are
// valid UTF-8.
const (
	oddShare = 100
	leastOdd = 16
)

// binary reports whether the source of rows is not text.
func binary(list []visibleRow) bool {
	var t tally
	t.addRows(list)
	return t.binary()
}

// tally counts the bytes of output by kind.
type tally struct{ all, controls, invalid int }

func (t *tally) addRows(list []visibleRow) {
	for _, one := range list {
		t.add(one.raw)
	}
}

func (t *tally) add(raw []byte) {
	t.all += len(raw)
	for len(raw) > 0 {
		c, size := rune(raw[0]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(raw)
		}
		switch {
		case c == utf8.RuneError && size == 1:
			t.invalid++
		case c < ' ' && (c < '\a' || c > '\r') && c != '\x1b':
			t.controls++
		}
		raw = raw[size:]
	}
}

func (t *tally) binary() bool {
	return t.controls*oddShare > t.all && t.invalid*oddShare > t.all && t.controls+t.invalid >= leastOdd
}

// NotShown returns the note that replaces binary output of size bytes.
func (l *Log) NotShown(size int64) string {
	return fmt.Sprintf("[binary output, %s, not shown; it is in %s]", amount(size), l.path)
}

// amount formats a number of bytes, with commas between thousands.
func amount(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " bytes"
}
