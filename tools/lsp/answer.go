package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
	server "mcp-toolset/lsp"
	"mcp-toolset/tools/file"
)

const (
	// maxPlaces is the limit of places in an answer.
	maxPlaces = 100
	// maxOutline is the limit of symbols in the outline of a file.
	maxOutline = 500
	// maxHover is the limit of the text about a symbol, in characters.
	maxHover = 8000
	// maxCalls is the limit of callers or callees in an answer.
	maxCalls = 100
)

// locations answers with a list of places.
func (q *question) locations(ctx context.Context, at server.Position) (string, int, error) {
	params := server.At(q.path, at)
	if q.in.Operation == "findReferences" {
		params["context"] = map[string]any{"includeDeclaration": true}
	}
	var raw json.RawMessage
	if err := q.ask(ctx, methods[q.in.Operation], params, &raw); err != nil {
		return "", 0, err
	}
	list, err := server.Locations(raw)
	if err != nil {
		return "", 0, err
	}
	list = q.sorted(withoutHidden(q, list, server.Location.Path))
	what := map[string]string{"findReferences": "reference", "goToDefinition": "definition", "goToImplementation": "implementation", "goToTypeDefinition": "definition"}[q.in.Operation]
	if len(list) == 0 {
		return q.none(what, at), 0, nil
	}
	if q.in.Operation == "findReferences" {
		return q.references(list), len(list), nil
	}
	var b strings.Builder
	for _, l := range list[:min(len(list), maxPlaces)] {
		b.WriteString(q.located(l) + "\n")
	}
	more(&b, len(list), what, "use a more specific name")
	return strings.TrimSuffix(b.String(), "\n"), len(list), nil
}

// none returns the answer for a place about which the server found nothing.
func (q *question) none(what string, at server.Position) string {
	place, line := q.at(q.path, at)
	return strings.TrimSuffix(fmt.Sprintf("%s found no %s for %s: %s", q.client.Server.Name, what, place, line), ": ")
}

// located returns a place with its line.
func (q *question) located(l server.Location) string {
	path := l.Path()
	if path == "" {
		return plain.Line(l.URI) + " [no file]"
	}
	place, line := q.at(path, l.Range.Start)
	switch {
	case line != "":
		return place + ": " + line
	case q.inside(path):
		return place
	}
	return place + " [outside of the workspace; Read shows it if the user's rules allow that]"
}

// more adds that only some of n results are shown, and which or what to do.
func more(b *strings.Builder, n int, what, note string) {
	if n > maxPlaces {
		fmt.Fprintf(b, "[%d of %d %ss are shown; %s]\n", maxPlaces, n, what, note)
	}
}

func (q *question) inside(path string) bool {
	return slices.ContainsFunc(q.env.Session.Roots, func(root string) bool { return workspace.Within(root, path) })
}

// sorted sorts places by file and removes duplicates. Those in the workspace come first, and
// packages in it that others wrote last.
func (q *question) sorted(list []server.Location) []server.Location {
	rank := func(path string) int {
		switch {
		case path == q.path:
			return 0
		case !q.inside(path):
			return 3
		case strings.Contains(path, string(filepath.Separator)+"node_modules"+string(filepath.Separator)):
			return 2
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b server.Location) int {
		p, o := a.Path(), b.Path()
		return cmp.Or(cmp.Compare(rank(p), rank(o)), cmp.Compare(p, o), a.Range.Start.Line-b.Range.Start.Line, a.Range.Start.Character-b.Range.Start.Character)
	})
	return slices.CompactFunc(list, func(a, b server.Location) bool { return a.URI == b.URI && a.Range.Start == b.Range.Start })
}

