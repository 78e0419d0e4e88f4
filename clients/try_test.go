package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain serves instead of testing if an entry asks for it.
func TestMain(m *testing.M) {
	if how := os.Getenv("FAKE_SERVER"); how != "" {
		fake(how)
	}
	os.Exit(m.Run())
}

// fake is a server that behaves as the word how requires.
func fake(how string) {
	if how == "dies" {
		fmt.Fprintln(os.Stderr, "no folder \x1b[31mgiven")
		os.Exit(2)
	}
	if addr, ok := strings.CutPrefix(how, "waits "); ok {
		if _, err := net.Dial("tcp", addr); err != nil {
			os.Exit(5)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	if how == "talks" {
		fmt.Println("Hello!")
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			os.Exit(3)
		}
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		switch {
		case m.Method == "tools/list" && how == "fails":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no tools"}}`+"\n", m.ID)
		case m.Method == "tools/list" && m.Params.Cursor == "":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{},{}],"nextCursor":"x"}}`+"\n", m.ID)
		case m.Method == "tools/list":
			dir, _ := os.Getwd()
			tool := "{}"
			if os.Args[len(os.Args)-1] != dir || os.Getenv("SECRET_OF_TEST") != "" || os.Getenv("PATH") == "" {
				tool = "{},{}" // it was started in another way
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", m.ID, tool)
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
		}
	}
	if err := os.WriteFile("ended", nil, 0o600); err != nil {
		os.Exit(4)
	}
	os.Exit(0)
}

// An entry is started with its arguments, in the folder, without the rest of the environment.
func TestTry(t *testing.T) {
	t.Setenv("SECRET_OF_TEST", "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range map[string]string{
		"works": "", "fails": "it answered tools/list with an error: no tools",
		"talks": "it printed a line that is no message: Hello!",
		"dies":  `it ended before it answered; exit status 2: no folder \x1b[31mgiven`,
	} {
		dir := t.TempDir()
		e := Entry{Command: []string{exe, "${workspaceFolder}"}, Env: map[string]string{"FAKE_SERVER": how}}
		n, err := e.Try(t.Context(), Find("cursor"), dir, dir, os.Getenv)
		if _, left := os.Stat(filepath.Join(dir, "ended")); left != nil && how == "works" {
			t.Error("the server was not ended by the end of its input")
		}
		if want == "" && (err != nil || n != 3) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %d tools, %v, want %s", how, n, err, want)
		}
	}
	if _, err := (Entry{Command: []string{t.TempDir() + "/none"}}).Try(t.Context(), Find("cursor"), "/", "/", os.Getenv); err == nil || !strings.HasPrefix(err.Error(), "starting it: ") {
		t.Errorf("a program that is not there: %v", err)
	}
	if _, err := (Entry{}).Try(t.Context(), Find("cursor"), "/", "/", os.Getenv); err == nil || err.Error() != "the entry names no program" {
		t.Errorf("an entry without a program: %v", err)
	}
}

// A server that is cancelled before it answers is not one that is too slow.
func TestTryCancelled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		_, _ = started.Accept()
	}()
	e := Entry{Command: []string{exe}, Env: map[string]string{"FAKE_SERVER": "waits " + started.Addr().String()}}
	if _, err := e.Try(ctx, Find("cursor"), t.TempDir(), "", os.Getenv); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
