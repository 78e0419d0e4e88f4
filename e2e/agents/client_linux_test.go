package agents

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// client is an agent client and how it is started.
type client struct {
	install string                   // its name for `mcp-toolset install`; "": configure adds the server
	tool    func(name string) string // the name of a tool of ours, as its model calls it
	listed  func(name string) string // and as the client lists it; nil: equal
	// configure changes the files that install wrote, for a model on this port.
	configure func(a *agent, port int)
	// command returns the command for one prompt, on a screen or without one, and its variables.
	command func(a *agent, port int, screen bool) (args, env []string)
}

func prefixed(prefix string) func(string) string {
	return func(name string) string { return prefix + name }
}

// clients holds the clients, by the names in scripts. With "/http" after the name, the server
// runs apart and the client reaches it by HTTP.
var clients = map[string]*client{
	"claude-code": {
		install: "claude-code", tool: prefixed("mcp__toolset__"),
		configure: func(a *agent, _ int) {
			a.edit(".claude.json", `"mcpServers"`, fmt.Sprintf(`"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
				"customApiKeyResponses": {"approved": [%q]}, "projects": {%q: {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}, "mcpServers"`, key[len(key)-20:], a.work))
			if a.answers {
				a.write("home/.claude/settings.json", fmt.Sprintf(`{"hooks":{"Elicitation":[{"hooks":[{"type":"command","command":"%s=1 %s"}]}]}}`, elicitVar, os.Args[0]))
			}
		},
		command: func(a *agent, port int, screen bool) (args, env []string) {
			args = []string{a.program("@anthropic-ai/claude-code-linux-x64/claude"), "--permission-mode", "bypassPermissions"}
			if !screen {
				args = append(args, "-p", "--output-format", "stream-json", "--verbose")
			}
			return append(args, "hello"), []string{fmt.Sprintf("ANTHROPIC_BASE_URL=http://127.0.0.1:%d", port), "ANTHROPIC_API_KEY=" + key,
				"IS_SANDBOX=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1"}
		},
	},
	"codex": {
		install: "codex", tool: prefixed("mcp__toolset/"), listed: prefixed(""),
		configure: func(a *agent, port int) {
			asks := "never"
			if a.size != "" {
				asks = "on-request" // with "never" it declines all questions of servers
			}
			a.edit(".codex/config.toml", "[mcp_servers.toolset]", fmt.Sprintf(`model = "m"
model_provider = "played"
approval_policy = %q
sandbox_mode = "danger-full-access"
[model_providers.played]
name = "played"
base_url = "http://127.0.0.1:%d/v1"
env_key = "PLAYED_KEY"
wire_api = "responses"
[projects.%q]
trust_level = "trusted"
[mcp_servers.toolset]
default_tools_approval_mode = "approve"`, asks, port, a.work))
		},
		command: func(a *agent, _ int, screen bool) (args, env []string) {
			args = []string{a.node(), a.program("@openai/codex/bin/codex.js")}
			if !screen {
				args = append(args, "exec", "--skip-git-repo-check", "--json")
			}
			return append(args, "hello"), []string{"PLAYED_KEY=" + key}
		},
	},
	"gemini-cli": {
		install: "gemini-cli", tool: prefixed("mcp_toolset_"),
		configure: func(a *agent, _ int) {
			a.edit(".gemini/settings.json", `"mcpServers"`, `"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}, "privacy": {"usageStatisticsEnabled": false}, "general": {"disableAutoUpdate": true}, "mcpServers"`)
		},
		command: func(a *agent, port int, screen bool) (args, env []string) {
			args = []string{a.node(), a.program("@google/gemini-cli/bundle/gemini.js"), "-m", "gemini-2.5-pro", "--approval-mode", "yolo"}
			if !screen {
				args = append(args, "-p")
			} else {
				args = append(args, "-i")
			}
			return append(args, "hello"), []string{"GEMINI_API_KEY=" + key, fmt.Sprintf("GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:%d", port), "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true"}
		},
	},
	"qwen-code": {
		install: "qwen-code", tool: prefixed("mcp__toolset__"),
		configure: func(*agent, int) {},
		command: func(a *agent, port int, screen bool) (args, env []string) {
			args = []string{a.node(), a.program("@qwen-code/qwen-code/cli-entry.js"), "--auth-type", "openai", "--approval-mode", "yolo"}
			if !screen {
				args = append(args, "-p")
			} else {
				args = append(args, "-i")
			}
			return append(args, "hello"), []string{"OPENAI_API_KEY=" + key, fmt.Sprintf("OPENAI_BASE_URL=http://127.0.0.1:%d/v1", port), "OPENAI_MODEL=qwen3-vl-plus"}
		},
	},
	"cline": {
		install: "cline", tool: prefixed("toolset__"),
		configure: func(a *agent, port int) {
			a.write("home/.cline/data/settings/providers.json", fmt.Sprintf(`{"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": {"settings": {
				"provider": "openai-compatible", "apiKey": %q, "model": "m", "baseUrl": "http://127.0.0.1:%d/v1"}, "updatedAt": "2026-01-01T00:00:00Z", "tokenSource": "manual"}}}`, key, port))
		},
		command: func(a *agent, _ int, screen bool) (args, env []string) {
			args = []string{a.program("@cline/cli-linux-x64/bin/cline"), "--auto-approve", "true"}
			if screen {
				args = append(args, "-i")
			} else {
				args = append(args, "--json")
			}
			return append(args, "say hello"), nil // one word would be a command
		},
	},
	"continue": {
		tool: prefixed("toolset_"),
		configure: func(a *agent, port int) {
			a.write("home/.continue/config.yaml", fmt.Sprintf(`name: x
version: 1.0.0
schema: v1
models:
  - name: m
    provider: openai
    model: gpt-4o
    apiBase: http://127.0.0.1:%d/v1
    apiKey: %s
    roles: [chat]
    capabilities: [tool_use, image_input]
mcpServers:
  - name: toolset
    command: %s
    args: [stdio, %s]
`, port, key, built, a.work))
		},
		command: func(a *agent, port int, screen bool) (args, env []string) {
			args = []string{a.node(), a.program("@continuedev/cli/dist/cn.js"), "--auto", "--config", a.home + "/.continue/config.yaml"}
			if !screen {
				args = append(args, "-p")
			}
			return append(args, "hello"), []string{"CONTINUE_TELEMETRY_ENABLED=0"}
		},
	},
	"opencode": {
		install: "opencode", tool: prefixed("toolset_"),
		configure: func(a *agent, port int) {
			a.edit(".config/opencode/opencode.jsonc", `"mcp"`, fmt.Sprintf(`"model": "played/m", "small_model": "played/m", "autoupdate": false, "share": "disabled",
				"provider": {"played": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://127.0.0.1:%d/v1", "apiKey": %q}, "models": {"m": {"name": "m", "tool_call": true, "attachment": true, "modalities": {"input": ["text", "image"], "output": ["text"]}, "limit": {"context": 200000, "output": 8000}}}}}, "mcp"`, port, key))
		},
		command: func(a *agent, _ int, screen bool) (args, env []string) {
			args = []string{a.program("opencode-linux-x64/bin/opencode")}
			if !screen {
				args = append(args, "run")
			} else {
				args = append(args, "--prompt")
			}
			return append(args, "hello"), []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}
		},
	},
}

