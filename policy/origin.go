package policy

import "strconv"

// origin is the place of something in a settings file. Policies and Settings may come
// from several files, so each rule has its own origin.
type origin struct {
	source string // the file; "" if there is none
	line   int    // 1-based
}

// String returns FILE:LINE, safe to show.
func (o origin) String() string {
	switch {
	case o.source == "":
		return "the settings file"
	case o.line == 0:
		return show(o.source)
	}
	return show(o.source) + ":" + strconv.Itoa(o.line)
}

// Where returns the place of the deciding rule as FILE:LINE, safe to show. It returns
// "" if no rule of a file decided.
func (d Decision) Where() string {
	if d.Source == "" {
		return ""
	}
	return origin{d.Source, d.Line}.String()
}
