package lsp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	server "mcp-toolset/lsp"
	"mcp-toolset/session"
	"mcp-toolset/tools/file"
)

const (
	// maxPreviews is the limit of stored previews, and maxStored that of their bytes.
	maxPreviews = 50
	maxStored   = 64 << 20
	// maxFiles is the limit of files that a preview changes.
	maxFiles = 500
	// maxActions is the limit of code actions in an answer.
	maxActions = 20
	// maxDiff is the limit of the diffs in an answer, in bytes.
	maxDiff = 20_000
)

// Previews holds changes that LSP showed. It is safe for concurrent use.
type Previews struct {
	mu   sync.Mutex
	list []*preview // the oldest first
}

// preview is a change of files that was shown.
type preview struct {
	id    string
	owner session.Owner
	title string
	files []target // sorted by path
	diff  string   // as it was shown
}

// target is a file that a preview changes.
type target struct {
	path   string // canonical
	before [sha256.Size]byte
	after  []byte
}

func (p *preview) size() (n int) {
	for _, f := range p.files {
		n += len(f.after)
	}
	return n
}

// add stores a preview and returns its id. The oldest previews beyond the limits go.
func (ps *Previews) add(p *preview) string {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.id = strings.ToLower(rand.Text()[:6])
	ps.list = append(ps.list, p)
	total := 0
	for i, q := range slices.Backward(ps.list) {
		if total += q.size(); len(ps.list)-i > maxPreviews || total > maxStored && q != p {
			ps.list = slices.Clone(ps.list[i+1:])
			break
		}
	}
	return p.id
}

// get returns a preview of a session, or nil, and the ids of all that it has, newest first.
func (ps *Previews) get(owner session.Owner, id string) (found *preview, ids []string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range slices.Backward(ps.list) {
		if p.owner != owner {
			continue
		}
		if p.id == id {
			found = p
		}
		ids = append(ids, p.id)
	}
	return found, ids
}

// remove forgets a preview that was applied.
func (ps *Previews) remove(p *preview) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.list = slices.DeleteFunc(ps.list, func(q *preview) bool { return q == p })
}

// Forget drops the previews of an owner that has ended.
func (ps *Previews) Forget(owner session.Owner) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.list = slices.DeleteFunc(ps.list, func(q *preview) bool { return q.owner == owner })
}

// rename previews the renaming of a symbol.
func (q *question) rename(ctx context.Context, at server.Position, previews *Previews) (string, int, error) {
	params := server.At(q.path, at)
	params["newName"] = q.in.NewName
	var edit *server.WorkspaceEdit
	if err := q.ask(ctx, methods["rename"], params, &edit); err != nil {
		return "", 0, err
	}
	if edit == nil {
		return q.none("symbol that can be renamed", at), 0, nil
	}
	p, diff, err := q.preview("rename to "+plain.Line(q.in.NewName), edit)
	if err != nil {
		return "", 0, fault.New("the renaming cannot be previewed: "+fact(err), "Use Edit.")
	}
	if len(p.files) == 0 {
		return "This changes nothing.", 0, nil
	}
	return fmt.Sprintf("Renaming changes %s; nothing is written yet. LSPApply with id %s applies it.\n%s", file.Plural(len(p.files), "file"), previews.add(p), diff), len(p.files), nil
}

// actions previews the fixes and refactorings at a place.
func (q *question) actions(ctx context.Context, at server.Position, previews *Previews) (string, int, error) {
	limited, cancel := context.WithTimeout(ctx, diagnosticsTime)
	found, _, _ := q.client.Diagnostics(limited, q.path, q.file, q.text, q.info)
	cancel()
	found = slices.DeleteFunc(found, func(d server.Diagnostic) bool {
		return d.Range.Start.Line > at.Line || d.Range.End.Line < at.Line
	})
	if found == nil {
		found = []server.Diagnostic{}
	}
	end := at
	if q.in.Character == 0 && q.in.Symbol == "" {
		end = q.client.Position(q.text, q.text.Start(at.Line)+len(q.text.Line(at.Line)))
	}
	params := map[string]any{
		"textDocument": map[string]any{"uri": server.URIOf(q.path)}, "range": server.Range{Start: at, End: end},
		"context": map[string]any{"diagnostics": found, "triggerKind": 1},
	}
	var list []server.CodeAction
	if err := q.ask(ctx, methods["codeActions"], params, &list); err != nil {
		return "", 0, err
	}
	var b strings.Builder
	shown, more, others := 0, 0, []string(nil)
	for i := range list {
		a := &list[i]
		if len(a.Disabled) > 0 && string(a.Disabled) != "null" {
			continue
		}
		if shown == maxActions {
			more++
			continue
		}
		p, diff, err := q.action(ctx, a)
		if err != nil || len(p.files) == 0 {
			others = append(others, plain.Quote(a.Title))
			continue
		}
		shown++
		if len(diff) > maxDiff/4 {
			diff = diff[:strings.LastIndexByte(diff[:maxDiff/4], '\n')+1] + "[the rest of the diff is not shown]\n"
		}
		fmt.Fprintf(&b, "%s: %s", previews.add(p), plain.Line(a.Title))
		if a.Kind != "" {
			fmt.Fprintf(&b, " [%s]", plain.Line(a.Kind))
		}
		b.WriteString("\n" + diff)
	}
	if more > 0 {
		fmt.Fprintf(&b, "[%d more]\n", more)
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, "[without a preview, since they are commands or change more than the content of files: %s]\n", strings.Join(others[:min(len(others), maxActions)], ", "))
	}
	if shown == 0 {
		return strings.TrimSpace(q.none("change", at) + "\n" + b.String()), 0, nil
	}
	return "Nothing is written yet. LSPApply with the id of one of these applies it.\n" + strings.TrimSuffix(b.String(), "\n"), shown, nil
}

