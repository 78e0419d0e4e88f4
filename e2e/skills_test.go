package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	modernMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

// names returns the names of the tools, prompts or skills in an answer.
func names(t *testing.T, answer string) []string {
	t.Helper()
	type named struct {
		Name        string
		Frontmatter struct{ Name string }
	}
	var a struct {
		Result struct{ Tools, Prompts, Skills []named }
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	out := []string{}
	for _, n := range slices.Concat(a.Result.Tools, a.Result.Prompts, a.Result.Skills) {
		out = append(out, n.Name+n.Frontmatter.Name)
	}
	return out
}

func last(lines []string) string { return lines[len(lines)-1] }

// writeSkill adds a skill to a folder, at once.
func writeSkill(t *testing.T, dir, name, description string) {
	t.Helper()
	made := t.TempDir()
	text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nBody.\n", name, description)
	if err := os.WriteFile(filepath.Join(made, "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(made, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestSkillsChange checks that a new skill is on all lists of a server that runs, that clients
// are notified, and that skills/list has pages.
func TestSkillsChange(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "skills")
	for n := range 25 {
		writeSkill(t, dir, fmt.Sprintf("s%02d", n), "Does it.")
	}
	w := stdioWith(t, root, "--skills", dir)
	w.exchange(t, initialize)
	w.exchange(t, initialized)
	page := last(w.exchange(t, `{"jsonrpc":"2.0","id":1,"method":"skills/list"}`))
	if got := names(t, page); len(got) != 20 || got[19] != "s19" || !strings.Contains(page, `"nextCursor":"s19"`) {
		t.Errorf("the first page: %s", page)
	}
	page = last(w.exchange(t, `{"jsonrpc":"2.0","id":2,"method":"skills/list","params":{"cursor":"s19"}}`))
	if got := names(t, page); len(got) != 5 || strings.Contains(page, "nextCursor") {
		t.Errorf("the second page: %s", page)
	}
	writeSkill(t, dir, "new", "Is new.")
	var seen []string // notifications
	tick := time.Tick(20 * time.Millisecond)
	for id, end := 10, time.Now().Add(deadline); ; id++ {
		<-tick
		lines := w.exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"prompts/list"}`, id))
		seen = append(seen, lines[:len(lines)-1]...)
		if slices.Contains(names(t, last(lines)), "new") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the new skill is not listed")
		}
	}
	lines := w.exchange(t, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	if tools := last(lines); !strings.Contains(tools, "- new: Is new.") {
		t.Error("the description of Skill does not have the new skill")
	}
	seen = append(seen, lines[:len(lines)-1]...)
	for id, end := 1000, time.Now().Add(deadline); len(seen) < 3 && time.Now().Before(end); id++ {
		<-tick
		lines = w.exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id))
		seen = append(seen, lines[:len(lines)-1]...)
	}
	for _, list := range []string{"tools", "prompts", "resources"} {
		if n := strings.Count(strings.Join(seen, "\n"), "notifications/"+list+"/list_changed"); n != 1 {
			t.Errorf("%d notifications that %s have changed", n, list)
		}
	}
}

// TestSkillRules checks that rules, hooks and the audit log see reads of files of skills.
func TestSkillRules(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	dir := filepath.Join(root, "skills")
	writeSkill(t, dir, "good", "Does it.")
	for name, text := range map[string]string{".env": "K=1\n", "sub.md": "sub\n", "hooked.md": "hooked\n", "open.md": "open\n"} {
		if err := os.WriteFile(filepath.Join(dir, "good", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	settings, log := filepath.Join(outside, "s.json"), filepath.Join(outside, "audit.log")
	if err := os.WriteFile(settings, []byte(`{"permissions":{"deny":["Read(**/.env)"],"ask":["Read(**/sub.md)"]},"hooks":{"PreToolUse":[{"matcher":"Read","hooks":[{"type":"command","command":"if grep -q hooked.md; then echo no >&2; exit 2; fi"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := stdioWith(t, root, "--skills", dir, "--settings", settings, "--audit", log)
	w.exchange(t, initialize)
	w.exchange(t, initialized)
	for i, c := range []struct{ file, want string }{
		{".env", "Read: refused by policy: the deny rule Read(**/.env) covers "}, {"sub.md", "Read: refused by policy: the ask rule Read(**/sub.md) covers "},
		{"hooked.md", "Read: refused by policy: the hook "}, {"open.md", `"text":"open\n"`}, {"none.md", "cannot be read: no such file or directory"},
	} {
		answer := last(w.exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"skill://good/%s"}}`, i+1, c.file)))
		if !strings.Contains(answer, c.want) {
			t.Errorf("%s: %s\nwant %s", c.file, answer, c.want)
		}
	}
	// Rules on the file of a skill cover the tool Skill and the list of skills, when they are saved, too.
	load := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"Skill","arguments":{"skill":"good"}}}`
	for _, c := range []struct{ rules, want, list string }{
		{`"ask":["Read(**/SKILL.md)"]`, "Skill: refused by policy: the ask rule Read(**/SKILL.md) covers ", "Does it."},
		{`"ask":["Skill(other)"],"deny":["Read(**/other.md)"]`, "Its base folder", "Does it."},
		{`"deny":["Read(skills/good/**)"]`, `tool \"Skill\" is not available`, ""},
		{`"deny":["Skill(good)"]`, `tool \"Skill\" is not available`, ""},
		{``, "Its base folder", "Does it."},
	} {
		if err := os.WriteFile(settings, []byte(`{"permissions":{`+c.rules+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		list := last(w.exchange(t, `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`))
		if c.list == "" && strings.Contains(list, "Does it.") || !strings.Contains(list, c.list) {
			t.Errorf("%s: the list: %s", c.rules, list)
		}
		if answer := last(w.exchange(t, load)); !strings.Contains(answer, c.want) {
			t.Errorf("%s: %s\nwant %s", c.rules, answer, c.want)
		}
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]int{}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, `"tool":"Read"`) {
			for _, o := range []string{"refused", "permitted"} {
				outcomes[o] += strings.Count(line, `"outcome":"`+o+`"`)
			}
		}
	}
	if outcomes["refused"] != 3 || outcomes["permitted"] != 2 {
		t.Errorf("the audit log:\n%s", data)
	}
}

// TestProfileURLs checks that a profile has its own list and its own calls at /mcp/NAME, with
// and without sessions, and that a session stays in its profile.
func TestProfileURLs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(settings, []byte(`{"profiles":{"only-read":{"tools":["Read"],"prompt":"You only read."}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	all := serveWith(t, root, "--settings", settings, "--deferral", "hints")
	at := func(name string) *httpWire { return &httpWire{url: all.url + name} }
	const write = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Write","arguments":{"file_path":"x","content":"y"}%s}}`
	for _, modern := range []bool{false, true} {
		meta, list := "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
		if modern {
			meta, list = ","+modernMeta, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`
		}
		for name, want := range map[string]string{
			"":           `Wrote |Created |has this content already`,
			"/full":      `Wrote |Created |has this content already`,
			"/only-read": `tool \"Write\" is not available: the profile only-read leaves it out`,
			"/explore":   `tool \"Write\" is not available: the profile explore leaves it out`,
			"/plan":      `Write: refused by policy: plan mode is on`,
		} {
			w := at(name)
			if !modern {
				first := last(w.exchange(t, initialize))
				if (name == "/only-read") != strings.Contains(first, `"instructions":"You only read.`) || (name == "/plan" || name == "/explore") != strings.Contains(first, "Plan mode is on") {
					t.Errorf("%s: the instructions: %s", name, first)
				}
				w.exchange(t, initialized)
			}
			got := names(t, last(w.exchange(t, list)))
			if name == "/only-read" && !slices.Equal(got, []string{"Read"}) || (name == "" || name == "/full" || name == "/plan") != slices.Contains(got, "Write") || name == "/plan" && slices.Contains(got, "ExitPlanMode") {
				t.Errorf("%s, modern %v: %v", name, modern, got)
			}
			answer := last(w.exchange(t, fmt.Sprintf(write, meta)))
			if !slices.ContainsFunc(strings.Split(want, "|"), func(s string) bool { return strings.Contains(answer, s) }) {
				t.Errorf("%s, modern %v: %s", name, modern, answer)
			}
			if !modern && name != "" {
				w.url = all.url // the session belongs to the profile
				if other := last(w.exchange(t, list)); !strings.Contains(other, "there is no such session") {
					t.Errorf("the session of %s at /mcp: %s", name, other)
				}
			}
		}
	}
	if answer := last(at("/explor").exchange(t, initialize)); !strings.Contains(answer, "there is no such profile; there are only-read, explore, plan, full") {
		t.Error(answer)
	}
	// Wrapped and nested calls are those of the profile, too.
	w := at("/only-read")
	w.exchange(t, initialize)
	w.exchange(t, initialized)
	if answer := last(w.exchange(t, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"CallTool","arguments":{"name":"Write","arguments":{"file_path":"x","content":"y"}}}}`)); !strings.Contains(answer, "the profile only-read leaves it out") {
		t.Error(answer)
	}
	// With --profile there is no other.
	one := serveWith(t, root, "--profile", "explore", "--deferral", "hints")
	if answer := last((&httpWire{url: one.url + "/full"}).exchange(t, initialize)); !strings.Contains(answer, "not found; the MCP endpoint is /mcp") {
		t.Error(answer)
	}
	one.exchange(t, initialize)
	one.exchange(t, initialized)
	if got := names(t, last(one.exchange(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))); slices.Contains(got, "Write") {
		t.Error(got)
	}
}

// TestSkillsStatus checks the HTTP status of answers that take the place of the library's error.
func TestSkillsStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSkill(t, dir, "one", "Does it.")
	w := serveWith(t, t.TempDir(), "--skills", dir)
	for request, want := range map[string]int{
		`"method":"skills/list","params":{`:                                  200,
		`"method":"skills/get","params":{"uri":"skill://one/SKILL.md",`:      200,
		`"method":"skills/get","params":{"uri":"skill://another/SKILL.md",`:  400,
		`"method":"resources/directory/read","params":{"uri":"skill://one",`: 200,
		`"method":"resources/directory/read","params":{"uri":"skill://two",`: 400,
		`"method":"skills/put","params":{`:                                   404,
	} {
		answer := last(w.exchange(t, `{"jsonrpc":"2.0","id":1,`+request+modernMeta+`}}`))
		if w.status != want {
			t.Errorf("%s has the status %d, want %d: %s", request, w.status, want, answer)
		}
	}
}
