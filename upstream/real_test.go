package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/tools"
)

// TestOddServers checks that servers work that print a greeting, or that do not
// answer server/discover or exit on it.
func TestOddServers(t *testing.T) {
	for _, mode := range []string{"modern,garbage", "legacy,garbage", "legacy,mute", "legacy,vague", "fragile"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			m, b := begin(t, Config{Servers: []Server{stdioServer(t, "x", mode)}})
			if got := text2(invoke(t, m, "x", "echo", `{"a":1}`, nil)); got != `{"a":1}` {
				t.Error(got)
			}
			if len(b.server("x").Tools) == 0 {
				t.Error("no tool is known")
			}
		})
	}
}

// TestStdioErrors checks that each reason why a stdio server cannot be reached
// results in one sentence.
func TestStdioErrors(t *testing.T) {
	t.Parallel()
	none := t.TempDir()
	folder := stdioServer(t, "x", "modern")
	folder.Dir = filepath.Join(none, "absent")
	script := filepath.Join(none, "not-executable")
	if err := os.WriteFile(script, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range []struct {
		name   string
		server Server
	}{
		{"dies", stdioServer(t, "x", "dies")}, {"deaf", stdioServer(t, "x", "deaf")},
		{"no program", Server{Name: "x", Prefix: "x", Command: "no-such-program\x1b"}},
		{"no such path", Server{Name: "x", Prefix: "x", Command: "/absent/program"}},
		{"not executable", Server{Name: "x", Prefix: "x", Command: script}},
		{"no folder", folder},
		{"refused", Server{Name: "x", Prefix: "x", Command: "c", Refused: "denied by deniedMcpServers in f:1"}},
		{"broken", Server{Name: "x", Prefix: "x", Command: "c", Broken: "the variable A of env is not set"}},
	} {
		m, b := begin(t, Config{Servers: []Server{c.server}, ConnectTimeout: 3 * time.Second})
		err := m.find("x").prepare(t.Context())
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		text := c.name + ": " + err.Error() + " | " + b.server("x").Note
		out = append(out, strings.ReplaceAll(strings.ReplaceAll(text, none, "DIR"), "/root", "~"))
	}
	golden(t, "stdio", out)
}

// TestEnvironment checks that a server inherits few of our variables, and gets
// those of the settings.
func TestEnvironment(t *testing.T) {
	s := Server{Env: map[string]string{"TOKEN": "given", "HOME": "/elsewhere"}}
	ours := []string{
		"PATH=/bin", "HOME=/h", "SECRET=s", "AWS_SECRET_ACCESS_KEY=k", "LC_ALL=C", "LCX=1", "XDG_CACHE_HOME=/c", "https_proxy=p", "HTTPS_PROXY=P",
		"TERM=() { :; }", "TOKEN=ours", "SSL_CERT_FILE=f", "appdata=a", "TMPDIR=/t", "odd",
	}
	want := []string{"HOME=/elsewhere", "HTTPS_PROXY=P", "LC_ALL=C", "PATH=/bin", "SSL_CERT_FILE=f", "TMPDIR=/t", "TOKEN=given", "XDG_CACHE_HOME=/c", "https_proxy=p"}
	if d := cmp.Diff(want, s.environment(ours, "linux")); d != "" {
		t.Error(d)
	}
	if got := s.environment(ours, "windows"); !slices.Contains(got, "appdata=a") || slices.Contains(got, "SECRET=s") {
		t.Errorf("on Windows: %v", got)
	}
	m, _ := begin(t, Config{Servers: []Server{stdioServer(t, "x", "modern")}, Environ: []string{"PATH=/bin", "SECRET=s"}})
	got := strings.Split(text2(invoke(t, m, "x", "env", `{}`, nil)), "\n")
	slices.Sort(got)
	if d := cmp.Diff([]string{"PATH=/bin", modeVar + "=modern"}, got); d != "" {
		t.Error(d)
	}
}

// TestLookPath checks that a program is searched for in the PATH of the server.
func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tool", "sub/tool2"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, c := range []struct {
		program, path string
		want          bool
	}{
		{"tool", dir, true}, {"tool", "/nowhere:" + dir, true}, {"tool", "", false}, {"tool", ".", false}, {"tool", ":", false}, {"tool2", dir, false},
		{"./tool", "", true}, {"sub/tool2", "", true}, {filepath.Join(dir, "tool"), "", true}, {"./none", dir, false},
	} {
		got, found := lookPath(c.program, dir, []string{"PATH=" + c.path})
		if found != c.want || found && !filepath.IsAbs(got) {
			t.Errorf("%s in %q: %s %v", c.program, c.path, got, found)
		}
	}
}

