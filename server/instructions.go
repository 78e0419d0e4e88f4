package server

import (
	"fmt"
	"strings"

	"mcp-toolset/tools"
)

// MaxInstructions is where clients cut the instructions, in bytes.
const MaxInstructions = 2048

// minDeferred is kept for the tools that are not listed, in bytes.
const minDeferred = 600

// instructions tell a model what it cannot see in the tools themselves: where it
// is, in which order calls run, and which tools it is not shown.
func instructions(roots []string, r *tools.Registry, how tools.Deferral) string {
	const (
		head = "Tools for working on files on this machine, as a coding agent does.\n" +
			"Paths may be absolute, start with ~, or be relative to the working directory. Workspace roots, the first being the working directory at the start:\n"
		tail = "Calls sent together over stdio or in one HTTP session run as one batch: reads in parallel, anything that changes something alone and in the order sent, so a read behind a write sees it. " +
			"HTTP requests of protocol 2026-07-28 have no session and no order: send what builds on a call when that is answered. " +
			"A result too long to show names a file that holds all of it: go on with Read there."
	)
	text := head
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
