//go:build unix

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcp-toolset/clients"
	"mcp-toolset/clients/edit"
	"mcp-toolset/internal/testscale"
)

// clientFile returns a file that a client may have before the server is installed.
func clientFile(c *clients.Client) string {
	switch c.Format {
	case edit.TOML:
		return "# mine\nmodel = \"m\" # default\n\n[" + c.Table + ".docs]\ncommand = \"npx\"\nargs = [\"docs\"]\n"
	case edit.YAML:
		return "# mine\nMODE: auto # default\n" + c.Table + ":\n  docs:\n    cmd: npx\n    args: [docs]\nLAST: 1\n"
	}
	return "// mine\n{\n\t\"theme\": \"dark\", /* at night */\n\t\"" + c.Table + "\": {\n\t\t\"docs\": {\"command\": \"npx\", \"args\": [\"docs\"]},\n\t},\n}\n"
}

// For every client, what its file has after install starts a server that lists its tools, and uninstall
// leaves the bytes that were there before. Quick scale has all clients whose files are not JSON,
// and some of the others; package clients tests the files of all.
func TestClients(t *testing.T) {
	bin := binary(t)
	var list, inJSON []*clients.Client
	for i := range clients.List {
		if c := &clients.List[i]; c.Format == edit.JSON {
			inJSON = append(inJSON, c)
		} else {
			list = append(list, c)
		}
	}
	for _, c := range append(list, testscale.Sample(inJSON, 6)...) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			home, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			project := filepath.Join(home, "my app")
			vars := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
			system := clients.System{OS: runtime.GOOS, Home: home, Getenv: func(string) string { return "" },
				Look: func(string) bool { return false }, Exists: func(path string) bool { _, err := os.Stat(path); return err == nil }}
			p := system.User(c)
			for _, dir := range []string{project, filepath.Dir(p.Path)} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			before := clientFile(c)
			if err := os.WriteFile(p.Path, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(stdin string, command ...string) string {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				cmd := exec.CommandContext(ctx, command[0], command[1:]...)
				cmd.Dir, cmd.Env, cmd.Stdin = home, vars, strings.NewReader(stdin)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%q: %v\n%s%s", command, err, out, stderr.Bytes())
				}
				return string(out)
			}

			run("", bin, "install", c.Name, project)
			e, ok, err := p.Entry("toolset")
			if err != nil || !ok || len(e.Command) != 3 || e.Command[2] != project {
				t.Fatalf("the entry is %+v, %v, %v", e, ok, err)
			}
			out := run(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+c.Name+`","version":"1"}}}`+"\n"+
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
				`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n", append(e.Command, "--sandbox", "off", "--drain", deadline.String())...) // trying the sandbox takes longest
			listed := map[string]bool{}
			for line := range strings.Lines(out) {
				var answer struct {
					ID     int
					Result struct {
						Tools []struct{ Name string }
					}
				}
				if err := json.Unmarshal([]byte(line), &answer); err == nil && answer.ID == 2 {
					for _, tool := range answer.Result.Tools {
						listed[tool.Name] = true
					}
				}
			}
			if !listed["Read"] || !listed["Edit"] {
				t.Errorf("the server lists %v", listed)
			}
			run("", bin, "uninstall", c.Name)
			after, err := os.ReadFile(p.Path)
			if err != nil || string(after) != before {
				t.Errorf("uninstalled: %v\n%s", err, after)
			}
			if left, err := filepath.Glob(p.Path + "?*"); err != nil || len(left) > 0 {
				t.Errorf("beside the file are %v, %v", left, err)
			}
		})
	}
}
