package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// wineTime is the timeout for everything that one test runs in Wine.
const wineTime = time.Minute

// wineServer is the Windows build, running in Wine and serving C:\proj.
type wineServer struct {
	*testing.T
	folder string // C:\proj, as a path of this machine
	in     io.Writer
	out    *bufio.Scanner
	last   int
}

// newWine builds for Windows and starts the server with settings. It creates a new
// prefix, with a folder of its own for each drive, that shares the installed system.
func newWine(t *testing.T, settings string) *wineServer {
	prefix := os.Getenv("WINE_PREFIX")
	if prefix == "" {
		t.Skip("WINE_PREFIX is not set: e2e/wine/install.sh makes a prefix and prints its path")
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, "mcp-toolset.exe")
	build := exec.Command("go", "build", "-o", exe, "..")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building for Windows: %v\n%s", err, out)
	}
	top, err := os.MkdirTemp(filepath.Join(prefix, "drive_c"), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	s := &wineServer{T: t, folder: filepath.Join(top, "proj")}
	s.file("hello\nworld\n", "a.txt")
	s.file("KEY\n", "Secret Folder", "key.txt")
	s.file(settings, "..", "settings.json")
	drive := `C:\` + filepath.Base(top)
	cmd := exec.Command("wine", exe, "stdio", "--settings", drive+`\settings.json`, strings.ToLower(drive)+"/PROJ")
	cmd.Env = append(os.Environ(), "WINEPREFIX="+prefix, "WINEDEBUG=-all", `MCP_TOOLSET_STATE_DIR=`+drive+`\state`)
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = stderr
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
	s.in, s.out = in, bufio.NewScanner(out)
	s.out.Buffer(nil, 1<<20)
	timer := time.AfterFunc(wineTime, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
		timer.Stop()
		if text, _ := os.ReadFile(stderr.Name()); t.Failed() {
			t.Logf("standard error:\n%s", text)
		}
	})
	s.request("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "wine", "version": "1"},
	})
	return s
}

// file writes a file below C:\proj.
func (s *wineServer) file(content string, names ...string) {
	s.Helper()
	path := filepath.Join(append([]string{s.folder}, names...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.Fatal(err)
	}
}

// has checks the content of a file below C:\proj.
func (s *wineServer) has(content string, names ...string) {
	s.Helper()
	got, err := os.ReadFile(filepath.Join(append([]string{s.folder}, names...)...))
	if err != nil || string(got) != content {
		s.Errorf("%s has %q, %v; want %q", filepath.Join(names...), got, err, content)
	}
}

func (s *wineServer) request(method string, params any) json.RawMessage {
	s.Helper()
	s.last++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params})
	if err != nil {
		s.Fatal(err)
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		s.Fatalf("sending a request: %v", err)
	}
	for s.out.Scan() {
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(s.out.Bytes(), &answer); err != nil {
			s.Fatalf("%v: %s", err, s.out.Text())
		}
		if answer.ID == s.last {
			if answer.Error != nil {
				s.Fatalf("%s: %s", method, answer.Error)
			}
			return answer.Result
		}
	}
	s.Fatalf("no answer to %s within %v", line, wineTime)
	return nil
}

// call makes a call. Its answer must contain want, and must be an error if want begins
// with "!".
func (s *wineServer) call(tool, want string, args map[string]any) string {
	s.Helper()
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(s.request("tools/call", map[string]any{"name": tool, "arguments": args}), &result); err != nil {
		s.Fatal(err)
	}
	text := ""
	for _, c := range result.Content {
		text += c.Text
	}
	want, fails := strings.CutPrefix(want, "!")
	if result.IsError != fails || !strings.Contains(text, want) {
		s.Errorf("%s %v: error %v, %s\nwant %q", tool, args, result.IsError, text, want)
	}
	return text
}

type wineArgs = map[string]any

// TestWine drives the file tools of the Windows build.
func TestWine(t *testing.T) {
	s := newWine(t, `{"permissions": {"deny": ["Read(**/secret folder/**)"]}}`)
	s.files()
	s.paths()
}

// files uses each of the tools.
func (s *wineServer) files() {
	s.call("Read", "1\thello", wineArgs{"file_path": "a.txt"})
	s.call("Read", "has not changed since", wineArgs{"file_path": `A.TXT`})
	s.call("Edit", `proj\A.TXT`, wineArgs{"file_path": "A.TXT", "old_string": "hello", "new_string": "bye"})
	s.has("bye\nworld\n", "a.txt")
	s.call("Write", `proj\a.txt`, wineArgs{"file_path": `.\a.txt`, "content": "whole\n"})
	s.has("whole\n", "a.txt")
	s.call("Write", "made 2 folders", wineArgs{"file_path": `new/Deep\b.txt`, "content": "one\r\ntwo\r\n"})
	s.has("one\r\ntwo\r\n", "new", "Deep", "b.txt")
	s.call("Edit", `B.txt`, wineArgs{"file_path": "NEW/deep/B.txt", "old_string": "one\ntwo", "new_string": "1\n2"})
	s.has("1\r\n2\r\n", "new", "Deep", "b.txt")
	s.call("Grep", "new/Deep/b.txt:2:2", wineArgs{"pattern": "^2", "output_mode": "content"})
	s.call("Grep", "NEW/deep/b.txt", wineArgs{"pattern": "1", "path": `NEW\deep`})
	s.call("Glob", "new/Deep/b.txt", wineArgs{"pattern": "**/b.*"})
	s.call("Glob", "new/Deep/b.txt", wineArgs{"pattern": `new\**\*.txt`})
	s.file(`{"cells": [{"cell_type": "code", "id": "x", "metadata": {}, "outputs": [], "execution_count": null, "source": ["1"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`, "n.ipynb")
	s.call("Read", "x", wineArgs{"file_path": "n.ipynb"})
	s.call("NotebookEdit", "x", wineArgs{"notebook_path": "N.ipynb", "cell_id": "x", "new_source": "2"})
	entries, err := os.ReadDir(s.folder)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			s.Errorf("%s is left over", e.Name())
		}
	}
	if err != nil {
		s.Error(err)
	}
}

// paths checks a rule against every spelling of a path, and attempts to leave the
// workspace.
func (s *wineServer) paths() {
	full := `C:\` + filepath.Base(filepath.Dir(s.folder)) + `\proj\Secret Folder\key.txt`
	for _, path := range []string{
		`Secret Folder\key.txt`, `SECRET folder/KEY.TXT`, `new\..\secret folder\key.txt`, full, strings.ToLower(full),
		`\\?\` + full, `//?/` + full, `\??\` + full, full[2:], "/c" + strings.ReplaceAll(full[2:], `\`, "/"),
	} {
		s.call("Read", "!the deny rule Read(**/secret folder/**) covers", wineArgs{"file_path": path})
		s.call("Edit", "!the deny rule Read(**/secret folder/**) covers", wineArgs{"file_path": path, "old_string": "KEY", "new_string": "x"})
	}
	for path, want := range map[string]string{
		`Secret Folder.\key.txt`:                   "ends in a dot or a space",
		`Secret Folder \key.txt`:                   "ends in a dot or a space",
		`Secret Folder\key.txt.`:                   "ends in a dot or a space",
		`Secret Folder\key.txt::$DATA`:             "names a stream of a file",
		`Secret Folder::$INDEX_ALLOCATION\key.txt`: "names a stream of a file",
		`C:a.txt`:                        "has a drive letter that no backslash follows",
		`NUL`:                            "has the name NUL, which Windows reserves for a device",
		`sub\con.txt`:                    "has the name con.txt, which Windows reserves for a device",
		`a?.txt`:                         "which no Windows name has",
		`\\.\C:\windows\win.ini`:         "names a device",
		`\\?\GLOBALROOT\DosDevices\C:\x`: "names a device",
		`\\127.0.0.1\c$\windows\win.ini`: "is on a network share that no workspace root is on",
		`//127.0.0.1/c$/windows/win.ini`: "is on a network share that no workspace root is on",
		`\\?\UNC\127.0.0.1\c$\x`:         "is on a network share that no workspace root is on",
		`C:\windows\win.ini`:             "is outside the workspace roots",
		`..\..\windows\win.ini`:          "is outside the workspace roots",
		`Z:\etc\passwd`:                  "is outside the workspace roots",
		`..\proj2\a.txt`:                 "is outside the workspace roots",
		`..\state\x`:                     "is closed to all tools",
		`..\STATE\x`:                     "is closed to all tools",
	} {
		s.call("Read", "!"+want, wineArgs{"file_path": path})
		s.call("Write", "!", wineArgs{"file_path": path, "content": "x"})
	}
	if text := s.call("Grep", "", wineArgs{"pattern": "KEY", "output_mode": "content"}); strings.Contains(text, "key.txt") {
		s.Errorf("Grep shows a denied file: %s", text)
	}
	s.has("KEY\n", "Secret Folder", "key.txt")
}
