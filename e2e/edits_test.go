package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestEditsOfManyServers: several server processes change one file at the same
// time, each with a burst of its own, and no change is lost.
func TestEditsOfManyServers(t *testing.T) {
	const servers, edits = 4, 25
	root, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	path := filepath.Join(root, "f.txt")
	var content strings.Builder
	for i := range servers * edits {
		fmt.Fprintf(&content, "line %03d\r\n", i)
	}
	if err := os.WriteFile(path, []byte(content.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for server := range servers {
		burst := strings.Builder{}
		burst.WriteString(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
		for i := range edits {
			line := fmt.Sprintf("line %03d", i*servers+server)
			fmt.Fprintf(&burst, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Edit","arguments":{"file_path":"f.txt","old_string":%q,"new_string":%q}}}`+"\n", i, line+"\n", line+" edited\n")
		}
		all.Go(func() {
			cmd := exec.Command(binary(t), "stdio", root)
			cmd.Env = append(os.Environ(), "MCP_TOOLSET_STATE_DIR="+state)
			cmd.Stdin = strings.NewReader(burst.String())
			out, err := cmd.Output()
			if err != nil || strings.Contains(string(out), `"isError":true`) || strings.Count(string(out), "Edited ") != edits {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	got, err := os.ReadFile(path)
	if want := strings.ReplaceAll(content.String(), "\r\n", " edited\r\n"); err != nil || string(got) != want {
		t.Errorf("%d of %d edits are in the file, %v", strings.Count(string(got), "edited"), servers*edits, err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
}

// TestKilledWrites: a server that is killed at any moment leaves the old file
// or the new one, and what it left beside it goes with a later write.
func TestKilledWrites(t *testing.T) {
	root, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	path, settings := filepath.Join(root, "f.txt"), filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(settings, []byte(`{"editGuard":"off"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	contents := [2]string{strings.Repeat("old\n", 300_000), strings.Repeat("newer\n", 300_000)}
	if err := os.WriteFile(path, []byte(contents[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(content string) *exec.Cmd {
		args, err := json.Marshal(map[string]string{"file_path": "f.txt", "content": content})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary(t), "call", "--root", root, "--settings", settings, "Write", "-")
		cmd.Env = append(os.Environ(), "MCP_TOOLSET_STATE_DIR="+state)
		cmd.Stdin = strings.NewReader(string(args))
		return cmd
	}
	start := time.Now()
	if out, err := write(contents[1]).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(start)
	rnd := rand.New(rand.NewPCG(5, 6))
	killed := 0
	for i := range killedWrites {
		cmd := write(contents[i%2])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(rnd.Int64N(int64(whole))), func() { _ = cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		}
		timer.Stop()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != contents[0] && string(got) != contents[1] {
			t.Fatalf("after write %d the file has %d bytes, %v", i, len(got), err)
		}
	}
	if killed < killedWrites/4 {
		t.Errorf("only %d writes were killed", killed)
	}
	old := time.Now().Add(-time.Hour) // what was left is swept when it is not from just now
	entries, _ := filepath.Glob(filepath.Join(root, ".*"))
	for _, e := range entries {
		if err := os.Chtimes(e, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := write("last").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 1 {
		t.Errorf("%d leftovers of %d killed writes; after one more write there are %v", len(entries), killed, left)
	}
}
