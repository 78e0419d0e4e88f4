package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The script commands below talk to a server that lives longer than one line of a script:
//
//	serve ARG...         starts `mcp-toolset stdio ARG...` here and initializes it; stops an earlier one
//	ask TOOL JSON        makes a call and prints its answer; with ! it must be an error
//	send TOOL JSON       makes a call without waiting
//	cancel [REASON]      cancels the call that was sent last
//	answer               prints the next answer to sent calls, in the order of sending
//	end                  closes the server's input and waits until it ends
//	keep NAME REGEXP     sets a variable to the match of the first group in the last output
//	await FILE           waits until a file exists

// talkCommands returns the commands above, for testscript.Params.
func talkCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"serve": serveCommand, "ask": askCommand, "send": sendCommand, "cancel": cancelCommand,
		"answer": answerCommand, "end": stopCommand, "keep": keepCommand, "await": awaitCommand,
	}
}

// talk is the server of a script, if it has one.
type talk struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	last  int   // id of the last request
	sent  []int // ids of calls whose answers have not been printed
	early map[int]string
}

// talkKey is the key of the talk in Env.Values.
type talkKey struct{}

func talkOf(ts *testscript.TestScript) *talk { return ts.Value(talkKey{}).(*talk) }

// running returns the script's server, which must have been started.
func running(ts *testscript.TestScript) *talk {
	t := talkOf(ts)
	if t.cmd == nil {
		ts.Fatalf("no server is running: use serve")
	}
	return t
}

func serveCommand(ts *testscript.TestScript, neg bool, args []string) {
	t := talkOf(ts)
	if neg {
		ts.Fatalf("usage: serve ARG...")
	}
	ts.Check(t.stop())
	*t = talk{early: map[int]string{}, lines: make(chan string, 100)}
	cmd := exec.Command(built, append([]string{"stdio", "--log-level", "error"}, args...)...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), os.Stderr
	for _, name := range []string{"PATH", "HOME", "WORK", "TMPDIR", "MCP_TOOLSET_TOKEN", "MCP_TOOLSET_STATE_DIR", "GOGC", "SYSTEMROOT"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	var err error
	t.in, err = cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	t.cmd = cmd
	go func() {
		defer close(t.lines)
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, 10<<20)
		for scan.Scan() {
			t.lines <- scan.Text()
		}
	}()
	id := t.write(ts, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"script","version":"1"}}`)
	t.await(ts, id)
}

// write sends a request.
func (t *talk) write(ts *testscript.TestScript, method, params string) int {
	t.last++
	_, err := fmt.Fprintf(t.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", t.last, method, params)
	ts.Check(err)
	return t.last
}

func (t *talk) call(ts *testscript.TestScript, args []string) int {
	if len(args) != 2 || !json.Valid([]byte(args[1])) {
		ts.Fatalf("want a tool and its arguments in JSON, have %q", args)
	}
	return t.write(ts, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, args[0], args[1]))
}

// await returns the answer to a request, unchanged.
func (t *talk) await(ts *testscript.TestScript, id int) string {
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	for {
		if line, ok := t.early[id]; ok {
			delete(t.early, id)
			return line
		}
		select {
		case line, ok := <-t.lines:
			if !ok {
				ts.Fatalf("the server is gone")
			}
			var m struct{ ID int }
			ts.Check(json.Unmarshal([]byte(line), &m))
			t.early[m.ID] = line
		case <-timer.C:
			ts.Fatalf("no answer within %v", deadline)
		}
	}
}

// show prints an answer. It fails if the answer is an error, or with neg if it is not.
func show(ts *testscript.TestScript, neg bool, line string) {
	var m struct {
		Error  *struct{ Message string }
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	ts.Check(json.Unmarshal([]byte(line), &m))
	failed := m.Result.IsError
	var text strings.Builder
	for _, c := range m.Result.Content {
		text.WriteString(strings.TrimSuffix(c.Text, "\n") + "\n")
	}
	if m.Error != nil {
		failed = true
		text.WriteString(m.Error.Message + "\n")
	}
	_, err := io.WriteString(ts.Stdout(), text.String())
	ts.Check(err)
	if failed != neg {
		ts.Fatalf("the call failed: %v", failed)
	}
}

func askCommand(ts *testscript.TestScript, neg bool, args []string) {
	t := running(ts)
	show(ts, neg, t.await(ts, t.call(ts, args)))
}

func sendCommand(ts *testscript.TestScript, neg bool, args []string) {
	t := running(ts)
	if neg {
		ts.Fatalf("usage: send TOOL JSON")
	}
	t.sent = append(t.sent, t.call(ts, args))
}

func cancelCommand(ts *testscript.TestScript, _ bool, args []string) {
	t := running(ts)
	if len(t.sent) == 0 {
		ts.Fatalf("nothing was sent")
	}
	_, err := fmt.Fprintf(t.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":%q}}`+"\n", t.sent[len(t.sent)-1], strings.Join(args, " "))
	ts.Check(err)
	t.sent = t.sent[:len(t.sent)-1] // it is not answered
}

func answerCommand(ts *testscript.TestScript, neg bool, _ []string) {
	t := running(ts)
	if len(t.sent) == 0 {
		ts.Fatalf("nothing was sent")
	}
	id := t.sent[0]
	t.sent = t.sent[1:]
	show(ts, neg, t.await(ts, id))
}

func stopCommand(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(running(ts).stop())
}

// stop ends the server, if one is running.
func (t *talk) stop() error {
	if t.cmd == nil {
		return nil
	}
	_ = t.in.Close()
	late := time.AfterFunc(deadline, func() { _ = t.cmd.Process.Kill() })
	defer late.Stop()
	for range t.lines {
	}
	err := t.cmd.Wait()
	t.cmd = nil
	if err != nil {
		return fmt.Errorf("the server ended: %w", err)
	}
	return nil
}

func keepCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keep NAME REGEXP")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("%s is not in the last output", args[1])
	}
	ts.Setenv(args[0], found[1])
}

func awaitCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	path := ts.MkAbs(args[0])
	for end := time.Now().Add(deadline); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s does not appear", args[0])
		}
	}
}
