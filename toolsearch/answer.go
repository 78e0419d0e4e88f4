package toolsearch

import (
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// This file formats the answer of a search.

const (
	// maxDefinitions is the limit for the definitions in an answer, in bytes. With the notes after
	// them the answer stays below the limit of a result.
	maxDefinitions = 60_000
	maxLine        = 200  // limit of a description in short, in characters
	maxDescription = 2000 // limit of the whole description of a tool of an upstream server, in characters
	mostWhole      = 2    // limit of hits of a search with the whole description
	mostSchemas    = 3    // limit of hits of a search with the input schema
	maxShown       = 60   // limit of a text from the call, in characters
	mostNamed      = 100  // limit of further hits that are named
	maxMissing     = 10   // limit of missing names that are explained
	mostLines      = 10   // limit of servers without connection that are named
	mostHint       = 20   // limit of servers that are suggested as a query
)

// answer returns the result of the call.
func (f *found) answer() tools.Result[Output] {
	out := Output{Tools: []Hit{}}
	var effect session.Effect
	var b strings.Builder
	start := f.catalogue.FromStart()
	for i, t := range f.hits {
		h, whole := f.describe(i, t)
		text := h.text()
		if b.Len()+len(text) > maxDefinitions && i > 0 {
			for _, t := range f.hits[i:] {
				out.More = append(out.More, t.Name)
			}
			break
		}
		out.Tools = append(out.Tools, h)
		b.WriteString(text)
		if whole && !start(t) {
			effect.Loaded = append(effect.Loaded, t.Name)
		}
	}
	if n := len(out.More); n > 0 {
		fmt.Fprintf(&b, "[further tools found, which select:NAME,NAME shows: %s]\n", list(out.More, mostNamed))
	}
	out.Skills = f.skills
	for i, k := range f.skills {
		if i == 0 {
			fmt.Fprintf(&b, "Skills, which the tool %s loads by name:\n", skillTool)
		}
		fmt.Fprintf(&b, "- %s: %s\n", k.Name, plain.Cut(k.Description, maxLine))
	}
	out.Notes = f.notes()
	for _, n := range out.Notes {
		b.WriteString("[" + n + "]\n")
	}
	if len(out.Tools) > 0 {
		with := "CallTool"
		if f.hits[0].Hints.ReadOnly {
			with = "CallReadOnlyTool"
		}
		fmt.Fprintf(&b, "Call it with %s {\"name\": %q, \"arguments\": {...}}.", with, out.Tools[0].Name)
		if f.byName {
			b.WriteString(" It can be called by its name, too.")
		}
	}
	out.text = strings.TrimSuffix(b.String(), "\n")
	return tools.Result[Output]{Data: out, Effect: effect}
}

// describe returns hit i, with the whole description if the tool was selected or is one of the
// best. whole is false if the input schema is left out.
func (f *found) describe(i int, t *tools.Tool) (h Hit, whole bool) {
	h = Hit{Name: t.Name, Server: plain.Line(t.Server), Description: line(t), Notice: plain.Line(t.Notice)}
	if f.query.selects || i < mostWhole {
		h.Description = description(t)
	}
	if !f.query.selects && i >= mostSchemas {
		h.short = true
		return h, false
	}
	raw, err := t.InputSchema()
	if err == nil {
		h.InputSchema, err = plain.JSON(raw)
	}
	if err != nil || len(h.text()) > maxDefinitions {
		h.InputSchema = ""
		return h, false
	}
	return h, true
}

// description returns the whole description of a tool. It is one line if it comes from an
// upstream server.
func description(t *tools.Tool) string {
	text := strings.TrimSpace(strings.ToValidUTF8(t.Prompt, ""))
	switch {
	case text == "":
		return line(t)
	case t.Server != "":
		return plain.Cut(plain.Text(strings.Join(strings.Fields(text), " ")), maxDescription)
	}
	return text
}

// line returns one line that describes a tool: the first sentence of its description, or
// its title.
func line(t *tools.Tool) string {
	text := firstSentence(t.Prompt[:min(len(t.Prompt), mostText)])
	if text == "" {
		text = t.Title
	}
	return plain.Cut(plain.Text(strings.ToValidUTF8(text, "")), maxLine)
}

// text returns the hit as the model sees it. Text of an upstream server is in double
// quotes, and contains none itself.
func (h *Hit) text() string {
	var b strings.Builder
	if h.Server == "" {
		fmt.Fprintf(&b, "%s: %s\n", h.Name, h.Description)
	} else {
		fmt.Fprintf(&b, "%s, of the server %s, described as: \"%s\"\n", h.Name, h.Server, quoted(h.Description))
	}
	switch {
	case h.InputSchema != "":
		b.WriteString("Input schema: " + h.InputSchema + "\n")
	case h.short:
		fmt.Fprintf(&b, "[select:%s returns the whole description and the input schema]\n", h.Name)
	default:
		b.WriteString("[its input schema is too long to show here; call it, and the error explains what is wrong with the arguments]\n")
	}
	if h.Notice != "" {
		b.WriteString("[" + h.Notice + "]\n")
	}
	b.WriteString("\n")
	return b.String()
}

// notes returns notes on names and tools that were not found, and on servers whose tools
// may be missing.
func (f *found) notes() []string {
	var notes []string
	for i, name := range f.missing {
		if i == maxMissing {
			notes = append(notes, fmt.Sprintf("not found either: %d further names", len(f.missing)-i))
			break
		}
		switch _, err := f.catalogue.Lookup(name); {
		case err != nil:
			notes = append(notes, err.Error())
		default:
			notes = append(notes, name+" finds or calls other tools; it can be called as it is")
		}
	}
	if len(f.hits)+len(f.missing)+len(f.skills) == 0 {
		next := "search with fewer or other words"
		if names := f.servers(); len(names) > 0 {
			for i, name := range names {
				names[i] = plain.Line(name)
			}
			next += ", or for the name of a server: " + list(names, mostHint)
		}
		notes = append(notes, fmt.Sprintf("no tool matches \"%s\"; %s", quoted(plain.Cut(plain.Text(f.query.text), maxShown)), next))
	}
	return append(notes, f.unconnected()...)
}

// unconnected returns notes on the servers whose tools are unknown or cannot be called now.
// If there are hits, servers that stay unavailable are left out unless a hit is theirs,
// since otherwise every answer would repeat them.
func (f *found) unconnected() []string {
	var notes []string
	left := 0
	for _, s := range f.catalogue.Servers() {
		what := ""
		if lasting := s.State == tools.Failed || s.State == tools.Refused; lasting && len(f.hits) > 0 && !f.has(s.Name) {
			continue
		}
		switch s.State {
		case tools.Pending:
			what = "is being connected; search again for its tools"
		case tools.Idle:
			if len(s.Tools) > 0 {
				continue // it will be connected when it is called
			}
			what = "is not connected yet; search again for its tools"
		case tools.Failed:
			what = "is not connected"
		case tools.Refused:
			what = "may not be used"
		default:
			continue
		}
		if len(notes) == mostLines {
			left++
			continue
		}
		if s.Note != "" {
			what += ": " + plain.Line(s.Note)
		}
		notes = append(notes, "the server "+plain.Line(s.Name)+" "+what)
	}
	if left > 0 {
		notes = append(notes, fmt.Sprintf("further servers that are not connected: %d", left))
	}
	return notes
}

// has reports whether a tool of a server was found.
func (f *found) has(server string) bool {
	return slices.ContainsFunc(f.hits, func(t *tools.Tool) bool { return t.Server == server })
}

// list joins the first names and counts the others.
func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// quoted returns a text that can be put in double quotes.
func quoted(s string) string { return strings.ReplaceAll(s, `"`, "'") }
