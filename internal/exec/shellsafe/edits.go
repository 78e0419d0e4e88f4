package shellsafe

import "strings"

// editors lists commands that only create, remove, change and move files. Their
// operands are in Analysis.Reads and Writes.
const editors = "mkdir touch rm rmdir mv cp sed"

// Edits reports whether the command only creates, removes, changes or moves the
// files it names. All of them are known, except for paths that are Dynamic and for
// patterns.
func (c *Command) Edits() bool {
	if !c.Allowable || len(c.Outputs) > 0 || !has(editors, c.Name) || c.Words[0] != c.Name {
		return false
	}
	switch c.Name {
	case "sed":
		return c.Literal && c.editsInPlace()
	case "cp":
		// The first follows links, and the second copies to more folders than the
		// named one.
		return !flagged(c.Words[1:], "-L --dereference") && !flagged(c.Words[1:], "--parents")
	}
	return true
}

// editsInPlace reports whether sed changes the files it names by a script that has
// no other effect.
func (c *Command) editsInPlace() bool {
	script, inPlace := "", false
	for _, w := range c.Words[1:] {
		switch {
		case w == "-i":
			inPlace = true
		case w == "-E" || w == "-r" || w == "-n":
		case strings.HasPrefix(w, "-"):
			return false // a script in a flag, or a backup under another name
		case script == "":
			script = w
		}
	}
	r := sedReader{s: script}
	return inPlace && script != "" && r.script() == ""
}
