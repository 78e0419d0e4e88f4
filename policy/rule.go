package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/web/site"
)

// rule is one entry of permissions.deny, ask or allow.
type rule struct {
	Origin
	text  string // as written
	order int    // position in its list
	tool  string // tool name; if prefix is true, the beginning of tool names
	// prefix reports whether the rule covers all tools of an upstream server.
	prefix  bool
	whole   bool            // whether the rule covers all calls of the tool
	pattern string          // of a Tool(pattern) rule
	path    *pathPattern    // pattern as a path pattern; nil if it is not one
	command *commandPattern // pattern as a command pattern; nil in a rule on a whole tool
	folded  *commandPattern // command in lower case
	site    *site.Pattern   // pattern as a pattern of hosts, in a rule on WebFetch; nil if it is not one
	preset  *Except         // of a rule of a preset: what it does not cover
	broken  error           // what is wrong with the rule, as a clause; nil if it is valid
}

// Except describes the commands that a rule of a preset does not cover.
type Except struct {
	// Flags lists flags by which a command is not covered: with or without a value, abbreviated, or
	// as a letter of a cluster.
	Flags []string
	// Names lists parts of other words by which it is not covered, in lower case.
	Names []string
	// Others reports whether it is not covered if it may do more than change the files it names.
	Others bool
	// Remote reports whether it is not covered if it may talk to other machines.
	Remote bool
}

// covers reports whether a part of a call is excepted.
func (e *Except) covers(p *Part) bool {
	if e.Others && !p.Edits || e.Remote && !p.Local {
		return true
	}
	for _, word := range strings.Fields(p.Text) {
		if !strings.HasPrefix(word, "-") {
			if slices.ContainsFunc(e.Names, func(name string) bool { return strings.Contains(strings.ToLower(word), name) }) {
				return true
			}
			continue
		}
		flag, _, _ := strings.Cut(word, "=")
		for _, f := range e.Flags {
			short := len(f) == 2 && (strings.HasPrefix(flag, f) || len(flag) < 5 && flag[:min(2, len(flag))] != "--" && strings.Contains(flag, f[1:]))
			if flag == f || short || len(flag) > 4 && strings.HasPrefix(f, flag) {
				return true
			}
		}
	}
	return false
}

// wholeTool is the pattern that is equivalent to no pattern.
const wholeTool = "*"

// familyOf maps tools to the access for which whole-tool rules on Read or Edit cover
// them. Path rules do not need it, because they depend on what a call does to its
// path.
var familyOf = map[string]Access{
	"Read": Read, "Grep": Read, "Glob": Read,
	"Edit": Edit, "Write": Edit, "NotebookEdit": Edit,
}

// inFamily reports whether a tool with this name is in the family of a.
func inFamily(name string, a Access) bool {
	family, ok := familyOf[name]
	return ok && family == a
}

// onPaths reports whether the rule is Read(pattern) or Edit(pattern).
func (r *rule) onPaths() bool {
	return !r.whole && (r.tool == Read.String() || r.tool == Edit.String())
}

// onFiles reports whether the pattern of the rule must be a path pattern.
func (r *rule) onFiles() bool {
	_, ok := familyOf[r.tool]
	return ok && !r.whole
}

// onForeign reports whether the rule has a pattern for an upstream tool. The meaning
// of such a pattern is unknown here, so a deny or ask rule covers all calls of the
// tool.
func (r *rule) onForeign() bool {
	return !r.whole && !r.prefix && strings.HasPrefix(r.tool, UpstreamMark)
}

// spelling returns the name by which an upstream tool is called here. A rule may write
// a dot where the name has an underscore, because names of upstream tools contain no
// dots.
func spelling(tool string) string {
	if !strings.HasPrefix(tool, UpstreamMark) {
		return tool
	}
	return strings.ReplaceAll(tool, ".", "_")
}

// names reports whether the rule is on a tool with this name.
func (r *rule) names(tool string) bool {
	if r.prefix {
		return strings.HasPrefix(tool, r.tool)
	}
	return r.tool == tool
}

