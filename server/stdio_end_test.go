package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// behind is the number of waiting calls. It is so large that some are not
// cancelled yet when the running call has already left.
const behind = 300

// queue sends a call that runs and the calls after it, and waits until they
// have arrived.
func queue(t *testing.T, s *Server, g *gate, in io.Writer) {
	t.Helper()
	var lines strings.Builder
	for i := range 1 + behind {
		fmt.Fprintln(&lines, callLine(i, "Block", fmt.Sprintf(`{"name":"%d"}`, i)))
	}
	if _, err := io.WriteString(in, lines.String()); err != nil {
		t.Fatal(err)
	}
	await(t, g.begun)
	waiting(t, s, 1+behind)
}

func (g *gate) onlyFirst(t *testing.T) {
	t.Helper()
	if starts := g.starts(); len(starts) != 1 || starts[0] != "0" {
		t.Errorf("started: %q, want the first", starts)
	}
}

// TestNothingStartsBehindTheDrain checks that after the drain time the running
// call is cancelled and the calls that wait for it never start.
func TestNothingStartsBehindTheDrain(t *testing.T) {
	for range endRuns {
		g := newGate()
		s, _ := newServer(t, 20*time.Millisecond, g.tool("Block", false))
		p := connect(t, t.Context(), s)
		queue(t, s, g, p.in)
		if rest, err := p.end(); err != nil || len(rest) > 1+behind {
			t.Errorf("the end: %d answers, %v", len(rest), err)
		}
		waiting(t, s, 0)
		g.onlyFirst(t)
	}
}

// TestNothingStartsBehindTheStop checks the same when the server is told to
// stop.
func TestNothingStartsBehindTheStop(t *testing.T) {
	for range endRuns {
		g := newGate()
		s, _ := newServer(t, deadline, g.tool("Block", false))
		ctx, stop := context.WithCancel(t.Context())
		p := connect(t, ctx, s)
		queue(t, s, g, p.in)
		stop()
		if err := await(t, p.served); err != nil {
			t.Error(err)
		}
		waiting(t, s, 0)
		g.onlyFirst(t)
		_ = p.in.Close()
	}
}

// TestNothingStartsForNobody checks that calls of a client that dies do not
// start, long before the drain time is over. Such a client closes its input and
// output.
func TestNothingStartsForNobody(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it is found out there by the first answer")
	}
	for range endRuns {
		g := newGate()
		s, _ := newServer(t, 2*deadline, g.tool("Block", false))
		inR, inW := io.Pipe()
		outR, outW, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.ServeStdio(t.Context(), inR, outW) }()
		queue(t, s, g, inW)
		_, _ = inW.Close(), outR.Close()
		if err := await(t, served); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("ended with %v", err)
		}
		_ = outW.Close()
		waiting(t, s, 0)
		g.onlyFirst(t)
	}
}

// TestNothingStartsWhenAWriteFails checks that a failed write of an answer ends
// waiting calls.
func TestNothingStartsWhenAWriteFails(t *testing.T) {
	for range endRuns {
		g := newGate()
		s, _ := newServer(t, deadline, g.tool("Block", false))
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.ServeStdio(t.Context(), inR, outW) }()
		queue(t, s, g, inW)
		_ = outR.CloseWithError(syscall.EPIPE)
		fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		if err := await(t, served); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("ended with %v", err)
		}
		waiting(t, s, 0)
		g.onlyFirst(t)
		_ = inW.Close()
	}
}

// TestEndOfInputWithAReader checks that all calls are answered while the client
// reads, for each kind of output. It is no failure if the client is gone when
// no call remains.
func TestEndOfInputWithAReader(t *testing.T) {
	s, _ := newServer(t, deadline)
	var in strings.Builder
	for i := range 11 {
		fmt.Fprintln(&in, callLine(i, "Read", `{"file_path":"a.txt"}`))
	}
	pipeR, pipeW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipeR.Close()
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []*os.File{pipeW, file} {
		if err := s.ServeStdio(t.Context(), strings.NewReader(in.String()), out); err != nil {
			t.Errorf("%s: %v", out.Name(), err)
		}
		_ = out.Close()
	}
	written, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	piped, err := io.ReadAll(pipeR)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"file": written, "pipe": piped} {
		if n := strings.Count(string(text), `"result":`); n != 11 {
			t.Errorf("%s: %d answers to 11 calls", name, n)
		}
	}
	goneR, goneW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer goneW.Close()
	_ = goneR.Close()
	if err := s.ServeStdio(t.Context(), strings.NewReader(""), goneW); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}
