//go:build unix

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// consolePage is a browser at the console.
type consolePage struct {
	t      *testing.T
	base   string // address of /console/
	cookie *http.Cookie
	token  string
	stream *bufio.Reader
	cancel func() // ends stream
}

// openConsole starts `mcp-toolset console` and opens its address.
func openConsole(t *testing.T, state string) *consolePage {
	t.Helper()
	cmd := exec.Command(binary(t), "console", "--no-open")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "MCP_TOOLSET_STATE_DIR="+state)
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
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the console ended with %v", err)
		}
	})
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p := enterConsole(t, strings.TrimSpace(first))
	// Each link works once, and another use ends its login; Enter makes another one.
	if status, _ := p.get(strings.TrimPrefix(strings.TrimSpace(first), p.base)); status != http.StatusForbidden {
		t.Errorf("a used link: %d", status)
	}
	if status, _ := p.get(""); status != http.StatusUnauthorized {
		t.Errorf("the login of a link that was used twice: %d", status)
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	again, err := lines.ReadString('\n')
	if err != nil || again == first || !strings.HasPrefix(again, p.base+"login?key=") {
		t.Errorf("%q, %v", again, err)
	}
	return enterConsole(t, strings.TrimSpace(again))
}

// enterConsole opens a link.
func enterConsole(t *testing.T, link string) *consolePage {
	t.Helper()
	base, _, ok := strings.Cut(link, "login?key=")
	if !ok {
		t.Fatalf("%q is no link", link)
	}
	p := &consolePage{t: t, base: base}
	r, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	found := regexp.MustCompile(`name="token" content="(\w+)"`).FindSubmatch(body)
	if len(r.Cookies()) != 1 || found == nil {
		t.Fatalf("%s\n%s", r.Status, body)
	}
	p.cookie, p.token = r.Cookies()[0], string(found[1])
	return p
}

func (p *consolePage) do(r *http.Request, err error) *http.Response {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	r.AddCookie(p.cookie)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { a.Body.Close() })
	return a
}

func (p *consolePage) get(path string) (int, string) {
	p.t.Helper()
	a := p.do(http.NewRequest("GET", p.base+path, nil))
	body, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(body)
}

// post sends a request and returns its status and answer.
func (p *consolePage) post(name, body string) string {
	p.t.Helper()
	r, err := http.NewRequest("POST", p.base+"api/"+name, strings.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Console", p.token)
	}
	a := p.do(r, err)
	answer, _ := io.ReadAll(a.Body)
	return fmt.Sprintf("%d %s", a.StatusCode, strings.TrimSpace(string(answer)))
}

// consoleServer is a server in events, with the fields that the tests read.
type consoleServer struct {
	ID, Transport string
	Process       int
	Calls         []struct {
		Number                      uint64
		Lane, Title, Stage, Outcome string
	}
	Approvals []struct {
		Number     int
		Key, Title string
		Approved   bool
	}
}

