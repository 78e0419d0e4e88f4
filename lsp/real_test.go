package lsp

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
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
// files in the module of this repository, and giving the server the file.
func BenchmarkOpen(b *testing.B) {
	root, err := filepath.Abs("..")
	if err != nil {
		b.Fatal(err)
	}
	m := realServer(b, "GOPLS", root)
	path := filepath.Join(root, "lsp", "manager.go")
	info, err := os.Lstat(path)
	if err != nil {
		b.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	text, err := NewText(data)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c, done, err := m.For(b.Context(), path, true)
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Open(b.Context(), path, text, info); err != nil {
			b.Fatal(err)
		}
		done()
	}
}
