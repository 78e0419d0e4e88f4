package agents

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"mcp-toolset/internal/host"
)

var update = flag.Bool("update", false, "store the outcomes of the scripts, and write the table of docs/clients.md")

// capabilities holds the capabilities of docs/clients.md, in its order.
var capabilities = []string{"read", "edit", "command", "approval", "question", "plan", "unlisted tool", "events", "skill", "worktree", "image", "cancel", "long command"}

// columns holds the clients of docs/clients.md, in its order.
var columns = []string{"claude-code", "claude-code/http", "cline", "codex", "gemini-cli", "opencode", "qwen-code"}

// outcomes maps clients and capabilities to the reason why the client does not have it; "": it has it.
type outcomes map[string]map[string]string

func (o outcomes) set(client, capability, reason string) {
	if o[client] == nil {
		o[client] = map[string]string{}
	}
	o[client][capability] = reason
}

const (
	storedFile = "testdata/capabilities.json"
	docFile    = "../../docs/clients.md"
)

func stored(t *testing.T) outcomes {
	t.Helper()
	data, err := os.ReadFile(storedFile)
	o := outcomes{}
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	return o
}

// keep compares outcomes with the stored ones, or stores them. It leaves out scripts that were not run.
func keep(t *testing.T, ran outcomes) {
	t.Helper()
	all := stored(t)
	for client, shown := range ran {
		for capability, reason := range shown {
			old, known := all[client][capability]
			if !*update && (!known || old != reason) {
				t.Errorf("%s, %s: got %q, stored is %q, %v", client, capability, reason, old, known)
			}
			all.set(client, capability, reason)
		}
	}
	if !*update {
		return
	}
	promised := promised(t)
	for client, shown := range all {
		for capability := range shown {
			if _, found := promised[client][capability]; !found {
				delete(shown, capability)
			}
		}
	}
	data, err := json.MarshalIndent(all, "", "\t")
	if err == nil {
		err = os.WriteFile(storedFile, append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// promised returns the outcomes if all steps of the scripts hold.
func promised(t *testing.T) outcomes {
	t.Helper()
	o := outcomes{}
	for _, s := range scripts(t) {
		for _, line := range s.turns {
			rest, found := strings.CutPrefix(line, "as ")
			for _, client := range strings.Fields(s.head["clients"]) {
				if capability, reason, _ := strings.Cut(rest, ": "); found {
					if _, twice := o[client][capability]; twice {
						t.Errorf("%s shows %s twice", client, capability)
					}
					o.set(client, capability, reason)
				}
			}
		}
	}
	return o
}

// TestTable checks that docs/clients.md shows the stored outcomes of the last run of the scripts,
// and that these are the scripts of today.
func TestTable(t *testing.T) {
	o := stored(t)
	if diff := cmp.Diff(promised(t), o); diff != "" {
		t.Errorf("the scripts have changed since they were run (-scripts +stored); run run.sh with -update:\n%s", diff)
	}
	doc, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- begin: written by e2e/agents/run.sh -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(string(doc), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", docFile)
	}
	want := before + begin + "\n" + table(t, o) + "\n" + end + after
	if *update {
		if err := os.WriteFile(docFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, string(doc)); diff != "" {
		t.Errorf("%s is not as the stored outcomes (-want +got); run go test -run TestTable -update:\n%s", docFile, diff)
	}
}

// table returns the table of all clients, and the reasons below it.
func table(t *testing.T, o outcomes) string {
	var b strings.Builder
	row := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	head := []string{""}
	for _, client := range columns {
		name, transport, _ := strings.Cut(client, "/")
		h := host.Named(name)
		if h.Tried == "" {
			t.Fatalf("%s is not in the table of package host", name)
		}
		head = append(head, strings.TrimSuffix(fmt.Sprintf("`%s` %s %s", name, h.Tried, map[string]string{"http": "over HTTP"}[transport]), " "))
	}
	row(head)
	row(slices.Repeat([]string{"---"}, len(head)))
	var reasons []string
	for _, capability := range capabilities {
		cells := []string{capability}
		for _, client := range columns {
			reason, found := o[client][capability]
			if !found {
				t.Errorf("%s was not tried with %s", capability, client)
			}
			if reason == "" {
				cells = append(cells, "yes")
				continue
			}
			if !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
			cells = append(cells, fmt.Sprintf("no (%d)", slices.Index(reasons, reason)+1))
		}
		row(cells)
	}
	b.WriteByte('\n')
	for i, reason := range reasons {
		b.WriteString(wrapped(fmt.Sprintf("%d. %s", i+1, reason)))
	}
	return b.String()
}

// wrapped returns an item of a list in lines that documents may have.
func wrapped(text string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && width+1+len(word) > 98:
			b.WriteString("\n   " + word)
			width = 3 + len(word)
		default:
			b.WriteString(strings.Repeat(" ", min(i, 1)) + word)
			width += min(i, 1) + len(word)
		}
	}
	return b.String() + "\n"
}

// A script is a txtar file. Its comment begins with lines "KEY: VALUE":
//
//	clients   names of the table in client_linux_test.go
//	screen    sizes of the client's screen, WIDTHxHEIGHT, one run each; without it the client has none
//	answers   accept: a hook of Claude Code answers all questions
//	parallel  yes: the script waits long, and runs beside others
//
// Files below work/ and home/ are laid out in the workspace and the home folder. The file "turns" has a line
// for each step:
//
//	> TOOL JSON     a call of a tool of ours in the model's next turn
//	> host:TOOL JSON    a call of a tool of the client
//	turn            ends the turn: calls that follow are made in the next one
//	say TEXT        text of the model's next turn
//	see REGEXP      the results of the turn match; named groups set variables, used as ${NAME}
//	not REGEXP      they do not match
//	images N        they have so many pictures
//	offered REGEXP  the name and the description of an offered tool match
//	absent REGEXP   no offered tool matches
//	system REGEXP   the text before the conversation matches
//	screen REGEXP   the screen comes to match
//	hidden REGEXP   the screen does not match
//	press KEY until REGEXP  presses the key until the screen matches; after "!", until it does not
//	prompt TEXT     types a prompt and waits for the request
//	key KEY...      presses keys, as tmux names them
//	run COMMAND     runs a command of the shell in the workspace, with the product on PATH
//	disk FILE REGEXP    the file of the workspace matches
//	gone FILE       it does not exist
//	as NAME         the steps from here show that the client has a capability of docs/clients.md
//	as NAME: REASON     they show that it does not have it, for this reason
//
// The first step after a turn that is about its results waits for them.
type script struct {
	name  string
	head  map[string]string
	files []txtar.File
	turns []string
}

// scripts returns all scripts.
func scripts(t *testing.T) (all []*script) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no scripts", err)
	}
	for _, file := range files {
		all = append(all, readScript(t, file))
	}
	return all
}

func readScript(t *testing.T, path string) *script {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), head: map[string]string{}}
	for line := range strings.Lines(string(archive.Comment)) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ": "); found && !strings.HasPrefix(line, "#") {
			s.head[key] = value
		}
	}
	for _, f := range archive.Files {
		if f.Name == "turns" {
			s.turns = strings.Split(string(f.Data), "\n")
		} else {
			s.files = append(s.files, f)
		}
	}
	return s
}
