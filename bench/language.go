// Language servers: a definition through the tool beside the server's own answer, and an edit
// with its diagnostics beside gopls check.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	definitions    = 300 // of each way, in turns
	checkedEdits   = 9
	definitionMore = 2 // target for a definition, in ms
	languageTime   = 5 * time.Minute
	languageFiles  = 200
)

// languages holds what questions and edits took, those of the tools first.
type languages struct {
	definitions, edits []*shellWay
	absent             string // why nothing was measured
}

// measureLanguages asks gopls of the variable GOPLS, or of PATH.
func measureLanguages(ctx context.Context, ours *side, tmp string) *languages {
	l := &languages{}
	ctx, cancel := context.WithTimeout(ctx, languageTime)
	defer cancel()
	if err := l.measure(ctx, ours, tmp); err != nil {
		l.absent = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return l
}

func (l *languages) measure(ctx context.Context, ours *side, tmp string) error {
	program, err := exec.LookPath("gopls")
	if own := os.Getenv("GOPLS"); own != "" {
		program, err = own, nil
	}
	if err != nil {
		return errors.New("gopls is not installed")
	}
	dir := filepath.Join(tmp, "language")
	files := map[string]string{"go.mod": "module x\n\ngo 1.24\n", "main.go": "package x\n\nvar _ int = F7()\n"}
	for i := range languageFiles {
		files[fmt.Sprintf("f%d.go", i)] = fmt.Sprintf("package x\n\nimport \"fmt\"\n\nfunc F%d() int { fmt.Println(F%d()); return 0 }\n", i, (i+1)%languageFiles)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	// An argument of env, since the environment of the client is that of this program.
	other := *ours
	other.argv = []string{"env", "PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), ours.argv[0], "stdio", dir}
	c, _, err := other.open(ctx)
	if err != nil {
		return fmt.Errorf("starting %s: %w", ours.name, err)
	}
	defer func() { _ = c.stop() }()
	s, err := startLSP(ctx, program, dir)
	if err != nil {
		return fmt.Errorf("starting gopls: %w", err)
	}
	defer s.stop()
	main := filepath.Join(dir, "main.go")
	if err := s.open(main, files["main.go"]); err != nil {
		return err
	}
	call := func(tool string, arguments any, want string) (float64, error) {
		params, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
		if err != nil {
			return 0, err
		}
		line, took, err := c.call("tools/call", params)
		if err == nil && !bytes.Contains(line, []byte(want)) {
			err = fmt.Errorf("%.300s", line)
		}
		return millis(took), err
	}
	l.definitions = []*shellWay{
		{name: "LSP", run: func(context.Context) (float64, error) {
			return call("LSP", map[string]any{"operation": "goToDefinition", "filePath": main, "line": 3, "character": 13}, "f7.go:5:6")
		}},
		{name: "gopls", run: func(context.Context) (float64, error) { return s.definition(main) }},
	}
	if err := turns(ctx, l.definitions, definitions); err != nil {
		return err
	}
	edit := func(old, new, want string) (float64, error) {
		return call("Edit", map[string]any{"file_path": main, "old_string": old, "new_string": new}, want)
	}
	if _, err := call("Read", map[string]any{"file_path": main}, "F7"); err != nil {
		return err
	}
	l.edits = []*shellWay{
		{name: "Edit with diagnostics", run: func(context.Context) (float64, error) {
			ms, err := edit("_ int", "_ string", "caused 1 problem")
			if err == nil {
				_, err = edit("_ string", "_ int", "fixed 1 problem")
			}
			return ms, err
		}},
		{name: "gopls check", run: func(ctx context.Context) (float64, error) {
			wrong := filepath.Join(dir, "wrong.go")
			begin := time.Now()
			if err := os.WriteFile(wrong, []byte("package x\n\nvar _ string = F7()\n"), 0o600); err != nil {
				return 0, err
			}
			cmd := exec.CommandContext(ctx, program, "check", wrong)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			took := millis(time.Since(begin))
			if !bytes.Contains(out, []byte("cannot use F7()")) {
				err = errors.Join(err, fmt.Errorf("%.300s", out))
			}
			return took, errors.Join(err, os.Remove(wrong))
		}},
	}
	return turns(ctx, l.edits, checkedEdits)
}

// lspClient is a connection to a language server, one request at a time.
type lspClient struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	next int
}

func startLSP(ctx context.Context, program, dir string) (*lspClient, error) {
	c := &lspClient{cmd: exec.CommandContext(ctx, program)}
	c.cmd.Dir = dir
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = c.call("initialize", map[string]any{"processId": nil, "rootUri": "file://" + dir, "capabilities": map[string]any{}})
	if err == nil {
		err = c.write(map[string]any{"method": "initialized", "params": map[string]any{}})
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *lspClient) stop() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *lspClient) write(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	data, err := json.Marshal(message)
	if err == nil {
		_, err = fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(data), data)
	}
	return err
}

// call sends a request and returns its result. It answers requests of the server with null.
func (c *lspClient) call(method string, params any) (json.RawMessage, error) {
	c.next++
	if err := c.write(map[string]any{"id": c.next, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		size := 0
		for {
			line, err := c.out.ReadString('\n')
			if err != nil {
				return nil, err
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			if text, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				if size, err = strconv.Atoi(text); err != nil {
					return nil, err
				}
			}
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(c.out, data); err != nil {
			return nil, err
		}
		var m struct {
			ID            json.RawMessage
			Method        string
			Result, Error json.RawMessage
		}
		switch err := json.Unmarshal(data, &m); {
		case err != nil:
			return nil, err
		case m.Method != "" && m.ID != nil:
			if err := c.write(map[string]any{"id": m.ID, "result": nil}); err != nil {
				return nil, err
			}
		case m.Method == "" && m.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		case m.Method == "":
			return m.Result, nil
		}
	}
}

func (c *lspClient) open(path, text string) error {
	return c.write(map[string]any{"method": "textDocument/didOpen", "params": map[string]any{"textDocument": map[string]any{"uri": "file://" + path, "languageId": "go", "version": 1, "text": text}}})
}

// definition asks for the definition of the name in line 3.
func (c *lspClient) definition(path string) (ms float64, err error) {
	begin := time.Now()
	result, err := c.call("textDocument/definition", map[string]any{"textDocument": map[string]any{"uri": "file://" + path}, "position": map[string]any{"line": 2, "character": 12}})
	ms = millis(time.Since(begin))
	if err == nil && !bytes.Contains(result, []byte("f7.go")) {
		err = fmt.Errorf("the definition is %.300s", result)
	}
	return ms, err
}

// printLanguages prints the medians. missed reports whether a target was missed.
func printLanguages(w io.Writer, l *languages) (missed bool, err error) {
	if l.absent != "" {
		_, err := fmt.Fprintf(w, "\nLANGUAGE SERVERS: not measured: %s\n", l.absent)
		return false, err
	}
	more := median(l.definitions[0].ms) - median(l.definitions[1].ms)
	rows := func(title string, ways []*shellWay, note string) {
		list := make([]turnsOf, len(ways))
		for i, way := range ways {
			list[i] = turnsOf{way.name, way.ms}
		}
		err = errors.Join(err, printRows(w, title, list, note))
	}
	rows("A DEFINITION", l.definitions, fmt.Sprintf("%d of each, in turns, of a server that has read the project; %.2f ms more, target < %d ms.", definitions, more, definitionMore))
	rows("AN EDIT WITH ITS DIAGNOSTICS", l.edits, fmt.Sprintf("%d of each, in turns, in a module of %d files.", checkedEdits, languageFiles))
	return !(more < definitionMore), err
}
