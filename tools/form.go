package tools

import "encoding/json"

// Form is a question of an upstream server to the client's user.
type Form struct {
	Server  string
	Tool    string // tool whose call asks; set by the pipeline
	Message string
	Schema  json.RawMessage // schema of the reply, as the server sent it
}

// FormReply is the user's reply to a Form. Action is accept, decline or cancel.
type FormReply struct {
	Action  string
	Content json.RawMessage // only with accept; nil: none
}