func init() {
	for _, c := range clients {
		if c.listed == nil {
			c.listed = c.tool
		}
	}
}

// key is the key of the played model. Claude Code compares its end with those that were accepted.
const key = "played-key-that-opens-nothing-0123456789"

// agent is a running client, with its folders.
type agent struct {
	t       *testing.T
	client  *client
	work    string // the workspace
	home    string
	env     []string
	answers bool
	size    string // of the screen, WIDTHxHEIGHT; "": none
	ended   chan struct{}
	out     lockedBuffer
	tmux    string // socket of the screen; "": none
}

// program returns the path of a file of an installed package.
func (a *agent) program(path string) string {
	return filepath.Join(os.Getenv("AGENTS_DIR"), "node_modules", path)
}

func (a *agent) node() string { return a.program("node/bin/node") }

// write makes a file below the workspace (work/) or the home folder (home/).
func (a *agent) write(name, data string) {
	a.t.Helper()
	if err := writeFile(a.path(name), data); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agent) path(name string) string {
	if rest, found := strings.CutPrefix(name, "work/"); found {
		return filepath.Join(a.work, rest)
	}
	return filepath.Join(a.home, strings.TrimPrefix(name, "home/"))
}

// edit replaces a text in a file of the home folder that install wrote.
func (a *agent) edit(name, old, with string) {
	a.t.Helper()
	data, err := os.ReadFile(filepath.Join(a.home, name))
	if err != nil {
		a.t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(old)) {
		a.t.Fatalf("%s has no %s", name, old)
	}
	a.write(name, strings.Replace(string(data), old, with, 1))
}

func writeFile(path, data string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(data, "#!") {
		mode = 0o755
	}
	return os.WriteFile(path, []byte(data), mode)
}

