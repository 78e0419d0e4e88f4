package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// calls calls the tools of a workspace.
type calls struct {
	t *testing.T
	w *toolstest.Workspace
	o Options
}

func newCalls(t *testing.T, files map[string]string) *calls {
	w := toolstest.NewWorkspace(t)
	c := &calls{t, w, newOptions(t, w)}
	for name, text := range files {
		c.write(name, text)
	}
	return c
}

func (c *calls) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.w.Root, name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *calls) read(name string) string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.w.Root, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

func (c *calls) prepare(tool string, args any) (*tools.Prepared, *tools.Env, error) {
	c.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, t := range New(c.o) {
		if t.Name == tool {
			call, err := t.Parse(raw)
			if err != nil {
				c.t.Fatal(err)
			}
			env := c.w.Env()
			p, err := call.Prepare(env)
			return p, env, err
		}
	}
	panic(tool)
}

func (c *calls) call(tool string, args any) (string, error) {
	c.t.Helper()
	p, env, err := c.prepare(tool, args)
	if err != nil {
		return "", err
	}
	r, err := p.Run(context.Background(), env)
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(r.Content[0].(tools.Text).Text, c.w.Root, "$ROOT"), nil
}

// rename previews the renaming of Alpha and returns the id.
func (c *calls) rename(name string) string {
	c.t.Helper()
	text, err := c.call("LSP", map[string]any{"operation": "rename", "filePath": "a.toy", "symbol": "Alpha", "newName": name})
	if err != nil {
		c.t.Fatal(err)
	}
	return regexp.MustCompile(`id ([a-z2-7]{6})`).FindStringSubmatch(text)[1]
}

func TestApply(t *testing.T) {
	c := newCalls(t, map[string]string{"a.toy": "\ufeffdef Alpha\r\n", "b.toy": "Alpha and Alpha\n"})
	id := c.rename("Omega")
	got, err := c.call("LSPApply", map[string]any{"id": id})
	if want := "Applied rename to Omega to 2 files: a.toy, b.toy."; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if a, b := c.read("a.toy"), c.read("b.toy"); a != "\ufeffdef Omega\r\n" || b != "Omega and Omega\n" {
		t.Errorf("the files are %q and %q", a, b)
	}
	if _, err := c.call("LSPApply", map[string]any{"id": id}); err == nil || !strings.HasPrefix(err.Error(), "there is no preview with the id "+id+". There are none now") {
		t.Error("it can be applied twice:", err)
	}
}

// TestApplyAllOrNone checks that nothing is written if one of the files has changed, and that
// files are restored if another one cannot be written.
func TestApplyAllOrNone(t *testing.T) {
	c := newCalls(t, map[string]string{"a.toy": "def Alpha\n", "b.toy": "Alpha\n", "c.toy": "Alpha\n"})
	id, another := c.rename("Omega"), c.rename("Psi")
	c.write("b.toy", "Alpha \n")
	_, err := c.call("LSPApply", map[string]any{"id": id})
	if want := filepath.Join(c.w.Root, "b.toy") + " has changed since the preview; nothing was written. Ask LSP for the change again."; err == nil || err.Error() != want {
		t.Error(err)
	}
	if a, b := c.read("a.toy"), c.read("c.toy"); a != "def Alpha\n" || b != "Alpha\n" {
		t.Errorf("the other files are %q and %q", a, b)
	}
	if _, err := c.call("LSPApply", map[string]any{"id": "x"}); err == nil || err.Error() != "there is no preview with the id x. There are "+another+", "+id+"." {
		t.Error(err)
	}

	p, _ := c.o.Previews.get(c.w.Env().Session.Owner(), another)
	a := &application{env: c.w.Env(), change: c.o.Change, files: p.files, old: [][]byte{nil, []byte("Alpha\n"), []byte("Alpha\n")}}
	c.write("b.toy", "Psi\n")
	c.write("c.toy", "Psi, changed by others\n")
	cause := fault.New("there is no room left", "Free some space first.")
	if err := a.restore(cause); err.Error() != "there is no room left; these files have the new content and could not be restored: "+filepath.Join(c.w.Root, "c.toy")+". Look at them with git diff." {
		t.Error(err)
	}
	if b := c.read("b.toy"); b != "Alpha\n" {
		t.Errorf("b.toy is %q", b)
	}
	c.write("b.toy", "Psi\n")
	c.write("c.toy", "Psi\n")
	if err := a.restore(cause); err.Error() != "there is no room left; the other files were restored. Free some space first." {
		t.Error(err)
	}
	if err := a.restore(errors.New("x")); err.Error() != "x" {
		t.Error(err)
	}
}

// TestApplyLinks checks the change of a file under two names: by a link it is one change, and by
// a hard link it is refused. In the first, the lock of the file is taken once.
func TestApplyLinks(t *testing.T) {
	c := newCalls(t, map[string]string{"a.toy": "def Alpha\n", "b.toy": "Alpha\n"})
	if err := os.Symlink("b.toy", filepath.Join(c.w.Root, "c.toy")); err != nil {
		t.Skip(err)
	}
	got, err := c.call("LSPApply", map[string]any{"id": c.rename("Omega")})
	if want := "Applied rename to Omega to 2 files: a.toy, b.toy."; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if b := c.read("b.toy"); b != "Omega\n" {
		t.Errorf("b.toy is %q", b)
	}
	if err := os.Link(filepath.Join(c.w.Root, "b.toy"), filepath.Join(c.w.Root, "d.toy")); err != nil {
		t.Skip(err)
	}
	_, err = c.call("LSP", map[string]any{"operation": "rename", "filePath": "a.toy", "symbol": "Omega", "newName": "Alpha"})
	if want := "the renaming cannot be previewed: b.toy and d.toy are hard links to one file, and the change would make them two. Use Edit."; err == nil || err.Error() != want {
		t.Error(err)
	}
}

