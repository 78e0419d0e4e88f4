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

func TestSpeed(t *testing.T) {
	root, _ := filepath.Abs("..")
	m := realServer(t, "GOPLS", root)
	path := filepath.Join(root, "lsp", "manager.go")
	data, _ := os.ReadFile(path)
	text, _ := NewText(data)
	info, _ := os.Lstat(path)
	ctx := t.Context()
	for range 30 {
		b := time.Now()
		c, done, err := m.For(ctx, path, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := time.Now()
		if err := c.Open(ctx, path, text, info); err != nil {
			t.Fatal(err)
		}
		o := time.Now()
		var list []Location
		if _, err := c.Ask(ctx, "textDocument/definition", At(path, Position{94, 5}), &list); err != nil {
			t.Fatal(err)
		}
		done()
		t.Log(f.Sub(b), o.Sub(f), time.Since(o), list)
	}
}
