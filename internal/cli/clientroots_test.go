package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// rootsClient is the client's side of a relay whose servers answer each message with their roots.
type rootsClient struct {
	t      *testing.T
	in     io.WriteCloser
	lines  chan string
	ended  chan error
	starts chan []string // the roots of each server
}

const noFolder = "there is no folder"

// newClient starts a relay whose server has roots at first. "none" is no usable folder.
func newClient(t *testing.T, roots []string, limit time.Duration) *rootsClient {
	c := &rootsClient{t: t, lines: make(chan string, 100), ended: make(chan error, 1), starts: make(chan []string, 10)}
	inRead, in := io.Pipe()
	outRead, out := io.Pipe()
	c.in = in
	var remedy error
	if roots == nil {
		remedy = errors.New(noFolder)
	}
	r := &relay{
		asks: true, log: slog.New(slog.DiscardHandler), limit: limit, roots: roots, remedy: remedy, out: lockedWriter{w: out},
		choose: func(folders []string) ([]string, error) {
			if folders = slices.DeleteFunc(slices.Clone(folders), func(s string) bool { return filepath.Base(s) == "none" }); len(folders) > 0 {
				return folders, nil
			}
			return roots, remedy
		},
		serve: func(_ context.Context, roots []string, in io.Reader, out io.Writer) error {
			c.starts <- roots
			for lines := bufio.NewScanner(in); lines.Scan(); {
				if m := parseEnvelope(lines.Bytes()); m.ID != nil {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":"%s for %v"}`+"\n", m.ID, m.Method, roots)
				}
			}
			return nil
		},
	}
	go func() {
		err := r.run(t.Context(), bufio.NewReader(inRead))
		out.Close()
		c.ended <- err
	}()
	go func() {
		for lines := bufio.NewScanner(outRead); lines.Scan(); {
			c.lines <- lines.Text()
		}
		close(c.lines)
	}()
	return c
}

func (c *rootsClient) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.in, line+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

// wants checks the next messages.
func (c *rootsClient) wants(want ...string) {
	c.t.Helper()
	for _, w := range want {
		select {
		case got := <-c.lines:
			if got != w {
				c.t.Fatalf("got  %s\nwant %s", got, w)
			}
		case <-time.After(20 * time.Second):
			c.t.Fatalf("no answer; want %s", w)
		}
	}
}

// started checks the roots of the servers that were started.
func (c *rootsClient) started(want ...string) {
	c.t.Helper()
	for _, w := range want {
		if got := fmt.Sprint(<-c.starts); got != w {
			c.t.Errorf("a server for %s, not %s", got, w)
		}
	}
	if n := len(c.starts); n > 0 {
		c.t.Errorf("%d more servers", n)
	}
}

// end closes the input and checks the error of the relay.
func (c *rootsClient) end(want string) {
	c.t.Helper()
	c.in.Close()
	if err := <-c.ended; (err == nil) != (want == "") || err != nil && err.Error() != want {
		c.t.Errorf("the end: %v, not %q", err, want)
	}
}

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"roots":{}}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	changed     = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
)

func asked(n int) string {
	return fmt.Sprintf(`{"id":"mcp-toolset-roots-%d","jsonrpc":"2.0","method":"roots/list"}`, n)
}

func folders(n int, uris ...string) string {
	list := []string{}
	for _, uri := range uris {
		list = append(list, fmt.Sprintf(`{"uri":"file://%s"}`, uri))
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"mcp-toolset-roots-%d","result":{"roots":[%s]}}`, n, strings.Join(list, ","))
}

func needUnix(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of the test are not absolute on Windows")
	}
}

// TestClientRoots checks that messages wait for the folders of the client, that a server for
// them takes over without a second answer to initialize, and that a change makes another.
func TestClientRoots(t *testing.T) {
	needUnix(t)
	c := newClient(t, []string{"/a"}, time.Hour)
	c.send(initialize)
	c.wants(`{"jsonrpc":"2.0","id":0,"result":"initialize for [/a]"}`)
	c.send(initialized, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	c.wants(asked(1))
	c.send(folders(1, "/b", "/c%20d"))
	c.wants(`{"jsonrpc":"2.0","id":1,"result":"tools/list for [/b /c d]"}`)
	c.send(changed)
	c.wants(asked(2))
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`) // does not wait
	c.wants(`{"jsonrpc":"2.0","id":2,"result":"tools/call for [/b /c d]"}`)
	c.send(folders(2, "/b", "/c%20d"), changed)
	c.wants(asked(3))
	c.send(folders(2, "/x"), folders(3, "/e"), `{"jsonrpc":"2.0","id":0,"method":"ping"}`)
	c.wants(`{"jsonrpc":"2.0","id":0,"result":"ping for [/e]"}`)
	c.end("")
	c.started("[/a]", "[/b /c d]", "[/e]")
}

