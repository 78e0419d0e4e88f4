package agent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/tools"
)

const (
	// reportTime is the limit of the last report after the limit of time was reached.
	reportTime = time.Minute
	// maxCuts is the limit of answers in a row that end at a limit of tokens.
	maxCuts = 3
	// A run ends if sameSteps of its latest sameWindow steps have the same calls and results.
	sameSteps, sameWindow = 5, 10
)

var errTime = errors.New("the limit of time is reached")

// work runs the task until the model has reported or cannot go on.
func (r *Run) work() ending {
	if r.a.kind.Program != nil {
		return r.program()
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, r.a.r.Limits.Time, errTime)
	defer cancel()
	r.say(r.prompt)
	for cuts := 0; ; {
		if why := r.limit(); why != "" {
			return r.last(why)
		}
		r.takeEvents()
		resp, err := r.complete(ctx, "")
		switch {
		case r.ctx.Err() != nil:
			return r.halted()
		case ctx.Err() != nil:
			return r.last(fmt.Sprint(r.a.r.Limits.Time))
		case err != nil:
			return ending{task.Failed, "failed: " + oneLine(err)}
		}
		switch resp.Stop {
		case models.StopTools:
			cuts = 0
			looping := r.calls(ctx, resp)
			if r.ctx.Err() != nil {
				return r.halted()
			}
			if looping {
				return r.last(fmt.Sprintf("%d steps with the same calls and results", sameSteps))
			}
		case models.StopLength:
			if cuts++; cuts == maxCuts {
				return ending{task.Failed, fmt.Sprintf("failed: %d answers of the model in a row were cut at its limit of tokens", cuts)}
			}
			r.say("Your answer was cut at the limit of tokens, and no call in it was made. Go on from there in shorter answers.")
		case models.StopRefusal:
			return ending{task.Failed, "failed: the model refuses to go on"}
		default:
			if !r.a.r.Events.Pending(r.a.owner) {
				return ending{task.Completed, "completed"}
			}
			r.quote(resp.Text())
		}
	}
}

// halted returns the end of a run whose context has ended.
func (r *Run) halted() ending {
	return ending{task.Stopped, plain.Line(context.Cause(r.ctx).Error())}
}

// last asks for one last report at a limit, without tools.
func (r *Run) last(limit string) ending {
	r.script.add("limit", map[string]any{"limit": limit})
	r.step("limit reached: " + limit)
	ctx, cancel := context.WithTimeoutCause(r.ctx, reportTime, errTime)
	defer cancel()
	end := ending{task.Completed, "ended at the limit of " + limit}
	if ctx.Err() == nil {
		if _, err := r.complete(ctx, "You have reached the limit of "+limit+", and can make no more calls. Report now what you have found and done, and what is left."); err != nil {
			end.detail += "; its last report failed: " + oneLine(err)
		}
	}
	if r.ctx.Err() != nil {
		return r.halted()
	}
	return end
}

func oneLine(err error) string {
	return strings.TrimSuffix(plain.Line(strings.ReplaceAll(err.Error(), "\n", " ")), ".")
}

// say adds a text to the next message for the model.
func (r *Run) say(text string) { r.add(models.Block{Text: text}) }

func (r *Run) add(blocks ...models.Block) {
	if n := len(r.a.messages); n > 0 && !r.a.messages[n-1].Assistant {
		r.a.messages[n-1].Blocks = append(r.a.messages[n-1].Blocks, blocks...)
		return
	}
	r.a.messages = append(r.a.messages, models.Message{Blocks: blocks})
}

// takeEvents adds the events and messages of its session to the next message for the model.
func (r *Run) takeEvents() {
	if text := r.events(); text != "" {
		r.say(text)
	}
}

// events returns the events and messages since its last call, or "".
func (r *Run) events() string {
	return r.eventText(r.a.r.Events.Take(r.a.owner))
}

// eventText returns events for the model or the program, and adds them to the transcript.
func (r *Run) eventText(events []event.Event, dropped int) string {
	if len(events) == 0 {
		return ""
	}
	text := event.Text(events, dropped)
	r.script.add("events", map[string]any{"text": text})
	return text
}

// complete makes a step: a request to the model with the conversation so far. It adds the answer.
// Without an error, the answer is complete. closing asks for the last report, without calls; "" if
// it is not the last step.
func (r *Run) complete(ctx context.Context, closing string) (*models.Response, error) {
	r.fit(ctx)
	noUse := closing != ""
	for shorter := 0; ; shorter++ {
		if last := r.a.messages[len(r.a.messages)-1]; noUse && (last.Assistant || last.Blocks[len(last.Blocks)-1].Text != closing) {
			r.say(closing) // fit may have put a summary in its place
		}
		r.step(fmt.Sprintf("step %d: waits for the model", r.Used().Steps+1))
		resp, err := r.a.model.Complete(ctx, r.request(r.a.messages, noUse))
		if resp != nil {
			r.answered(resp, noUse)
		}
		var e *models.Error
		if errors.As(err, &e) && e.Kind == models.TooLong && shorter < 2 && resp == nil {
			r.a.window = min(r.a.window, weight(r.a.messages)) * 3 / 5
			if r.fit(ctx) {
				continue
			}
		}
		if err != nil {
			r.script.add("error", map[string]any{"error": err.Error()})
		}
		return resp, err
	}
}

