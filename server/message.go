package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/internal/text/strictjson"
	"mcp-toolset/tools"
)

// message holds what a transport needs to know of a JSON-RPC message before the
// library gets it.
type message struct {
	id       string // canonical; "" for a notification
	rawID    json.RawMessage
	method   string // "" for a response
	cancels  string // canonical id that notifications/cancelled names
	cause    error  // of that cancel: context.Canceled or tools.ErrGaveUp
	protocol string // protocol version in _meta; "" before 2026-07-28
	handle   string // of a session, in _meta; "": none, or not a valid one
	agent    string // of the host that makes the call, in _meta; "": its main one, or not a valid id
	client   string // name of the client in _meta; "": none

	result json.RawMessage // of a response; nil for an error

	tool      string          // name in the parameters; "": none
	arguments json.RawMessage // of a call, as a part of the message; nil: none
	apart     json.RawMessage // arguments that the library does not get; nil: it gets all
}

// largeArguments is the size in bytes from which the library does not get the
// arguments, because it would copy them several times.
const largeArguments = 256 << 10

// withoutArguments returns the message for the library, and the arguments that
// were removed from it, or nil if none were.
func withoutArguments(raw []byte, m message) (rest []byte, arguments json.RawMessage) {
	if m.method != string(mcp.MethodToolsCall) || len(m.arguments) < largeArguments {
		return raw, nil
	}
	at := cap(raw) - cap(m.arguments) // the arguments are a slice of raw, with the same end
	return slices.Concat(raw[:at], []byte("{}"), raw[at+len(m.arguments):]), quoteHuge(m.arguments)
}

// rpcError is a JSON-RPC error with the id of its request.
type rpcError struct {
	code int
	text string
	id   json.RawMessage // nil: null
}

// encode returns the error as a JSON-RPC message.
func (e *rpcError) encode() []byte {
	id := e.id
	if id == nil {
		id = json.RawMessage("null")
	}
	data, err := json.Marshal(mcp.JSONRPCError{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Error: mcp.JSONRPCErrorDetails{Code: e.code, Message: e.text},
	})
	if err != nil {
		panic(err) // cannot happen: the id is valid JSON, all else is ours
	}
	return data
}

// The keys that the envelope of a message and its parts may have, with a meaning
// to the library or to us.
var (
	messageKeys = strictjson.NewKeys("jsonrpc", "id", "method", "params", "result", "error")
	paramsKeys  = strictjson.NewKeys("name", "arguments", "_meta", "requestId", "reason", "protocolVersion", "inputResponses", "requestState")
	replyKeys   = strictjson.NewKeys(permissionKey, formKey)
	metaKeys    = strictjson.NewKeys("progressToken", mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, metaSession, metaAgent)
)

// readMessage parses the envelope of a message strictly. Arguments are checked
// by their tool.
func readMessage(raw []byte) (message, *rpcError) {
	var m message
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '[' {
		return m, &rpcError{code: mcp.INVALID_REQUEST, text: "batches are not part of the protocol; send one message at a time"}
	}
	fields, err := messageKeys.Fields(raw)
	bad := func(format string, args ...any) (message, *rpcError) {
		return m, &rpcError{code: mcp.INVALID_REQUEST, text: fmt.Sprintf(format, args...), id: m.rawID}
	}
	if fields == nil {
		return m, &rpcError{code: mcp.PARSE_ERROR, text: strictjson.Describe(err, "the message")}
	}
	if id, given := fields["id"]; given {
		var idErr error
		if m.id, idErr = canonicalID(id); idErr != nil {
			return bad("%v", idErr)
		}
		m.rawID = id
	}
	if err != nil {
		return bad("%v", err)
	}
	if string(fields["jsonrpc"]) != `"2.0"` {
		return bad(`"jsonrpc" must be "2.0"`)
	}
	if fields["error"] == nil {
		m.result = fields["result"]
	}
	isResponse := fields["result"] != nil || fields["error"] != nil
	method, isRequest := fields["method"]
	switch {
	case isRequest && isResponse:
		return bad("the message has both a method and a result")
	case isRequest:
		if err := json.Unmarshal(method, &m.method); err != nil || m.method == "" {
			return bad(`"method" must be a string`)
		}
	case !isResponse:
		return bad("the message has neither a method nor a result")
	}
	if params := fields["params"]; len(params) > 0 && isRequest {
		if err := m.readParams(params); err != nil {
			return bad("%v", err)
		}
	}
	return m, nil
}