// until reads events until one of a kind fits; "" means any kind.
func (p *consolePage) until(kind string, fits func(data string) bool) {
	p.t.Helper()
	if p.stream == nil {
		ctx, cancel := context.WithCancel(context.Background())
		p.t.Cleanup(cancel)
		p.cancel = cancel
		p.stream = bufio.NewReader(p.do(http.NewRequestWithContext(ctx, "GET", p.base+"api/stream", nil)).Body)
	}
	defer time.AfterFunc(deadline, p.cancel).Stop()
	event := ""
	for {
		line, err := p.stream.ReadString('\n')
		if err != nil {
			p.t.Fatalf("waiting for %s: %v", kind, err)
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = strings.TrimSpace(name)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && (event == kind || kind == "") && fits(data) {
			return
		}
	}
}

// server waits for a server to appear.
func (p *consolePage) server() (s consoleServer) {
	p.t.Helper()
	p.until("", func(data string) bool {
		var d struct {
			Server  consoleServer   // of its own event
			Servers []consoleServer // of a snapshot
		}
		if err := json.Unmarshal([]byte(data), &d); err != nil {
			p.t.Fatal(err)
		}
		if s = d.Server; len(d.Servers) > 0 {
			s = d.Servers[0]
		}
		return s.ID != ""
	})
	return s
}

// approval waits for the pending approval of a call with a title.
func (p *consolePage) approval(title string) (number int, key string) {
	p.t.Helper()
	p.until("approvals", func(data string) bool {
		var s consoleServer
		if err := json.Unmarshal([]byte(data), &s); err != nil {
			p.t.Fatal(err)
		}
		for _, a := range s.Approvals {
			if a.Title == title && !a.Approved {
				number, key = a.Number, a.Key
				return true
			}
		}
		return false
	})
	return number, key
}

// TestConsole answers an approval, stops a call, and sees a server end and another one start.
func TestConsole(t *testing.T) {
	base, err := os.MkdirTemp("", "c") // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	state, root := filepath.Join(base, "s"), t.TempDir()
	p := openConsole(t, state)
	p.until("snapshot", func(data string) bool { return strings.TrimSpace(data) == `{"servers":[]}` })
	t.Run("server", func(t *testing.T) {
		ann := joinServer(t, serveIn(t, state, root, "--mode", "default", "--audit", filepath.Join(base, "audit.jsonl")).url, "ann", false)
		s := p.server()
		if s.Transport != "http" || s.Process == 0 {
			t.Errorf("%+v", s)
		}
		const remove = `{"command":"rm -rf old; echo done >> log"}`
		if got := ann.call("Bash", remove); !strings.Contains(got, "approval 1 is pending") {
			t.Fatalf("%s", got)
		}
		number, key := p.approval("Run rm -rf old; echo done >> log")
		if _, shown := p.get(fmt.Sprintf("api/approval?server=%s&number=%d", s.ID, number)); !strings.Contains(shown, `"text":"rm -rf old","needsApproval":true`) || !strings.Contains(shown, `"text":"echo done","needsApproval":false`) {
			t.Errorf("%s", shown)
		}
		decide := fmt.Sprintf(`{"server":%q,"number":%d,"key":%q,"do":"once"}`, s.ID, number, key)
		if got := p.post("approval", decide); !strings.HasPrefix(got, `200 {"text":"Approved 1: `) {
			t.Errorf("%s", got)
		}
		if got := p.post("approval", decide); !strings.HasPrefix(got, "409 ") {
			t.Errorf("%s", got)
		}
		ann.call("Bash", remove)
		if got := ann.call("Bash", remove); !strings.Contains(got, "approval 2 is pending") {
			t.Errorf("%s", got)
		}
		if log, err := os.ReadFile(filepath.Join(root, "log")); string(log) != "done\n" {
			t.Errorf("the call has run %q, %v", log, err)
		}
		// A call that was approved twice becomes a suggested rule, from the audit log.
		const again = `{"command":"rm -rf old"}`
		for range 2 {
			ann.call("Bash", again)
			number, key = p.approval("Run rm -rf old")
			p.post("approval", fmt.Sprintf(`{"server":%q,"number":%d,"key":%q,"do":"once"}`, s.ID, number, key))
			ann.call("Bash", again)
		}
		if status, got := p.get("api/suggest?server=" + s.ID); status != http.StatusOK || !strings.Contains(got, `{"rule":"Bash(rm -rf old)","count":2,"calls":["rm -rf old"],`) {
			t.Errorf("%d %s", status, got)
		}
		// The log of one server and of all has the calls with their counts.
		for _, query := range []string{"server=" + s.ID + "&outcome=ok", "outcome=ok"} {
			if _, got := p.get("api/audit?" + query); !strings.Contains(got, `"client":"ann","session":`) || !strings.Contains(got, `"counts":{"calls":3,"denied":0,"failed":0,"byTool":[{"tool":"Bash","calls":3,`) {
				t.Errorf("%s: %s", query, got)
			}
		}
		// A running call is stopped from here.
		answer := make(chan string, 1)
		go func() { answer <- ann.call("Bash", `{"command":"sleep 600"}`) }()
		var running uint64
		p.until("calls", func(data string) bool {
			var s consoleServer
			if err := json.Unmarshal([]byte(data), &s); err != nil {
				t.Fatal(err)
			}
			for _, c := range s.Calls {
				if c.Stage == "running" && c.Lane == "ann" && c.Title == "Run sleep 600" {
					running = c.Number
				}
			}
			return running > 0
		})
		if got := p.post("stop", fmt.Sprintf(`{"server":%q,"call":%d}`, s.ID, running)); !strings.HasPrefix(got, "200 ") {
			t.Errorf("%s", got)
		}
		select {
		case got := <-answer:
			if got != "Bash: cancelled: the user has stopped this call. Ask the user before you send it again." {
				t.Errorf("%s", got)
			}
		case <-time.After(deadline):
			t.Fatal("the call was not stopped")
		}
	})
	p.until("gone", func(string) bool { return true })
	t.Run("again", func(t *testing.T) {
		serveIn(t, state, root)
		p.server()
	})
}

// TestConsoleOpens checks that the console opens its address in the default browser, and reports
// when there is none.
func TestConsoleOpens(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the browser is found in another way")
	}
	for _, present := range []bool{true, false} {
		t.Run(fmt.Sprint(present), func(t *testing.T) {
			bin := t.TempDir()
			opener := filepath.Join(bin, "xdg-open")
			var opened *os.File
			if present {
				if err := os.WriteFile(opener, []byte("#!/bin/sh\necho \"$1\" > \"$0.fifo\"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := syscall.Mkfifo(opener+".fifo", 0o600); err != nil {
					t.Fatal(err)
				}
				var err error
				if opened, err = os.OpenFile(opener+".fifo", os.O_RDWR, 0); err != nil {
					t.Fatal(err)
				}
				defer opened.Close()
			}
			cmd := exec.Command(binary(t), "console")
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "PATH="+bin, "MCP_TOOLSET_STATE_DIR="+t.TempDir())
			var report strings.Builder
			cmd.Stderr = &report
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			link, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Error(err)
			}
			if present {
				_ = opened.SetReadDeadline(time.Now().Add(deadline))
				if got, err := bufio.NewReader(opened).ReadString('\n'); got != link {
					t.Errorf("opened %q, not %q, %v", got, link, err)
				}
			}
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if got := strings.Contains(report.String(), "no browser could be opened ("); got == present {
				t.Errorf("%s", report.String())
			}
		})
	}
}

// TestConsoleHTTP logs in to the console of an HTTP server with its bearer token, and sees that
// server alone.
func TestConsoleHTTP(t *testing.T) {
	root := t.TempDir()
	server := serveIn(t, filepath.Join(t.TempDir(), "s"), root)
	base := strings.TrimSuffix(server.url, "mcp") + "console/"
	a, err := http.PostForm(base+"login", map[string][]string{"token": {wireToken}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK || len(a.Cookies()) != 1 {
		t.Fatalf("%s", a.Status)
	}
	p := &consolePage{t: t, base: base, cookie: a.Cookies()[0]}
	if s := p.server(); s.Transport != "http" || s.ID != "this" {
		t.Errorf("%+v", s)
	}
	// The cookie is for the console, and the token of clients for them.
	if r := p.do(http.NewRequest("POST", server.url, strings.NewReader("{}"))); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s", r.Status)
	}
	r, err := http.NewRequest("GET", base+"api/policy?server=this", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+wireToken)
	if got, err := http.DefaultClient.Do(r); err != nil || got.StatusCode != http.StatusUnauthorized {
		t.Errorf("%v, %v", got.Status, err)
	} else {
		got.Body.Close()
	}
}
