package tools

import "encoding/json"

// Form is a question to the client's user, of an upstream server or of a tool.
type Form struct {
	Server  string // upstream server; "": a tool of this server asks, with a text that is safe to show
	Tool    string // tool whose call asks; set by the pipeline
	Message string
	Schema  json.RawMessage // schema of the reply, as the server sent it
}

// FormReply is the user's reply to a Form. Action is accept, decline or cancel.
type FormReply struct {
	Action  string
	Content json.RawMessage // only with accept; nil: none
	Unseen  bool            // with cancel: the client answered for the user
}
