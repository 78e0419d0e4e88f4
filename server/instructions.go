package server

import (
	"context"
	"fmt"
	"strings"

	"mcp-toolset/internal/host"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// MaxInstructions is the maximum size of the instructions, in bytes. Clients
// truncate them at 2,048 bytes or later, and they use context in every
// conversation.
const MaxInstructions = 1500

// maxWithProfile is MaxInstructions with the prompt of a profile.
const maxWithProfile = 2040

// minDeferred is the size reserved for the names of unlisted tools, in bytes.
const minDeferred = 300

// Conditions describes how calls are decided, for the instructions.
type Conditions struct {
	Sandbox bool // commands run in a sandbox if the system has one
	Plan    bool // only read-only calls run
	Asks    bool // the user can approve a call, in the client or in a terminal

	// Unordered reports that the requests of the client belong to no session.
	Unordered bool
	Has       []string // the features of tools that the client has of its own
}

// text returns the conditions in sentences. They are true with and without a
// working sandbox, because that is not known yet when a client connects. bash
// and powerShell report which of these tools exists; there may be neither.
func (c Conditions) text(bash, powerShell bool) string {
	text := ""
	switch {
	case powerShell:
		text += "Commands run in PowerShell, without a sandbox. Their temporary files belong in $env:TEMP.\n"
	case bash && c.Sandbox:
		text += "Commands run in a sandbox where the system has one: they write to the workspace, to $TMPDIR and to caches of build tools. Where mounts hold, /tmp is $TMPDIR for commands and for the file tools.\n"
	case bash:
		text += "Temporary files of commands belong in $TMPDIR.\n"
	}
	if c.Plan {
		text += "Plan mode is on: only read-only calls run. Explore, then present a plan; the user ends plan mode.\n"
	}
	if c.Asks {
		text += "A call that needs approval is put to the user. If its refusal has an approval number N, ask the user to run `mcp-toolset approve N`, then send exactly the same call again.\n"
	}
	return text
}

// instructions returns the instructions for the client of a request.
func (s *Server) instructions(ctx context.Context, how tools.Deferral) string {
	p, c := s.profile(ctx), s.Conditions
	c.Has = host.Of(clientName(ctx)).Has
	if conv := callFrom(ctx).conv; conv != nil {
		c.Unordered = conv.session.View().Stateless
	}
	if p == nil {
		return instructions(s.Roots.Paths(), s.Registry, nil, how, c, MaxInstructions)
	}
	c.Plan = c.Plan || p.Plan
	lead := ""
	if p.Prompt != "" {
		lead = strings.TrimSpace(p.Prompt) + "\n\n"
	}
	return lead + instructions(s.Roots.Paths(), s.Registry, p, how, c, min(MaxInstructions, maxWithProfile-len(lead)))
}

// instructions returns the text that informs a model of what the tools do not
// show: its folders, how calls are decided and ordered, and which tools are not
// listed. It has about most bytes at most.
func instructions(roots []string, r *tools.Registry, p *session.Profile, how tools.Deferral, c Conditions, most int) string {
	const (
		head = "Tools for working on files on this machine, as a coding agent does.\n" +
			"Paths may be absolute, start with ~, or be relative to the working directory. Workspace roots, the first being the working directory at the start:\n"
		batch  = "Calls sent together run as one batch: reads in parallel, anything that changes something alone and in the order sent, so a read after a write sees it. "
		single = "Calls have no order: send what depends on a call after its answer. "
		long   = "A result too long to show names a file that holds all of it: Read that file."
	)
	_, noBash := r.View(p).Lookup("Bash")
	_, noPowerShell := r.View(p).Lookup("PowerShell")
	order := batch
	if c.Unordered {
		order = single
	}
	text, tail := head, c.text(noBash == nil, noPowerShell == nil)+order+long
	room := most - len(tail) - 50 // for the line on further roots
	if how.Searches() {
		room -= minDeferred
	}
	if len(roots) == 0 {
		text += "- none yet: the folders that are open in the client\n"
	}
	for i, root := range roots {
		line := "- " + root + "\n"
		if len(text)+len(line) > room {
			text += fmt.Sprintf("- and %d more\n", len(roots)-i)
			break
		}
		text += line
	}
	text += tail
	return text + deferred(r, p, how, c.Has, most-len(text))
}

// deferred names the tools that are not listed, in at most room bytes. If not
// all names fit, it gives only the number of tools of each upstream server. It
// returns "" if all tools are listed.
func deferred(r *tools.Registry, p *session.Profile, how tools.Deferral, has []string, room int) string {
	if !how.Searches() {
		return ""
	}
	lead := "\nFurther tools, found with ToolSearch and called with CallTool"
	if how == tools.DeferLegacyList {
		lead += ", or by name once found"
	}
	lead += ": "
	room -= len(lead) + 1
	own, of := unlisted(r, p, how, has)
	all := own
	var servers []string
	for _, s := range r.Catalogue().Servers() {
		if s.State == tools.Refused || len(s.Tools) > 0 && len(of[s.Name]) == 0 {
			continue // the server has no tools, or all are listed
		}
		servers = append(servers, s.Name)
		if len(s.Tools) == 0 {
			all = append(all[:len(all):len(all)], "those of the server "+s.Name)
		}
		all = append(all[:len(all):len(all)], of[s.Name]...)
	}
	text := strings.Join(all, ", ")
	if len(text) > room {
		text = counted(own, servers, of, room)
	}
	if text == "" {
		return ""
	}
	return lead + text + "."
}

// unlisted returns the names of the tools that are not listed: built-in tools
// in own, upstream tools by server in of.
func unlisted(r *tools.Registry, p *session.Profile, how tools.Deferral, has []string) (own []string, of map[string][]string) {
	listed := map[*tools.Tool]bool{}
	for _, t := range r.ListedFor(p, how, nil) {
		listed[t] = true
	}
	of = map[string][]string{}
	for _, t := range r.View(p).Tools() {
		switch {
		case listed[t] || r.Leaves(t, has):
		case t.Server == "":
			own = append(own, t.Name)
		default:
			of[t.Server] = append(of[t.Server], t.Name)
		}
	}
	return own, of
}

// counted returns the names of the built-in tools and the number of tools of
// each upstream server.
func counted(own, servers []string, of map[string][]string, room int) string {
	parts, size := own, len(strings.Join(own, ", "))
	for i, server := range servers {
		part := "those of the server " + server
		if n := len(of[server]); n > 0 {
			part = fmt.Sprintf("%d of the server %s", n, server)
		}
		rest := fmt.Sprintf("those of %d more servers", len(servers)-i)
		if size+len(part)+len(rest)+4 > room {
			parts = append(parts, rest)
			break
		}
		parts, size = append(parts, part), size+len(part)+2
	}
	return strings.Join(parts, ", ")
}
