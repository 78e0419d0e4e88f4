package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/internal/jsontext"
)

// message is what a transport must know of a JSON-RPC message before the
// library gets it.
type message struct {
	id       string // canonical; "" for a notification
	rawID    json.RawMessage
	method   string // "" for a response
	cancels  string // canonical id that notifications/cancelled names
	protocol string // protocol version in _meta, "" in the legacy era

	result json.RawMessage // of a response; nil: it is an error

	tool      string          // name in the parameters; "": none
	arguments json.RawMessage // of a call, as a part of the message; nil: it has none
	apart     json.RawMessage // those that the library does not get; nil: it gets all
}

// largeArguments are those that the library does not get, in bytes: it would make
// several copies.
const largeArguments = 256 << 10

// withoutArguments returns a message as the library is to read it, and arguments
// that it does not get; nil if it gets them.
func withoutArguments(raw []byte, m message) (rest []byte, arguments json.RawMessage) {
	if m.method != string(mcp.MethodToolsCall) || len(m.arguments) < largeArguments {
		return raw, nil
	}
	at := cap(raw) - cap(m.arguments) // they are a part of raw, up to the end of its memory
	return slices.Concat(raw[:at], []byte("{}"), raw[at+len(m.arguments):]), quoteHuge(m.arguments)
}

// rpcError is a JSON-RPC error with the id it answers.
type rpcError struct {
	code int
	text string
	id   json.RawMessage // nil: null
}

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
	if !utf8.Valid(raw) {
		return m, &rpcError{code: mcp.PARSE_ERROR, text: "the message is not valid UTF-8"}
	}
	fields, err := strictObject(raw, "jsonrpc", "id", "method", "params", "result", "error")
	bad := func(format string, args ...any) (message, *rpcError) {
		return m, &rpcError{code: mcp.INVALID_REQUEST, text: fmt.Sprintf(format, args...), id: m.rawID}
	}
	if fields == nil {
		return m, &rpcError{code: mcp.PARSE_ERROR, text: "the message is not a JSON object: " + err.Error()}
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
	params, err := strictObject(raw, "name", "arguments", "_meta", "requestId", "protocolVersion", "inputResponses", "requestState")
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
		if _, err := strictObject(v, permissionKey, formKey); err != nil {
			return fmt.Errorf("params: inputResponses: %w", err)
		}
	}
	if meta := params["_meta"]; len(meta) > 0 && string(meta) != "null" {
		if meta[0] != '{' {
			return errors.New("params: _meta must be an object")
		}
		fields, err := strictObject(meta, "progressToken", mcp.MetaKeyProtocolVersion)
		if err != nil {
			return fmt.Errorf("_meta: %w", err)
		}
		_ = json.Unmarshal(fields[mcp.MetaKeyProtocolVersion], &m.protocol) // the library refuses another type
	}
	if m.isCancel() {
		if m.cancels, err = canonicalID(params["requestId"]); err != nil {
			return fmt.Errorf("requestId: %w", err)
		}
	}
	return nil
}

// isCancel reports whether the message is a notification that cancels.
func (m message) isCancel() bool {
	return m.id == "" && m.method == string(mcp.MethodNotificationCancelled)
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

// strictObject splits an object into its members. Keys that are doubled, and
// keys that differ from another or from a known one only as encoding/json does
// not tell apart, are refused: the error is then a keyError, and the fields are
// those that nothing casts doubt on. Any other error is one of syntax.
func strictObject(raw []byte, known ...string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil {
		return nil, syntax(err)
	} else if tok != json.Delim('{') {
		return nil, errors.New("it does not start with {")
	}
	folded := map[string]string{}
	for _, k := range known {
		folded[fold(k)] = k
	}
	fields := map[string]json.RawMessage{}
	var doubt error
	add := func(key string, value json.RawMessage) {
		same := fold(key)
		want, seen := folded[same]
		if _, doubled := fields[want]; seen && (want != key || doubled) {
			doubt = keyError{key}
			delete(fields, want)
			return
		}
		folded[same], fields[key] = key, value
	}
	if list, ok := jsontext.Members(raw); ok {
		for _, m := range list {
			add(m.Key, raw[m.From:m.To])
		}
		return fields, doubt
	}
	// The text is not valid: the decoder finds the error.
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, syntax(err)
		}
		key := tok.(string) // the decoder gives nothing else in this place
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, syntax(err)
		}
		add(key, value)
	}
	if _, err := dec.Token(); err != nil {
		return nil, syntax(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is more after its end")
	}
	return fields, doubt
}

func syntax(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	return err
}

// fold maps keys that encoding/json takes for the same onto one: it ignores
// case as Unicode's simple folding does, so that "paramſ" is "params".
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, key)
}

// quoteHuge puts quotes around numbers that no float64 holds. The library
// would refuse the whole message for one, in words about Go types that a model
// may never see; quoted, it is refused as the argument it is.
func quoteHuge(raw []byte) []byte {
	var out []byte
	from := 0 // what is not yet in out
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