// TestResources checks the resources of all servers and their contents.
func TestResources(t *testing.T) {
	m, _ := begin(t, Config{Servers: []Server{
		stdioServer(t, "b", "legacy"), {Name: "a", Prefix: "a", URL: newWeb(t, "modern").URL},
		{Name: "c", Prefix: "c", Command: "c", Refused: "denied"}, {Name: "d", Prefix: "d", Command: "/absent"},
	}})
	list, problems := m.Resources(t.Context(), "")
	wantList := []Resource{
		{Server: "a", URI: "test://blob", Name: "blob"}, {Server: "a", URI: "test://one", Name: "one"},
		{Server: "b", URI: "test://blob", Name: "blob"}, {Server: "b", URI: "test://one", Name: "one"},
	}
	wantProblems := []Problem{
		{"c", "the server c may not be used: denied. Do it another way."}, {"d", "the server d cannot be reached: its program /absent is not there or cannot be run. Ask the user to correct its command in the settings, under mcpServers."},
	}
	if d := cmp.Diff(wantList, list); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(wantProblems, problems); d != "" {
		t.Error(d)
	}
	if list, problems := m.Resources(t.Context(), "b"); len(list) != 2 || len(problems) != 0 {
		t.Errorf("%v %v", list, problems)
	}
	if list, problems := m.Resources(t.Context(), "z"); len(list) != 0 || len(problems) != 1 || problems[0].Why != "there is no such server" {
		t.Errorf("%v %v", list, problems)
	}
	for server, want := range map[string][]tools.Content{
		"a": {tools.Resource{URI: "test://blob", MIMEType: "image/png", Blob: []byte("hi")}},
		"b": {tools.Resource{URI: "test://blob", MIMEType: "image/png", Blob: []byte("hi")}},
	} {
		got, err := m.ReadResource(t.Context(), server, "test://blob", testEnv())
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v %s", err, d)
		}
	}
	got, err := m.ReadResource(t.Context(), "b", "test://one", testEnv())
	if d := cmp.Diff([]tools.Content{tools.Resource{URI: "test://one", MIMEType: "text/plain", Text: "first"}}, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	var out []string
	for _, c := range [][2]string{{"a", "test://none"}, {"bb", "x"}, {"entirely else", "x"}, {"c", "x"}} {
		_, err := m.ReadResource(t.Context(), c[0], c[1], testEnv())
		out = append(out, fmt.Sprint(c[0], ": ", err))
	}
	_, err = New(Config{}).ReadResource(t.Context(), "a", "x", testEnv())
	golden(t, "resources", append(out, "none: "+err.Error()))
}

// TestHugeLine checks that an endless line closes the connection and is given
// as the reason.
func TestHugeLine(t *testing.T) {
	f := &fake{stays: true, caps: `{"tools":{}}`, calls: map[string]func(*fakeConn, fakeRequest){"huge": func(c *fakeConn, _ fakeRequest) {
		for part := []byte(strings.Repeat("x", 1<<20)); ; {
			if _, err := c.out.Write(part); err != nil {
				return
			}
		}
	}}}
	m, b := beginFake(t, f, Config{})
	const want = "error: the connection to the server x was closed while the call ran: it sent a line of more than 64 MiB; whether it took effect is not known. Look before you repeat it."
	if got := text2(invoke(t, m, "x", "huge", `{}`, nil)); got != want {
		t.Error(got)
	}
	b.until(t, func(list []tools.Server) bool { return list[0].State == tools.Failed })
	if got := b.server("x").Note; got != "it sent a line of more than 64 MiB; it is tried again with the next call" {
		t.Error(got)
	}
	select {
	case <-f.last().done:
	case <-time.After(failTime):
		t.Error("the server was not ended")
	}
}

// TestNotReading checks that a server that does not read delays neither a
// cancelled call nor Close.
func TestNotReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{caps: `{"tools":{}}`, stalls: true}
		m, _ := beginFake(t, f, Config{})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			begun := time.Now()
			_, err := m.find("x").call(ctx, testEnv(), "a", json.RawMessage(`{}`))
			if cancel(); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
				t.Errorf("after %s: %v", time.Since(begun), err)
			}
		}
	})
	r, w := io.Pipe()
	defer r.Close()
	q := newQueue(w)
	if _, err := q.Write(make([]byte, maxUnsent)); err != nil {
		t.Error(err)
	}
	if _, err := q.Write([]byte("x")); !errors.Is(err, errNotSent) {
		t.Errorf("it takes any amount: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	<-q.done
	if _, err := q.Write([]byte("x")); !errors.Is(err, errNotSent) {
		t.Errorf("it takes what nobody gets: %v", err)
	}
}