// start lays out the files of a script, installs the server in the client, and starts the client.
func start(t *testing.T, s *script, name, size string, port int) *agent {
	name, overHTTP := strings.CutSuffix(name, "/http")
	c := clients[name]
	if c == nil {
		t.Fatalf("unknown client %q", name)
	}
	dir := t.TempDir()
	a := &agent{t: t, client: c, work: filepath.Join(dir, "work"), home: filepath.Join(dir, "home"), answers: s.head["answers"] == "accept", size: size, ended: make(chan struct{})}
	a.env = []string{"HOME=" + a.home, "PATH=" + filepath.Dir(a.node()) + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "NO_COLOR=1", "SHELL=/bin/sh", "TMPDIR=" + os.TempDir()}
	t.Cleanup(a.endAll)
	a.write("work/.keep", "")
	for _, f := range s.files {
		a.write(f.Name, string(f.Data))
	}
	a.must(exec.Command("sh", "-c", "rm .keep; git init -qb main . && git config user.email a@example.org && git config user.name a && git add -A && git commit -qm first --allow-empty"))
	install := exec.Command(built, "install", c.install, a.work)
	if overHTTP {
		install = exec.Command(built, "install", c.install, "--http", a.serve())
	}
	if c.install != "" {
		a.must(install)
	}
	c.configure(a, port)

	args, env := c.command(a, port, a.size != "")
	a.env = append(a.env, env...)
	if a.size != "" {
		a.onTerminal(args)
		return a
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = a.work, append(a.env, "TERM=dumb"), &a.out, &a.out
	cmd.WaitDelay, cmd.SysProcAttr = time.Second, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		err := cmd.Wait()
		fmt.Fprintf(&a.out, "ended: %v\n", err)
		close(a.ended)
	}()
	t.Cleanup(func() {
		if !t.Failed() {
			select {
			case <-a.ended:
			case <-time.After(patience):
				t.Error("the client does not end")
			}
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-a.ended
	})
	return a
}

// endAll ends the processes that the client left running: Codex starts a daemon on a screen.
func (a *agent) endAll() {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range all {
		env, _ := os.ReadFile(file)
		if bytes.Contains(env, []byte("HOME="+a.home+"\x00")) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// must runs a command in the workspace.
func (a *agent) must(cmd *exec.Cmd) {
	a.t.Helper()
	cmd.Dir, cmd.Env = a.work, a.env
	if out, err := cmd.CombinedOutput(); err != nil {
		a.t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// serve starts the server apart and returns its URL.
func (a *agent) serve() string {
	const token = "played-token-0123456789abcdef0123456789"
	a.env = append(a.env, "MCP_TOOLSET_TOKEN="+token)
	cmd := exec.Command(built, "http", "--addr", "127.0.0.1:0", a.work)
	cmd.Dir, cmd.Env = a.work, a.env
	lines := &lineFinder{prefix: "listening on ", found: make(chan string, 1)}
	cmd.Stderr = io.MultiWriter(lines, &a.out)
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	select {
	case url := <-lines.found:
		return url
	case <-time.After(patience):
		a.t.Fatalf("the server does not listen\n%s", a.log())
	}
	panic("unreachable")
}

// onTerminal starts the client on a screen.
func (a *agent) onTerminal(args []string) {
	width, height, _ := strings.Cut(a.size, "x")
	a.tmux = filepath.Join(a.t.TempDir(), "tmux")
	quoted := []string{"exec", "env", "-i", "TERM=xterm-256color"}
	for _, s := range append(a.env, args...) {
		quoted = append(quoted, strconv.Quote(s))
	}
	cmd := exec.Command("tmux", "-S", a.tmux, "-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, strings.Join(quoted, " "))
	a.must(cmd)
	pid, err := exec.Command("tmux", "-S", a.tmux, "list-panes", "-F", "#{pane_pid}").Output()
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", a.tmux, "kill-server").Run()
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join("/proc", strings.TrimSpace(string(pid)))); err != nil {
				return
			}
		}
		a.t.Error("the client does not end when its terminal closes")
	})
}

// shown returns the text on the screen.
func (a *agent) screen() string {
	out, err := exec.Command("tmux", "-S", a.tmux, "capture-pane", "-p").CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return string(out)
}

// press presses keys on the screen.
func (a *agent) press(keys ...string) error {
	out, err := exec.Command("tmux", append([]string{"-S", a.tmux, "send-keys"}, keys...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// pressUntil presses a key until the screen matches, or no longer matches a pattern after "!". Clients
// ignore keys for a moment after a dialog appears.
func (r *run) pressUntil(key, pattern string) error {
	pattern, gone := strings.CutPrefix(pattern, "!")
	for end := time.Now().Add(patience); ; {
		if err := r.press(key); err != nil {
			return err
		}
		for again := time.Now().Add(2 * time.Second); time.Now().Before(again); time.Sleep(100 * time.Millisecond) {
			if r.match(pattern, r.agent.screen(), !gone) == nil {
				return nil
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("the screen:\n%s", r.agent.screen())
		}
	}
}

// onScreen waits until the screen matches, or checks that it does not.
func (r *run) onScreen(pattern string, want bool) error {
	var err error
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if err = r.match(pattern, r.agent.screen(), want); err == nil || !want || time.Now().After(end) {
			return err
		}
	}
}

// log returns the output of the client, or its screen.
func (a *agent) log() string {
	if a.tmux != "" {
		return a.screen()
	}
	out := a.out.String()
	return out[max(0, len(out)-4000):]
}

// lockedBuffer is a buffer that the client writes to while the test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// lineFinder is a writer that finds the word after a prefix.
type lineFinder struct {
	prefix string
	found  chan string
	seen   []byte
}

func (f *lineFinder) Write(p []byte) (int, error) {
	f.seen = append(f.seen, p...)
	if _, after, ok := bytes.Cut(f.seen, []byte(f.prefix)); ok {
		if i := bytes.IndexAny(after, " \n"); i > 0 {
			select {
			case f.found <- string(after[:i]):
			default:
			}
		}
	}
	return len(p), nil
}
