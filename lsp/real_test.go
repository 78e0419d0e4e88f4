package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-toolset/internal/testscale"
)

// execProcess is a server that a test starts without a sandbox.
type execProcess struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (p *execProcess) Done() <-chan struct{} { return p.done }
func (p *execProcess) Exit() string          { <-p.done; return p.cmd.ProcessState.String() }
func (p *execProcess) Memory() int64         { return 0 }
func (p *execProcess) End(time.Duration) error {
	_ = p.cmd.Process.Kill()
	<-p.done
	return nil
}

// startExec starts a server without a sandbox.
func startExec(_ context.Context, l Launch) (Process, error) {
	cmd := exec.Command(l.Args[0], l.Args[1:]...)
	cmd.Dir, cmd.Env = l.Dir, append(os.Environ(), l.Env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return Process{}, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return Process{}, err
	}
	words, theirErr, err := os.Pipe()
	if err != nil {
		return Process{}, err
	}
	cmd.Stdout, cmd.Stderr = theirOut, theirErr
	if err := cmd.Start(); err != nil {
		return Process{}, err
	}
	_, _ = theirOut.Close(), theirErr.Close()
	p := &execProcess{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return Process{Stdin: in, Stdout: out, Stderr: words, Control: p}, nil
}

// realServer returns a manager for a project, with a real server that a variable names.
func realServer(t testing.TB, variable, root string) *Manager {
	program := os.Getenv(variable)
	if program == "" {
		t.Skip(variable + " does not name a program")
	}
	m := New(Config{Servers: Table, Roots: []string{root}, Start: startExec, Find: func(name string) (string, error) {
		if name == filepath.Base(program) {
			return program, nil
		}
		return "", os.ErrNotExist
	}})
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// BenchmarkOpen measures what a question adds to the time of the server: looking for changed
// files in the module of this repository and in the Go distribution, and giving the server
// the file. It reports the memory of this process that the server needs.
func BenchmarkOpen(b *testing.B) {
	repository, err := filepath.Abs("..")
	if err != nil {
		b.Fatal(err)
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	distribution := strings.TrimSpace(string(out))
	for _, file := range []string{filepath.Join(repository, "lsp", "manager.go"), filepath.Join(distribution, "src", "net", "http", "server.go")} {
		b.Run(filepath.Base(file), func(b *testing.B) {
			root := repository
			if !strings.HasPrefix(file, root) {
				root = distribution
			}
			m := realServer(b, "GOPLS", root)
			info, err := os.Lstat(file)
			if err != nil {
				b.Fatal(err)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			text, err := NewText(data)
			if err != nil {
				b.Fatal(err)
			}
			open := func() {
				c, done, err := m.For(b.Context(), Workspace{}, file)
				if err != nil {
					b.Fatal(err)
				}
				defer done()
				if err := c.Open(b.Context(), file, file, text, info); err != nil {
					b.Fatal(err)
				}
				c.awaitIdle(b.Context())
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			open()
			b.ResetTimer()
			for b.Loop() {
				open()
			}
			b.StopTimer()
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
			b.ReportMetric(float64(after.Sys-before.Sys)/(1<<20), "MiB-sys")
			if name := os.Getenv("LSP_HEAP"); name != "" {
				f, err := os.Create(name + filepath.Base(file))
				if err != nil {
					b.Fatal(err)
				}
				_ = pprof.WriteHeapProfile(f)
				_ = f.Close()
			}
		})
	}
}

// TestRealServers asks real servers, compares changes and changes files at the same time, and
// kills the servers. Its purpose is the race detector.
func TestRealServers(t *testing.T) {
	for _, c := range []struct{ variable, name, text string }{
		{"GOPLS", "a.go", "package a\n\nvar F = %d\n"},
		{"TYPESCRIPT_LANGUAGE_SERVER", "a.ts", "export const F = %d;\n"},
		{"PYRIGHT", "a.py", "F = %d\n"},
		{"CLANGD", "a.cpp", "int F = %d;\n"},
	} {
		t.Run(c.variable, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module a\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			m := realServer(t, c.variable, root)
			var work sync.WaitGroup
			failed := make(chan error, 1000)
			for i := range 3 {
				path := filepath.Join(root, fmt.Sprint(i, c.name))
				work.Go(func() {
					var before *Text
					for step := range testscale.N(10, 100) {
						if step == 5 && i == 0 {
							for _, s := range m.clients() {
								_ = s.process.End(0)
							}
						}
						data := fmt.Appendf(nil, c.text, step)
						if err := os.WriteFile(path, data, 0o644); err != nil {
							failed <- err
							return
						}
						failed <- realQuestion(t.Context(), m, path, before, data, step)
						before, _ = NewText(data)
					}
				})
			}
			work.Wait()
			close(failed)
			n := map[string]int{}
			for err := range failed {
				switch {
				case err == nil:
					n["answers"]++
				case HasEnded(err) || errors.Is(err, errChanged) || errors.Is(err, context.DeadlineExceeded):
					n[err.Error()]++
				default:
					t.Error(err)
				}
			}
			t.Log(n)
			if n["answers"] < 10 {
				t.Error(n)
			}
		})
	}
}

// realQuestion asks about a file, or compares its change.
func realQuestion(ctx context.Context, m *Manager, path string, before *Text, data []byte, step int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	text, err := NewText(data)
	if err != nil {
		return err
	}
	c, done, err := m.For(ctx, Workspace{}, path)
	if err != nil {
		return err
	}
	defer done()
	switch step % 3 {
	case 0:
		_, err = c.Compare(ctx, path, before, text, info)
	case 1:
		_, _, err = c.Diagnostics(ctx, path, path, text, info)
	default:
		if err = c.Open(ctx, path, path, text, info); err == nil {
			_, err = c.Ask(ctx, "textDocument/documentSymbol", At(path, Position{}), new(json.RawMessage))
		}
	}
	return err
}
