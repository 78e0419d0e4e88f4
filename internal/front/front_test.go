//go:build linux

package front

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-toolset/internal/identity"
	"mcp-toolset/internal/testscale"
)

// TestMain also is the process of a workspace.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "workspace" {
		serveChild()
		return
	}
	os.Exit(m.Run())
}

var big = strings.Repeat("0123456789", 1024)

// child serves what tests ask for by the method of a message.
func serveChild() {
	state := os.Getenv("MCP_TOOLSET_STATE_DIR")
	if _, err := os.Stat(filepath.Join(state, "broken")); err == nil {
		os.Exit(4)
	}
	ctx, end := context.WithCancel(context.Background())
	l, err := Inherit(end)
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(BusyPath, func(w http.ResponseWriter, _ *http.Request) {
		busy, _ := os.ReadFile(filepath.Join(state, "busy"))
		_, _ = w.Write(busy)
	})
	mux.HandleFunc(EndPath, func(_ http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		_ = os.WriteFile(filepath.Join(state, "ended"), data, 0o600)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		by, ok := identity.Passed(r)
		body, _ := io.ReadAll(r.Body)
		switch methodOf(body) {
		case "crash":
			os.Exit(3)
		case "half":
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			os.Exit(3)
		case "halfstream":
			_, _ = io.WriteString(w, "data: half\n\n")
			_ = http.NewResponseController(w).Flush()
			os.Exit(3)
		case "big":
			_, _ = io.WriteString(w, big)
		case "wait":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: first\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			_ = os.WriteFile(filepath.Join(state, "cancelled"), nil, 0o600)
		case "401":
			http.Error(w, "of the child", http.StatusUnauthorized)
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"pid": os.Getpid(), "path": r.URL.Path, "by": by, "ok": ok, "header": r.Header, "environ": os.Environ(), "body": string(body)})
		}
	})
	srv := &http.Server{Handler: mux}
	go func() { <-ctx.Done(); _ = srv.Close() }()
	_ = l.Ready()
	_ = srv.Serve(l)
}

// fixture is a front with an HTTP server.
type fixture struct {
	*Front
	t    testing.TB
	url  string
	base string
}

