package server

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/pipeline"
)

// maxQuestions is the maximum number of questions of a call. Further questions
// are cancelled: otherwise a call that asks something new each time would never
// end.
const maxQuestions = 10

// answered maps the digests of a call's questions to the client's answers.
type answered map[[sha256.Size]byte]json.RawMessage

// rounder asks by ending the call; the client sends it again with the answer.
// The call then runs from its start and asks the same questions. Those that
// were answered return their answers.
type rounder struct {
	rounds  *rounds
	binding binding
	unseen  func(result json.RawMessage, after time.Duration) bool

	state any // InputRequired.State of the pipeline
	used  int // number of questions that the call has ended with so far

	byClient [sha256.Size]byte // digest of a question that the client answered for the user

	mu      sync.Mutex
	answers answered
	times   map[[sha256.Size]byte]int // how often each question was asked in this run
}

// resume restores the state of a question and stores its answer. Without a
// state, it starts anew.
func (r *rounder) resume(state string, responses mcp.InputResponses) error {
	r.answers, r.times = answered{}, map[[sha256.Size]byte]int{}
	if state == "" {
		return nil
	}
	n, err := r.rounds.take(r.binding, state)
	if err != nil || n == nil {
		return err
	}
	r.state, r.used, r.answers = n.state, n.used, n.answers
	if response, given := responses[n.key]; given {
		answer, _ := response.MarshalJSON() // the bytes as they arrived
		if r.unseen(answer, time.Since(n.asked)) {
			r.byClient = n.question
		}
		r.answers[n.question] = answer
	}
	return nil
}

// ask returns the stored answer to this question. If the call asks the same
// question several times, each has its own answer. Without an answer, put
// returns an InputRequired, and the call must end.
func (r *rounder) ask(ctx context.Context, q question) (result json.RawMessage, how string, err error) {
	if ctx.Err() != nil {
		return nil, pipeline.NoAnswer, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[q.digest]++
	q.digest = digest(q.digest[:], binary.BigEndian.AppendUint64(nil, uint64(r.times[q.digest])))
	if result, answered := r.answers[q.digest]; answered {
		if q.digest == r.byClient {
			how = pipeline.Unseen
		}
		return result, how, nil
	}
	if r.used >= maxQuestions {
		return nil, pipeline.Cancelled, nil
	}
	return nil, pipeline.NoAnswer, &pipeline.InputRequired{Question: q}
}

// end returns the result of a call that ends with a question. Earlier answers
// are stored and will be available with the next one.
func (r *rounder) end(e *pipeline.InputRequired) *mcp.CallToolResult {
	q, _ := e.Question.(question)
	r.mu.Lock()
	n := &round{question: q.digest, key: q.key, state: e.State, used: r.used + 1, answers: maps.Clone(r.answers), size: e.Size}
	r.mu.Unlock()
	for _, a := range n.answers {
		n.size += len(a)
	}
	state := r.rounds.add(r.binding, n)
	return mcpserver.NewInputRequestBuilder(state).Elicit(q.key, q.form).ToolResult()
}
