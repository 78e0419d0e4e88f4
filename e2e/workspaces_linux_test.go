package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// workspaces is a server whose users have workspaces.
type workspaces struct {
	t         *testing.T
	url, base string // without a path; the folder of all workspaces
	cmd       *exec.Cmd
}

const annaToken, bobToken, operatorToken = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "cccccccccccccccccccccccccccccccc"

func startWorkspaces(t *testing.T, flags ...string) *workspaces {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") // paths in it must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rules := write("rules.json", fmt.Sprintf(`{"version": 1, "base": %q, "rules": [{"workspace": "{principal}", "roots": ["{base}/{workspace}/work"], "limits": {"commands": 3, "tasks": 2}}]}`, dir))
	w := &workspaces{t: t, base: dir}
	w.cmd = exec.Command(binary(t), append([]string{"http", "--addr", "127.0.0.1:0", "--sandbox", "on", "--principals", rules, "--log-level", "error",
		"--tokens", write("tokens", "anna:"+annaToken+"\nbob:"+bobToken), "--operator-token-file", write("operator", operatorToken)}, flags...)...)
	w.cmd.Env = append(os.Environ(), "MCP_TOOLSET_STATE_DIR="+filepath.Join(t.TempDir(), "state"), "SECRET_OF_OPERATOR=xyzzy")
	stderr, err := w.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Signal(syscall.SIGTERM); _ = w.cmd.Wait() })
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	w.url = strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), "/mcp")
	return w
}

// tenant is a client with a session.
type tenant struct {
	*workspaces
	token, session string
}

// send sends a request and returns its status and answer.
func (c *tenant) send(method, path, body string, header ...string) (int, http.Header, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return a.StatusCode, a.Header, string(text)
}

