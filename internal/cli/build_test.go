package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/tools"
)

// host returns an artificial environment in a temporary folder.
func host(t *testing.T, env map[string]string) *Host {
	dir := t.TempDir()
	return &Host{
		In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Home: "/home/me", Dir: dir,
		Environ: func() (all []string) {
			for k, v := range env {
				all = append(all, k+"="+v)
			}
			return all
		},
		Getenv: func(k string) string { return env[k] }, Unsetenv: func(k string) { delete(env, k) },
	}
}

// TestDigest checks that the digest is the SHA-256 of the list, and that a change of a name, a
// description, a schema or the order changes it.
func TestDigest(t *testing.T) {
	const list = `{"tools":[{"name":"A","description":"a","inputSchema":{"type":"object"}},{"name":"B","description":"b","inputSchema":{}}]}`
	if digest([]byte(list)) != fmt.Sprintf("%x", sha256.Sum256([]byte(list))) {
		t.Error("the digest is not the SHA-256 of the list")
	}
	seen := map[string]string{digest([]byte(list)): "as it is"}
	for why, changed := range map[string]string{
		"name":        strings.Replace(list, `"A"`, `"C"`, 1),
		"description": strings.Replace(list, `"a"`, `"c"`, 1),
		"schema":      strings.Replace(list, `"type":"object"`, `"type":"string"`, 1),
		"order":       `{"tools":[{"name":"B","description":"b","inputSchema":{}},{"name":"A","description":"a","inputSchema":{"type":"object"}}]}`,
	} {
		sum := digest([]byte(changed))
		if other, same := seen[sum]; same {
			t.Errorf("a changed %s has the digest of the list %s", why, other)
		}
		seen[sum] = why
	}
}

// TestDigestIsOfTheList checks that --digest prints the digest of the output of --format json
// without its newline.
func TestDigestIsOfTheList(t *testing.T) {
	h := host(t, map[string]string{})
	run := func(args ...string) string {
		t.Helper()
		out := h.Out.(*bytes.Buffer)
		out.Reset()
		if code := Main(args, h); code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, h.Err)
		}
		return strings.TrimSuffix(out.String(), "\n")
	}
	if sum := run("tools", "--digest"); sum != digest([]byte(run("tools", "--format", "json"))) || len(sum) != 64 {
		t.Errorf("--digest prints %s", sum)
	}
}

// TestConfig checks that flags, settings and the environment reach the server.
func TestConfig(t *testing.T) {
	h := host(t, map[string]string{"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "7", "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS": "1"})
	if err := os.WriteFile(filepath.Join(h.Dir, "long"), []byte(strings.Repeat("x", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var c common
	cmd := stdioCommand(h)
	if got := cmd.Flag("max-concurrency").DefValue; got != "7" {
		t.Errorf("the default of --max-concurrency is %s", got)
	}
	c.maxConcurrency, c.structured, c.readDedup, c.searchIndex, c.searchWatch = 3, true, "on", "on", "off"
	config, err := c.plan(h, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if config.Scheduler.PerLane != 3 || !config.Structured || config.Home != "/home/me" || config.Roots[0] != h.Dir || config.State != "/home/me/.local/state/mcp-toolset" {
		t.Errorf("%+v", config)
	}
	if code := Main([]string{"call", "Read", `{"file_path":"long"}`}, h); code != exitOK || !strings.Contains(h.Out.(*bytes.Buffer).String(), "line 1 has 2000 bytes") {
		t.Errorf("a budget of one token: %d %s", code, h.Out)
	}
}

func TestParseFeatures(t *testing.T) {
	known := tools.Features([]*tools.Tool{gated("A", "alpha"), gated("B", "beta")})
	if got, err := parseFeatures([]string{"beta=off", "alpha=on"}, known); err != nil || !got["alpha"] || got["beta"] || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	for flag, want := range map[string]string{
		"alhpa=on": `there is no feature "alhpa"; did you mean alpha?`,
		"alpha":    `--feature is "alpha"; use NAME=on or NAME=off`,
	} {
		if _, err := parseFeatures([]string{flag}, known); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", flag, err, want)
		}
	}
}

// TestToken checks the source of the token, that our own is private and does not change, and that
// no child finds it in the environment.
func TestToken(t *testing.T) {
	env := map[string]string{"MCP_TOOLSET_TOKEN": "from-the-environment"}
	h := host(t, env)
	a := &app{log: slog.New(slog.DiscardHandler)}
	a.Assembly = newAssembly(t)
	o := &httpOptions{addr: "127.0.0.1:0"}
	got, err := o.token(h, a, true)
	if err != nil || got.value != "from-the-environment" || got.made || env["MCP_TOOLSET_TOKEN"] != "" {
		t.Errorf("from the environment: %+v, %v, then %q there", got, err, env["MCP_TOOLSET_TOKEN"])
	}
	first, err := o.token(h, a, true)
	if err != nil || !first.made || len(first.value) < remoteToken {
		t.Fatalf("made: %+v, %v", first, err)
	}
	if info, err := os.Stat(first.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its file: %v %v", info, err)
	}
	first.made = false // the token is shown once
	if again, err := o.token(h, a, true); err != nil || again != first {
		t.Errorf("made again: %+v, %v", again, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(first.file)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if _, err := o.token(h, a, false); err == nil {
		t.Error("a token of our own is good enough beyond this machine")
	}
}

// TestStartLine checks that the first line of a server's log has the number of tools listed to a
// client.
func TestStartLine(t *testing.T) {
	h := host(t, map[string]string{})
	h.Home = t.TempDir()
	log := h.Err.(*bytes.Buffer)
	if code := Main([]string{"stdio"}, h); code != exitOK {
		t.Fatalf("exit code %d: %s", code, log)
	}
	_, list, _ := runMain(t, "tools", "--format", "json")
	var listed struct{ Tools []json.RawMessage }
	if err := json.Unmarshal([]byte(list), &listed); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(" deferral=dispatch tools=%d ", len(listed.Tools)); !strings.Contains(log.String(), want) {
		t.Errorf("the log lacks %q: %s", want, log)
	}
}
