package shellsafe

import "strings"

// editors make, remove and move files and do nothing else. Their operands are
// in Analysis.Reads and Writes.
const editors = "mkdir touch rm rmdir mv cp sed"

// Edits reports whether the command only makes, removes or moves the files it
// names, all of which are known.
func (c *Command) Edits() bool {
	if !c.Allowable || !c.Literal || !has(editors, c.Name) || c.Words[0] != c.Name {
		return false
	}
	if c.Name != "sed" {
		return true
	}
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
