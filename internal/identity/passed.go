package identity

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
)

// passed is the header by which a front passes the principal of a request to the process of a
// workspace. Only a front reaches that process, and it removes the header of clients.
const passed = "Mcp-Toolset-Principal"

// Pass sets the header with the principal, in place of any that a client sent.
func (p Principal) Pass(h http.Header) {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	h.Set(passed, base64.RawStdEncoding.EncodeToString(data))
}

// Passed returns the principal that a front has passed with a request. It returns false if there is
// none.
func Passed(r *http.Request) (p Principal, ok bool) {
	given := r.Header.Values(passed)
	if len(given) != 1 {
		return p, false
	}
	data, err := base64.RawStdEncoding.DecodeString(given[0])
	return p, err == nil && json.Unmarshal(data, &p) == nil
}