func (w *workspaces) open(token string) *tenant {
	w.t.Helper()
	c := &tenant{w, token, ""}
	status, header, text := c.send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}`)
	if c.session = header.Get("Mcp-Session-Id"); status != http.StatusOK || c.session == "" {
		w.t.Fatalf("%d %s", status, text)
	}
	return c
}

// call calls a tool and returns the text of the answer, or the status and body.
func (c *tenant) call(tool string, arguments any) string {
	c.t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	status, _, text := c.send("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+string(data)+`}}`)
	if _, data, events := strings.Cut(text, "data: "); events {
		text = data[strings.LastIndex(data, "data: ")+1:]
		text = strings.TrimPrefix(text, "ata: ")
	}
	var a struct {
		Result struct{ Content []struct{ Text string } }
	}
	if json.Unmarshal([]byte(text), &a) != nil || len(a.Result.Content) == 0 {
		return fmt.Sprint(status, " ", text)
	}
	return a.Result.Content[0].Text
}

type args map[string]any

// child returns the number of the process of a workspace.
func (w *workspaces) child(name string) string {
	w.t.Helper()
	lists, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		if strings.Contains(string(data), `{"name":"`+name+`","base":"`+w.base+`"`) {
			return strings.Split(list, "/")[2]
		}
	}
	w.t.Fatal("there is no process of " + name)
	return ""
}

// TestWorkspaces tries ways from the workspace of one user to another's.
func TestWorkspaces(t *testing.T) {
	w := startWorkspaces(t)
	anna, bob := w.open(annaToken), w.open(bobToken)
	const secret = "hidden-of-bob"
	home, state := w.base+"/bob/home", w.base+"/bob/state"
	bob.call("Write", args{"file_path": "s.txt", "content": secret})
	file := w.base + "/bob/work/s.txt"
	task := regexp.MustCompile(`[a-z][a-z2-7]{5}`).FindString(regexp.MustCompile(`(?i)(task|id)[ :]+[a-z][a-z2-7]{5}`).FindString(bob.call("Bash", args{"command": "echo " + secret + "; sleep 1000", "run_in_background": true})))
	if task == "" {
		t.Fatal("bob has no task")
	}
	long := regexp.MustCompile(regexp.QuoteMeta(state) + `/\S+`).FindString(bob.call("Bash", args{"command": "seq 20000; echo " + secret}))
	create := args{"action": "create", "name": "ci", "durable": true}
	bob.call("RemoteTrigger", create)
	approve := exec.Command(binary(t), "approve", "1")
	approve.Env = append(os.Environ(), "MCP_TOOLSET_STATE_DIR="+state)
	if out, err := approve.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	made := parseTrigger(t, bob.call("RemoteTrigger", create))
	if made.url != w.url+"/events/bob/ci" || post(t, made.url, made.secret, "x") != http.StatusAccepted || post(t, made.url, "wrong", "x") != http.StatusUnauthorized {
		t.Errorf("the trigger of bob: %+v", made)
	}
	bob.call("CronCreate", args{"cron": "0 0 1 1 *", "prompt": secret, "durable": true})
	if err := os.WriteFile(home+"/s.txt", []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	pid := w.child("bob")
	anna.call("Write", args{"file_path": "x.sh", "content": "for f in " + file + " " + home + "/s.txt " + state + "/triggers.json /proc/" + pid + "/environ /proc/" + pid + "/cwd/s.txt /proc/" + pid + "/root" + file + " /proc/*/cmdline; do cat $f; done\n" +
		"ls " + w.base + " " + w.base + "/.tmp " + w.base + "/.workspaces /proc/" + pid + "/fd\nln " + file + " hard\nln -s " + file + " soft\ncat hard soft\nkill -9 " + pid + "\n" +
		"for s in $(find " + w.base + " -type s); do echo $s; done\nenv\nfind / -name s.txt\n"})
	script := anna.call("Bash", args{"command": "sh x.sh"})
	if err := os.Symlink(file, w.base+"/anna/work/link"); err != nil {
		t.Fatal(err)
	}
	session := "Mcp-Session-Id: " + bob.session
	as := func(method, path, body string, header ...string) string {
		status, _, text := anna.send(method, path, body, header...)
		return fmt.Sprint(status, " ", text)
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	ids := string([]byte(secret + "|" + task + "|0 0 1 1|SECRET_OF_OPERATOR|" + annaToken + "|" + bobToken))
	for way, c := range map[string]struct{ got, want string }{
		"session":             {as("POST", "/mcp", list, session), "404 there is no such session"},
		"stream":              {as("GET", "/mcp", "", session), "404 there is no such session"},
		"end of the session":  {as("DELETE", "/mcp", "", session), "404 there is no such session"},
		"cancel":              {as("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, session), "404 there is no such session"},
		"profile":             {as("POST", "/mcp/explore", list, session), "404 there is no such session"},
		"forged principal":    {as("POST", "/mcp", list, session, "Mcp-Toolset-Principal: eyJJRCI6InRva2VuOmJvYiJ9"), "404 there is no such session"},
		"own requests":        {as("POST", "/own/busy", "{}"), "404 not found"},
		"path":                {as("POST", "/mcp/../bob/mcp", list), "404"},
		"metrics":             {as("GET", "/metrics", ""), "401 missing or wrong token of the operator"},
		"console":             {as("GET", "/console/api/servers", ""), "401"},
		"console login":       {as("POST", "/console/login", "token="+annaToken, "Content-Type: application/x-www-form-urlencoded"), "40"},
		"event":               {as("POST", "/events/bob/ci", "{}"), "404 there is no trigger ci"},
		"unsigned event":      {as("POST", "/events/bob/ci", "{}", "Authorization: x"), "401 missing or wrong signature"},
		"unsigned of nobody":  {as("POST", "/events/eve/ci", "{}", "Authorization: x"), "401 missing or wrong signature"},
		"event of nobody":     {as("POST", "/events/eve/ci", "{}"), "404 there is no trigger ci"},
		"event above":         {as("POST", "/events/bob/..%2f..%2fmcp", "{}"), "40"},
		"task":                {anna.call("TaskOutput", args{"task_id": task}), "no background task"},
		"end of the task":     {anna.call("TaskStop", args{"task_id": task}), "no background task"},
		"result":              {anna.call("Read", args{"file_path": long}), "closed to all tools"},
		"file":                {anna.call("Read", args{"file_path": file}), "closed to all tools"},
		"link":                {anna.call("Read", args{"file_path": "link"}), "closed to all tools"},
		"search":              {anna.call("Grep", args{"pattern": "hidden", "path": w.base}), "closed to all tools"},
		"list":                {anna.call("Glob", args{"pattern": "**", "path": w.base + "/bob"}), "closed to all tools"},
		"change":              {anna.call("Write", args{"file_path": w.base + "/bob/work/new", "content": "x"}), "closed to all tools"},
		"home":                {anna.call("Read", args{"file_path": home + "/s.txt"}), "closed to all tools"},
		"state":               {anna.call("Read", args{"file_path": state + "/triggers.json"}), "closed to all tools"},
		"own state":           {anna.call("Read", args{"file_path": w.base + "/anna/state/triggers.json"}), "closed to all tools"},
		"temporary files":     {anna.call("Glob", args{"pattern": "**", "path": w.base + "/.tmp"}), "closed to all tools"},
		"records":             {anna.call("Read", args{"file_path": w.base + "/.workspaces/bob.json"}), "closed to all tools"},
		"settings":            {anna.call("Write", args{"file_path": w.base + "/anna/home/.config/mcp-toolset/settings.json", "content": "{}"}), "refused by policy"},
		"command":             {anna.call("Bash", args{"command": "cat " + file}), "closed to all tools"},
		"folder":              {anna.call("Bash", args{"command": "cd " + w.base + "/bob/work && ls"}), "closed to all tools"},
		"outside the sandbox": {anna.call("Bash", args{"command": "sh x.sh", "dangerouslyDisableSandbox": true}), "--sandbox on"},
		"kill":                {anna.call("Bash", args{"command": "kill -9 " + pid}), "refused by policy"},
		"/proc":               {anna.call("Read", args{"file_path": "/proc/" + pid + "/environ"}), "folder of the kernel"},
		"script":              {script, "Permission denied"},
		"triggers":            {anna.call("RemoteTrigger", args{"action": "list"}), "no trigger"},
		"end of a trigger":    {anna.call("RemoteTrigger", args{"action": "delete", "name": "ci"}), "no trigger ci"},
		"schedules":           {anna.call("CronList", args{}), "no schedules"},
		"end of a schedule":   {anna.call("CronDelete", args{"id": "d1"}), "no schedule"},
		"sessions":            {anna.call("ListSessions", args{}), ""},
		"message":             {anna.call("SendMessage", args{"to": "me-2", "message": "x"}), ""},
		"undo":                {anna.call("Undo", args{"list": true}), ""},
	} {
		if !strings.Contains(c.got, c.want) || regexp.MustCompile(ids).MatchString(strings.ReplaceAll(strings.ReplaceAll(c.got, long, ""), "no background task "+task, "")) {
			t.Errorf("%s: %s\nwant %s", way, c.got, c.want)
		}
	}
	if now := w.child("bob"); now != pid {
		t.Error("the process of bob was ended")
	}
	if got := bob.call("TaskOutput", args{"task_id": task, "block": false}); !strings.Contains(got, secret) {
		t.Errorf("bob's task: %s", got)
	}
}

// TestWorkspaceLimits runs too many commands, ends the process of a workspace, and the server.
func TestWorkspaceLimits(t *testing.T) {
	w := startWorkspaces(t, "--drain", "1s")
	anna, bob := w.open(annaToken), w.open(bobToken)
	run := args{"command": "sleep 1000", "run_in_background": true}
	anna.call("Bash", run)
	w.open(annaToken).call("Bash", run)
	if got, want := anna.call("Bash", run), "2 background tasks of this user are running. Wait for one to end, or stop one with TaskStop."; !strings.Contains(got, want) {
		t.Errorf("a task too many: %s", got)
	}
	if got := bob.call("Bash", args{"command": "sleep 1000 & sleep 1000 & sleep 1000 & sleep 0; jobs | wc -l"}); !strings.Contains(got, "3") {
		t.Errorf("bob: %s", got)
	}
	pid := w.child("anna")
	if err := exec.Command("kill", "-9", pid).Run(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		status, _, text := anna.send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if status == http.StatusNotFound {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the session of a process that was killed: %d %s", status, text)
		}
	}
	if got := w.open(annaToken).call("TaskOutput", args{}); strings.Contains(got, "sleep") {
		t.Errorf("tasks outlive their process: %s", got)
	}
	if got := bob.call("Bash", args{"command": "echo alive"}); got != "alive\n" && got != "alive" {
		t.Errorf("bob: %s", got)
	}
	pids := []string{w.child("anna"), w.child("bob")}
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if data, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.Contains(string(data), w.base) {
			t.Errorf("process %s outlives the server", pid)
		}
	}
}
