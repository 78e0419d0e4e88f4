// Package toolstest runs the test cases of a tool with one line:
//
//	func TestCases(t *testing.T) { toolstest.Run(t, read.New(read.Options{}), "testdata") }
//
// A case is a txtar archive. A case named unix_* does not run on Windows. Its comment gives
// the reason for the case. The sections are, in this order:
//
//	-- files/NAME --    a file of the workspace; between calls, a change from outside the session
//	-- read/NAME --     the session reads the file
//	-- call --          the arguments of a call; there may be several, in sequence
//	-- call/TOOL --     the same for one of several tools
//	-- want --          the text of its result; `want failed` if the result is a failure
//	-- error --         instead of want: the error of the call
//	-- after/NAME --    the content of a file after all calls; the single line
//	                    `(absent)` means that the file must not exist
//
// Each file of the workspace is one second newer than the one before it. $ROOT is the
// workspace, and $RESULTS is the folder of stored results. With -update, want and error
// sections are rewritten with the actual answers; read the diff.
package toolstest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/file/snapshot"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/results"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// placed matches paths below a folder that has a name in answers.
var placed = regexp.MustCompile(`\$(ROOT|RESULTS)[^\s]*`)

var update = flag.Bool("update", false, "rewrite the wanted results of txtar cases")

// Run runs every *.txtar case of dir as a subtest. The functions same replace parts of
// answers that vary between runs.
func Run(t *testing.T, tool *tools.Tool, dir string, same ...func(string) string) {
	t.Helper()
	RunIn(t, func(*Workspace) *tools.Tool { return tool }, dir, same...)
}

// RunIn is like Run, and makes a tool for the workspace of each case.
func RunIn(t *testing.T, build func(*Workspace) *tools.Tool, dir string, same ...func(string) string) {
	t.Helper()
	RunSeveral(t, func(w *Workspace) []*tools.Tool { return []*tools.Tool{build(w)} }, dir, same...)
}

// RunSeveral is like RunIn, for cases that call several tools.
func RunSeveral(t *testing.T, build func(*Workspace) []*tools.Tool, dir string, same ...func(string) string) {
	t.Helper()
	cases, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases in %s (%v)", dir, err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.HasPrefix(filepath.Base(file), "unix_") {
				t.Skip("the case has paths or errors of Unix")
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(data)
			runCase(t, build, archive, same)
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Workspace is a workspace in a temporary folder, with a session.
type Workspace struct {
	Root    string
	Session *session.Session

	// Locks and Snapshots are services of tools on files.
	Locks     *filelock.Locks
	Snapshots *snapshot.Cache

	roots   *workspace.Roots
	results *results.Store

	// AskUser answers the questions of calls. It may be nil.
	AskUser func(context.Context, []question.Question) (question.Reply, error)
}

// NewWorkspace returns a workspace that is removed after the test.
func NewWorkspace(t *testing.T) *Workspace {
	t.Helper()
	roots, err := workspace.OpenRoots([]string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = roots.Close() })
	root := roots.Paths()[0]
	store := results.New(filepath.Join(t.TempDir(), "state", "results"), results.Quota, time.Now)
	t.Cleanup(func() { _ = store.Close() })
	return &Workspace{Root: root, roots: roots, results: store,
		Snapshots: snapshot.New(snapshot.Total), Locks: filelock.New(filepath.Join(t.TempDir(), "state", "locks")), Session: session.New(session.Config{
			ID: "test", Roots: []string{root}, Results: store.Hold("test"),
		})}
}

// Placed returns text with $ROOT and $RESULTS in place of these folders, and with slashes
// in the paths below them.
func (w *Workspace) Placed(text string) string {
	text = strings.NewReplacer(w.Root, "$ROOT", w.Session.View().Results, "$RESULTS").Replace(text)
	if runtime.GOOS == "windows" {
		text = placed.ReplaceAllStringFunc(text, filepath.ToSlash)
	}
	return text
}

// Env returns the Env of a call in the workspace. The call may open everything in the root,
// and what the session stored.
func (w *Workspace) Env() *tools.Env {
	view := w.Session.View()
	var form func(context.Context, tools.Form) (tools.FormReply, error)
	if w.AskUser != nil {
		form = func(context.Context, tools.Form) (tools.FormReply, error) {
			return tools.FormReply{}, fmt.Errorf("no forms in a tool's own test")
		}
	}
	return &tools.Env{
		Elicit:  form,
		Session: view, Patient: true,
		Files: workspace.NewFiles(w.roots, func(literal, canonical string) error {
			if workspace.Containing(w.roots.Paths(), canonical) == "" && !strings.HasPrefix(canonical, view.Results+string(filepath.Separator)) {
				return fmt.Errorf("%s is outside the workspace", literal)
			}
			return nil
		}),
		Denied: func(path string) bool {
			return workspace.Containing(w.roots.Paths(), path) == "" && !strings.HasPrefix(path, view.Results)
		},
		Home:     w.Root,
		Log:      slog.New(slog.DiscardHandler),
		Progress: func(tools.Progress) {},
		Waiting:  func() {},
		Depart:   func() {},
		AskUser:  w.AskUser,
		Later: func(context.Context, string, json.RawMessage) (*tools.Response, error) {
			return nil, fmt.Errorf("no later calls in a tool's own test")
		},
		Commands: tools.CommandAccess{
			RestrictedPaths: func(context.Context) (tools.RestrictedPaths, error) { return tools.RestrictedPaths{}, nil },
			Outside:         func() func() { return func() {} },
			HidingRule:      func(string) string { return "" },
		},
		Results: stored{w.results, view.Results},
		Call: func(context.Context, string, json.RawMessage) (*tools.Response, error) {
			return nil, fmt.Errorf("no nested calls in a tool's own test")
		},
	}
}

