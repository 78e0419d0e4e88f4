package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/sourcegraph/jsonrpc2"

	"mcp-toolset/internal/testscale"
	"mcp-toolset/lsp"
)

// plain is a minimal client of a language server.
type plain struct {
	t      *testing.T
	root   string
	conn   *jsonrpc2.Conn
	server lsp.Server
	opened map[string]bool
}

// streams is the output and the input of a server.
type streams struct {
	io.ReadCloser
	io.WriteCloser
}

func (s streams) Close() error {
	_ = s.WriteCloser.Close()
	return s.ReadCloser.Close()
}

// startPlain starts a server with the options of its row.
func startPlain(t *testing.T, program, root string, env []string) *plain {
	t.Helper()
	i := slices.IndexFunc(lsp.Table, func(s lsp.Server) bool { return s.Command[0] == filepath.Base(program) })
	c := &plain{t: t, root: root, server: lsp.Table[i], opened: map[string]bool{}}
	cmd := exec.Command(program, c.server.Command[1:]...)
	cmd.Dir, cmd.Env = root, append(append(os.Environ(), env...), c.server.Env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	c.conn = jsonrpc2.NewConn(t.Context(), jsonrpc2.NewBufferedStream(streams{out, in}, jsonrpc2.VSCodeObjectCodec{}), jsonrpc2.AsyncHandler(c))
	t.Cleanup(func() { _ = c.conn.Close() })
	capabilities := json.RawMessage(`{"workspace": {"configuration": true, "workspaceFolders": true, "symbol": {}}, "textDocument": {
		"definition": {"linkSupport": true}, "hover": {"contentFormat": ["markdown", "plaintext"]}, "documentSymbol": {"hierarchicalDocumentSymbolSupport": true}, "callHierarchy": {}}}`)
	folder := map[string]any{"uri": lsp.URIOf(root), "name": "root"}
	var result json.RawMessage
	if err := c.call("initialize", map[string]any{"processId": nil, "rootUri": lsp.URIOf(root), "workspaceFolders": []any{folder}, "capabilities": capabilities, "initializationOptions": c.server.Options}, &result); err != nil {
		t.Fatal(err)
	}
	c.notify("initialized", struct{}{})
	return c
}

// Handle answers requests of the server.
func (c *plain) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if r.Notif {
		return
	}
	var answer any
	if r.Method == "workspace/configuration" {
		var p struct{ Items []struct{ Section string } }
		_ = json.Unmarshal(*r.Params, &p)
		list := make([]any, len(p.Items))
		for i, item := range p.Items {
			var all map[string]any
			_ = json.Unmarshal(c.server.Settings, &all)
			if list[i] = all[item.Section]; item.Section == c.server.Name {
				list[i] = c.server.Options
			}
		}
		answer = list
	}
	_ = conn.Reply(ctx, r.ID, answer)
}

func (c *plain) call(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Minute) // only a failing test waits this long
	defer cancel()
	return c.conn.Call(ctx, method, params, result)
}

func (c *plain) notify(method string, params any) {
	if err := c.conn.Notify(c.t.Context(), method, params); err != nil {
		c.t.Fatal(err)
	}
}

// at returns the parameters of a request about a byte of a file, which it opens.
func (c *plain) at(path, text string, offset int) map[string]any {
	uri := lsp.URIOf(path)
	if !c.opened[path] {
		c.opened[path] = true
		c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": c.server.Language(path), "version": 1, "text": text}})
	}
	line := text[strings.LastIndexByte(text[:offset], '\n')+1 : offset]
	return map[string]any{
		"textDocument": map[string]any{"uri": uri}, "context": map[string]any{"includeDeclaration": true},
		"position": map[string]any{"line": strings.Count(text[:offset], "\n"), "character": len(utf16.Encode([]rune(line)))},
	}
}

