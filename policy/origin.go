package policy

import (
	"strconv"

	"mcp-toolset/internal/text/plain"
)

// Origin is the place of something in a settings file. Rules may come from several
// files, so each has its own origin.
type Origin struct {
	Source string // the file; "" if there is none
	Line   int    // 1-based
}

// String returns FILE:LINE, safe to show.
func (o Origin) String() string {
	switch {
	case o.Source == "":
		return "the settings file"
	case o.Line == 0:
		return plain.Quote(o.Source)
	}
	return plain.Quote(o.Source) + ":" + strconv.Itoa(o.Line)
}

// Location returns the place of the deciding rule as FILE:LINE, safe to show. It returns
// "" if no rule of a file decided.
func (d Decision) Location() string {
	if d.Source == "" {
		return ""
	}
	return Origin{d.Source, d.Line}.String()
}
