package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcp-toolset/internal/nearest"
)

// UnknownTool is the error for a name that no offered tool has.
type UnknownTool struct {
	Name    string   // as called
	Nearest []string // offered tools it may have meant
	Offered []string // all offered tools, if there is none near
	Server  string   // the upstream server that may turn out to have the tool once it is connected, "" if there is none
	Why     string   // why the server that the name may be of offers no tools, "" if there is none
	Query   string   // what ToolSearch may find it by; "": it is not offered
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
	var names []string
	for _, t := range c.tools {
		if !t.Finder || c.query {
			names = append(names, t.Name)
		}
	}
	e := &UnknownTool{Name: name, Nearest: nearest.Names(name, names, 3)}
	if c.query {
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
