package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// message is what a transport must know of a JSON-RPC message before the
// library gets it.
type message struct {
	id       string // canonical; "" for a notification
	rawID    json.RawMessage
	method   string // "" for a response
	cancels  string // canonical id that notifications/cancelled names
	protocol string // protocol version in _meta, "" in the legacy era
}

// rpcError is a JSON-RPC error with the id it answers.
type rpcError struct {
	code int
	text string
	id   json.RawMessage // nil: null
}

func (e *rpcError) Error() string { return e.text }

// encode is the error as a JSON-RPC message.
func (e *rpcError) encode() []byte {
	id := e.id
	if id == nil {
		id = json.RawMessage("null")
	}
	data, err := json.Marshal(mcp.JSONRPCError{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Error: mcp.JSONRPCErrorDetails{Code: e.code, Message: e.text},
	})
	if err != nil {
		panic(err) // an id is valid JSON, all else is ours
	}
	return data
}

// readMessage reads the envelope of a message, strictly: encoding/json takes
// the last of doubled keys and ignores case, so that what one reader judges is
// not what the next one runs.
func readMessage(raw []byte) (message, *rpcError) {
	var m message
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '[' {
		return m, &rpcError{code: mcp.INVALID_REQUEST, text: "batches are not part of the protocol; send one message at a time"}
	}
	fields, err := strictObject(raw, "jsonrpc", "id", "method", "params", "result", "error")
	if err != nil {
		return m, envelopeError(err)
	}
	bad := func(format string, args ...any) (message, *rpcError) {
		return m, &rpcError{code: mcp.INVALID_REQUEST, text: fmt.Sprintf(format, args...), id: m.rawID}
	}
	if id, given := fields["id"]; given {
		if m.id, err = canonicalID(id); err != nil {
			return bad("%v", err)
		}
		m.rawID = id
	}
	if string(fields["jsonrpc"]) != `"2.0"` {
		return bad(`"jsonrpc" must be "2.0"`)
	}
	if method, given := fields["method"]; given {
		if err := json.Unmarshal(method, &m.method); err != nil || m.method == "" {
			return bad(`"method" must be a string`)
		}
	} else if fields["result"] == nil && fields["error"] == nil {
		return bad("the message has neither a method nor a result")
	}
	if params := fields["params"]; len(params) > 0 && m.method != "" {
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
	params, err := strictObject(raw, "name", "arguments", "_meta", "requestId")
	if err != nil {
		return fmt.Errorf("params: %w", err)
	}
	if meta := params["_meta"]; len(meta) > 0 && meta[0] == '{' {
		fields, err := strictObject(meta, "progressToken", mcp.MetaKeyProtocolVersion)
		if err != nil {
			return fmt.Errorf("_meta: %w", err)
		}
		_ = json.Unmarshal(fields[mcp.MetaKeyProtocolVersion], &m.protocol) // the library refuses another type
	}
	if m.method == string(mcp.MethodNotificationCancelled) {
		if m.cancels, err = canonicalID(params["requestId"]); err != nil {
			return fmt.Errorf("requestId: %w", err)
		}
	}
	return nil
}

// modern reports whether the message belongs to the era without sessions.
func (m message) modern() bool { return mcp.IsModernProtocol(m.protocol) }

// canonicalID makes ids comparable: "1" and 1 differ, 1 and 1.0 do not.
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

// keyError is a key that is doubled or differs from a known one only by case.
type keyError struct{ key string }

func (e keyError) Error() string {
	return fmt.Sprintf("key %.60q is doubled, or differs from a known key only by case", e.key)
}

func envelopeError(err error) *rpcError {
	if _, ok := err.(keyError); ok {
		return &rpcError{code: mcp.INVALID_REQUEST, text: err.Error()}
	}
	return &rpcError{code: mcp.PARSE_ERROR, text: "the message is not a JSON object: " + err.Error()}
}

// strictObject splits an object into its members. Keys that are doubled, also
// up to case, and keys that differ from a known one only by case are refused.
func strictObject(raw []byte, known ...string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("it does not start with {")
		}
		return nil, err
	}
	folded := map[string]string{}
	for _, k := range known {
		folded[strings.ToLower(k)] = k
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key := tok.(string) // the decoder gives nothing else in this place
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		low := strings.ToLower(key)
		_, doubled := fields[key]
		if want, ok := folded[low]; doubled || ok && want != key {
			return nil, keyError{key}
		}
		folded[low], fields[key] = key, value
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more after its end")
	}
	return fields, nil
}
