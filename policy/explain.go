package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"mcp-toolset/internal/text/plain"
)

// Texts of decisions. A Reason states one fact and Next one next step. Both have no
// full stop and are safe to show.

// maxRootsShown is the maximum number of roots in a reason.
const maxRootsShown = 3

func (c *call) denied(reason, next string) Decision {
	return Decision{Behavior: Deny, Layer: LayerPath, Reason: reason, Next: next}
}

// byRule returns the decision of the rule in m.
func (c *call) byRule(b Behavior, m match) Decision {
	d := Decision{Behavior: b, Layer: LayerRule, Rule: m.rule.text, Source: m.rule.Source, Line: m.rule.Line}
	if b == Allow {
		d.Reason = "an allow rule covers the call"
		return d
	}
	name, place := fmt.Sprintf("the %s rule %s", b, plain.Quote(m.rule.text)), m.rule.Origin.String()
	switch {
	case m.rule.broken != nil:
		d.Reason = fmt.Sprintf("%s is malformed (%v), so it %s", name, m.rule.broken, m.rule.effect(b))
	case m.path != "":
		d.Reason = name + " covers " + c.naming(m.path).by(m.path, "")
	case m.rule.whole && c.r.As != "" && m.rule.tool == c.r.As:
		d.Reason = name + " covers every command of " + plain.Quote(c.r.Tool)
	case m.rule.whole || m.rule.prefix:
		d.Reason = name + " covers every call of " + plain.Quote(c.r.Tool)
	default:
		d.Reason = name + " covers this call"
	}
	switch {
	case b == Ask:
		d.Next = "the user can change the rule in " + place
	case m.rule.broken != nil:
		d.Next = "ask the user to correct the rule in " + place
	case m.path != "":
		d.Next = "use another path, or ask the user to change the rule in " + place
	case m.rule.whole && c.r.As != "" && m.rule.tool == c.r.As:
		d.Next = "do without a command, or ask the user to change the rule in " + place
	case m.rule.whole || m.rule.prefix:
		d.Next = "do without this tool, or ask the user to change the rule in " + place
	default:
		d.Next = "do it another way, or ask the user to change the rule in " + place
	}
	return d
}

// naming returns the target of the call that names path. It returns c if there is
// none.
func (c *call) naming(path string) *call {
	for _, t := range slices.Concat(c.targets, c.mentions) {
		if t.real.path == path || t.written() == path {
			return t
		}
	}
	return c
}

// by describes path, adding the path as written if it differs. If predicate is not
// empty, the result is a clause with path as its subject.
func (c *call) by(path, predicate string) string {
	text, comma := plain.Quote(path), ""
	if written := c.written(); written != path {
		text, comma = text+", where "+plain.Quote(written)+" leads", ","
	}
	if predicate == "" {
		return text
	}
	return text + comma + " " + predicate
}

// file returns the settings file to which the user can add rules.
func (c *call) file() string { return Origin{Source: c.p.addTo}.String() }

func (c *call) unresolved() Decision {
	if !paths.IsAbs(c.r.Target.Literal) {
		return c.denied(plain.Quote(c.r.Target.Literal)+" is not an absolute path", "write the path from the file-system root")
	}
	return c.denied("where "+plain.Quote(c.r.Target.Literal)+" leads is not known", "use a path whose folders exist and can be looked into")
}

func (c *call) inClosedFolder(path string) Decision {
	return c.denied(c.by(path, "is in a folder that is closed to all tools"), "use a path inside the workspace roots")
}

func (c *call) guardedFile(path string) Decision {
	return c.denied(c.by(path, "holds settings of this server or is run by its hooks, which no tool changes"), "tell the user what to change there")
}

func (c *call) inKernelFolder(path string) Decision {
	next := "use an ordinary file"
	if rule, ok := c.suggestion(path); ok {
		next += ", or ask the user to add an allow rule such as " + rule + " to " + c.file()
	}
	return c.denied(c.by(path, "is in a folder of the kernel (/proc, /sys, /dev)"), next)
}

func (c *call) outside() Decision {
	path := c.real.path
	reason := c.by(path, "is outside the workspace roots ("+c.shownRoots()+")")
	next, instead := "use a path inside the roots", ""
	if paths.Holds("/tmp", path) || paths.Holds("/var/tmp", path) {
		switch {
		case isCommandTool(c.r.Tool):
			next, instead = temporary, temporary
		case c.r.Target.Access == Edit:
			next += ", or a command with $TMPDIR for temporary files"
		}
	}
	if len(c.p.roots) == 0 {
		reason, next = c.by(path, "cannot be used: there are no workspace roots"), "ask for a workspace root"
	}
	rule, ok := c.suggestion(path)
	switch {
	case !ok:
	case c.linked:
		next += fmt.Sprintf(", or name %s itself and ask the user to add an allow rule such as %s to %s", plain.Quote(path), rule, c.file())
	default:
		next += ", or ask the user to add an allow rule such as " + rule + " to " + c.file()
	}
	d := c.denied(reason, next)
	d.Alternative = instead
	return d
}

// temporary is the advice for a command that names a path in /tmp.
const temporary = "use $TMPDIR for temporary files"

func (c *call) shownRoots() string {
	var shown []string
	for _, r := range c.p.roots[:min(len(c.p.roots), maxRootsShown)] {
		shown = append(shown, plain.Quote(r.path))
	}
	if more := len(c.p.roots) - maxRootsShown; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

// escaper turns a path into a pattern that covers only that path and the files below
// it.
var escaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// suggestion returns the narrowest rule that covers path. It fails if path cannot be
// written in a rule or not shown in full, or if the rule would be too broad.
func (c *call) suggestion(path string) (rule string, ok bool) {
	if c.p.broad(path) {
		return "", false
	}
	pattern := "/" + escaper.Replace(paths.Slashed(path))
	if r, n := rune(pattern[len(pattern)-1]), len(pattern)-1; unicode.IsSpace(r) {
		pattern = pattern[:n] + `\` + pattern[n:]
	}
	rule = fmt.Sprintf("%s(%s)", c.r.Target.Access, pattern)
	_, err := compilePath(pattern)
	return rule, err == nil && rule == plain.Quote(rule)
}
