//go:build linux || darwin

package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/write"
)

// undoBench is a bench that records changes, with Write and a command that runs do.
func undoBench(t *testing.T, mode policy.Mode, do func(env *tools.Env)) *bench {
	b := newBench(t, "{}")
	registry, err := tools.NewRegistry([]*tools.Tool{
		doer("Code", func(d *tools.Def[doIn, doIn, doOut]) {
			d.Path, d.IsDestructive, d.IsOpenWorld = nil, tools.Always[doIn](), tools.Always[doIn]()
			d.Call = func(_ context.Context, env *tools.Env, _ doIn) (tools.Result[doOut], error) {
				do(env)
				return tools.Result[doOut]{Data: doOut{Said: "done"}}, nil
			}
		}),
		write.New(file.Options{Locks: filelock.New(t.TempDir()), Guard: file.GuardOff}),
		doer("Run", func(d *tools.Def[doIn, doIn, doOut]) {
			d.IsReadOnly = tools.When(func(_ *tools.Env, in doIn) bool { return in.Do == "read" })
			d.Path = nil
			d.Parts = func(_ *tools.Env, in doIn) *tools.Parts {
				return &tools.Parts{Text: in.Do, List: []policy.Part{{Text: in.Do, Name: in.Do, Risk: "it destroys", Destroys: true}}}
			}
			d.Call = func(_ context.Context, env *tools.Env, _ doIn) (tools.Result[doOut], error) {
				do(env)
				return tools.Result[doOut]{Data: doOut{Said: "done"}}, nil
			}
		}),
	}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = registry
	b.rules.Load().Policy = policy.New(policy.Config{Mode: mode, Roots: b.Roots.Paths(), Closed: []string{b.state}})
	b.Undo = undo.New(undo.Options{State: b.state, Roots: b.Roots, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = b.Undo.Close() })
	return b
}

func (b *bench) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.root, name), []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

