package terminal

import (
	"fmt"
	"unicode/utf8"
)

// cursorKeys have another sequence in the mode of applications.
var cursorKeys = map[string]byte{"up": 'A', "down": 'B', "right": 'C', "left": 'D', "home": 'H', "end": 'F'}

// keys maps the names of keys to what a terminal of the kind xterm sends.
var keys = func() map[string]string {
	m := map[string]string{
		"enter": "\r", "tab": "\t", "shift-tab": "\x1b[Z", "escape": "\x1b", "space": " ", "backspace": "\x7f",
		"insert": "\x1b[2~", "delete": "\x1b[3~", "page-up": "\x1b[5~", "page-down": "\x1b[6~",
		"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS",
	}
	for i, n := range []int{15, 17, 18, 19, 20, 21, 23, 24} {
		m[fmt.Sprintf("f%d", i+5)] = fmt.Sprintf("\x1b[%d~", n)
	}
	for name, final := range cursorKeys {
		m[name] = "\x1b[" + string(final)
	}
	for c := 'a'; c <= 'z'; c++ {
		m["ctrl-"+string(c)] = string(c - 'a' + 1)
	}
	return m
}()

// KeyNames returns the names of all keys except those with alt, unsorted.
func KeyNames() (names []string) {
	for name := range keys {
		names = append(names, name)
	}
	return names
}

// IsKey reports whether a key has this name: one of KeyNames, or "alt-" and a character.
func IsKey(name string) bool { return keys[name] != "" || altKey(name) != "" }

// altKey returns the character of a key such as "alt-x", or "".
func altKey(name string) string {
	const alt = "alt-"
	if len(name) <= len(alt) || name[:len(alt)] != alt {
		return ""
	}
	if r, n := utf8.DecodeRuneInString(name[len(alt):]); n < len(name)-len(alt) || isControl(r) {
		return ""
	}
	return name[len(alt):]
}

// Key returns what the terminal sends for a key.
func (e *Emulator) Key(name string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if final, ok := cursorKeys[name]; ok && e.application {
		return "\x1bO" + string(final)
	}
	if char := altKey(name); char != "" {
		return "\x1b" + char
	}
	return keys[name]
}
