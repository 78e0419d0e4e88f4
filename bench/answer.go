// Which request a line answers.

package main

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// The two ways the two servers begin and end an answer.
var (
	idFirst  = []byte(`{"jsonrpc":"2.0","id":`)
	idLast   = []byte(`,"jsonrpc":"2.0","id":`)
	resFirst = []byte(`{"result":`)
)

// answerID is the id of an answer; a notification or a request is none. It
// must cost little, since this process shares the machine with the server it
// measures: an id at a known place is not worth parsing a whole file for.
func answerID(line []byte) (int64, bool) {
	if rest, ok := bytes.CutPrefix(line, idFirst); ok {
		if digits, rest, ok := bytes.Cut(rest, []byte(",")); ok && bytes.HasPrefix(rest, []byte(`"result":`)) {
			if id, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
				return id, true
			}
		}
	}
	// The text cannot be inside a string, where its quotes would be escaped.
	if i := bytes.LastIndex(line, idLast); i >= 0 && bytes.HasPrefix(line, resFirst) {
		if id, err := strconv.ParseInt(string(bytes.TrimSuffix(line[i+len(idLast):], []byte("}"))), 10, 64); err == nil {
			return id, true
		}
	}
	var m struct {
		ID     *int64
		Method string
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method != "" {
		return 0, false
	}
	return *m.ID, true
}
