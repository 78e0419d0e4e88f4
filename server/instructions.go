package server

import (
	"fmt"
	"strings"

	"mcp-toolset/tools"
)

// MaxInstructions bounds the instructions, in bytes. Clients cut them at 2,048 or
// later, and every conversation pays for them.
const MaxInstructions = 1500

// minDeferred is kept for the tools that are not listed, in bytes.
const minDeferred = 300

// Conditions are what the instructions say about the decisions on calls.
type Conditions struct {
	Sandbox bool // commands run in a sandbox where the system has one
	Plan    bool // only read-only calls run
	Asks    bool // the user can approve a call, in the client or in a terminal
}

// text returns the conditions in sentences. They are true whether or not the
// sandbox holds on this system: that is not known yet when a client connects.
// Commands are run by bash or by PowerShell, or not at all.
func (c Conditions) text(bash, powerShell bool) string {
	text := ""
	switch {
	case powerShell:
		text += "Commands run in PowerShell, without a sandbox. Their temporary files belong in $env:TEMP.\n"
	case bash && c.Sandbox:
		text += "Commands run in a sandbox where the system has one: they write to the workspace, to $TMPDIR (use it instead of /tmp) and to caches of build tools.\n"
	case bash:
		text += "Temporary files of commands belong in $TMPDIR: /tmp is outside the workspace.\n"
	}
	if c.Plan {
		text += "Plan mode is on: only read-only calls run. Explore, then present a plan; the user ends plan mode.\n"
	}
	if c.Asks {
		text += "A call that needs approval is put to the user. If its refusal has an approval number N, ask the user to run `mcp-toolset approve N`, then send exactly the same call again.\n"
	}
	return text
}

// instructions tell a model what it cannot see in the tools themselves: where it
// is, how calls are decided and in which order they run, and which tools it is not
// shown.
func instructions(roots []string, r *tools.Registry, how tools.Deferral, c Conditions) string {
	const (
		head = "Tools for working on files on this machine, as a coding agent does.\n" +
			"Paths may be absolute, start with ~, or be relative to the working directory. Workspace roots, the first being the working directory at the start:\n"
		order = "Calls sent together over stdio or in one HTTP session run as one batch: reads in parallel, anything that changes something alone and in the order sent, so a read after a write sees it. " +
			"HTTP requests of protocol 2026-07-28 have no order: send what depends on a call after its answer. " +
			"A result too long to show names a file that holds all of it: Read that file."
	)
	_, noBash := r.Lookup("Bash")
	_, noPowerShell := r.Lookup("PowerShell")
	text, tail := head, c.text(noBash == nil, noPowerShell == nil)+order
	room := MaxInstructions - len(tail) - 50 // for the line on further roots
	if how.Searches() {
		room -= minDeferred
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
	return text + deferred(r, how, MaxInstructions-len(text))
}

// deferred names the tools that are not listed, in at most so many bytes: by
// name, and those of servers by their number where all names do not fit. It is ""
// where everything is listed.
func deferred(r *tools.Registry, how tools.Deferral, room int) string {
	const lead = "\nFurther tools, found with ToolSearch and called with CallTool or by name: "
	if !how.Searches() {
		return ""
	}
	room -= len(lead) + 1
	own, of := unlisted(r, how)
	all := own
	var servers []string
	for _, s := range r.Catalogue().Servers() {
		if s.State == tools.Refused || len(s.Tools) > 0 && len(of[s.Name]) == 0 {
			continue // it has none, or all are listed
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

// unlisted are the names of the tools that are not listed: our own, and those of
// each server.
func unlisted(r *tools.Registry, how tools.Deferral) (own []string, of map[string][]string) {
	listed := map[*tools.Tool]bool{}
	for _, t := range r.Listed(how, nil) {
		listed[t] = true
	}
	of = map[string][]string{}
	for _, t := range r.Tools() {
		switch {
		case listed[t]:
		case t.Server == "":
			own = append(own, t.Name)
		default:
			of[t.Server] = append(of[t.Server], t.Name)
		}
	}
	return own, of
}

// counted is our own tools by name, and how many each server has.
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
