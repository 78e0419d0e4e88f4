package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcp-toolset/internal/testscale"
)

// TestSharedListKilled kills a server while it changes a shared list. Another server then
// has the changes that were answered, and perhaps the next ones, in their order; so has a
// later server.
func TestSharedListKilled(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	share := shellOptions{args: []string{"--task-list", "team"}, env: []string{"MCP_TOOLSET_STATE_DIR=" + state}, bare: true}
	other := startShell(t, share)
	total, items := 0, ""
	for round := range testscale.N(3, 50) {
		s := startShell(t, share)
		var calls []sent
		for i := range 40 {
			calls = append(calls, s.begin("TaskCreate", map[string]any{"subject": fmt.Sprintf("item %d", i), "description": strings.Repeat("x", 2000)}))
		}
		answered := 0
		for _, c := range calls {
			if answered == 2+round%5 {
				if err := s.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			a := s.wait(c)
			if a.fault != "" {
				break
			}
			answered++
			if want := fmt.Sprintf("Task %d created: ", total+answered); !strings.HasPrefix(a.text, want) {
				t.Fatalf("the answer is %q, want %q", a.text, want)
			}
		}
		list := other.call("TaskList", nil).text
		lines := strings.Count(list, "\n") + 1
		if lines < total+answered || lines > total+len(calls) {
			t.Fatalf("%d and %d calls were answered, and the list has %d items:\n%s", total, answered, lines, list)
		}
		for i := range lines - total {
			items += fmt.Sprintf("%d [pending] item %d\n", total+i+1, i)
		}
		if list+"\n" != items {
			t.Errorf("the list is\n%s\nwant\n%s", list, items)
		}
		if again := startShell(t, share).call("TaskList", nil).text; again != list {
			t.Errorf("a new server has\n%s\nwant\n%s", again, list)
		}
		total = lines
	}
}

// TestSharedListClaims lets the clients of two HTTP servers claim all items of a list at
// once: each item has one owner, and whoever is refused is told which.
func TestSharedListClaims(t *testing.T) {
	t.Parallel()
	clients, items := testscale.N(10, 50), testscale.N(20, 1000)
	state := filepath.Join(t.TempDir(), "state")
	servers := []*httpWire{serveIn(t, state, t.TempDir(), "--task-list", "team"), serveIn(t, state, t.TempDir(), "--task-list", "team")}
	open := func(server int) func(tool, args string) (text string, failed bool) {
		w := &httpWire{url: servers[server].url}
		w.exchange(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claimer","version":"1"}}}`)
		return func(tool, args string) (string, bool) {
			lines := w.exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args))
			var m struct {
				Result struct {
					IsError bool
					Content []struct{ Text string }
				}
			}
			if len(lines) != 1 || json.Unmarshal([]byte(lines[0]), &m) != nil || len(m.Result.Content) != 1 {
				t.Errorf("the answer is %q", lines)
				return "", true
			}
			return m.Result.Content[0].Text, m.Result.IsError
		}
	}
	first := open(0)
	for range items {
		if text, failed := first("TaskCreate", `{"subject":"a","description":""}`); failed {
			t.Fatal(text)
		}
	}
	var mu sync.Mutex
	owners, refused := map[int]string{}, map[int][]string{}
	var all sync.WaitGroup
	for c := range clients {
		call := open(c % 2)
		all.Go(func() {
			for i := range items {
				id := 1 + (i+c*items/clients)%items
				text, failed := call("TaskUpdate", fmt.Sprintf(`{"taskId":"%d","status":"in_progress"}`, id))
				mu.Lock()
				if failed {
					refused[id] = append(refused[id], text)
				} else if had := owners[id]; had != "" {
					t.Errorf("%d is claimed twice: %s, %s", id, had, text)
				} else {
					_, after, _ := strings.Cut(text, ", owner ")
					owners[id], _, _ = strings.Cut(after, "]")
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	list, _ := first("TaskList", "{}")
	for id := 1; id <= items; id++ {
		if owners[id] == "" || !strings.Contains("\n"+list, fmt.Sprintf("\n%d [in_progress, owner %s] a", id, owners[id])) {
			t.Errorf("%q claimed %d", owners[id], id)
		}
		if len(refused[id]) != clients-1 {
			t.Errorf("%d clients were refused %d", len(refused[id]), id)
		}
		for _, text := range refused[id] {
			if want := fmt.Sprintf("TaskUpdate: failed: task %d is in progress by %s. ", id, owners[id]); !strings.HasPrefix(text, want) {
				t.Errorf("%s, want %s", text, want)
			}
		}
	}
}
