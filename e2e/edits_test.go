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

	"mcp-toolset/internal/testscale"
)

// call is one tool call of a burst.
type call struct {
	tool      string
	arguments map[string]string
}

// burst starts a server with this state folder, sends it the calls without waiting, and
// returns the answers in the order of the calls.
func burst(root, binary, state string, calls []call) ([]answer, error) {
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	for i, c := range calls {
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", i, c.tool, arguments)
	}
	cmd := exec.Command(binary, "stdio", "--sandbox", "off", "--drain", deadline.String(), root)
	cmd.Env = append(os.Environ(), "MCP_TOOLSET_STATE_DIR="+state)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	answers := make([]answer, len(calls))
	for line := range strings.Lines(string(out)) {
		var message struct {
			ID     any
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			return nil, fmt.Errorf("%w: %s", err, line)
		}
		if id, ok := message.ID.(float64); ok && len(message.Result.Content) > 0 {
			answers[int(id)] = answer{message.Result.Content[0].Text, message.Result.IsError}
		}
	}
	return answers, nil
}

// answer is the answer to a call.
type answer struct {
	text   string
	failed bool
}

// TestEditsOfManyServers checks that no change is lost when several servers edit one file
// at the same time, half of them through a link, with a shared state folder or separate
// ones.
func TestEditsOfManyServers(t *testing.T) {
	t.Parallel()
	shared := filepath.Join(t.TempDir(), "state")
	t.Run("one state folder", func(t *testing.T) { editsOfManyServers(t, func() string { return shared }) })
	t.Run("each its own", func(t *testing.T) { editsOfManyServers(t, t.TempDir) })
}

func editsOfManyServers(t *testing.T, state func() string) {
	const servers = 4
	edits := testscale.N(20, 40)
	root := t.TempDir()
	path := filepath.Join(root, "f.txt")
	names := []string{"f.txt", "f.txt"}
	if err := os.Symlink("f.txt", filepath.Join(root, "link.txt")); err == nil { // on Windows this needs a privilege
		names[1] = "link.txt"
	}
	var content strings.Builder
	for i := range servers * edits {
		fmt.Fprintf(&content, "line %03d\r\n", i)
	}
	if err := os.WriteFile(path, []byte(content.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for server := range servers {
		var calls []call
		for i := range edits {
			line := fmt.Sprintf("line %03d", i*servers+server)
			calls = append(calls, call{"Edit", map[string]string{
				"file_path": names[server%2], "old_string": line + "\n", "new_string": line + " edited\n",
			}})
		}
		binary, state := binary(t), state()
		all.Go(func() {
			answers, err := burst(root, binary, state, calls)
			if err != nil {
				t.Error(err)
			}
			for i, a := range answers {
				if a.failed || !strings.HasPrefix(a.text, "Edited ") {
					t.Errorf("edit %d of server %d: %s", i, server, a.text)
				}
			}
		})
	}
	all.Wait()
	got, err := os.ReadFile(path)
	if want := strings.ReplaceAll(content.String(), "\r\n", " edited\r\n"); err != nil || string(got) != want {
		t.Errorf("%d of %d edits are in the file, %v", strings.Count(string(got), "edited"), servers*edits, err)
	}
	if after, err := os.ReadDir(root); err != nil || len(after) != len(before) {
		t.Errorf("left in the folder: %v, %v", after, err)
	}
}

// TestEditsCreatedByOne checks two servers without shared state that write the same new
// files. Of each file only one server reports that it created it. The other server has
// not read the file, so it may not overwrite it.
func TestEditsCreatedByOne(t *testing.T) {
	const files = 80
	root := t.TempDir()
	var answers [2][]answer
	var all sync.WaitGroup
	for server := range answers {
		var calls []call
		for i := range files {
			calls = append(calls, call{"Write", map[string]string{"file_path": fmt.Sprint(i), "content": fmt.Sprint("of server ", server)}})
		}
		binary, state := binary(t), t.TempDir()
		all.Go(func() {
			var err error
			if answers[server], err = burst(root, binary, state, calls); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	won := [2]int{}
	for i := range files {
		winner := 0
		if answers[0][i].failed {
			winner = 1
		}
		won[winner]++
		if a := answers[winner][i]; a.failed || !strings.HasPrefix(a.text, "Created ") {
			t.Errorf("file %d: the first was told %s", i, a.text)
		}
		if a := answers[1-winner][i]; !a.failed || !strings.Contains(a.text, "not read") {
			t.Errorf("file %d: the second was told %s", i, a.text)
		}
		if got, err := os.ReadFile(filepath.Join(root, fmt.Sprint(i))); err != nil || string(got) != fmt.Sprint("of server ", winner) {
			t.Errorf("file %d, created by server %d, is %q, %v", i, winner, got, err)
		}
	}
	t.Logf("created %v", won)
}

// TestKilledWrites checks that a server killed at any moment leaves the old file or the
// new one, and that a later write removes its temporary files.
func TestKilledWrites(t *testing.T) {
	testscale.NeedFull(t)
	const writes = 200
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
	for i := range writes {
		cmd := write(contents[i%2])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		timer := time.AfterFunc(time.Duration(rnd.Int64N(int64(whole))), func() { _ = cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		} else {
			whole = min(whole, time.Since(start)) // the first writes may be slower
		}
		timer.Stop()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != contents[0] && string(got) != contents[1] {
			t.Fatalf("after write %d the file has %d bytes, %v", i, len(got), err)
		}
	}
	if killed < writes/4 {
		t.Errorf("only %d writes were killed", killed)
	}
	old := time.Now().Add(-time.Hour) // only temporary files of some age are swept
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
