package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// acpArg makes this test binary a program that speaks the Agent Client Protocol.
const acpArg = "acp-agent-of-a-test"

// acpAgent is an agent that does what its task says: a JSON array of [method, params], of which the
// first strings may be "say", "plan" and "hang". It reports the answers.
func acpAgent() int {
	in, report, next := bufio.NewScanner(os.Stdin), "", 1000
	in.Buffer(nil, 1<<20)
	send := func(v map[string]any) {
		v["jsonrpc"] = "2.0"
		data, _ := json.Marshal(v)
		fmt.Println(string(data))
	}
	type message struct {
		ID     json.RawMessage
		Method string
		Params struct{ Prompt []struct{ Text string } }
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	read := func() (m message) {
		if !in.Scan() {
			os.Exit(0)
		}
		_ = json.Unmarshal(in.Bytes(), &m)
		return m
	}
	ask := func(method string, params map[string]any) string {
		next++
		params["sessionId"] = "s"
		send(map[string]any{"id": next, "method": method, "params": params})
		for {
			if m := read(); string(m.ID) == fmt.Sprint(next) {
				if m.Error != nil {
					return "error " + m.Error.Message
				}
				return string(m.Result)
			}
		}
	}
	update := func(u map[string]any) {
		send(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": "s", "update": u}})
	}
	for {
		switch m := read(); m.Method {
		case "initialize":
			send(map[string]any{"id": m.ID, "result": map[string]any{"protocolVersion": 1, "authMethods": []any{}}})
		case "session/new":
			send(map[string]any{"id": m.ID, "result": map[string]any{"sessionId": "s"}})
		case "session/prompt":
			var steps [][2]any
			_ = json.Unmarshal([]byte(m.Params.Prompt[0].Text), &steps)
			for _, s := range steps {
				switch method := s[0].(string); method {
				case "plan":
					update(map[string]any{"sessionUpdate": "plan", "entries": []any{map[string]any{"content": s[1], "priority": "low", "status": "in_progress"}}})
				case "hang":
					_ = exec.Command("sleep", s[1].(string)).Run()
				case "own write":
					report += fmt.Sprintf("own write: %v\n", os.WriteFile(s[1].(string), []byte("x"), 0o600) == nil)
				case "wait", "limit":
					var made struct{ TerminalID string }
					create := map[string]any{"command": s[1]}
					if method == "limit" {
						create["outputByteLimit"] = 5
					}
					_ = json.Unmarshal([]byte(ask("terminal/create", create)), &made)
					id := map[string]any{"terminalId": made.TerminalID}
					report += "terminal: " + ask("terminal/wait_for_exit", id) + " " + ask("terminal/output", id) + " " + ask("terminal/release", id) + "\n"
				default:
					report += method + ": " + ask(method, s[1].(map[string]any)) + "\n"
				}
			}
			update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": report}})
			send(map[string]any{"id": m.ID, "result": map[string]any{"stopReason": "end_turn"}})
		}
	}
}
