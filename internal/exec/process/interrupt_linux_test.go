package process

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/testscale"
)

// TestInterrupt checks that a command has received an interrupt before it reads a line that is
// written after the interrupt's channel was closed. It also checks that the channel is closed if the
// command ends.
func TestInterrupt(t *testing.T) {
	eachTier(t, func(t *testing.T, r *Runner) {
		s := script(t, `n=0; trap 'n=$((n + 1))' INT; while read -r; do echo $n; done`)
		in, lines, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer lines.Close()
		out, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		s.Input, s.Output = in, w
		p, err := r.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		_ = out.SetReadDeadline(time.Now().Add(failTime))
		answers := bufio.NewReader(out)
		ask := func() string {
			if _, err := fmt.Fprintln(lines); err != nil {
				t.Fatal(err)
			}
			text, err := answers.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(text)
		}
		if got := ask(); got != "0" {
			t.Error(got)
		}
		for i := range testscale.N(50, 1000) {
			within(t, p.Interrupt())
			if got := ask(); got != fmt.Sprint(i+1) {
				t.Fatalf("%s after %d interrupts", got, i+1)
			}
		}
		at := make(chan (<-chan struct{}), 20)
		go func() {
			for range cap(at) {
				at <- p.Interrupt()
			}
		}()
		if err := p.End(0); err != nil {
			t.Error(err)
		}
		for range cap(at) {
			within(t, <-at)
		}
		within(t, p.Interrupt())
	})
}

func within(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(failTime):
		t.Fatal("the channel is not closed")
	}
}
