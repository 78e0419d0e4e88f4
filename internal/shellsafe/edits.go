package shellsafe

import "strings"

// editors make, remove and move files and do nothing else. Their operands are
// in Analysis.Reads and Writes.
const editors = "mkdir touch rm rmdir mv cp sed"

// Edits reports whether the command only makes, removes or moves the files it
// names. Which these are is known, but for paths that are Dynamic and patterns.
func (c *Command) Edits() bool {
	if !c.Allowable || !has(editors, c.Name) || c.Words[0] != c.Name {
		return false
	}
	switch c.Name {
	case "sed":
		return c.Literal && c.editsInPlace()
	case "cp":
		// The first copies what links lead to, the second to more folders than
		// the one that is named.
		return !flagged(c.Words[1:], "-L --dereference") && !flagged(c.Words[1:], "--parents")
	}
	return true
}

// editsInPlace reports whether a sed changes the files it names by a script that
// does nothing else.
func (c *Command) editsInPlace() bool {
	script, inPlace := "", false
	for _, w := range c.Words[1:] {
		switch {
		case w == "-i":
			inPlace = true
		case w == "-E" || w == "-r" || w == "-n":
		case strings.HasPrefix(w, "-"):
			return false // a script in a flag, or a copy under another name
		case script == "":
			script = w
		}
	}
	r := sedReader{s: script}
	return inPlace && script != "" && r.script() == ""
}
