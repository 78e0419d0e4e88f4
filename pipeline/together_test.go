package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// TestReadsLeaveOneSession checks that the same reads lead to the same session,
// whether they run one by one or together, in any order and with deduplication.
// The next reads must get the same answers.
func TestReadsLeaveOneSession(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		b := newBench(t, "")
		parts := []string{`%d"`, `%d","offset":2`}
		var reads, all []string
		for n := range 2 {
			if err := os.WriteFile(filepath.Join(b.root, fmt.Sprint(n)), []byte("one\ntwo\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				all = append(all, fmt.Sprintf(`{"file_path":"`+p+`}`, n))
			}
		}
		for range 1 + rnd.IntN(8) {
			reads = append(reads, all[rnd.IntN(len(all))])
		}
		b.together(t, nil, reads, 1)
		want := b.together(t, nil, all, 1)
		for _, sharing := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				b.session = session.New(session.Config{ID: "2", Roots: b.Roots.Paths()})
				b.rules.Load().Hooks, b.Shared = nil, nil
				s := concurrency.New(concurrency.Config{PerLane: 1 + rnd.IntN(4)})
				if sharing {
					b.Shared = concurrency.NewGroup(s)
				} else {
					var mu sync.Mutex
					b.hookAfter(t, "Read", func(hook.Input) hook.Verdict {
						mu.Lock()
						d := time.Duration(rnd.IntN(5)) * time.Second
						mu.Unlock()
						time.Sleep(d)
						return hook.Verdict{}
					})
				}
				b.together(t, s, reads, len(reads))
				b.rules.Load().Hooks, b.Shared = nil, nil
				if diff := cmp.Diff(want, b.together(t, s, all, 1)); diff != "" {
					t.Fatalf("seed %d, sharing %v: behind %v (-one by one +together):\n%s", seed, sharing, reads, diff)
				}
			})
		}
	}
}

// together sends reads of the session so many at once.
func (b *bench) together(t *testing.T, s *concurrency.Scheduler, reads []string, atOnce int) []string {
	t.Helper()
	if s == nil {
		s = concurrency.New(concurrency.Config{})
	}
	lane, answers := s.NewLane(""), make([]string, len(reads))
	var wg sync.WaitGroup
	for i, args := range reads {
		r := b.request("Read", args)
		r.Ticket.Leave()
		var err error
		if r.Ticket, err = lane.Arrive(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			resp, err := b.Run(t.Context(), r)
			if err != nil {
				t.Error(err)
				return
			}
			answers[i] = joinText(resp.Content)
		})
		if (i+1)%atOnce == 0 {
			wg.Wait()
		}
	}
	wg.Wait()
	return answers
}

// TestWatchOnlyWhoListens checks that no timer runs for a call whose client did
// not ask for progress.
func TestWatchOnlyWhoListens(t *testing.T) {
	for _, listens := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, "")
			first, second := b.request("Do", `{"do":"wait"}`), b.request("Do", `{"do":"x"}`)
			var told int
			if listens {
				second.Progress = func(tools.Progress) { told++ }
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() { _, _ = b.Run(ctx, first) }()
			synctest.Wait()
			go func() { _, _ = b.Run(t.Context(), second) }()
			synctest.Wait()
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			if got := strings.Contains(string(stacks), "pipeline.(*call).watch."); got != listens {
				t.Errorf("the client listens: %v; a goroutine watches: %v", listens, got)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if (told > 0) != listens {
				t.Errorf("the client listens: %v; it was told %d times", listens, told)
			}
			cancel()
			synctest.Wait()
		})
	}
}
