//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"
)

// operation is a read or write of a register. Each write has another value.
type operation struct {
	value      string
	write      bool
	start, end time.Time // the operation happened between these
}

// inexplicable returns the reason that no order of the operations of a register explains
// the reads, or "". The operations of each value must fit between its write and the next.
// With unique values, the intervals in which a value was certainly stored must be
// disjoint, and none may contain the only moment of another value (Gibbons and Korach,
// Testing shared memories, 1997).
func inexplicable(history []operation) string {
	type zone struct {
		value       string
		first, last time.Time // earliest end, latest start
		written     bool
		begun       time.Time // of the write
	}
	zones := map[string]*zone{}
	for _, o := range history {
		z := zones[o.value]
		if z == nil {
			z = &zone{value: o.value, first: o.end, last: o.start}
			zones[o.value] = z
		}
		if o.end.Before(z.first) {
			z.first = o.end
		}
		if o.start.After(z.last) {
			z.last = o.start
		}
		if o.write {
			z.written, z.begun = true, o.start
		}
	}
	for _, a := range zones {
		if !a.written || a.first.Before(a.begun) {
			return a.value + " was read before it was written"
		}
		if !a.first.Before(a.last) {
			continue // one moment suffices
		}
		for _, b := range zones {
			if a != b && a.first.Before(b.last) && b.first.Before(a.last) {
				return fmt.Sprintf("%s was there while, or before and after, %s was", a.value, b.value)
			}
		}
	}
	return ""
}

// TestInexplicable tests inexplicable.
func TestInexplicable(t *testing.T) {
	at := func(value string, write bool, start, end int) operation {
		return operation{value, write, time.Unix(int64(start), 0), time.Unix(int64(end), 0)}
	}
	for _, tc := range []struct {
		name    string
		history []operation
		fine    bool
	}{
		{"one after the other", []operation{at("a", true, 0, 1), at("a", false, 2, 3), at("b", true, 4, 5), at("b", false, 6, 7)}, true},
		{"a read beside the write", []operation{at("a", true, 0, 1), at("b", true, 2, 9), at("b", false, 3, 4), at("a", false, 1, 3)}, true},
		{"two writes at once", []operation{at("a", true, 0, 5), at("b", true, 0, 5), at("a", false, 6, 7)}, true},
		{"stale", []operation{at("a", true, 0, 1), at("b", true, 2, 3), at("a", false, 4, 5)}, false},
		{"not yet", []operation{at("a", false, 0, 1), at("a", true, 2, 3)}, false},
		{"never", []operation{at("a", false, 0, 1)}, false},
		{"back and forth", []operation{at("a", true, 0, 9), at("b", true, 0, 9), at("a", false, 10, 11), at("b", false, 12, 13), at("a", false, 14, 15)}, false},
	} {
		if got := inexplicable(tc.history); (got == "") != tc.fine {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

var written = regexp.MustCompile(`v\d+-\d+`)

// perRound is the number of calls of a client of TestReadsAreExplained before all clients
// wait for each other.
const perRound = 4

// raced returns the number of reads that overlap a write.
func raced(history []operation) (n int) {
	for _, r := range history {
		beside := func(w operation) bool { return w.write && w.start.Before(r.end) && r.start.Before(w.end) }
		if !r.write && slices.ContainsFunc(history, beside) {
			n++
		}
	}
	return n
}

// TestReadsAreExplained lets clients over HTTP and stdio read and edit files concurrently
// in every way. Each read must be explained by an order of the edits that is consistent
// with the times at which calls were sent and answered.
func TestReadsAreExplained(t *testing.T) {
	t.Parallel()
	root, settings := t.TempDir(), freely(t)
	var files []string
	for i := range 2 {
		files = append(files, filepath.Join(root, fmt.Sprintf("%d.txt", i)))
		put(t, files[i], "v0-0\n")
	}
	web := serveWith(t, root, "--settings", settings, "--read-dedup", "off")
	var clients []func(tool string, arguments map[string]any) reply
	for i := range 8 {
		if i%2 == 0 {
			c := web.another(t)
			clients = append(clients, func(tool string, arguments map[string]any) reply { return c.httpCall(t, tool, arguments) })
			continue
		}
		s := startCorpus(t, root, "--settings", settings, "--read-dedup", "off", "--sandbox", "off", "--mode", "bypassPermissions")
		clients = append(clients, func(tool string, arguments map[string]any) reply { return <-s.tool(tool, arguments) })
	}
	var mu sync.Mutex
	began := time.Now()
	history := make([][]operation, len(files))
	for i := range history {
		history[i] = []operation{{"v0-0", true, began, began}}
	}
	counts := map[string]int{}
	rounds := newBarrier(len(clients))
	var wg sync.WaitGroup
	for n, client := range clients {
		wg.Go(func() {
			defer rounds.leave()
			rnd := rand.New(rand.NewPCG(uint64(n), 5))
			seen := map[int]string{}
			for i := range sharedCalls {
				if i%perRound == 0 {
					rounds.wait()
				}
				f := i / perRound % len(files)
				file, value := files[f], fmt.Sprintf("v%d-%d", n+1, i)
				tool, arguments := "Read", map[string]any{"file_path": file}
				switch rnd.IntN(8) {
				case 0, 1:
					tool, arguments["content"] = "Write", value+"\n"
				case 2, 3:
					if seen[f] != "" {
						tool, arguments["old_string"], arguments["new_string"] = "Edit", seen[f], value
					}
				case 4:
					tool, arguments = "Bash", map[string]any{"command": fmt.Sprintf("echo %s > %s.%d && mv %s.%d %s", value, file, n, file, n, file)}
				}
				o := operation{value: value, write: tool != "Read", start: time.Now()}
				r := client(tool, arguments)
				o.end = time.Now()
				if r.fault != "" || r.failed && tool != "Edit" {
					t.Errorf("%s: %+v", tool, r)
					return
				}
				if r.failed { // the text to replace was no longer there
					continue
				}
				if tool == "Read" {
					o.value = written.FindString(r.text)
				}
				seen[f] = o.value
				mu.Lock()
				history[f] = append(history[f], o)
				counts[tool]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	races := 0
	for f, h := range history {
		races += raced(h)
		if why := inexplicable(h); why != "" {
			t.Errorf("file %d: %s", f, why)
		}
	}
	t.Logf("done: %v, %d reads beside a change", counts, races)
	if races < counts["Read"]/4 {
		t.Errorf("only %d of %d reads were beside a change", races, counts["Read"])
	}
}

// barrier blocks goroutines until all have arrived.
type barrier struct {
	mu          sync.Mutex
	all, coming int
	open        chan struct{}
}

func newBarrier(all int) *barrier { return &barrier{all: all, open: make(chan struct{})} }

func (b *barrier) wait() {
	b.mu.Lock()
	open := b.open
	b.coming++
	b.pass()
	b.mu.Unlock()
	<-open
}

// leave removes a goroutine that does not arrive again.
func (b *barrier) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all--
	b.pass()
}

func (b *barrier) pass() {
	if b.coming == b.all {
		close(b.open)
		b.coming, b.open = 0, make(chan struct{})
	}
}
