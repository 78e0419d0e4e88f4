package assembly

import (
	"context"

	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/models/engine"
	"mcp-toolset/session"
	"mcp-toolset/web/endpoint"
)

// languageModels holds the models of the settings. All fields are nil without any.
type languageModels struct {
	large, small models.Model
	meter        *models.Meter
}

// startModels makes the models of the settings. It reaches none of them.
func (p *Plan) startModels() (m languageModels) {
	c := p.Settings.Models()
	if c == nil {
		return m
	}
	m.meter = models.NewMeter(c.Budget)
	make := func(e models.Endpoint) models.Model {
		g := engine.New(e, engine.Options{Getenv: p.options.Getenv, Environ: hookEnvironment(p.options.Environ())})
		p.Closers = append(p.Closers, g)
		return models.New(e, g, m.meter, p.Log)
	}
	m.large = make(*c.Default)
	if m.small = m.large; c.Small != nil {
		m.small = make(*c.Small)
	}
	return m
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
		return complete(ctx, to, models.Request{
			Owner: q.Owner, System: q.System, MaxTokens: classifier.MaxTokens,
			Messages: []models.Message{{Blocks: []models.Block{{Text: q.Text}}}},
		})
	}
}

// complete returns the text of a complete answer.
func complete(ctx context.Context, m models.Model, r models.Request) (string, error) {
	resp, err := m.Complete(ctx, r)
	switch {
	case err != nil:
		return "", err
	case resp.Stop != models.StopEnd:
		return "", models.NewError(models.Failed, "the model "+plain.Line(resp.Model)+" gave no complete answer ("+string(resp.Stop)+")", "")
	}
	return resp.Text(), nil
}

// modelKeys returns the places of the keys of the models.
func (p *Plan) modelKeys() (keys []endpoint.Key) {
	if c := p.Settings.Models(); c != nil {
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