// located returns the files and lines that an answer of the protocol names, sorted.
func (c *plain) located(raw json.RawMessage) (places []string) {
	list, err := lsp.Locations(raw)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, l := range list {
		path := l.Path()
		if rel, err := filepath.Rel(c.root, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		places = append(places, fmt.Sprintf("%s:%d", path, l.Range.Start.Line+1))
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// place1 matches a place at the start of a line.
var place1 = regexp.MustCompile(`(?m)^([^\s:\[]+:\d+)(:\d+)?(: | \[|$)`)

// repository is a folder with sources of one language.
type repository struct {
	language  string
	variable  string
	source    func(program string) string
	folder    string // of the files that questions are about
	questions int
}

var repositories = []repository{
	{"go", "GOPLS", func(string) string {
		out, _ := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/tools").Output()
		return strings.TrimSpace(string(out))
	}, "go/ssa", 30},
	{"typescript", "TYPESCRIPT_LANGUAGE_SERVER", func(program string) string { return filepath.Join(filepath.Dir(filepath.Dir(program)), "rxjs") }, "src/internal/operators", 30},
}

// TestLanguageRepositories compares the answers of the tool at random names of projects of more
// than 1,000 files with the answers of the server to a minimal client.
func TestLanguageRepositories(t *testing.T) {
	for _, r := range repositories {
		t.Run(r.language, func(t *testing.T) {
			program := os.Getenv(r.variable)
			if program == "" {
				t.Skip(r.variable + " does not name a program")
			}
			testscale.NeedFull(t)
			l := languages[slices.IndexFunc(languages, func(l language) bool { return l.name == r.language })]
			l.files, l.main = nil, "main.txt"
			node, _ := exec.LookPath("node")
			goProgram, _ := exec.LookPath("go")
			// Both find the same Python, which decides what a library has.
			env := []string{"PATH=" + strings.Join([]string{filepath.Dir(program), filepath.Dir(node), filepath.Dir(goProgram), "/usr/bin", "/bin"}, ":")}
			p, h := startLanguageWith(t, l, "", env)
			source := r.source(program)
			if out, err := exec.Command("sh", "-c", `cp -rL "$0/." "$1" && chmod -R u+w "$1" && find "$1" -type f | wc -l`, source, p.root).CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			} else if n := strings.TrimSpace(string(out)); len(n) < 4 {
				t.Fatal(n, "files")
			}
			c := startPlain(t, program, p.root, append(env, "HOME="+filepath.Join(p.base, "home")))
			rnd := rand.New(rand.NewPCG(7, uint64(len(r.language))))
			files, _ := filepath.Glob(filepath.Join(p.root, r.folder, "*"))
			files = slices.DeleteFunc(files, func(f string) bool { return c.server.Language(f) == "" || strings.Contains(f, "_test") })
			compared := map[string]int{}
			for range r.questions {
				path := files[rnd.IntN(len(files))]
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				text := string(data)
				names := regexp.MustCompile(`\b[A-Za-z_]\w{5,}`).FindAllStringIndex(text, -1)
				if len(names) == 0 {
					continue
				}
				q := &comparison{t, h, c, path, text, names[rnd.IntN(len(names))], compared}
				q.compare()
			}
			t.Log(compared)
			for operation, n := range compared {
				if n < r.questions/2 {
					t.Error("only", n, "answers of", operation)
				}
			}
		})
	}
}

// comparison compares the answers about one name.
type comparison struct {
	t        *testing.T
	h        *host
	c        *plain
	path     string
	text     string
	name     []int
	compared map[string]int
}

// ours returns the answer of LSP.
func (q *comparison) ours(operation string) (string, bool) {
	start := strings.LastIndexByte(q.text[:q.name[0]], '\n') + 1
	args, _ := json.Marshal(map[string]any{
		"operation": operation, "filePath": q.path, "line": 1 + strings.Count(q.text[:q.name[0]], "\n"), "character": 1 + len([]rune(q.text[start:q.name[0]])), "query": map[string]string{"workspaceSymbol": q.text[q.name[0]:q.name[1]]}[operation], "newName": map[string]string{"rename": newName}[operation],
	})
	args = bytes.Replace(bytes.Replace(args, []byte(`,"query":""`), nil, 1), []byte(`,"newName":""`), nil, 1)
	_, answer := q.h.begin(direct, "LSP", string(args))
	select {
	case m := <-answer:
		o := outcomeOf(m)
		return o.text, !o.failed
	case <-time.After(3 * time.Minute): // only a failing test waits this long
		q.t.Fatal("no answer to ", operation)
		return "", false
	}
}

// newName is a name that no project has.
const newName = "renamedByTest"

func (q *comparison) compare() {
	params := q.c.at(q.path, q.text, q.name[0])
	params["query"], params["newName"] = q.text[q.name[0]:q.name[1]], newName
	for operation, method := range map[string]string{
		"goToDefinition": "textDocument/definition", "goToTypeDefinition": "textDocument/typeDefinition", "goToImplementation": "textDocument/implementation",
		"findReferences": "textDocument/references", "hover": "textDocument/hover", "documentSymbol": "textDocument/documentSymbol", "incomingCalls": "textDocument/prepareCallHierarchy",
		"outgoingCalls": "textDocument/prepareCallHierarchy", "workspaceSymbol": "workspace/symbol", "rename": "textDocument/rename",
	} {
		var raw json.RawMessage
		failed := q.c.call(method, params, &raw)
		got, ok := q.ours(operation)
		where := fmt.Sprintf("%s of %s at %s:%v", operation, q.text[q.name[0]:q.name[1]], q.path, params["position"])
		if !ok {
			if failed == nil && !strings.Contains(got, "does not answer") {
				q.t.Errorf("%s: %s; the server answers %.300s", where, got, raw)
			}
			q.compared[operation]++ // both refuse
			continue
		}
		if failed != nil {
			q.t.Errorf("%s: %s; the server fails: %v", where, got, failed)
			continue
		}
		q.compared[operation]++
		if want, same := q.same(operation, raw, got); !same {
			q.t.Errorf("%s:\n%s\nthe server answers\n%s", where, got, want)
		}
	}
}

// same reports whether an answer of LSP agrees with that of the server.
func (q *comparison) same(operation string, raw json.RawMessage, got string) (want string, same bool) {
	switch operation {
	case "hover":
		var hover *lsp.Hover
		if err := json.Unmarshal(raw, &hover); err != nil {
			q.t.Fatal(err)
		}
		if hover == nil || strings.TrimSpace(string(hover.Contents)) == "" {
			return "nothing", strings.Contains(got, "found no information")
		}
		want = strings.TrimSpace(string(hover.Contents))
		return want, got == want || len(want) > 8000
	case "documentSymbol":
		names := strings.Count(string(raw), `"selectionRange"`) + strings.Count(string(raw), `"location"`)
		return fmt.Sprint(names, " symbols"), strings.Count(got, "\n")+1 == names || names > 500 || names == 0
	case "workspaceSymbol":
		var list []json.RawMessage
		_ = json.Unmarshal(raw, &list)
		if len(list) == 0 {
			return "nothing", strings.Contains(got, "found no symbol")
		}
		return fmt.Sprint(len(list), " symbols"), strings.Count(got, "\n")+1 == len(list) || len(list) > 100
	case "rename":
		var edit struct {
			Changes         map[string]json.RawMessage
			DocumentChanges []json.RawMessage
		}
		_ = json.Unmarshal(raw, &edit)
		n := len(edit.Changes) + len(edit.DocumentChanges)
		if n == 0 {
			return "nothing", strings.Contains(got, "found no symbol")
		}
		want = fmt.Sprintf("Renaming changes %d file", n)
		return want, strings.HasPrefix(got, want)
	case "incomingCalls", "outgoingCalls":
		var items []json.RawMessage
		_ = json.Unmarshal(raw, &items)
		if len(items) == 0 {
			return "no function", strings.Contains(got, "found no function")
		}
		var calls []json.RawMessage
		if err := q.c.call("callHierarchy/"+operation, map[string]any{"item": items[0]}, &calls); err != nil {
			q.t.Fatal(err)
		}
		want = fmt.Sprintf("%d %s", len(calls), map[string]string{"incomingCalls": "caller", "outgoingCalls": "callee"}[operation])
		return want, strings.HasPrefix(got, want)
	case "findReferences":
		list, _ := lsp.Locations(raw)
		if len(list) == 0 {
			return "nothing", strings.Contains(got, "found no reference")
		}
		want = fmt.Sprintf("%d reference", len(list))
		return want, strings.HasPrefix(got, want)
	}
	places := q.c.located(raw)
	var shown []string
	for _, m := range place1.FindAllStringSubmatch(got, -1) {
		shown = append(shown, m[1])
	}
	slices.Sort(shown)
	shown = slices.Compact(shown)
	return strings.Join(places, "\n"), slices.Equal(shown, places) || len(places) > 100 || len(places) == 0 && strings.Contains(got, "found no ")
}
