package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/nearest"
)

// UnknownTool is the error for a call of a name that no offered tool has.
type UnknownTool struct {
	Name         string   // as called
	Nearest      []string // offered tools with a similar name
	Advice       string   // advice for a tool that other hosts have
	Offered      []string // all offered tools, if Nearest is empty
	Server       string   // the upstream server that may have the tool once it is connected; "" if there is none
	ServerReason string   // why the server in the name offers no tools; "" if there is no such server
	Query        string   // query that may find it with ToolSearch; "": ToolSearch is not offered, or Advice names a tool
	Reason       string   // why the tool is absent; "" if there is no such tool
	Absent       *Tool    // the absent tool, which must not be run; nil if there is no such tool
}

func (e *UnknownTool) Error() string {
	shown := clip([]byte(fmt.Sprintf("%q", e.Name)))
	text := ""
	switch {
	case e.Reason != "":
		return fmt.Sprintf("tool %s is not available: %s", shown, e.Reason)
	case e.ServerReason != "":
		return fmt.Sprintf("there is no tool %s: %s", shown, e.ServerReason)
	case e.Advice != "":
		text = fmt.Sprintf("there is no tool %s; %s", shown, e.Advice)
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

// Lookup returns the tool with a name or former name. The error is an *UnknownTool.
func (r *Registry) Lookup(name string) (*Tool, error) { return r.now.Load().Lookup(name) }

// Lookup returns the tool with a name or former name, in any case of its letters. The error is an
// *UnknownTool.
func (c *Catalogue) Lookup(name string) (*Tool, error) {
	if t := c.byName[name]; t != nil {
		return t, nil
	}
	if i := slices.IndexFunc(c.tools, func(t *Tool) bool { return strings.EqualFold(t.Name, name) }); i >= 0 && !(c.tools[i].Finder && !c.query) {
		return c.tools[i], nil
	}
	if a, ok := c.absent[name]; ok {
		return nil, &UnknownTool{Name: name, Reason: a.Reason, Absent: a.tool}
	}
	names, near := c.near(name)
	e := &UnknownTool{Name: name, Nearest: near}
	named := false
	if !slices.ContainsFunc(near, func(n string) bool { return sameWithoutServer(name, n) }) {
		e.Advice, named = c.adviceFor(name)
	}
	if c.query && !named {
		e.Query = short(strings.Join(NameWords(name), " "))
	}
	if len(e.Nearest) == 0 {
		e.Offered = names
	}
	for _, s := range c.servers {
		known := s.State == Ready || s.State == Idle && len(s.Tools) > 0 // the tools are known, and the name is not among them
		if !known && strings.HasPrefix(name, "mcp__"+s.Prefix+"__") {
			e.ServerReason = s.absence()
			if s.State != Refused { // a refused server is never connected
				e.Server = s.Name
			}
		}
	}
	return nil, e
}

// near returns the names of all offered tools, and those that are similar to name. A tool
// that may change something is suggested only for a misspelling of its name, or for its
// name without that of its server. A name that only contains its name, or another short
// word, may be that of a harmless tool.
func (c *Catalogue) near(name string) (names, near []string) {
	changing := map[string]bool{}
	for _, t := range c.tools {
		if t.Finder && !c.query {
			continue
		}
		names = append(names, t.Name)
		changing[t.Name] = !t.Hints.ReadOnly && (t.Declared == nil || !t.Declared.ReadOnlyHint())
	}
	near = slices.DeleteFunc(nearest.Names(name, names, len(names)), func(n string) bool {
		return changing[n] && !sameWithoutServer(name, n) && (nearest.Typo(name, []string{n}) == "" || otherWord(name, n))
	})
	return names, near[:min(len(near), 3)]
}

// otherWord reports whether a short name has the length of a tool's name but different
// letters: Exit is not a misspelling of Edit.
func otherWord(name, tool string) bool {
	const short = 5
	a, b := []rune(strings.ToLower(name)), []rune(strings.ToLower(tool))
	slices.Sort(a)
	slices.Sort(b)
	return len(a) == len(b) && len(a) <= short && !slices.Equal(a, b)
}

// sameWithoutServer reports whether tool is an upstream tool whose name without that of its
// server is name.
func sameWithoutServer(name, tool string) bool {
	return strings.HasPrefix(tool, "mcp__") && strings.HasSuffix(strings.ToLower(tool), "__"+strings.ToLower(name))
}

// absence returns the reason why the tools of a server are not offered.
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

// short truncates a query to 60 characters.
func short(query string) string {
	const most = 60
	if r := []rune(query); len(r) > most {
		return strings.TrimSpace(string(r[:most]))
	}
	return query
}

func quoteJSON(s string) string {
	text, _ := json.Marshal(s) // cannot fail for a string
	return string(text)
}