// Call runs one call as the pipeline does, but without policy and scheduler, and applies
// its effect.
func (w *Workspace) Call(ctx context.Context, tool *tools.Tool, args string) (*tools.Response, error) {
	call, err := tool.Parse(json.RawMessage(args))
	if err != nil {
		return nil, err
	}
	env := w.Env()
	prepared, err := call.Prepare(env)
	if err != nil {
		return nil, err
	}
	resp, err := prepared.Run(ctx, env)
	if resp != nil {
		resp.Summary = prepared.Done(resp, env.Session.Dir)
	}
	var recorded *tools.Recorded
	if errors.As(err, &recorded) {
		w.Session.Apply(recorded.Effect)
	}
	if err != nil {
		return nil, err
	}
	w.Session.Apply(resp.Effect)
	prepared.AddNotes(resp)
	return resp, nil
}

// Prepare prepares a call, which must be valid.
func Prepare(t testing.TB, call *tools.Call, env *tools.Env) *tools.Prepared {
	t.Helper()
	prepared, err := call.Prepare(env)
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

// Read records that the session has read a file of the workspace in its present state.
func (w *Workspace) Read(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(w.Root, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(data)
	w.Snapshots.Put(hash, data)
	w.Session.Apply(session.Effect{Reads: []session.Read{{
		Path: path, File: workspace.IdentityOf(info), Hash: hash, At: time.Now(), Shown: true,
	}}})
}

// Text returns the text of a response. Other content appears as [kind].
func Text(r *tools.Response) string {
	var parts []string
	for _, c := range r.Content {
		if text, ok := c.(tools.Text); ok {
			parts = append(parts, text.Text)
			continue
		}
		parts = append(parts, fmt.Sprintf("[%T]", c))
	}
	return strings.Join(parts, "\n")
}

func runCase(t *testing.T, build func(*Workspace) []*tools.Tool, archive *txtar.Archive, same []func(string) string) {
	if len(strings.TrimSpace(string(archive.Comment))) == 0 {
		t.Error("the case does not say why it is there")
	}
	w := NewWorkspace(t)
	list := build(w)
	written := time.Now().Add(-time.Hour)
	var resp *tools.Response
	var err error
	called := false
	for i := range archive.Files {
		f := &archive.Files[i]
		kind, name, _ := strings.Cut(f.Name, "/")
		switch kind {
		case "files":
			path := filepath.Join(w.Root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			written = written.Add(time.Second)
			if err := errors.Join(os.WriteFile(path, f.Data, 0o644), os.Chtimes(path, written, written)); err != nil {
				t.Fatal(err)
			}
		case "read":
			w.Read(t, name)
		case "call":
			if called {
				t.Error("a call has no want or error behind it")
			}
			i := slices.IndexFunc(list, func(tool *tools.Tool) bool { return tool.Name == name || name == "" && len(list) == 1 })
			if i < 0 {
				t.Fatalf("%s: there is no tool %q", f.Name, name)
			}
			resp, err = w.Call(t.Context(), list[i], strings.ReplaceAll(string(f.Data), "$ROOT", filepath.ToSlash(w.Root)))
			called = true
		case "want", "want failed", "error":
			if !called {
				t.Fatalf("%s without a call before it", f.Name)
			}
			check(t, w, f, resp, err, same)
			called = false
		case "summary": // of the last call
			if called || resp == nil {
				t.Fatal("a summary does not follow a want")
			}
			compare(t, f, resp.Summary+"\n")
		case "after":
			after(t, filepath.Join(w.Root, name), f.Data)
		default:
			t.Fatalf("unknown section %s", f.Name)
		}
	}
	if called {
		t.Error("the last call has no want or error behind it")
	}
}

// check compares an answer with its section.
func check(t *testing.T, w *Workspace, f *txtar.File, resp *tools.Response, err error, same []func(string) string) {
	t.Helper()
	name, got := "error", ""
	switch {
	case err != nil:
		got = err.Error()
	case resp.Failed:
		name, got = "want failed", Text(resp)
	default:
		name, got = "want", Text(resp)
	}
	got = w.Placed(got) + "\n"
	for _, s := range same {
		got = s(got)
	}
	if *update {
		f.Name = name
	}
	if f.Name != name {
		t.Fatalf("the answer is %q, not %q:\n%s", name, f.Name, got)
	}
	compare(t, f, got)
}

// compare compares a section with text. With -update, it rewrites the section.
func compare(t *testing.T, f *txtar.File, text string) {
	t.Helper()
	if *update {
		f.Data = []byte(text)
		return
	}
	if diff := cmp.Diff(string(f.Data), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", f.Name, diff)
	}
}

// Golden compares text with a file. With -update, it rewrites the file.
func Golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got); -update rewrites it:\n%s", file, diff)
	}
}

func after(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if string(want) == "(absent)\n" {
		if err == nil {
			t.Errorf("%s is there", path)
		}
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s after the calls (-want +got):\n%s", path, diff)
	}
}
