package lsp

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	server "mcp-toolset/lsp"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

const (
	// maxFile is the limit of files that a server gets, in bytes.
	maxFile = 8 << 20
	// maxRead is the limit of files that are read for the lines of an answer.
	maxRead = 200
)

// readFile reads a file that a call names. It returns the file's state before that, and its
// canonical path.
func readFile(env *tools.Env, path string) (data []byte, info os.FileInfo, canonical string, err error) {
	f, info, err := env.Files.Open(path)
	if err != nil {
		return nil, nil, "", file.OpenError(env, path, err)
	}
	defer f.Close()
	if data, err = io.ReadAll(io.LimitReader(f, maxFile+1)); err != nil {
		return nil, nil, "", file.ReadError(plain.Line(path), err)
	}
	if len(data) > maxFile {
		return nil, nil, "", fault.New(fmt.Sprintf("%s has more than %d bytes, the limit for language servers", plain.Line(path), maxFile), "Use Grep and Read.")
	}
	return data, info, filepath.Clean(f.Name()), nil
}

// lines holds the files whose lines an answer shows.
type lines struct {
	env   *tools.Env
	texts map[string]*server.Text // nil for one that may not or cannot be read
	// hidden stores the results of hides.
	hidden map[string]bool
}

func newLines(env *tools.Env) *lines {
	return &lines{env, map[string]*server.Text{}, map[string]bool{}}
}

// of returns the text of a file, or nil.
func (l *lines) of(path string) *server.Text {
	t, ok := l.texts[path]
	if ok || len(l.texts) >= maxRead {
		return t
	}
	l.texts[path] = nil
	if data, _, _, err := readFile(l.env, path); err == nil {
		l.texts[path], _ = server.NewText(data)
	}
	return l.texts[path]
}

