package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

const (
	// maxName is the longest tool name that every model API accepts, in bytes.
	maxName = 64
	// cut marks a truncated description.
	cut = "… (cut)"
)

// definition is a tool as a server lists it.
type definition struct {
	raw         json.RawMessage
	called      string // the name that models use here
	Name        string
	Title       string
	Description string
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations struct {
		Title       string
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  *bool `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	}
}

// own is a tool of a server, with the name it has there.
type own struct {
	name string
	raw  json.RawMessage
	*tools.Tool
}

// define makes tools of a listing, sorted by the names that models use. It
// leaves out and logs definitions that cannot be offered.
func (s *server) define(list []json.RawMessage, changed map[string]string) []own {
	var all []definition
	seen := map[string]bool{}
	for _, raw := range list {
		d := definition{raw: raw}
		if err := json.Unmarshal(raw, &d); err != nil || d.Name == "" || seen[d.Name] {
			s.m.Log.Warn("a tool of an upstream server is left out: it has no definition, or the name of another", "server", s.Name, "tool", line(d.Name))
			continue
		}
		seen[d.Name] = true
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b definition) int { return strings.Compare(a.Name, b.Name) })
	taken := map[string]bool{}
	var out []own
	for _, d := range all {
		d.called = s.called(d.Name, taken)
		taken[d.called] = true
		t, err := tools.BuildForeign(s.foreign(d, changed[d.Name]))
		if err != nil {
			s.m.Log.Warn("a tool of an upstream server is left out", "server", s.Name, "error", line(err.Error()))
			continue
		}
		out = append(out, own{d.Name, d.raw, t})
	}
	slices.SortFunc(out, func(a, b own) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// called returns the name by which a model calls a tool. It fits the limits of
// model APIs, and a hash makes it unique if necessary.
func (s *server) called(name string, taken map[string]bool) string {
	whole := s.toolPrefix() + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if len(whole) <= maxName && !taken[whole] {
		return whole
	}
	sum := sha256.Sum256([]byte(s.toolPrefix() + name))
	mark := "_" + hex.EncodeToString(sum[:4])
	return whole[:min(len(whole), maxName-len(mark))] + mark
}

// foreign returns the tool of a definition. change describes the difference to
// the definition that the user last saw, or is "".
func (s *server) foreign(d definition, change string) tools.Foreign {
	f := tools.Foreign{
		Server: s.Name, Name: d.called, Title: oneOf(line(d.Title), line(d.Annotations.Title)), Prompt: s.prompt(d.Description),
		Loading: tools.LoadDeferred, InputSchema: d.Input,
		Declared: tools.DeclaredAnnotations{
			ReadOnly: d.Annotations.ReadOnly, Destructive: d.Annotations.Destructive,
			Idempotent: d.Annotations.Idempotent, OpenWorld: d.Annotations.OpenWorld,
		},
		Connect: s.prepare,
	}
	if whole := s.toolPrefix() + d.Name; whole != d.called {
		f.Aliases = []string{whole} // rules may use the server's own name
	}
	if s.Always {
		f.Loading = tools.LoadAlways
	}
	if isNull(d.Input) {
		f.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if !isNull(d.Output) {
		f.OutputSchema = d.Output
	}
	if change != "" {
		f.Notice = sentence(line(change))
	}
	f.Check = func(*tools.Env, json.RawMessage) *policy.Decision { return s.check(&f, d.raw, change) }
	f.Call = func(ctx context.Context, env *tools.Env, args json.RawMessage) (*tools.Response, error) {
		return s.call(ctx, env, d.Name, args)
	}
	return f
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

func oneOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// sentence makes a sentence of a phrase.
func sentence(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return strings.ToUpper(string(r)) + s[size:] + "."
}

// prompt returns a description without characters that a terminal or reader
// would not show, truncated to the limit that clients show.
func (s *server) prompt(text string) string {
	const some = 8 * tools.MaxPrompt // limit of the text to process, far beyond the limit of the result
	text = text[:min(len(text), some)]
	text = strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = plain.Text(l)
	}
	text, _ = plain.Foreign(strings.TrimSpace(strings.Join(lines, "\n")))
	if text == "" {
		return "A tool of the server " + line(s.Name) + "."
	}
	if len(text) <= tools.MaxPrompt {
		return text
	}
	end := tools.MaxPrompt - len(cut)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cut
}

// reuseUnchanged returns now with each unchanged tool replaced by its object in
// before.
func reuseUnchanged(before, now []own) []own {
	for i, t := range now {
		j := slices.IndexFunc(before, func(old own) bool { return old.name == t.name })
		// A tool that may be refused as changed must be judged by its exact
		// definition.
		if j >= 0 && alike(before[j].Tool, t.Tool) && (t.Notice == "" || bytes.Equal(before[j].raw, t.raw)) {
			now[i] = before[j]
		}
	}
	return now
}

// alike reports whether two tools of a server are the same to every client.
func alike(a, b *tools.Tool) bool {
	inA, _ := a.InputSchema()
	inB, _ := b.InputSchema()
	outA, _ := a.OutputSchema()
	outB, _ := b.OutputSchema()
	return a.Name == b.Name && a.Title == b.Title && a.Prompt == b.Prompt && a.Notice == b.Notice && a.Loading == b.Loading &&
		bytes.Equal(inA, inB) && bytes.Equal(outA, outB) && sameDeclared(a.Declared, b.Declared)
}

func sameDeclared(a, b *tools.DeclaredAnnotations) bool {
	same := func(x, y *bool) bool { return (x == nil) == (y == nil) && (x == nil || *x == *y) }
	return same(a.ReadOnly, b.ReadOnly) && same(a.Destructive, b.Destructive) &&
		same(a.Idempotent, b.Idempotent) && same(a.OpenWorld, b.OpenWorld)
}