// action previews a code action. A server that left out the edit is asked for it.
func (q *question) action(ctx context.Context, a *server.CodeAction) (*preview, string, error) {
	if a.Edit == nil && !a.IsCommand() {
		var resolved server.CodeAction
		if err := q.ask(ctx, "codeAction/resolve", a.Raw, &resolved); err != nil {
			return nil, "", err
		}
		a.Edit = resolved.Edit
	}
	if a.Edit == nil {
		return nil, "", errors.New("it is a command")
	}
	return q.preview(a.Title, a.Edit)
}

// preview returns the change that an edit makes, and its diff.
func (q *question) preview(title string, edit *server.WorkspaceEdit) (*preview, string, error) {
	edits, err := edit.Files()
	if err != nil {
		return nil, "", err
	}
	if len(edits) > maxFiles {
		return nil, "", fmt.Errorf("it changes %d files, more than %d", len(edits), maxFiles)
	}
	p := &preview{owner: q.env.Session.Owner(), title: title}
	merged, err := q.merge(edits)
	if err != nil {
		return nil, "", err
	}
	var diff strings.Builder
	for _, f := range merged {
		path, data := f.path, f.data
		text, err := server.NewText(data)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", q.files.shown(path), err)
		}
		if path == q.path && text.Content() != q.text.Content() {
			return nil, "", fmt.Errorf("%s changed meanwhile", q.files.shown(path))
		}
		after, err := q.client.Apply(text, f.edits)
		if err != nil {
			return nil, "", fmt.Errorf("the change of %s is wrong: %w", q.files.shown(path), err)
		}
		if after == string(data) {
			continue
		}
		p.files = append(p.files, target{path, sha256.Sum256(data), []byte(after)})
		shown := q.files.shown(path) + "\n" + file.Unified(file.Diff(string(data), after))
		if diff.Len()+len(shown) > maxDiff {
			shown = q.files.shown(path) + " [its diff is not shown]\n"
		}
		diff.WriteString(shown)
	}
	p.diff = diff.String()
	return p, p.diff, nil
}

// edited is a file with the edits of a server.
type edited struct {
	path  string // canonical
	data  []byte
	info  os.FileInfo
	edits []server.TextEdit
}

// merge reads the files of edits, sorted by path. Edits of one file under several names, such
// as links, become those of one; the same edit counts once.
func (q *question) merge(edits map[string][]server.TextEdit) (list []*edited, err error) {
	for _, path := range slices.Sorted(maps.Keys(edits)) {
		outside := fmt.Errorf("it changes %s, which is outside of the workspace", q.files.shown(path))
		if !q.inside(path) {
			return nil, outside
		}
		data, info, canonical, err := readFile(q.env, path)
		if err != nil {
			return nil, err
		}
		if !q.inside(canonical) {
			return nil, outside
		}
		i := slices.IndexFunc(list, func(e *edited) bool { return os.SameFile(e.info, info) })
		if i < 0 {
			list = append(list, &edited{canonical, data, info, edits[path]})
			continue
		}
		same := list[i]
		if same.path != canonical {
			return nil, fmt.Errorf("%s and %s are hard links to one file, and the change would make them two", q.files.shown(same.path), q.files.shown(canonical))
		}
		for _, e := range edits[path] {
			if !slices.Contains(same.edits, e) {
				same.edits = append(same.edits, e)
			}
		}
	}
	slices.SortFunc(list, func(a, b *edited) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

// paths names the files of a preview for the user, at most ten.
func (p *preview) paths(dir string) string {
	var names []string
	for _, f := range p.files {
		if len(names) == 10 {
			names = append(names, fmt.Sprintf("and %d more", len(p.files)-10))
			break
		}
		path := f.path
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		names = append(names, plain.Line(path))
	}
	return strings.Join(names, ", ")
}
