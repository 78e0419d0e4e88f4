// Package agents drives real agent clients with a scripted model: Claude Code, Cline, Codex, Continue, Gemini CLI,
// Qwen Code and opencode, each with the server as install writes it. run.sh installs them and
// runs the tests without a network.
package agents

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	built = os.Getenv("AGENTS_BINARY")
	if built == "" && os.Getenv("AGENTS_DIR") != "" {
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
	if os.Getenv("AGENTS_DIR") == "" {
		t.Skip("AGENTS_DIR is not set; run.sh sets it")
	}
	var mu sync.Mutex
	ran := outcomes{}
	t.Cleanup(func() { keep(t, ran) })
	for _, s := range scripts(t) {
		for name, size := range s.runs() {
			t.Run(strings.TrimSuffix(s.name+"/"+strings.ReplaceAll(name, "/", "-")+"/"+size, "/"), func(t *testing.T) {
				if s.head["parallel"] != "" {
					t.Parallel()
				}
				shown := playWith(t, s, name, size).shown
				mu.Lock()
				defer mu.Unlock()
				for capability, reason := range shown {
					ran.set(name, capability, reason)
				}
			})
		}
	}
}

// TestSame checks that the model of Claude Code hears the same over stdio and over HTTP.
func TestSame(t *testing.T) {
	if os.Getenv("AGENTS_DIR") == "" {
		t.Skip("AGENTS_DIR is not set; run.sh sets it")
	}
	s := readScript(t, "testdata/same/turns.txtar")
	stdio, http := playWith(t, s, "claude-code", ""), playWith(t, s, "claude-code/http", "")
	if diff := cmp.Diff(stdio.normal(), http.normal()); diff != "" {
		t.Errorf("over stdio (-) and over HTTP (+):\n%s", diff)
	}
	t.Logf("%d turns", len(stdio.heard))
}

// arrived matches events in an answer: which answer has one, and whether again, differs between two runs.
var arrived = regexp.MustCompile(`\n\[\d+ events?( since the last answer|; "again").*(\n(\w{6}|\d\d:\d\d:\d\d) (task|monitor) .*(\n> .*)*)+`)

// changing matches what else differs: times, hashes and names of files of the client.
var changing = regexp.MustCompile(`\b\d+(\.\d+)? ?(ms|s)\b|\b\d\d:\d\d(:\d\d)?\b|/work-[0-9a-f]{8}/|branch: [0-9a-f]{7} |\[Image: source: .*`)

// normal returns the results of each turn without what differs between two runs.
func (r *run) normal() (turns []string) {
	var pairs []string
	for name, value := range r.vars {
		if len(value) > 3 { // no number
			pairs = append(pairs, value, name)
		}
	}
	known := strings.NewReplacer(pairs...)
	for _, text := range r.heard {
		turns = append(turns, known.Replace(changing.ReplaceAllString(arrived.ReplaceAllString(text, ""), "_")))
	}
	return turns
}

// runs returns the clients of a script, each with each size of the screen.
func (s *script) runs() iter.Seq2[string, string] {
	return func(yield func(name, size string) bool) {
		for _, name := range strings.Fields(s.head["clients"]) {
			for _, size := range strings.Split(s.head["screen"], " ") {
				if !yield(name, size) {
					return
				}
			}
		}
	}
}

// playWith lets a client run a script, on a screen of a size or without one ("").
func playWith(t *testing.T, s *script, name, size string) *run {
	done := make(chan struct{})
	p := &player{requests: make(chan request), replies: make(chan modelstest.Reply), done: done}
	server := httptest.NewServer(p)
	t.Cleanup(func() { close(done); server.CloseClientConnections(); server.Close() })
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(u.Port())
	a := start(t, s, name, size, port)
	r := &run{T: t, agent: a, player: p, vars: map[string]string{"WORK": a.work, "HOME": a.home}, shown: map[string]string{}}
	r.play(s)
	return r
}
