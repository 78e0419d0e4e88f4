package clients

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"mcp-toolset/internal/host"
	"mcp-toolset/internal/text/plain"
)

const (
	// tryTimeout is the timeout for an answer of a server that starts. A client's is 10 to 60 s.
	tryTimeout = 20 * time.Second
	// endTimeout is the timeout for its end after its input is closed.
	endTimeout = 5 * time.Second
	// maxLine is the limit of an answer in bytes.
	maxLine = 16 << 20
	// maxErrors is how much of the end of standard error is stored, in bytes.
	maxErrors = 4 << 10
	// maxPages is the limit of pages of a list of tools.
	maxPages = 100
)

// inherited lists the variables that clients pass to servers: those of the MCP TypeScript SDK.
var inherited = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
}

// Try starts a server as a client would, in folder dir, and returns the number of tools that it
// lists. workspace replaces the client's variable for the open folder.
func (e Entry) Try(ctx context.Context, c *Client, dir, workspace string, getenv func(string) string) (tools int, err error) {
	if len(e.Command) == 0 {
		return 0, errors.New("the entry names no program")
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	command := make([]string, len(e.Command))
	for i, arg := range e.Command {
		command[i] = arg
		if c.Workspace != "" {
			command[i] = strings.ReplaceAll(arg, c.Workspace, workspace)
		}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, endTimeout
	for _, name := range inherited {
		if value := getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, value := range e.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var said tail
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting it: %w", err)
	}
	tools, err = listTools(c.Name, in, out)
	in.Close()
	timer := time.AfterFunc(endTimeout, cancel)
	defer timer.Stop()
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("it did not answer within %v", tryTimeout)
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	if end := cmd.Wait(); err != nil && end != nil && said.Len() > 0 {
		err = fmt.Errorf("%w; %v: %s", err, end, plain.Lines(strings.TrimSpace(said.String())))
	}
	return tools, err
}

// listTools speaks with a server as a client does at its start.
func listTools(client string, in io.Writer, out io.Reader) (tools int, err error) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxLine)
	name := cmp.Or(strings.TrimSuffix(host.Named(client).Sends, "*"), "mcp-toolset-install")
	version := json.RawMessage(fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}`, name))
	if _, err := ask(in, lines, 1, "initialize", version); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return 0, err
	}
	cursor := ""
	for page := range maxPages {
		params := map[string]string{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		text, err := json.Marshal(params)
		if err != nil {
			return 0, err
		}
		answer, err := ask(in, lines, 2+page, "tools/list", text)
		if err != nil {
			return 0, err
		}
		var list struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(answer, &list); err != nil {
			return 0, fmt.Errorf("reading its list of tools: %w", err)
		}
		tools += len(list.Tools)
		if cursor = list.NextCursor; cursor == "" {
			break
		}
	}
	return tools, nil
}

// ask sends a request and returns its result.
func ask(in io.Writer, lines *bufio.Scanner, id int, method string, params json.RawMessage) (json.RawMessage, error) {
	if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", id, method, params); err != nil {
		return nil, errors.New("it ended before it answered") // its pipe is closed
	}
	for lines.Scan() {
		var answer struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			return nil, fmt.Errorf("it printed a line that is no message: %s", plain.Quote(plain.Cut(lines.Text(), 200)))
		}
		switch {
		case answer.Method != "" || !bytes.Equal(answer.ID, fmt.Append(nil, id)): // a notification, or a request of its own
		case answer.Error != nil:
			return nil, fmt.Errorf("it answered %s with an error: %s", method, plain.Line(answer.Error.Message))
		default:
			return answer.Result, nil
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, os.ErrClosed) {
		return nil, fmt.Errorf("reading its answer: %w", err)
	}
	return nil, errors.New("it ended before it answered")
}

// tail stores the last maxErrors bytes written to it.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.Buffer.Write(p[max(0, len(p)-maxErrors):])
	t.Next(max(0, t.Len()-maxErrors))
	return len(p), nil
}