// parseRule parses the text of a rule. root is the folder at which patterns with a
// leading / begin. If the rule is malformed, broken is set, and tool is set if the
// name could be read.
func parseRule(text string, order int, from Origin, root string) rule {
	r := rule{Origin: from, text: text, order: order}
	name, rest := strings.TrimSpace(text), ""
	if i := strings.IndexByte(name, '('); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	if r.broken = r.parseName(name); r.broken != nil {
		return r
	}
	switch {
	case rest == "" || rest == "("+wholeTool+")":
		r.whole = true
		return r
	case !strings.HasSuffix(rest, ")"):
		r.broken = errors.New(`it opens "(" and does not end in ")"`)
		return r
	case r.prefix:
		r.broken = errors.New("a rule on a whole server cannot have a pattern")
		return r
	}
	r.pattern = rest[1 : len(rest)-1]
	r.parsePattern(root)
	return r
}

// parseName parses the name of a tool or of an upstream server.
func (r *rule) parseName(name string) error {
	if name == "" {
		return errors.New("it names no tool")
	}
	base := strings.TrimRight(name, "*")
	for _, c := range base {
		if !isNameRune(c) {
			r.setIntended(base, base != name)
			return fmt.Errorf("%+q cannot be in the name of a tool", c)
		}
	}
	star := base != name
	server, upstream := strings.CutPrefix(base, UpstreamMark)
	switch {
	case star && (!upstream || len(name)-len(base) > 1):
		r.tool, r.prefix = base, true // the tools that a malformed deny rule covers
		return errors.New(`"*" can stand only at the end of a name such as mcp__server__*`)
	case upstream && server == "" && !star:
		r.tool, r.prefix = base, true
		return errors.New("it names no server")
	case star:
		r.tool, r.prefix = base, true
	case upstream && strings.HasSuffix(server, UpstreamGap) && !strings.Contains(strings.TrimSuffix(server, UpstreamGap), UpstreamGap):
		r.tool, r.prefix = base, true
		return errors.New("it names no tool of the server")
	case upstream && !strings.Contains(server, UpstreamGap):
		r.tool, r.prefix = base+UpstreamGap, true
	default:
		r.tool = base
	}
	return nil
}

// setIntended sets the tools of a malformed rule to those of the server whose name was
// written as in mcpServers, not as in the names of its tools.
func (r *rule) setIntended(name string, star bool) {
	server, upstream := strings.CutPrefix(name, UpstreamMark)
	if !upstream {
		return
	}
	server = ServerPrefix(server)
	r.tool, r.prefix = UpstreamMark+server, star
	if !star && !strings.Contains(server, UpstreamGap) {
		r.tool, r.prefix = ToolsPrefix(server), true
	}
}

func isNameRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// parsePattern parses the pattern of a Tool(pattern) rule. The pattern of a tool that
// does not work on files is interpreted by that tool; here it only must be short
// enough and readable.
func (r *rule) parsePattern(root string) {
	if r.pattern == "" {
		r.broken = errors.New("the pattern is empty")
		return
	}
	var err error
	if r.path, err = compilePath(r.pattern); err == nil && r.path.anchor == atRoot {
		if err = r.path.bind(root); err != nil {
			r.path = nil
		}
	}
	switch {
	case r.onFiles():
		r.broken = err
	case r.tool == SiteTool:
		p, err := site.ParsePattern(r.pattern)
		if r.broken = err; err == nil {
			r.site = &p
		}
	case len(r.pattern) > maxPattern:
		r.broken = fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	default:
		r.broken = checkRunes(r.pattern)
	}
}

// effect describes what a malformed rule does.
func (r *rule) effect(b Behavior) string {
	switch {
	case b == Allow || r.tool == "" && !r.prefix:
		return "has no effect"
	case r.prefix && r.tool == "":
		return "covers every call"
	case r.prefix:
		return fmt.Sprintf("covers every call of a tool whose name begins with %s", r.tool)
	case r.onPaths():
		return fmt.Sprintf("covers every path that %s rules can cover", r.tool)
	default:
		return fmt.Sprintf("covers every %s call", r.tool)
	}
}
