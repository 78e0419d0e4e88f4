// Package feed describes one running server to the console: its state, as updates for watchers,
// and answers to requests. It is used in the process of the server (Local) and from another
// process of the same user, through the server's private socket (Remote).
//
// Nothing is computed without a watcher, except that the scheduler's observer retains the last
// finished calls (Ring). A watcher gets the differences to its state, computed when it can take
// them; so a slow watcher costs no memory and delays no call.
package feed

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"mcp-toolset/internal/consent/question"
)

// Source is a server that can be watched and asked.
type Source interface {
	// Watch calls send with updates until ctx ends, the server ends, or send fails. The first
	// update is the whole state of the server. It returns the reason of its end.
	Watch(ctx context.Context, send func(Update) error) error
	// Ask answers a request. The error is an *Error if the server answered it.
	Ask(ctx context.Context, op string, params json.RawMessage) (json.RawMessage, error)
}

// Error is the answer to a request that was not done: one fact, one next step.
type Error struct {
	Status int    `json:"status"` // of HTTP
	Fact   string `json:"error"`
	Next   string `json:"next"`
}

func (e *Error) Error() string { return e.Fact + ". " + e.Next }

// Invalid returns the error for a request that is not valid.
func Invalid(fact, next string) *Error { return &Error{http.StatusBadRequest, fact, next} }

func missing(fact, next string) *Error { return &Error{http.StatusNotFound, fact, next} }

// Update is a change of a server. Fields that are nil have not changed; Calls holds only those
// calls that have changed.
type Update struct {
	Server    *Server     `json:"server,omitempty"`
	Calls     []Call      `json:"calls,omitempty"`
	Tasks     *[]Task     `json:"tasks,omitempty"`
	Approvals *[]Approval `json:"approvals,omitempty"`
	Sessions  *[]Session  `json:"sessions,omitempty"`
}

// Server is the state of a server. Its lists are never nil.
type Server struct {
	ID        string     `json:"id"`   // set by the reader of the feed
	Name      string     `json:"name"` // its roots
	Process   int        `json:"process"`
	Version   string     `json:"version"`
	Transport string     `json:"transport"` // "stdio" or "http"
	Started   int64      `json:"started"`
	Mode      string     `json:"mode"`
	Problem   string     `json:"problem"` // why it does not answer; "" if it does
	Calls     []Call     `json:"calls"`
	Tasks     []Task     `json:"tasks"`
	Approvals []Approval `json:"approvals"`
	Sessions  []Session  `json:"sessions"`
}

// Call is a call. Times are milliseconds since 1970, 0 for a stage that it has not reached.
type Call struct {
	Number     uint64 `json:"number"`
	Lane       string `json:"lane"` // the name of the client
	LaneNumber uint64 `json:"laneNumber"`
	Tool       string `json:"tool"`
	Title      string `json:"title"`
	Safe       bool   `json:"safe"`
	Stage      string `json:"stage"` // "waiting", "deciding", "settled", "running" or "done"
	Arrived    int64  `json:"arrived"`
	Turn       int64  `json:"turn"`
	Settled    int64  `json:"settled"`
	Started    int64  `json:"started"`
	Left       int64  `json:"left"`
	Waits      string `json:"waits"` // reason of the wait; "" if it does not wait
	Cancelled  bool   `json:"cancelled"`
	Shared     bool   `json:"shared"`
	Outcome    string `json:"outcome"` // of package audit; "" if it is not known
}

// Task is a background task.
type Task struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Title   string `json:"title"`
	Owner   string `json:"owner"`
	Session string `json:"session"`
	State   string `json:"state"`
	Detail  string `json:"detail"`
	Started int64  `json:"started"`
	Ended   int64  `json:"ended"`
	Bytes   int64  `json:"bytes"`
}

// Approval is a call or a question that waits for the user.
type Approval struct {
	Number    int                 `json:"number"`
	Key       string              `json:"key"` // digest of all that the answer is bound to
	Tool      string              `json:"tool"`
	Title     string              `json:"title"`
	Dir       string              `json:"dir"`
	Root      string              `json:"root"`
	Principal string              `json:"principal"`
	Client    string              `json:"client"` // with its process, as it calls itself
	Reason    string              `json:"reason"`
	Since     int64               `json:"since"`
	Ends      int64               `json:"ends"`
	Approved  bool                `json:"approved"`
	Always    string              `json:"always"` // why "always" is not offered; "" if it is
	Covers    string              `json:"covers"` // the extent of "always"
	Opens     string              `json:"opens"`  // access beyond the workspace that an approval grants
	Further   string              `json:"further"`
	Questions []question.Question `json:"questions"`
	Size      int                 `json:"size"` // of the input, in bytes
}

// Session is a session of a client or an agent.
type Session struct {
	ID     string   `json:"id"`
	Client string   `json:"client"`
	Root   string   `json:"root"`
	Roots  []string `json:"roots"`
	Dir    string   `json:"dir"`
	Mode   string   `json:"mode"`
	Calls  int      `json:"calls"`
	Files  int      `json:"files"`
	Since  int64    `json:"since"`
}

// ms returns a time in milliseconds since 1970, or 0 for the zero time.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