func newFixture(t testing.TB, limits string) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rules, err := ParseRules("f", []byte(`{"version": 1, "base": "/w", "rules": [{"when": {"name": "carl"}, "workspace": "anna", "roots": ["{base}/{workspace}/c"]}, {"when": {"name": "anna"}, "workspace": "{principal}", "roots": ["{base}/{workspace}/w"]`+limits+`},
		{"when": {"name": "bob"}, "workspace": "{principal}", "roots": ["{base}/{workspace}/w"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	rules.Base = base
	f, err := New(Config{
		Rules: rules, Idle: time.Hour, Drain: time.Second, Log: slog.New(slog.DiscardHandler),
		Program: Program{Args: func(*Spec) []string { return []string{"workspace"} }, Environ: []string{"PATH=/bin"}, Err: os.Stderr},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Header.Get("Authorization")
		r = r.WithContext(identity.With(r.Context(), identity.Principal{ID: "token:" + name, Name: name, By: identity.Hash{1}}))
		read := func() ([]byte, bool) { data, err := io.ReadAll(r.Body); return data, err == nil }
		if strings.HasPrefix(r.URL.Path, "/events/") {
			if refusal := f.Trigger(w, r, r.Header.Get("X-Principal"), read); refusal != "" {
				http.Error(w, refusal, http.StatusUnauthorized)
			}
			return
		}
		f.Serve(w, r, read)
	}))
	t.Cleanup(func() { srv.Close(); f.Close() })
	t.Cleanup(srv.CloseClientConnections)
	return &fixture{f, t, srv.URL, base}
}

func (f *fixture) post(user, path, body string, header ...string) (int, http.Header, string) {
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Error(err)
		return 0, nil, ""
	}
	r.Header.Set("Authorization", user)
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		return 0, a.Header, err.Error()
	}
	return a.StatusCode, a.Header, string(text)
}

// seenBy holds the parts of a request that the process of a workspace sees.
type seenBy struct {
	PID     int
	Path    string
	By      identity.Principal
	Header  http.Header
	Environ []string
}

func (f *fixture) see(user, path, body string, header ...string) (s seenBy) {
	f.t.Helper()
	status, _, text := f.post(user, path, body, header...)
	if err := json.Unmarshal([]byte(text), &s); status != http.StatusOK || err != nil {
		f.t.Fatalf("%s: %d %s", user, status, text)
	}
	return s
}

// until waits for a condition, which a failure alone does not reach.
func (f *fixture) until(what string, is func() bool) {
	f.t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatal("never: " + what)
		}
	}
}

const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// TestPass checks what the process of a workspace gets.
func TestPass(t *testing.T) {
	t.Setenv("MCP_TOOLSET_TOKEN", "secret")
	f := newFixture(t, "")
	forged := http.Header{}
	identity.Principal{ID: "token:bob"}.Pass(forged)
	s := f.see("anna", "/mcp/plan?token=secret", ping, "Mcp-Session-Id: 5", "Cookie: c=secret", "X-Other: 1", "mcp-toolset-principal: "+forged.Get("Mcp-Toolset-Principal"), "Mcp-Toolset-Principal: x")
	if s.By.ID != "token:anna" || s.By.By != (identity.Hash{1}) || s.Path != "/mcp/plan" || s.Header.Get("Mcp-Session-Id") != "5" || len(s.Header["Mcp-Toolset-Principal"]) != 1 {
		t.Errorf("%+v", s)
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Other"} {
		if s.Header.Get(name) != "" {
			t.Errorf("the process got %s", name)
		}
	}
	want := []string{"PATH=/bin", "HOME=" + f.base + "/anna/home", "MCP_TOOLSET_STATE_DIR=" + f.base + "/anna/state", "TMPDIR=" + f.base + "/.tmp/" + hashed("anna")[:12]}
	if strings.Join(s.Environ, " ") != strings.Join(want, " ") {
		t.Errorf("environment %q", s.Environ)
	}
	if other := f.see("bob", "/mcp", ping); other.PID == s.PID || other.By.ID != "token:bob" {
		t.Errorf("bob: %+v", other)
	}
	if status, _, text := f.post("eve", "/mcp", ping); status != http.StatusForbidden || text != "no workspace is configured for this user\n" {
		t.Errorf("no rule: %d %s", status, text)
	}
	if status, _, text := f.post("carl", "/mcp", ping); status != http.StatusServiceUnavailable || !strings.Contains(text, "could not be started") || !strings.Contains(text, `"id":7`) {
		t.Errorf("two rules give one name: %d %s", status, text)
	}
}

// TestStartOnce sends many first requests at once.
func TestStartOnce(t *testing.T) {
	f := newFixture(t, "")
	var all sync.WaitGroup
	pids := make([]int, 100)
	for i := range pids {
		all.Go(func() {
			_, _, text := f.post("anna", "/mcp", ping)
			var s seenBy
			_ = json.Unmarshal([]byte(text), &s)
			pids[i] = s.PID
		})
	}
	all.Wait()
	for _, pid := range pids {
		if pid == 0 || pid != pids[0] {
			t.Fatalf("processes %v", pids)
		}
	}
	if f.figures.starts != 1 {
		t.Errorf("%d starts", f.figures.starts)
	}
}

// TestWhole passes many answers on, none of which may be cut.
func TestWhole(t *testing.T) {
	f := newFixture(t, "")
	for i := range testscale.N(200, 5000) {
		status, _, text := f.post("anna", "/mcp", `{"id":1,"method":"big","params":"`+big[:i%len(big)]+`"}`)
		if status != http.StatusOK || text != big {
			t.Fatalf("answer %d: %d, %d bytes", i, status, len(text))
		}
	}
}

// TestCrash ends the process in the middle of requests. Others and the next are not touched.
func TestCrash(t *testing.T) {
	f := newFixture(t, "")
	bob := f.see("bob", "/mcp", ping).PID
	for _, c := range []struct{ method, want string }{
		{"crash", "look at what is done before sending it again"},
		{"half", "EOF"},
		{"halfstream", "EOF"},
	} {
		before := f.see("anna", "/mcp", ping).PID
		status, header, text := f.post("anna", "/mcp", `{"id":"x","method":"`+c.method+`"}`)
		if !strings.Contains(text, c.want) || c.method == "crash" && (status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(text, `"id":"x"`)) {
			t.Errorf("%s: %d %s", c.method, status, text)
		}
		f.until("a new process", func() bool {
			status, _, text := f.post("anna", "/mcp", ping) // may still meet the dying one
			return status == http.StatusOK && !strings.Contains(text, fmt.Sprintf(`"pid":%d}`, before))
		})
	}
	if now := f.see("bob", "/mcp", ping).PID; now != bob {
		t.Error("the process of bob was started again")
	}
	f.until("too many starts", func() bool {
		status, header, text := f.post("anna", "/mcp", `{"id":1,"method":"crash"}`)
		return status == http.StatusServiceUnavailable && header.Get("Retry-After") != "" && strings.Contains(text, "ended 5 times within a minute")
	})
}

// TestBroken answers requests of a workspace that cannot start.
func TestBroken(t *testing.T) {
	f := newFixture(t, "")
	if err := os.MkdirAll(f.base+"/anna/state/broken", 0o700); err != nil {
		t.Fatal(err)
	}
	if status, _, text := f.post("anna", "/mcp", ping); status != http.StatusServiceUnavailable || !strings.Contains(text, "tell the operator") {
		t.Errorf("%d %s", status, text)
	}
	if err := os.Remove(f.base + "/anna/state/broken"); err != nil {
		t.Fatal(err)
	}
	f.see("anna", "/mcp", ping)
}

// stream opens a stream and waits for its first event.
func (f *fixture) stream(ctx context.Context, user string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/mcp", strings.NewReader(`{"id":1,"method":"wait"}`))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Authorization", user)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	if line, err := bufio.NewReader(a.Body).ReadString('\n'); line != "data: first\n" {
		f.t.Fatalf("%q %v", line, err)
	}
	context.AfterFunc(ctx, func() { a.Body.Close() })
}

// TestIdle ends processes that are not used, and no others.
func TestIdle(t *testing.T) {
	f := newFixture(t, "")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(f.base+"/anna/state/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pid := f.see("anna", "/mcp", ping).PID
	alive := func(why string) {
		t.Helper()
		f.of["anna"].endIdle() // as if the time were over
		if now := f.see("anna", "/mcp", ping).PID; now != pid {
			t.Fatal("it ended " + why)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.stream(ctx, "anna")
	alive("during a stream")
	cancel()
	f.until("the end of the connection reaches the process", func() bool {
		_, err := os.Stat(f.base + "/anna/state/cancelled")
		return err == nil
	})
	write("busy", "1 task")
	alive("while a task runs")
	write("schedules.json", `{"version":1,"last":1,"schedules":[{"id":"d1"}]}`)
	write("busy", "")
	alive("with a durable schedule")
	write("schedules.json", `{"version":1,"last":1,"schedules":[]}`)
	f.until("the end", func() bool { f.of["anna"].endIdle(); return !f.of["anna"].running() })
	if now := f.see("anna", "/mcp", ping).PID; now == pid {
		t.Error("it was not started again")
	}
}

// TestIdleTime ends a process some time after its last request.
func TestIdleTime(t *testing.T) {
	f := newFixture(t, "")
	f.Idle = time.Millisecond // before the first request
	f.see("anna", "/mcp", ping)
	f.until("the end", func() bool { return !f.of["anna"].running() })
}

// TestLimits checks the limits of a principal.
func TestLimits(t *testing.T) {
	f := newFixture(t, `, "limits": {"requestsPerMinute": 60, "calls": 1}`)
	call := `{"jsonrpc":"2.0","id":3,"params":{},"method":"tools/call"}`
	m := f.meterOf("token:anna", f.rules()[1].Limits)
	m.enter()
	if status, header, text := f.post("anna", "/mcp", call); status != http.StatusTooManyRequests || header.Get("Retry-After") != "1" || text != `{"jsonrpc":"2.0","id":3,"error":{"code":-32029,"message":"1 calls of this user are in progress; send it again when one has ended"}}`+"\n" {
		t.Errorf("one call too many: %d %s", status, text)
	}
	f.see("anna", "/mcp", ping) // a cancel must get through
	m.leave()
	f.see("anna", "/mcp", call)
	refused := 0
	for range 10 {
		if status, header, text := f.post("anna", "/mcp", ping); status == http.StatusTooManyRequests && header.Get("Retry-After") != "" && strings.Contains(text, "-32029") {
			refused++
		}
	}
	if refused < 5 {
		t.Errorf("%d of 10 requests over the rate were refused", refused)
	}
	for range 20 {
		f.see("bob", "/mcp", ping)
	}
}

func (f *fixture) rules() []rule { return f.Rules.rules }

// TestTrigger passes requests of webhooks on, and starts nothing for names that do not exist.
func TestTrigger(t *testing.T) {
	f := newFixture(t, "")
	signed := "X-Hub-Signature-256: sha256=" + strings.Repeat("0", 64)
	absent := func(path string, header ...string) {
		t.Helper()
		if status, _, text := f.post("x", path, "{}", header...); status != http.StatusUnauthorized || !strings.HasPrefix(text, "missing or wrong signature") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	absent("/events/anna/ci", signed)
	absent("/events/anna", signed)
	absent("/events/../anna/ci", signed)
	f.see("anna", "/mcp", ping)
	f.of["anna"].close()
	delete(f.of, "anna")
	absent("/events/anna/ci", signed)
	absent("/events/anna/ci/x", signed)
	if f.of["anna"] != nil && f.of["anna"].running() {
		t.Error("a request for a name that does not exist started the process")
	}
	if err := os.WriteFile(f.base+"/anna/state/triggers.json", []byte(`{"version":1,"triggers":[{"name":"ci"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	absent("/events/anna/ci")
	if s := f.see("x", "/events/anna/ci", "{}", signed, "X-Github-Event: push", "Cookie: c"); s.Path != "/events/ci" || s.By.ID != "" || s.Header.Get("X-Hub-Signature-256") == "" || s.Header.Get("Authorization")+s.Header.Get("Cookie") != "" {
		t.Errorf("%+v", s)
	}
	if s := f.see("x", "/events/anna/ci", "{}", "X-Principal: token:bob"); s.By.ID != "token:bob" {
		t.Errorf("%+v", s)
	}
	if status, _, text := f.post("x", "/events/anna/ci", `{"method":"401"}`, signed); status != http.StatusUnauthorized || text != "of the child\n" {
		t.Errorf("refused by the process: %d %s", status, text)
	}
}

// TestEndPrincipals tells processes which principals are gone.
func TestEndPrincipals(t *testing.T) {
	f := newFixture(t, "")
	f.see("anna", "/mcp", ping)
	f.see("bob", "/mcp", ping)
	f.EndPrincipals(func(p identity.Principal) bool { return p.Name != "anna" })
	data, err := os.ReadFile(f.base + "/anna/state/ended")
	if err != nil || !strings.Contains(string(data), "token:anna") {
		t.Errorf("%s %v", data, err)
	}
	if _, err := os.Stat(f.base + "/bob/state/ended"); err == nil {
		t.Error("bob was ended")
	}
}

// TestClose ends the processes, and those of a front that was killed end too.
func TestClose(t *testing.T) {
	f := newFixture(t, "")
	f.see("anna", "/mcp", ping)
	p := f.of["anna"].process.(*child)
	_ = p.control.Close() // as at the end of the front
	f.until("the end of the process", func() bool {
		select {
		case <-p.done():
			return true
		default:
			return false
		}
	})
	f.see("anna", "/mcp", ping)
	f.Close()
	if status, _, text := f.post("anna", "/mcp", ping); status != http.StatusServiceUnavailable || !strings.Contains(text, "the server is ending") {
		t.Errorf("%d %s", status, text)
	}
}

// TestWake starts workspaces with durable schedules.
func TestWake(t *testing.T) {
	f := newFixture(t, "")
	f.see("anna", "/mcp", ping)
	f.see("bob", "/mcp", ping)
	if err := os.WriteFile(f.base+"/anna/state/schedules.json", []byte(`{"version":1,"last":1,"schedules":[{"id":"d1"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := New(f.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	again.Wake(t.Context())
	if running := again.Running(); len(running) != 1 || running[0].Name != "anna" {
		t.Errorf("%v", running)
	}
}

// TestGroups limits a control group in a folder of plain files.
func TestGroups(t *testing.T) {
	mount := t.TempDir()
	write := func(path, text string) string {
		t.Helper()
		path = filepath.Join(mount, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	self := write("self", "1:name=systemd:/x\n0::/system.slice/toolset.service\n")
	const own = "system.slice/toolset.service/"
	for _, c := range []struct{ have, want string }{{"", "none of version 2"}, {"cpu pids", "no controller memory"}} {
		if c.have != "" {
			write(own+"cgroup.controllers", c.have)
		}
		if _, err := openGroups(mount, self); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.have, err)
		}
	}
	write(own+"cgroup.controllers", "cpuset cpu io memory pids\n")
	g, err := openGroups(mount, self)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := g.of("anna", Limits{MemoryMB: 512, CPU: 1.5})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if dir2, err := g.of("bob", Limits{CPU: 0.25}); err != nil || dir2.Close() != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		own + "front/cgroup.procs":        fmt.Sprint(os.Getpid()),
		own + "cgroup.subtree_control":    "+memory +cpu",
		own + "workspace-anna/memory.max": "536870912",
		own + "workspace-anna/cpu.max":    "150000 100000",
		own + "workspace-bob/memory.max":  "max",
		own + "workspace-bob/cpu.max":     "25000 100000",
	} {
		if got, err := os.ReadFile(filepath.Join(mount, path)); string(got) != want {
			t.Errorf("%s: %q %v, want %q", path, got, err, want)
		}
	}
	if _, err := openGroups(mount, write("self", "0::/system.slice/toolset.service/front\n")); err != nil {
		t.Errorf("a front that was started by one: %v", err)
	}
}

var _ net.Listener = (*Inherited)(nil)

// BenchmarkPass measures a request of 10 KB of answer through a front, with a client and a process
// that do next to nothing.
func BenchmarkPass(b *testing.B) {
	f := newFixture(b, "")
	for b.Loop() {
		if status, _, text := f.post("anna", "/mcp", `{"id":1,"method":"big"}`); status != http.StatusOK || len(text) != len(big) {
			b.Fatal(status, text)
		}
	}
}
