package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/nearest"
)

// UnknownTool is the error for a name that no offered tool has.
type UnknownTool struct {
	Name    string   // as called
	Nearest []string // offered tools it may have meant
	Instead string   // what to do instead, for a tool that other hosts have
	Offered []string // all offered tools, if there is none near
	Server  string   // the upstream server that may turn out to have the tool once it is connected, "" if there is none
	Why     string   // why the server that the name may be of offers no tools, "" if there is none
	Query   string   // what ToolSearch may find it by; "": it is not offered, or Instead names a tool
	Reason  string   // why the tool is absent, "" if there is no such tool
	Absent  *Tool    // the tool that is absent, nil if there is no such tool; not to be run
}

func (e *UnknownTool) Error() string {
	shown := clip([]byte(fmt.Sprintf("%q", e.Name)))
	text := ""
	switch {
	case e.Reason != "":
		return fmt.Sprintf("tool %s is not available: %s", shown, e.Reason)
	case e.Why != "":
		return fmt.Sprintf("there is no tool %s: %s", shown, e.Why)
	case e.Instead != "":
		text = fmt.Sprintf("there is no tool %s; %s", shown, e.Instead)
	case len(e.Nearest) > 0:
		text = fmt.Sprintf("there is no tool %s; the nearest is %s", shown, strings.Join(e.Nearest, ", "))
	case e.Query != "":
		text = fmt.Sprintf("there is no tool %s", shown)
	default:
		text = fmt.Sprintf("there is no tool %s; there are: %s", shown, longer(strings.Join(e.Offered, ", ")))
	}
	if e.Query != "" {
		text += fmt.Sprintf(". Find others with ToolSearch {\"query\": %s}", quoteJSON(e.Query))
	}
	return text
}

// Lookup finds a tool by name or former name. The error is an *UnknownTool.
func (r *Registry) Lookup(name string) (*Tool, error) { return r.now.Load().Lookup(name) }

// Lookup finds a tool by name or former name. The error is an *UnknownTool.
func (c *Catalogue) Lookup(name string) (*Tool, error) {
	if t := c.byName[name]; t != nil {
		return t, nil
	}
	if a, ok := c.absent[name]; ok {
		return nil, &UnknownTool{Name: name, Reason: a.Reason, Absent: a.tool}
	}
	names, near := c.near(name)
	e := &UnknownTool{Name: name, Nearest: near}
	named := false
	if !slices.ContainsFunc(near, func(n string) bool { return sameButServer(name, n) }) {
		e.Instead, named = c.instead(name)
	}
	if c.query && !named {
		e.Query = short(strings.Join(NameWords(name), " "))
	}
	if len(e.Nearest) == 0 {
		e.Offered = names
	}
	for _, s := range c.servers {
		known := s.State == Ready || s.State == Idle && len(s.Tools) > 0 // then a name is one that it does not have
		if !known && strings.HasPrefix(name, "mcp__"+s.Prefix+"__") {
			e.Why = s.absence()
			if s.State != Refused { // which is never connected
				e.Server = s.Name
			}
		}
	}
	return nil, e
}

// near returns the names of all offered tools, and those that a name may have
// meant. A tool that may change something is suggested only for a misspelling of
// its name, or for its name without that of its server: a name that merely contains
// another, or another short word, may be that of a harmless tool.
func (c *Catalogue) near(name string) (names, near []string) {
	changing := map[string]bool{}
	for _, t := range c.tools {
		if t.Finder && !c.query {
			continue
		}
		names = append(names, t.Name)
		changing[t.Name] = !t.Hints.ReadOnly && (t.Said == nil || !t.Said.ReadOnlyHint())
	}
	near = slices.DeleteFunc(nearest.Names(name, names, len(names)), func(n string) bool {
		return changing[n] && !sameButServer(name, n) && (nearest.Typo(name, []string{n}) == "" || otherWord(name, n))
	})
	return names, near[:min(len(near), 3)]
}

// otherWord reports whether a name is as long as that of a tool, short, and has other
// letters: Exit is no misspelling of Edit.
func otherWord(name, tool string) bool {
	const short = 5
	a, b := []rune(strings.ToLower(name)), []rune(strings.ToLower(tool))
	slices.Sort(a)
	slices.Sort(b)
	return len(a) == len(b) && len(a) <= short && !slices.Equal(a, b)
}

// sameButServer reports whether a name is that of an upstream server's tool at its
// server.
func sameButServer(name, tool string) bool {
	return strings.HasPrefix(tool, "mcp__") && strings.HasSuffix(strings.ToLower(tool), "__"+strings.ToLower(name))
}

// absence is why the tools of a server are not there.
func (s *Server) absence() string {
	what := "is not connected"
	switch {
	case s.State == Pending:
		return "the server " + s.Name + " is being connected; send the call again in a moment"
	case s.State == Refused:
		what = "may not be used"
	}
	if s.Note != "" {
		what += ": " + s.Note
	}
	return "the server " + s.Name + " " + what
}

// short is the beginning of a query.
func short(query string) string {
	const most = 60
	if r := []rune(query); len(r) > most {
		return strings.TrimSpace(string(r[:most]))
	}
	return query
}

func quoteJSON(s string) string {
	text, _ := json.Marshal(s) // a string always can be
	return string(text)
}
