package pipeline

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// TestPreview checks that the user is shown the changes of a call, read as the
// policy allows. The preview is not part of the approval.
func TestPreview(t *testing.T) {
	b := newBench(t, `{"permissions":{"ask":["Put"],"deny":["Edit(no.txt)"]}}`)
	folder := b.approvals(t)
	registry, err := tools.NewRegistry([]*tools.Tool{doer("Put", func(d *tools.Def[doIn, doIn, doOut]) {
		d.Preview = func(_ context.Context, env *tools.Env, in doIn) tools.Preview {
			path := in.Path
			if in.Do == "other" {
				path = in.Arg
			}
			f, _, err := env.Files.Open(path)
			if err != nil {
				return tools.Preview{Text: err.Error()}
			}
			defer f.Close()
			text, err := io.ReadAll(f)
			return tools.Preview{Text: fmt.Sprint(string(text), err), Partial: true}
		}
	})}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = registry
	outside := filepath.Join(t.TempDir(), "f")
	for _, path := range []string{outside, filepath.Join(b.root, "a"), filepath.Join(b.root, "no.txt")} {
		if err := os.WriteFile(path, []byte("content"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		`{"do":"x","path":"a"}`:                                              "content<nil>",
		`{"do":"x","path":"` + outside + `"}`:                                "content<nil>", // the path that is asked about
		`{"do":"other","path":"a","arg":"` + outside + `"}`:                  "refused by policy: ",
		`{"do":"other","path":"a","arg":"` + filepath.Join(b.root, "no.txt"): "refused by policy: the deny rule Edit(no.txt)",
	} {
		if !strings.HasSuffix(args, "}") {
			args += `"}`
		}
		var got Question
		b.ask(t, "Put", args, func(_ context.Context, q Question) (Reply, error) {
			got = q
			return Reply{Allow: true, How: Accepted}, nil
		})
		if !strings.HasPrefix(got.Preview.Text, want) || got.Preview.Partial != (want == "content<nil>") {
			t.Errorf("%s: %+v", args, got.Preview)
		}
	}
	const args = `{"do":"x","arg":"done","path":"a"}`
	b.ask(t, "Put", args, nil)
	shown, err := approval.List(t.Context(), folder, 1)
	if err != nil || shown.Items[0].Preview != "content<nil>" || !shown.Items[0].Partial {
		t.Errorf("%+v, %v", shown, err)
	}
	if err := os.WriteFile(filepath.Join(b.root, "a"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := approval.Approve(t.Context(), folder, 1, false); err != nil {
		t.Fatal(err)
	}
	if got := b.ask(t, "Put", args, nil); got != "done" {
		t.Errorf("the approval is bound to the preview: %s", got)
	}
}

// TestClassifierSeesPreview checks that a classifier gets the same preview as
// the user, without files that may hold credentials, unless the tool has a text
// of its own.
func TestClassifierSeesPreview(t *testing.T) {
	outside := t.TempDir()
	if err := os.Mkdir(filepath.Join(outside, ".ssh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", ".ssh/key"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte("content"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put := func(own bool) *tools.Tool {
		return doer("Put", func(d *tools.Def[doIn, doIn, doOut]) {
			d.Preview = func(_ context.Context, env *tools.Env, in doIn) tools.Preview {
				f, _, err := env.Files.Open(in.Path)
				if err != nil {
					return tools.Preview{Text: in.Path + ": " + err.Error()}
				}
				defer f.Close()
				text, err := io.ReadAll(f)
				return tools.Preview{Text: in.Path + ": " + fmt.Sprint(string(text), err)}
			}
			if own {
				d.ClassifierInput = func(doIn) string { return "words" }
			}
		})
	}
	for _, tc := range []struct {
		own        bool
		name, want string
	}{
		{false, "f", outside + "/f: content<nil>"}, {true, "f", "words"},
		{false, ".ssh/key", outside + "/.ssh/key\n[The content is not shown, because the file may hold credentials.]"},
	} {
		b := newBench(t, "")
		b.rules.Load().Policy = policy.New(policy.Config{Roots: []string{b.root}, Closed: []string{b.state}, Secrets: keys{}})
		registry, err := tools.NewRegistry([]*tools.Tool{put(tc.own)}, tools.Gates{})
		if err != nil {
			t.Fatal(err)
		}
		b.Registry = registry
		got := ""
		b.rules.Load().Classify = func(_ context.Context, q classifier.Question) *policy.ExternalDecision {
			got = q.Input
			return nil
		}
		b.ask(t, "Put", `{"do":"x","path":"`+outside+"/"+tc.name+`"}`, nil)
		if got != tc.want {
			t.Errorf("%s, own words %t: %s", tc.name, tc.own, got)
		}
	}
}
