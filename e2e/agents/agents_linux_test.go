// Package agents drives real agent clients with a scripted model: Claude Code, Codex, Gemini CLI,
// Qwen Code and opencode, each with the server as install writes it. run.sh installs them and
// runs the tests without a network.
package agents

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcp-toolset/models/modelstest"
)

// built is the path of the product.
var built string

// elicitVar is the variable that makes the test a hook of Claude Code that answers questions.
const elicitVar = "AGENTS_ELICIT"

func TestMain(m *testing.M) {
	if os.Getenv(elicitVar) != "" {
		elicit()
		return
	}
	if os.Getenv("AGENTS_DIR") == "" {
		fmt.Println("skipped: AGENTS_DIR is not set; run.sh sets it")
		os.Exit(0)
	}
	built = os.Getenv("AGENTS_BINARY")
	if built == "" {
		dir, err := os.MkdirTemp("", "agents")
		if err == nil {
			built = filepath.Join(dir, "mcp-toolset")
			build := exec.Command("go", "build", "-o", built, "mcp-toolset")
			build.Stderr = os.Stderr
			err = build.Run()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer os.RemoveAll(dir)
	}
	m.Run()
}

// elicit answers a question of the server: the first choice of each list, and yes.
func elicit() {
	var in struct {
		Schema struct {
			Properties map[string]struct {
				Type string
				Enum []string
			}
		} `json:"requested_schema"`
	}
	_ = json.NewDecoder(os.Stdin).Decode(&in)
	content := map[string]any{}
	for name, p := range in.Schema.Properties {
		switch {
		case len(p.Enum) > 0:
			content[name] = p.Enum[0]
		case p.Type == "boolean":
			content[name] = true
		}
	}
	out, _ := json.Marshal(map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "Elicitation", "action": "accept", "content": content}})
	fmt.Println(string(out))
}

// TestAgents runs the scripts, each with its clients.
func TestAgents(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no scripts", err)
	}
	for _, file := range files {
		s := readScript(t, file)
		for _, name := range strings.Fields(s.head["clients"]) {
			t.Run(s.name+"/"+strings.ReplaceAll(name, "/", "-"), func(t *testing.T) { playWith(t, s, name, nil) })
		}
	}
}

// playWith lets a client run a script. It sets which capabilities were shown, unless shown is nil.
func playWith(t *testing.T, s *script, name string, shown map[string]bool) {
	done := make(chan struct{})
	p := &player{requests: make(chan request), replies: make(chan modelstest.Reply), done: done}
	server := httptest.NewServer(p)
	t.Cleanup(func() { close(done); server.CloseClientConnections(); server.Close() })
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(u.Port())
	a := start(t, s, name, port)
	r := &run{T: t, agent: a, player: p, vars: map[string]string{"WORK": a.work, "HOME": a.home}, shown: shown}
	r.play(s)
}