// TestSameRoots checks that no other server is made for the folders that the server has.
func TestSameRoots(t *testing.T) {
	needUnix(t)
	c := newClient(t, []string{"/a"}, time.Hour)
	c.send(initialize)
	c.wants(`{"jsonrpc":"2.0","id":0,"result":"initialize for [/a]"}`)
	c.send(initialized)
	c.wants(asked(1))
	c.send(folders(1, "/a"), `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
	c.wants(`{"jsonrpc":"2.0","id":1,"result":"tools/call for [/a]"}`)
	c.end("")
	c.started("[/a]")
}

// TestNoFolder checks that each call names the remedy while there is no workspace, and that
// the end of the input is an error then.
func TestNoFolder(t *testing.T) {
	needUnix(t)
	c := newClient(t, nil, time.Hour)
	c.send(initialize)
	c.wants(`{"jsonrpc":"2.0","id":0,"result":"initialize for []"}`)
	c.send(initialized, `{"jsonrpc":"2.0","id":"c","method":"tools/call"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	c.wants(asked(1))
	c.send(folders(1, "/none"))
	refused := `{"id":%s,"jsonrpc":"2.0","result":{"content":[{"text":"` + noFolder + `","type":"text"}],"isError":true}}`
	c.wants(fmt.Sprintf(refused, `"c"`), `{"jsonrpc":"2.0","id":2,"result":"tools/list for []"}`)
	c.send(changed)
	c.wants(asked(2))
	c.send(folders(2, "/b"), `{"jsonrpc":"2.0","id":3,"method":"tools/call"}`)
	c.wants(`{"jsonrpc":"2.0","id":3,"result":"tools/call for [/b]"}`)
	c.send(changed)
	c.wants(asked(3))
	c.send(folders(3), `{"jsonrpc":"2.0","id":4,"method":"tools/call"}`)
	c.wants(fmt.Sprintf(refused, "4"))
	c.end(noFolder)
	c.started("[]", "[/b]", "[]")
}

// TestNoAnswer checks a client that does not name its folders in time, or later.
func TestNoAnswer(t *testing.T) {
	needUnix(t)
	c := newClient(t, []string{"/a"}, time.Millisecond)
	c.send(initialize)
	c.wants(`{"jsonrpc":"2.0","id":0,"result":"initialize for [/a]"}`)
	c.send(initialized, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
	c.wants(asked(1), `{"jsonrpc":"2.0","id":1,"result":"tools/call for [/a]"}`)
	c.send(folders(1, "/b"), `{"jsonrpc":"2.0","id":2,"method":"tools/call"}`)
	c.wants(`{"jsonrpc":"2.0","id":2,"result":"tools/call for [/b]"}`)
	c.end("")
	c.started("[/a]", "[/b]")
}

// TestChooser checks which folders of a client become the workspace.
func TestChooser(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) (out []string) {
		for _, name := range names {
			out = append(out, filepath.Join(base, name))
		}
		return out
	}
	for _, dir := range at("home/app/web", "home/lib", "srv") {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none := errors.New("none")
	for _, c := range []struct {
		name                    string
		bounds, implied, client []string
		want                    []string
	}{
		{"theirs", nil, at("srv"), at("home/app", "home/lib"), at("home/app", "home/lib")},
		{"twice", nil, nil, at("home/app", "home/app/../app"), at("home/app")},
		{"missing, a file, and one", nil, at("srv"), at("missing", "file", "home/lib"), at("home/lib")},
		{"none usable", nil, at("srv"), at("missing"), at("srv")},
		{"none at all", nil, nil, nil, nil},
		{"the home folder", nil, nil, at("home"), nil},
		{"in the bounds", at("home/app"), at("home/app"), at("home/app/web", "srv"), at("home/app/web")},
		{"around the bounds", at("home/app", "home/lib"), at("home/app", "home/lib"), at("home"), at("home/app", "home/lib")},
		{"beside the bounds", at("home/app"), at("home/app"), at("srv"), at("home/app")},
	} {
		got, err := chooser(c.bounds, c.implied, filepath.Join(base, "home"), none)(c.client)
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

// TestFolderOf checks the URIs of folders.
func TestFolderOf(t *testing.T) {
	needUnix(t)
	for uri, want := range map[string]string{
		"file:///a/b": "/a/b", "file://localhost/a": "/a", "FILE:///a%20b/%C3%A4": "/a b/ä",
		"file://host/a": "", "https://a/b": "", "/a": "", "file:a": "", "": "", "file:///%zz": "",
	} {
		if got, ok := folderOf(uri); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", uri, got, ok)
		}
	}
}

// TestHasRoots checks which first messages declare roots.
func TestHasRoots(t *testing.T) {
	for line, want := range map[string]bool{
		initialize: true, strings.ReplaceAll(initialize, "{}", "null"): false, strings.ReplaceAll(initialize, "initialize", "x"): false, "": false, "x": false,
		`{"method":"initialize","params":{"capabilities":{"roots":{"listChanged":true}}}}`: true, `{"method":"initialize","params":{"capabilities":{}}}`: false, `{"method":"server/discover"}`: false,
	} {
		if got := hasRoots([]byte(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// TestFirstLine checks that nothing of the input is lost.
func TestFirstLine(t *testing.T) {
	for _, text := range []string{"", "a", "a\n", "a\nb\nc", strings.Repeat("x", 10_000) + "\ny"} {
		in := strings.NewReader(text)
		begin, err := firstLine(t.Context(), in)
		rest, _ := io.ReadAll(in)
		if err != nil || string(append(begin, rest...)) != text || bytes.IndexByte(begin, '\n') < 0 && len(rest) > 0 {
			t.Errorf("%.20q: %.20q, %v", text, begin, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, w := io.Pipe()
	defer w.Close()
	if begin, err := firstLine(ctx, r); err != nil || begin != nil {
		t.Errorf("after the end: %q, %v", begin, err)
	}
}

// TestNoWorkspace checks the remedy.
func TestNoWorkspace(t *testing.T) {
	const want = "there is no workspace folder: the client names none, and the working directory is /, which is too much. Ask the user to open a folder in the client, or to name one in its configuration: mcp-toolset stdio DIR"
	if got := noWorkspace(&wideError{"the working directory", "/"}).Error(); got != want {
		t.Error(got)
	}
}