// TestChangeSets checks which calls have a change set, and that changes of hooks are in it.
func TestChangeSets(t *testing.T) {
	var b *bench
	b = undoBench(t, policy.ModeBypass, func(*tools.Env) { b.put(t, "made", "x") })
	ctx := t.Context()
	run := func(tool, args, want string) {
		t.Helper()
		if got := b.run(t, ctx, tool, args); !strings.HasSuffix(got, want) {
			t.Errorf("%s %s: %q, want %q", tool, args, got, want)
		}
	}
	run("Run", `{"do":"read"}`, "done")
	run("Run", `{"do":"write"}`, "") // the first is not recorded: it counts as read-only
	if list, _ := b.Undo.List(10, func(*undo.Header) bool { return true }); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	os.Remove(filepath.Join(b.root, "made"))
	run("Run", `{"do":"write"}`, "done\nchanged: 1 created (undo 1)")
	run("Run", `{"do":"write again"}`, "done")
	os.Remove(filepath.Join(b.root, "made"))
	run("Code", `{"do":"x"}`, "done\nchanged: 1 created (undo 2)")
	run("Write", `{"file_path":"a.txt","content":"one"}`, "3 bytes.")
	b.hookAfter(t, "Write", func(hook.Input) hook.Verdict {
		b.put(t, "of the hook", "x")
		return hook.Verdict{}
	})
	run("Write", `{"file_path":"a.txt","content":"two"}`, "")
	set, err := b.Undo.Get(4)
	if err != nil || len(set.Changes) != 2 || set.Tool != "Write" || set.Call == "" || !b.Undo.Mine(&set.Header, b.session.View().Owner()) {
		t.Errorf("%+v, %v", set, err)
	}
	if out, err := b.Undo.Restore(ctx, undo.Request{Numbers: []int{4}}); err != nil || len(out.Done) != 2 {
		t.Errorf("%+v, %v", out, err)
	}
	if data, err := os.ReadFile(filepath.Join(b.root, "a.txt")); err != nil || string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
	// Worktrees outside of the roots have stores of their own, and numbers that the workspace does not use.
	main := b.root
	for _, number := range []int{6, 9} {
		b.root = t.TempDir()
		b.session.Apply(session.Effect{Move: &session.Move{To: &session.Worktree{Folder: b.root, Main: main}, Roots: []string{b.root}, Dir: b.root}})
		run("Run", `{"do":"write there"}`, fmt.Sprintf("done\nchanged: 1 created (undo %d)\n[in the worktree $ROOT]", number))
		store := b.Undo.For(b.session.View())
		if list, _ := store.List(10, func(*undo.Header) bool { return true }); len(list) != 1 {
			t.Errorf("%+v", list)
		}
		b.session.Apply(session.Effect{Move: &session.Move{Roots: []string{main}, Dir: main}})
		run("Write", `{"file_path":"b.txt","content":"`+fmt.Sprint(number)+`"}`, "")
		if list, _ := b.Undo.List(1, func(*undo.Header) bool { return true }); list[0].Number != number+1 {
			t.Errorf("%+v", list)
		}
		if out, err := store.Restore(ctx, undo.Request{Numbers: []int{number}}); err != nil || len(out.Done) != 1 {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

// TestCoveredCalls checks that a command that destroys is allowed only while everything is covered,
// also when it runs.
func TestCoveredCalls(t *testing.T) {
	ran := 0
	b := undoBench(t, policy.ModeAcceptEdits, func(*tools.Env) { ran++ })
	b.put(t, "a", "x")
	if got := b.run(t, t.Context(), "Run", `{"do":"rm"}`); got != "done" || ran != 1 {
		t.Error(got)
	}
	// What a program does by itself later has no checkpoint of its own.
	unrun := b.request("Run", `{"do":"rm"}`)
	unrun.Unrun = true
	if resp, err := b.Run(t.Context(), unrun); err != nil || !resp.Failed || !strings.Contains(joinText(resp.Content), "rm needs approval: it destroys") {
		t.Errorf("%+v, %v", resp, err)
	}
	// It does not count as a change either.
	b.Journal = journal.New()
	write := b.request("Write", `{"file_path":"b","content":"x"}`)
	write.Unrun = true
	if resp, err := b.Run(t.Context(), write); err != nil || resp.Failed || len(b.Journal.Entries(b.session.View().Owner())) != 0 {
		t.Errorf("%+v, %v", resp, err)
	}
	pipe := filepath.Join(b.root, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.run(t, t.Context(), "Run", `{"do":"rm"}`); !strings.HasPrefix(got, "failed: Run: refused by policy: rm needs approval: it destroys") || ran != 1 {
		t.Error(got)
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	// In a worktree outside of the roots, nothing is covered.
	there := t.TempDir()
	b.session.Apply(session.Effect{Move: &session.Move{To: &session.Worktree{Folder: there, Main: b.root}, Roots: []string{there}, Dir: there}})
	if got := b.run(t, t.Context(), "Run", `{"do":"rm"}`); !strings.HasPrefix(got, "failed: Run: refused by policy: rm needs approval: it destroys") || ran != 1 {
		t.Error(got)
	}
	b.session.Apply(session.Effect{Move: &session.Move{Roots: []string{b.root}, Dir: b.root}})
	// It was covered when it was decided, and is not any more when it runs.
	c := b.newCall(b.request("Run", `{"do":"rm"}`))
	defer func() { c.Ticket.Leave() }()
	if err := stages(t.Context(), c.lookup, c.unwrap, c.connect, c.parse, c.judge); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := c.execute(t.Context())
	want := "it was allowed because all that it may destroy could be restored, and that has changed: " + pipe + " cannot be restored. Send the call again; the user is asked then."
	if err == nil || !strings.HasSuffix(err.Error(), want) || ran != 1 {
		t.Errorf("%v, %d", err, ran)
	}
	// Explain stores nothing and waits for nothing.
	if e := b.Explain(t.Context(), Request{Tool: "Run", Arguments: []byte(`{"do":"rm"}`), Log: slog.New(slog.DiscardHandler)}); e.Decision.Behavior != policy.Ask {
		t.Errorf("%+v", e.Decision)
	}
}

// TestLateChanges checks that what a program of an agent changes after the answer is recorded for as
// long as it runs, and what a command has left running only for a time.
func TestLateChanges(t *testing.T) {
	for tool, want := range map[string]string{"Code": "early late", "Run": "early"} {
		synctest.Test(t, func(t *testing.T) {
			var b *bench
			var release func()
			b = undoBench(t, policy.ModeBypass, func(env *tools.Env) {
				release = env.Commands.Outside()
				b.put(t, "early", "x")
			})
			b.run(t, t.Context(), tool, `{"do":"x"}`)
			time.Sleep(2 * undo.MaxLate)
			b.put(t, "late", "x")
			release()
			if err := b.Undo.Close(); err != nil {
				t.Fatal(err)
			}
			set, err := b.Undo.Get(1)
			if err != nil {
				t.Fatal(err)
			}
			if got := filepath.Base(set.Changes[0].Path) + strings.Repeat(" late", len(set.Changes)-1); got != want {
				t.Errorf("%s: %q, want %q", tool, got, want)
			}
		})
	}
}