// shown returns a path for the model: relative to the working directory if it is in it.
func (l *lines) shown(path string) string {
	if rel, err := filepath.Rel(l.env.Session.Dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return plain.Line(path)
}

// place returns a position as line:column, in characters from 1. Without the text of the file,
// the column is not known.
func (l *lines) place(c *server.Client, path string, p server.Position) string {
	t := l.of(path)
	if t == nil {
		return fmt.Sprint(p.Line + 1)
	}
	return fmt.Sprintf("%d:%d", p.Line+1, c.Column(t.Line(p.Line), p))
}

// line returns the line at a position, ready to show. It is "" if the file may not be read.
func (l *lines) line(path string, p server.Position) string {
	t := l.of(path)
	switch {
	case t == nil:
		return ""
	case p.Line < 0 || p.Line >= t.Lines():
		return "[the file has no such line]"
	}
	return file.Shorten(file.Plain(strings.TrimSpace(t.Line(p.Line))))
}

// hides reports whether no answer may be about a file: rules hide it, or it is in the workspace
// and may not be read. Files outside of the workspace, such as those of a standard library, are
// named without their content.
func (l *lines) hides(path string) bool {
	hidden, ok := l.hidden[path]
	if ok || path == "" {
		return hidden
	}
	if slices.ContainsFunc(l.env.Session.Roots, func(root string) bool { return workspace.Within(root, path) }) {
		hidden = !l.env.Files.Allowed(path)
	} else if canonical, err := workspace.Canonical(path); err == nil && l.env.Commands.HidingRule != nil {
		hidden = l.env.Commands.HidingRule(canonical) != ""
	}
	l.hidden[path] = hidden
	return hidden
}

// withoutHidden returns the part of a list that is not about hidden files. It notes how much that
// leaves out.
func withoutHidden[T any](q *question, list []T, path func(T) string) []T {
	shown := slices.DeleteFunc(slices.Clone(list), func(e T) bool { return q.files.hides(path(e)) })
	q.left += len(list) - len(shown)
	return shown
}

// maxCandidates is the limit of candidates for a name in an error.
const maxCandidates = 10

// place returns the position that the call is about.
func (q *question) place(ctx context.Context) (server.Position, error) {
	in, t := q.in, q.text
	if in.Line > t.Lines() {
		lines := t.Lines()
		if t.Line(lines-1) == "" {
			lines--
		}
		return server.Position{}, fault.New(fmt.Sprintf("%s has %s, and line is %d", plain.Line(in.FilePath), file.Plural(lines, "line"), in.Line), "Read the file, or give symbol in place of line.")
	}
	line := t.Line(in.Line - 1)
	switch {
	case in.Symbol == "" && in.Character > 0:
		offset, ok := 0, in.Character-1 <= utf8.RuneCountInString(line)
		if !ok {
			return server.Position{}, fault.New(fmt.Sprintf("line %d has %s, and character is %d", in.Line, file.Plural(utf8.RuneCountInString(line), "character"), in.Character), "Give symbol in place of character. The line is: "+file.Shorten(file.Plain(strings.TrimSpace(line))))
		}
		for range in.Character - 1 {
			_, n := utf8.DecodeRuneInString(line[offset:])
			offset += n
		}
		return q.client.Position(t, t.Start(in.Line-1)+offset), nil
	case in.Symbol == "":
		return q.client.Position(t, t.Start(in.Line-1)+len(line)-len(strings.TrimLeft(line, " \t"))), nil
	case in.Line > 0:
		if found := words(line, in.Symbol); len(found) > 0 {
			return q.client.Position(t, t.Start(in.Line-1)+found[0]), nil
		}
		return server.Position{}, fault.New(fmt.Sprintf("line %d has no %s", in.Line, plain.Quote(in.Symbol)), "The line is: "+file.Shorten(file.Plain(strings.TrimSpace(line))))
	}
	return q.symbol(ctx)
}

// words returns the offsets of a name in a text, as a whole word. Of a name with dots, it
// returns those of the last part.
func words(text, name string) (found []int) {
	part := func(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for i := 0; ; {
		n := strings.Index(text[i:], name)
		if n < 0 {
			return found
		}
		start, end := i+n, i+n+len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		first, _ := utf8.DecodeRuneInString(name)
		last, _ := utf8.DecodeLastRuneInString(name)
		if !(part(before) && part(first)) && !(part(after) && part(last)) {
			found = append(found, start+strings.LastIndexByte(name, '.')+1)
		}
		i = end
	}
}

// named is a symbol of a file with the names that lead to it.
type named struct {
	server.Symbol
	path string // such as Server.Close
}

// flatten lists symbols and those below them.
func flatten(list []server.Symbol, above string) (out []named) {
	for _, s := range list {
		path := strings.NewReplacer("(", "", ")", "", "*", "").Replace(s.Name) // (*T).M of gopls
		if above == "" && s.ContainerName != "" {
			path = s.ContainerName + "." + path
		}
		if above != "" {
			path = above + "." + path
		}
		out = append(append(out, named{s, path}), flatten(s.Children, path)...)
	}
	return out
}

// symbol returns the position of a name in the file: that of its declaration there, or else
// of its first use.
func (q *question) symbol(ctx context.Context) (server.Position, error) {
	want := strings.NewReplacer("(", "", ")", "", "*", "", "::", ".", "#", ".").Replace(q.in.Symbol)
	var all []named
	if q.client.Provides(methods["documentSymbol"]) {
		var list []server.Symbol
		if err := q.ask(ctx, methods["documentSymbol"], map[string]any{"textDocument": map[string]any{"uri": server.URIOf(q.path)}}, &list); err != nil {
			return server.Position{}, err
		}
		all = flatten(list, "")
	}
	var found []named
	for _, s := range all {
		if s.path == want || strings.HasSuffix(s.path, "."+want) {
			found = append(found, s)
		}
	}
	// A name alone means the declaration at the top of the file, if there is one.
	if exact := slices.DeleteFunc(slices.Clone(found), func(s named) bool { return s.path != want }); len(exact) == 1 {
		found = exact
	}
	// Several of one full name are the overloads of one function.
	found = slices.CompactFunc(found, func(a, b named) bool { return a.path == b.path })
	switch {
	case len(found) == 1:
		return q.inRange(found[0].At(), want), nil
	case len(found) > 1:
		var b strings.Builder
		for i, s := range found {
			if i == maxCandidates {
				fmt.Fprintf(&b, "\nand %d more", len(found)-i)
				break
			}
			fmt.Fprintf(&b, "\nline %d: %s %s", s.At().Start.Line+1, s.KindName(), plain.Line(s.path))
		}
		return server.Position{}, fault.New(fmt.Sprintf("%s has %d symbols with the name %s", plain.Line(q.in.FilePath), len(found), plain.Quote(q.in.Symbol)),
			"Give line too, or Type.method:"+b.String())
	}
	if uses := words(q.text.Content(), want); len(uses) > 0 {
		return q.client.Position(q.text, uses[max(0, slices.IndexFunc(uses, q.inCode))]), nil
	}
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, s.path)
	}
	next := "Use documentSymbol for the names in it, or workspaceSymbol to find the file."
	if near := nearest.Names(want, names, 3); len(near) > 0 {
		next = "It has " + plain.Line(strings.Join(near, ", ")) + ". " + next
	}
	return server.Position{}, fault.New(plain.Line(q.in.FilePath)+" has no "+plain.Quote(q.in.Symbol), next)
}

// inCode reports whether an offset is in a line that does not begin as a comment.
func (q *question) inCode(offset int) bool {
	line, _ := q.text.Position(offset)
	text := strings.TrimSpace(q.text.Line(line))
	return !slices.ContainsFunc([]string{"//", "/*", "*", "#", "--"}, func(mark string) bool { return strings.HasPrefix(text, mark) })
}

// inRange returns the position of the last part of a name in a range, which some servers give
// for the whole declaration.
func (q *question) inRange(r server.Range, name string) server.Position {
	from, ok := q.client.Offset(q.text, r.Start)
	to, also := q.client.Offset(q.text, r.End)
	if !ok || !also || to < from {
		return r.Start
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if found := words(q.text.Content()[from:to], last); len(found) > 0 {
		return q.client.Position(q.text, from+found[0])
	}
	return r.Start
}
