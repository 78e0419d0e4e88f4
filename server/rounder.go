package server

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/pipeline"
)

// maxQuestions is how many questions a call may end with. Any more are
// cancelled: a call that asks something else each time would never be done.
const maxQuestions = 10

// answered is what the client said to questions of one call, by their digests
// in it.
type answered map[[sha256.Size]byte]json.RawMessage

// rounder asks by ending the call and having it sent again. The call then runs
// from its start and puts the same questions, and those that were answered have
// their answers.
type rounder struct {
	rounds  *rounds
	binding binding

	kept any // by the pipeline
	used int // questions that the call has ended with so far

	mu      sync.Mutex
	answers answered
	times   map[[sha256.Size]byte]int // how often each question was put in this run
}

// resume goes on from the question that a state stands for, if there is one,
// with the answer to that.
func (r *rounder) resume(state string, responses mcp.InputResponses) error {
	r.answers, r.times = answered{}, map[[sha256.Size]byte]int{}
	if state == "" {
		return nil
	}
	n, err := r.rounds.take(r.binding, state)
	if err != nil || n == nil {
		return err
	}
	r.kept, r.used, r.answers = n.kept, n.used, n.answers
	if response, given := responses[n.key]; given {
		r.answers[n.question], _ = response.MarshalJSON() // the bytes that came
	}
	return nil
}

// put returns the answer to a question if there is one: to this very question,
// and as many of the same were put before it. Else the call has to end with it.
func (r *rounder) put(ctx context.Context, q question) (result json.RawMessage, how string, err error) {
	if ctx.Err() != nil {
		return nil, pipeline.NoAnswer, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[q.digest]++
	q.digest = digest(q.digest[:], binary.BigEndian.AppendUint64(nil, uint64(r.times[q.digest])))
	if result, answered := r.answers[q.digest]; answered {
		return result, "", nil
	}
	if r.used >= maxQuestions {
		return nil, pipeline.Cancelled, nil
	}
	return nil, pipeline.NoAnswer, &pipeline.InputRequired{Question: q}
}

// end is the result of a call that ends with a question. What was answered
// before is there again with the answer to it.
func (r *rounder) end(e *pipeline.InputRequired) *mcp.CallToolResult {
	q, _ := e.Question.(question)
	r.mu.Lock()
	n := &round{question: q.digest, key: q.key, kept: e.Kept, used: r.used + 1, answers: maps.Clone(r.answers), size: e.Size}
	r.mu.Unlock()
	for _, a := range n.answers {
		n.size += len(a)
	}
	state := r.rounds.put(r.binding, n)
	return mcpserver.NewInputRequestBuilder(state).Elicit(q.key, q.form).ToolResult()
}