// TestApplyMany checks a change of so many files that some share a lock, and that a file that
// is touched meanwhile does not make a second attempt of the others.
func TestApplyMany(t *testing.T) {
	const n = 300
	files := map[string]string{"a.toy": "def Alpha\n"}
	for i := range n {
		files[fmt.Sprintf("f%03d.toy", i)] = "Alpha\n"
	}
	c := newCalls(t, files)
	id := c.rename("Omega")
	p, env, err := c.prepare("LSPApply", map[string]any{"id": id})
	if err != nil {
		t.Fatal(err)
	}
	roots, err := workspace.OpenRoots([]string{c.w.Root})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	touched := false
	env.Files = workspace.NewFiles(roots, func(_, canonical string) error {
		if filepath.Base(canonical) == "f299.toy" && !touched { // all others are open
			touched = true
			c.write("f000.toy", "Alpha\n")
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // only a failing test waits this long
	defer cancel()
	r, err := p.Run(ctx, env)
	if err != nil {
		t.Fatal(err)
	}
	got := text(r)
	if err != nil || !strings.HasPrefix(got, "Applied rename to Omega to 301 files") {
		t.Errorf("%q, %v", got, err)
	}
	for name := range files {
		if text := c.read(name); !strings.HasSuffix(text, "Omega\n") {
			t.Errorf("%s is %q", name, text)
		}
	}
}

// TestApplyIsJudged checks that rules see each file that a preview changes.
func TestApplyIsJudged(t *testing.T) {
	c := newCalls(t, map[string]string{"a.toy": "def Alpha\n", "b.toy": "Alpha\n"})
	p, env, err := c.prepare("LSPApply", map[string]any{"id": c.rename("Omega")})
	if err != nil {
		t.Fatal(err)
	}
	parts := p.Parts(env)
	if len(parts.Paths) != 2 || parts.Text != "rename to Omega in a.toy, b.toy" {
		t.Errorf("%+v", parts)
	}
	for _, named := range parts.Paths {
		if named.Access != policy.Edit || filepath.Dir(named.Path) != c.w.Root {
			t.Errorf("%+v", named)
		}
	}
}

// TestDenied checks that no answer is about a file that the rules deny to read: not its lines,
// not the names in it, and not what hover knows of them. Such a file is in no preview.
func TestDenied(t *testing.T) {
	c := newCalls(t, map[string]string{"a.toy": "def Alpha\nBeta\n", "b.toy": "Alpha secret\ndef Beta\ndef Betamax\n"})
	roots, err := workspace.OpenRoots([]string{c.w.Root})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	for _, step := range []struct{ operation, symbol, want string }{
		{"findReferences", "Alpha", "1 reference in 1 file:\na.toy\n  1:5: def Alpha\n[in files that the rules hide: 1 more result]"},
		{"goToDefinition", "Beta", "toy-ls found no definition for a.toy:2:1: Beta\n[in files that the rules hide: 1 more result]"},
		{"hover", "Alpha", "**Alpha**\\x00\n\na name"},
		{"hover", "Beta", "toy-ls found no information for a.toy:2:1: Beta\n[in files that the rules hide: 1 more result]"},
		{"workspaceSymbol", "", "toy-ls found no symbol for Beta\n[in files that the rules hide: 2 more results]"},
		{"prepareCallHierarchy", "Beta", "toy-ls found no function for a.toy:2:1: Beta\n[in files that the rules hide: 1 more result]"},
		{"incomingCalls", "Alpha", "0 callers of function Alpha a.toy:1:5\n[in files that the rules hide: 1 more result]"},
		{"rename", "Alpha", "the renaming cannot be previewed: denied by a rule. Use Edit."},
	} {
		args := map[string]any{"operation": step.operation, "filePath": "a.toy", "newName": "x", "query": "Beta"}
		switch step.operation {
		case "workspaceSymbol":
		case "findReferences":
			delete(args, "query")
			fallthrough
		default:
			args["symbol"] = step.symbol
		}
		p, env, err := c.prepare("LSP", args)
		if err != nil {
			t.Fatal(err)
		}
		env.Files = workspace.NewFiles(roots, func(_, canonical string) error {
			if filepath.Base(canonical) == "b.toy" {
				return errors.New("denied by a rule")
			}
			return nil
		})
		got := ""
		if r, err := p.Run(t.Context(), env); err != nil {
			got = err.Error()
		} else {
			got = text(r)
		}
		if got != step.want {
			t.Errorf("%s %s: %q", step.operation, step.symbol, got)
		}
	}
}

// TestPreviewLimits checks that the oldest previews go, and those of an ended session.
func TestPreviewLimits(t *testing.T) {
	ps := new(Previews)
	var first, last string
	for i := range maxPreviews + 1 {
		id := ps.add(&preview{})
		if i == 0 {
			first = id
		}
		last = id
	}
	if p, all := ps.get(preview{}.owner, first); p != nil || len(all) != maxPreviews || all[0] != last {
		t.Error(p, len(all))
	}
	ps.add(&preview{files: []target{{after: make([]byte, maxStored+1)}}})
	if _, all := ps.get(preview{}.owner, ""); len(all) != 1 {
		t.Error(len(all), "previews remain beside a large one")
	}
	ps.Forget(preview{}.owner)
	if _, all := ps.get(preview{}.owner, ""); len(all) != 0 {
		t.Error(all)
	}
}

func text(r *tools.Response) string { return r.Content[0].(tools.Text).Text }