func (m *message) readParams(raw json.RawMessage) error {
	if string(raw) == "null" {
		return nil
	}
	if raw[0] != '{' {
		return errors.New("params must be an object")
	}
	params, err := paramsKeys.Fields(raw)
	if err != nil {
		return fmt.Errorf("params: %w", err)
	}
	m.arguments = params["arguments"]
	_ = json.Unmarshal(params["name"], &m.tool) // checked below
	for _, key := range []string{"name", "protocolVersion"} {
		if v := params[key]; len(v) > 0 && v[0] != '"' {
			return fmt.Errorf("params: %s must be a string", key)
		}
	}
	if v := params["requestState"]; len(v) > 0 && v[0] != '"' && string(v) != "null" {
		return errors.New("params: requestState must be a string")
	}
	if v := params["inputResponses"]; len(v) > 0 && string(v) != "null" {
		if _, err := replyKeys.Fields(v); err != nil {
			return fmt.Errorf("params: inputResponses: %w", err)
		}
	}
	if meta := params["_meta"]; len(meta) > 0 && string(meta) != "null" {
		if meta[0] != '{' {
			return errors.New("params: _meta must be an object")
		}
		fields, err := metaKeys.Fields(meta)
		if err != nil {
			return fmt.Errorf("_meta: %w", err)
		}
		_ = json.Unmarshal(fields[mcp.MetaKeyProtocolVersion], &m.protocol) // the library refuses another type
		var info struct{ Name string }
		_ = json.Unmarshal(fields[mcp.MetaKeyClientInfo], &info) // likewise
		m.client = info.Name
		if _ = json.Unmarshal(fields[metaSession], &m.handle); !sessionHandle.MatchString(m.handle) {
			m.handle = "" // narrow refuses it
		}
		if _ = json.Unmarshal(fields[metaAgent], &m.agent); !sessionHandle.MatchString(m.agent) {
			m.agent = ""
		}
	}
	if m.isCancel() {
		if m.cancels, err = canonicalID(params["requestId"]); err != nil {
			return fmt.Errorf("requestId: %w", err)
		}
		m.cause = context.Canceled
		var reason string
		if json.Unmarshal(params["reason"], &reason) == nil && timeoutReason.MatchString(reason) {
			m.cause = tools.ErrGaveUp
		}
	}
	return nil
}

// timeoutReason matches the reason of a cancel that a client sends at its own timeout, such as
// "McpError: MCP error -32001: Request timed out" of the TypeScript SDK.
var timeoutReason = regexp.MustCompile(`(?i)time[sd]?[ _-]?out|deadline|-32001`)

// isCancel reports whether the message is a cancel notification.
func (m message) isCancel() bool {
	return m.id == "" && m.method == string(mcp.MethodNotificationCancelled)
}

// modern reports whether the message uses a protocol version without sessions.
func (m message) modern() bool { return mcp.IsModernProtocol(m.protocol) }

// canonicalID returns an id in comparable form: "1" and 1 differ, 1 and 1.0 do
// not.
func canonicalID(raw json.RawMessage) (string, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return "", fmt.Errorf("an id must be a string or a number")
	}
	switch v := v.(type) {
	case string:
		return "s" + v, nil
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "n" + v.String(), nil
		}
		f, err := v.Float64()
		if err != nil {
			return "", fmt.Errorf("an id must be a number in range")
		}
		return "n" + strconv.FormatFloat(f, 'f', -1, 64), nil
	default:
		return "", fmt.Errorf("an id must be a string or a number")
	}
}

// quoteHuge puts numbers that do not fit into a float64 in quotes. The library
// would refuse the whole message because of such a number, with an error about
// Go types, which models must not see. As a string, it is refused as an invalid
// argument.
func quoteHuge(raw []byte) []byte {
	var out []byte
	from := 0 // start of the bytes not yet in out
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(raw) && strings.IndexByte("0123456789+-.eE", raw[end]) >= 0 {
				end++
			}
			if _, err := strconv.ParseFloat(string(raw[i:end]), 64); errors.Is(err, strconv.ErrRange) {
				out = append(append(append(append(out, raw[from:i]...), '"'), raw[i:end]...), '"')
				from = end
			}
			i = end - 1
		}
	}
	if out == nil {
		return raw
	}
	return append(out, raw[from:]...)
}