func (r *Run) request(messages []models.Message, noUse bool) models.Request {
	return models.Request{Owner: r.a.root, System: r.a.system, Tools: r.a.tools, Messages: messages, Cache: true, NoUse: noUse}
}

// answered records an answer of the model, which may be a part.
func (r *Run) answered(resp *models.Response, noUse bool) {
	r.charge(resp)
	text := strings.TrimSpace(resp.Text())
	if text != "" {
		r.mu.Lock()
		r.report = text
		r.mu.Unlock()
	}
	if resp.Stop != models.StopEnd { // else it may be the report, which follows
		r.quote(text)
	}
	blocks := resp.Blocks
	if noUse || resp.Stop != models.StopTools { // the uses get no results
		blocks = slices.DeleteFunc(slices.Clone(blocks), func(b models.Block) bool { return b.Use != nil })
	}
	if !slices.ContainsFunc(blocks, func(b models.Block) bool { return b.Use != nil || strings.TrimSpace(b.Text) != "" }) {
		blocks = []models.Block{{Text: "(nothing)"}}
	}
	r.a.messages = append(r.a.messages, models.Message{Assistant: true, Blocks: blocks})
	r.script.add("answer", map[string]any{"step": r.Used().Steps, "model": resp.Model, "text": text, "stop": resp.Stop, "usage": resp.Usage, "cost": resp.Cost})
}

// calls makes the calls of an answer as one batch, and adds their results. It reports whether the
// run makes the same calls again and again.
func (r *Run) calls(ctx context.Context, resp *models.Response) (looping bool) {
	var uses []*models.Use
	var names []string
	for _, b := range resp.Blocks {
		if b.Use != nil {
			uses = append(uses, b.Use)
			names = append(names, plain.Key(b.Use.Name))
		}
	}
	r.step(fmt.Sprintf("step %d: %s", r.Used().Steps, strings.Join(names, ", ")))
	results := make([]models.Result, len(uses))
	var batch sync.WaitGroup
	for i, u := range uses {
		results[i] = models.Result{ID: u.ID, Failed: true}
		r.script.add("call", map[string]any{"id": u.ID, "tool": u.Name, "input": u.Input, "malformed": u.Malformed})
		switch {
		case u.Malformed != "":
			results[i].Blocks = []models.Block{{Text: plain.Key(u.Name) + ": invalid input: " + u.Malformed + ". Send the call again."}}
			continue
		case !r.count():
			results[i].Blocks = []models.Block{{Text: plain.Key(u.Name) + ": not run: the limit of calls is reached."}}
			continue
		}
		run := r.a.session.Arrive(u.Name, u.Input, r.ask()) // in order
		batch.Go(func() {
			answer := run(ctx)
			results[i].Failed, results[i].Blocks = answer.Failed, blocksOf(answer)
		})
	}
	batch.Wait()
	hash := sha256.New()
	blocks := make([]models.Block, 0, len(results))
	for i, result := range results {
		blocks = append(blocks, models.Block{Result: &results[i]})
		text := textOf(result.Blocks)
		r.script.add("result", map[string]any{"id": result.ID, "failed": result.Failed, "text": text})
		fmt.Fprintf(hash, "%q %q %q\n", uses[i].Name, uses[i].Input, text)
	}
	r.add(blocks...)
	return r.loops([32]byte(hash.Sum(nil)))
}

// count counts a call. It returns false at the limit.
func (r *Run) count() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used.Calls >= r.a.r.Limits.Calls {
		return false
	}
	r.used.Calls++
	return true
}

// loops records the hash of a step and reports whether too many of the latest are the same.
func (r *Run) loops(step [32]byte) bool {
	r.recent = append(r.recent, step)
	r.recent = r.recent[max(0, len(r.recent)-sameWindow):]
	n := 0
	for _, h := range r.recent {
		if h == step {
			n++
		}
	}
	return n >= sameSteps
}

// imageTypes are the types of pictures that models take.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// blocksOf returns an answer in the form for the model.
func blocksOf(resp *tools.Response) (out []models.Block) {
	text := func(s string) {
		if strings.TrimSpace(s) != "" {
			out = append(out, models.Block{Text: s})
		}
	}
	for _, c := range resp.Content {
		switch c := c.(type) {
		case tools.Text:
			text(c.Text)
		case tools.Image:
			if slices.Contains(imageTypes, c.MIMEType) {
				out = append(out, models.Block{Image: &models.Image{MIMEType: c.MIMEType, Data: c.Data}})
			} else {
				text("[a picture of the type " + plain.Key(c.MIMEType) + ", which you cannot see]")
			}
		case tools.Audio:
			text("[sound, which you cannot hear]")
		case tools.ResourceLink:
			text(fmt.Sprintf("[the resource %s: %s]", plain.Line(c.URI), plain.Line(c.Name)))
		case tools.Resource:
			if c.Blob != nil {
				text("[the resource " + plain.Line(c.URI) + ", which is no text]")
			} else {
				text(c.Text)
			}
		}
	}
	if len(out) == 0 {
		text("(no output)")
	}
	return out
}

func textOf(blocks []models.Block) string {
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(block.Text)
		if block.Image != nil {
			b.WriteString("[picture]")
		}
	}
	return b.String()
}

// raw returns a value as JSON.
func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		data, _ = json.Marshal(fmt.Sprint(err))
	}
	return data
}
