package assembly

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/models/engine"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/web/endpoint"
)

// languageModels holds the models of the settings. All fields are nil without any.
type languageModels struct {
	large, small models.Model // each a *replaceable
	meter        *models.Meter
	engines      *engines
}

// replaceable is a model that the settings can replace between two requests.
type replaceable struct{ now atomic.Pointer[models.Model] }

// Complete implements models.Model.
func (r *replaceable) Complete(ctx context.Context, q models.Request) (*models.Response, error) {
	return (*r.now.Load()).Complete(ctx, q)
}

// engines closes the engines of all models that there have been: a request may still use one that
// was replaced.
type engines struct {
	mu  sync.Mutex
	all []io.Closer
}

func (e *engines) add(c io.Closer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, c)
}

// Close implements io.Closer.
func (e *engines) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, c := range e.all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// startModels makes the models of the settings. It reaches none of them.
func (p *Plan) startModels(locks *filelock.Locks) (m languageModels) {
	c := p.Settings.Models()
	if c == nil {
		return m
	}
	var days *models.Days
	if limit := c.Budget.CostPerDay; limit > 0 {
		days = models.NewDays(limit, p.State, locks, time.Now)
	}
	m.meter, m.engines = models.NewMeter(c.Budget, days), new(engines)
	m.large, m.small = new(replaceable), new(replaceable)
	p.Closers = append(p.Closers, m.engines)
	p.setModels(m, c)
	return m
}

// setModels makes m ask the models of c.
func (p *Plan) setModels(m languageModels, c *models.Config) {
	set := func(to models.Model, e models.Endpoint) models.Model {
		g := engine.New(e, engine.Options{Getenv: p.options.Getenv, Environ: hookEnvironment(p.options.Environ())})
		m.engines.add(g)
		made := models.New(e, g, m.meter, p.Log)
		to.(*replaceable).now.Store(&made)
		return made
	}
	small := set(m.large, *c.Default)
	if c.Small != nil {
		set(m.small, *c.Small)
		return
	}
	m.small.(*replaceable).now.Store(&small)
}

// followModels makes m ask the models of next, if they have changed from was and need no new start.
func (p *Plan) followModels(m languageModels, was, next *settings.Settings) {
	if m.meter != nil && p.Settings.FollowsModels(next) && !reflect.DeepEqual(was.Models(), next.Models()) {
		p.setModels(m, next.Models())
	}
}

// forget drops what is stored about an ended session.
func (m languageModels) forget(o session.Owner) {
	if m.meter != nil {
		m.meter.Forget(o)
	}
}

// judge returns a function that asks a model for an opinion on a call, or nil without models.
func (m languageModels) judge() func(context.Context, string, classifier.Prompt) (string, error) {
	if m.large == nil {
		return nil
	}
	return func(ctx context.Context, name string, q classifier.Prompt) (string, error) {
		to := m.large
		if name == "small" {
			to = m.small
		}
		text, _, err := complete(ctx, to, models.Request{
			Owner: q.Owner, System: q.System, MaxTokens: classifier.MaxTokens,
			Messages: []models.Message{{Blocks: []models.Block{{Text: q.Text}}}},
		})
		return text, err
	}
}

// summarySystem is the system text for summaries.
const summarySystem = "You summarize the result of a tool for the coding agent that called it and that can read the whole result later. Say what it is, what is unusual, and everything that reports an error or a failure, " +
	"with exact names, numbers, paths and line numbers. Keep notes of the tool in square brackets that name files. At most 30 lines. " + models.DataRule

// summaries returns which results the small model summarizes by the settings.
func (p *Plan) summaries(m languageModels) (s pipeline.Summaries) {
	c := p.Settings.Summarize()
	if c == nil {
		return s
	}
	if m.small == nil {
		p.Log.Warn("summarize has no effect, since the settings name no model")
		return s
	}
	known := ToolNames()
	for _, name := range c.Tools {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, policy.UpstreamMark) {
			p.Log.Warn("summarize names a tool that does not exist", "tool", plain.Line(name))
		}
	}
	return pipeline.Summaries{Over: c.Over, Tools: c.Tools, Ask: func(ctx context.Context, o session.Owner, tool, text string) (string, string, error) {
		return complete(ctx, m.small, models.Request{
			Owner: o, System: summarySystem, MaxTokens: summaryTokens,
			Messages: []models.Message{{Blocks: []models.Block{{Text: "The result of the tool " + tool + ":\n" + models.Data(text)}}}},
		})
	}}
}

// narrativeSystem is the system text for narratives of sessions.
const narrativeSystem = "You get the records of a session of a coding agent, which has lost the beginning of its conversation. Tell it in one paragraph of at most 120 words what was done, what came of it, and what is unfinished, with exact names and paths. Add nothing that is not in the records. " + models.DataRule

// narrator returns a function by which the small model writes a paragraph about the summary of a
// session, or nil without models.
func (m languageModels) narrator() func(context.Context, session.Owner, string) (string, string, error) {
	if m.small == nil {
		return nil
	}
	return func(ctx context.Context, o session.Owner, summary string) (string, string, error) {
		text, model, err := complete(ctx, m.small, models.Request{
			Owner: o, System: narrativeSystem, MaxTokens: narrativeTokens,
			Messages: []models.Message{{Blocks: []models.Block{{Text: "The records:\n" + models.Data(summary)}}}},
		})
		return models.Data(plain.Lines(text)), model, err
	}
}

// narrativeTokens is the limit of a narrative, in tokens. Models that think need more than its text.
const narrativeTokens = 1500

// summaryTokens is the limit of a summary, in tokens.
const summaryTokens = 1500

// complete returns the text of a complete answer, and the name of the model.
func complete(ctx context.Context, m models.Model, r models.Request) (text, model string, err error) {
	resp, err := m.Complete(ctx, r)
	if err != nil {
		return "", "", err
	}
	if text = resp.Text(); resp.Stop != models.StopEnd || strings.TrimSpace(text) == "" {
		return "", "", fmt.Errorf("the model %s gave no complete answer (%s)", plain.Line(resp.Model), resp.Stop)
	}
	return text, resp.Model, nil
}

// modelKeys returns the places of the keys of the models.
func (p *Plan) modelKeys() []endpoint.Key { return p.modelKeysOf(p.Settings) }

func (p *Plan) modelKeysOf(s *settings.Settings) (keys []endpoint.Key) {
	if c := s.Models(); c != nil {
		for _, e := range []*models.Endpoint{c.Default, c.Small} {
			if e != nil {
				keys = append(keys, engine.Key(*e, p.options.Getenv))
			}
		}
	}
	return keys
}

// ModelProblem describes why a model of the settings cannot be used, in one line, or returns "". It
// reaches no model.
func (p *Plan) ModelProblem() string {
	for _, key := range p.modelKeys() {
		if _, err := key.Read(); err != nil {
			return "the key of a model is missing: " + err.Error()
		}
	}
	return ""
}