// references lists references by file.
func (q *question) references(list []server.Location) string {
	total := len(list)
	if q.in.Query != "" {
		list = slices.DeleteFunc(list, func(l server.Location) bool { return !strings.Contains(q.files.shown(l.Path()), q.in.Query) })
	}
	files := map[string]int{}
	for _, l := range list {
		files[l.Path()]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s", file.Plural(len(list), "reference"), file.Plural(len(files), "file"))
	if q.in.Query != "" {
		fmt.Fprintf(&b, " with %s in the path, of %d", plain.Quote(q.in.Query), total)
	}
	if len(list) > 0 {
		b.WriteString(":")
	}
	last := ""
	for i, l := range list {
		if i == maxPlaces {
			fmt.Fprintf(&b, "\n[the first %d are shown; to narrow, give a part of the path as query: %s]", maxPlaces, folders(q, list[i:]))
			break
		}
		path := l.Path()
		if path != last {
			b.WriteString("\n" + q.files.shown(path))
			if last = path; !q.inside(path) {
				b.WriteString(" [outside of the workspace]")
			}
		}
		b.WriteString("\n  " + q.files.place(q.client, path, l.Range.Start))
		if line := q.files.line(path, l.Range.Start); line != "" {
			b.WriteString(": " + line)
		}
	}
	return b.String()
}

// folders names the folders with most of some places.
func folders(q *question, list []server.Location) string {
	count := map[string]int{}
	for _, l := range list {
		count[filepath.Dir(q.files.shown(l.Path()))]++
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	var out []string
	for _, n := range names[:min(len(names), 5)] {
		out = append(out, fmt.Sprintf("%s has %d more", n, count[n]))
	}
	return strings.Join(out, ", ")
}

// hover answers with what the server knows of a symbol.
func (q *question) hover(ctx context.Context, at server.Position) (string, int, error) {
	var hover *server.Hover
	if err := q.ask(ctx, methods["hover"], server.At(q.path, at), &hover); err != nil {
		return "", 0, err
	}
	if hover == nil || strings.TrimSpace(string(hover.Contents)) == "" {
		return q.none("information", at), 0, nil
	}
	if hidden, err := q.aboutHidden(ctx, at); hidden || err != nil {
		q.left++
		return q.none("information", at), 0, err
	}
	text := []rune(plain.Lines(strings.TrimSpace(string(hover.Contents))))
	if over := len(text) - maxHover; over > 0 {
		return fmt.Sprintf("%s\n[%d more characters]", string(text[:maxHover]), over), 1, nil
	}
	return string(text), 1, nil
}

// aboutHidden reports whether the symbol at a place, or its type, is defined in a hidden file.
func (q *question) aboutHidden(ctx context.Context, at server.Position) (bool, error) {
	for _, operation := range []string{"goToDefinition", "goToTypeDefinition"} {
		if !q.client.Provides(methods[operation]) {
			continue
		}
		var raw json.RawMessage
		if err := q.ask(ctx, methods[operation], server.At(q.path, at), &raw); err != nil && !server.Refused(err) {
			return false, err
		}
		list, err := server.Locations(raw)
		if err != nil || slices.ContainsFunc(list, func(l server.Location) bool { return q.files.hides(l.Path()) }) {
			return true, err
		}
	}
	return false, nil
}

// outline lists the symbols of the file.
func (q *question) outline(ctx context.Context) (string, int, error) {
	var list []server.Symbol
	if err := q.ask(ctx, methods["documentSymbol"], map[string]any{"textDocument": map[string]any{"uri": server.URIOf(q.path)}}, &list); err != nil {
		return "", 0, err
	}
	var b strings.Builder
	n := 0
	var write func(list []server.Symbol, indent string)
	write = func(list []server.Symbol, indent string) {
		slices.SortStableFunc(list, func(a, b server.Symbol) int { return a.At().Start.Line - b.At().Start.Line })
		for i := range list {
			s := &list[i]
			if n++; n <= maxOutline {
				fmt.Fprintf(&b, "%d: %s%s %s", s.At().Start.Line+1, indent, s.KindName(), plain.Line(s.Name))
				if s.Detail != "" && len(s.Detail) < 100 {
					b.WriteString(" " + plain.Line(s.Detail))
				}
				b.WriteString("\n")
			}
			write(s.Children, indent+"  ")
		}
	}
	write(list, "")
	if n == 0 {
		return plain.Line(q.in.FilePath) + " has no symbols", 0, nil
	}
	if n > maxOutline {
		fmt.Fprintf(&b, "[the first %d of %d symbols are shown]\n", maxOutline, n)
	}
	return strings.TrimSuffix(b.String(), "\n"), n, nil
}

// symbols lists the symbols of the project that a query matches.
func (q *question) symbols(ctx context.Context) (string, int, error) {
	var list []server.Symbol
	if err := q.ask(ctx, methods["workspaceSymbol"], map[string]any{"query": q.in.Query}, &list); err != nil {
		return "", 0, err
	}
	list = withoutHidden(q, list, func(s server.Symbol) string {
		if s.Location == nil {
			return ""
		}
		return s.Location.Path()
	})
	// The order of the server is by likeness, within those of the workspace.
	slices.SortStableFunc(list, func(a, b server.Symbol) int {
		outside := func(s server.Symbol) int {
			if s.Location == nil || !q.inside(s.Location.Path()) {
				return 1
			}
			return 0
		}
		return outside(a) - outside(b)
	})
	if len(list) == 0 {
		return fmt.Sprintf("%s found no symbol for %s", q.client.Server.Name, plain.Quote(q.in.Query)), 0, nil
	}
	var b strings.Builder
	for i := range list[:min(len(list), maxPlaces)] {
		s := &list[i]
		fmt.Fprintf(&b, "%s %s", s.KindName(), plain.Line(s.Name))
		if s.ContainerName != "" && !strings.HasPrefix(s.Name, s.ContainerName) {
			fmt.Fprintf(&b, " (%s)", plain.Line(s.ContainerName))
		}
		if s.Location != nil && s.Location.Path() != "" {
			place, _ := q.at(s.Location.Path(), s.Location.Range.Start)
			b.WriteString(" " + place)
		}
		b.WriteString("\n")
	}
	more(&b, len(list), "symbol", "use a more specific query")
	return strings.TrimSuffix(b.String(), "\n"), len(list), nil
}

// calls answers the operations on the call hierarchy.
func (q *question) calls(ctx context.Context, at server.Position) (string, int, error) {
	var items []server.CallItem
	if err := q.ask(ctx, methods["incomingCalls"], server.At(q.path, at), &items); err != nil {
		return "", 0, err
	}
	items = withoutHidden(q, items, func(i server.CallItem) string { return server.PathOf(i.URI) })
	if len(items) == 0 {
		return q.none("function", at), 0, nil
	}
	var b strings.Builder
	n := 0
	for i := range items[:min(len(items), 5)] {
		item := &items[i]
		name := q.item(item)
		if q.in.Operation == "prepareCallHierarchy" {
			n++
			b.WriteString(name + "\n")
			continue
		}
		var list []server.HierarchyCall
		method, what := "callHierarchy/incomingCalls", "caller"
		if q.in.Operation == "outgoingCalls" {
			method, what = "callHierarchy/outgoingCalls", "callee"
		}
		if err := q.ask(ctx, method, map[string]any{"item": item.Raw}, &list); err != nil {
			return "", 0, err
		}
		list = withoutHidden(q, list, func(c server.HierarchyCall) string {
			return server.PathOf(cmp.Or(c.From.URI, c.To.URI))
		})
		fmt.Fprintf(&b, "%s of %s\n", file.Plural(len(list), what), name)
		for j := range list[:min(len(list), maxCalls)] {
			call := &list[j]
			other, in := &call.From, call.From.URI
			if q.in.Operation == "outgoingCalls" {
				other, in = &call.To, item.URI
			}
			b.WriteString("  " + q.item(other) + q.sites(server.PathOf(in), call.FromRanges) + "\n")
		}
		if over := len(list) - maxCalls; over > 0 {
			fmt.Fprintf(&b, "  [%d more]\n", over)
		}
		n += len(list)
	}
	return strings.TrimSuffix(b.String(), "\n"), n, nil
}

// item describes an item of the call hierarchy.
func (q *question) item(i *server.CallItem) string {
	path := server.PathOf(i.URI)
	if path == "" {
		return i.KindName() + " " + plain.Line(i.Name)
	}
	place, _ := q.at(path, i.At().Start)
	return fmt.Sprintf("%s %s %s", i.KindName(), plain.Line(i.Name), place)
}

// sites lists the places of calls in one file.
func (q *question) sites(path string, ranges []server.Range) string {
	var places []string
	for _, r := range ranges {
		if len(places) == 10 {
			places = append(places, fmt.Sprintf("and %d more", len(ranges)-10))
			break
		}
		places = append(places, q.files.place(q.client, path, r.Start))
	}
	if len(places) == 0 {
		return ""
	}
	return ", called at " + strings.Join(places, ", ")
}

// diagnostics lists the diagnostics of the file.
func (q *question) diagnostics(ctx context.Context) (string, int, error) {
	limited, cancel := context.WithTimeoutCause(ctx, diagnosticsTime, fmt.Errorf("no diagnostics of the present content came within %v", diagnosticsTime))
	defer cancel()
	list, note, err := q.client.Diagnostics(limited, q.path, q.file, q.text, q.info)
	if err != nil {
		return "", 0, err
	}
	if note != "" {
		q.notes = append(q.notes, note)
	}
	if len(list) == 0 {
		return fmt.Sprintf("%s finds no problems in %s.", q.client.Server.Name, q.files.shown(q.path)), 0, nil
	}
	slices.SortStableFunc(list, func(a, b server.Diagnostic) int {
		return cmp.Or(a.Severity-b.Severity, a.Range.Start.Line-b.Range.Start.Line)
	})
	var b strings.Builder
	for i := range list[:min(len(list), maxPlaces)] {
		b.WriteString(q.finding(q.path, &list[i]) + "\n")
	}
	more(&b, len(list), "problem", "the most severe ones")
	return strings.TrimSuffix(b.String(), "\n"), len(list), nil
}

// finding returns a diagnostic in one line.
func (q *question) finding(path string, d *server.Diagnostic) string {
	place, _ := q.at(path, d.Range.Start)
	return place + ": " + Describe(d)
}
