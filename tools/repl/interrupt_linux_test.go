package repl

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/testscale"
)

// patient gives interrupted code more time to end than a busy machine needs.
func patient(_ *command.Config, o *Options) { o.Grace = time.Minute }

// endless holds code that ends at an interrupt only, and short code, which one can find ending.
var endless = map[string][]string{
	"python": {
		"while True: pass", "import threading; threading.Event().wait()", "import asyncio; await asyncio.sleep(1000)",
		"import subprocess\nwhile True: subprocess.run(['true'])", "import subprocess; subprocess.run('sleep 1000', shell=True)",
		"pass", "import time; time.sleep(0.005)",
	},
	"node": {
		"for (;;) {}", "await new Promise(() => {})", "for (;;) await new Promise(r => setImmediate(r))",
		"for (;;) await new Promise(r => require('child_process').exec('true', r))",
		"1", "await new Promise(r => setTimeout(r, 5))",
	},
	"bash": {
		"while :; do :; done", "sleep 1000", "while :; do /bin/true; done", "while :; do y=$(echo a); done", "(sleep 1000)", "sleep 1000 | cat",
		":", "sleep 0.005",
	},
}

// TestInterrupt checks that code can be interrupted by its timeout or a cancellation at any
// moment, that the session goes on, and that no interrupt is left for the next call.
func TestInterrupt(t *testing.T) {
	f := newFixture(t, patient)
	for language, codes := range endless {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			need(t, languages[language].program)
			set := map[string]string{"python": "x = 41", "node": "x = 41; undefined", "bash": "x=41"}[language]
			get := map[string]string{"python": "x", "node": "x", "bash": "echo $x"}[language]
			if got := f.run(language, set); got != "(no output)" {
				t.Fatal(got)
			}
			for range testscale.N(2, 40) {
				for _, code := range codes {
					in := time.Duration(rand.IntN(40_000)) * time.Microsecond
					var first string
					if rand.IntN(2) == 0 {
						first = f.run(language, code, "timeout", 1+in.Milliseconds())
					} else {
						ctx, cancel := context.WithCancelCause(t.Context())
						timer := time.AfterFunc(in, func() { cancel(errors.New("cancelled")) })
						_, first = f.call(ctx, map[string]any{"language": language, "code": code})
						timer.Stop()
						cancel(nil)
					}
					if got := f.run(language, get); got != "41" {
						t.Errorf("%s after %v: %.300s\nthen: %.300s", code, in, first, got)
					}
					if strings.HasPrefix(first, "Session lost") {
						return
					}
				}
			}
		})
	}
}

// TestEndedMeanwhile checks that a call that waits for its turn has a new session if the present
// one ends.
func TestEndedMeanwhile(t *testing.T) {
	f := newFixture(t, patient)
	f.want("bash", "x=1", "(no output)")
	list := f.Bash.Tasks.List(f.Session.View().Owner())
	s := list[len(list)-1].Job.(*interpreter)
	s.turn <- struct{}{} // another call
	got := make(chan string)
	go func() { got <- f.run("bash", "echo ${x-none}") }()
	if err := s.Stop("the test"); err != nil {
		t.Error(err)
	}
	s.release(time.Hour)
	if text := <-got; text != "none\n"+newSession_+"stopped by the test]" {
		t.Error(text)
	}
}
