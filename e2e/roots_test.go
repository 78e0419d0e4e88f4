//go:build unix

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientRoots serves a client that names its workspace folder, from the root of the file
// system, and one that names none.
func TestClientRoots(t *testing.T) {
	t.Parallel()
	for name, folders := range map[string]int{"one": 1, "none": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := newBase(t)
			root := filepath.Join(base, "root")
			put(t, filepath.Join(root, "a.txt"), "found")
			cmd := exec.Command(binary(t), "stdio", "--log-level", "error", "--sandbox", "off")
			cmd.Dir = filepath.VolumeName(base) + string(filepath.Separator)
			cmd.Env = append(os.Environ(), "HOME="+filepath.Join(base, "home"), "MCP_TOOLSET_STATE_DIR="+filepath.Join(base, "state"), "CLAUDE_PROJECT_DIR=")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			read := func() (m struct {
				ID     json.RawMessage
				Method string
				Result json.RawMessage
			}) {
				if !lines.Scan() {
					t.Fatal("the server has ended")
				}
				if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
					t.Fatal(err)
				}
				return m
			}
			fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"x","version":"1"}}}`)
			read()
			fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":"a.txt"}}}`)
			ask := read()
			if ask.Method != "roots/list" {
				t.Fatalf("%+v", ask)
			}
			uri, _ := json.Marshal((&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(root), "/")}).String())
			list := []string{fmt.Sprintf(`{"uri":%s}`, uri)}[:folders]
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"roots":[%s]}}`+"\n", ask.ID, strings.Join(list, ","))
			answer, want, code := string(read().Result), "found", 0
			if folders == 0 {
				want, code = "there is no workspace folder: the client names none, and the working directory is ", 2
			}
			if !strings.Contains(answer, want) {
				t.Errorf("%s", answer)
			}
			in.Close()
			var exit *exec.ExitError
			if err := cmd.Wait(); code == 0 && err != nil || code != 0 && (!errors.As(err, &exit) || exit.ExitCode() != code) {
				t.Errorf("the end: %v", err)
			}
		})
	}
}
