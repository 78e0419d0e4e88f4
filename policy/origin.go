package policy

import "strconv"

// origin is where something of the settings is written. Policies and Settings
// are made of several files, so each rule carries its own.
type origin struct {
	source string // the file, "" when none
	line   int    // 1-based
}

// String is FILE:LINE, safe to show.
func (o origin) String() string {
	switch {
	case o.source == "":
		return "the settings file"
	case o.line == 0:
		return show(o.source)
	}
	return show(o.source) + ":" + strconv.Itoa(o.line)
}

// Where is the place of the deciding rule as FILE:LINE, safe to show; "" when no
// rule of a file decided.
func (d Decision) Where() string {
	if d.Source == "" {
		return ""
	}
	return origin{d.Source, d.Line}.String()
}
