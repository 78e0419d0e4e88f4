package models

import (
	"context"
	"fmt"
	"math"
	"sync"

	"mcp-toolset/session"
)

// Budget limits the use of models. Zero means no limit.
type Budget struct {
	TokensPerSession int     // of all models, input and output
	Cost             float64 // of a principal in one run of the server
	CostPerDay       float64 // of a principal on a day, in all servers of the user
}

// Meter counts the tokens of sessions and the cost of principals. It is safe for concurrent use.
type Meter struct {
	budget   Budget
	days     *Days // nil: no limit
	mu       sync.Mutex
	sessions session.Owned[account]
	costs    session.Owned[account] // by principal
}

// account holds the tokens and the cost that were used, with those that running requests reserve.
type account struct {
	tokens   int
	cost     float64
	requests int // that run
}

// NewMeter returns a meter for a budget. days counts the cost per day; nil means no limit.
func NewMeter(b Budget, days *Days) *Meter {
	m := &Meter{budget: b, days: days}
	inUse := func(a *account) bool { return a.requests > 0 }
	m.sessions.InUse, m.costs.InUse = inUse, inUse
	return m
}

// reserve takes the estimated input and the largest output of a request from the budgets. If less
// is left, it lowers maxTokens. The caller must call settle with the actual usage.
func (m *Meter) reserve(ctx context.Context, o session.Owner, input int, maxTokens *int, p *Price) (settle func(Usage), err error) {
	settleHere, err := m.reserveHere(o, input, maxTokens, p)
	if err != nil || m.days == nil || p == nil {
		return settleHere, err
	}
	settleDay, err := m.days.reserve(ctx, o.Principal, input, maxTokens, p)
	if err != nil {
		settleHere(Usage{})
		return nil, err
	}
	return func(used Usage) {
		settleHere(used)
		settleDay(p.cost(used))
	}, nil
}

// reserveHere is reserve for the budgets of this server.
func (m *Meter) reserveHere(o session.Owner, input int, maxTokens *int, p *Price) (settle func(Usage), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	byPrincipal := session.Owner{Principal: o.Principal}
	s, c := m.sessions.Get(o), m.costs.Get(byPrincipal)
	if limit := m.budget.TokensPerSession; limit > 0 {
		left := limit - s.tokens - input
		if left <= 0 {
			return nil, NewError(Spent, fmt.Sprintf("the session has used %d of its %d tokens of models, with running requests, and this one needs about %d", s.tokens, limit, input),
				"Go on without the model, or ask the user to raise models.maxTokensPerSession in the settings.")
		}
		*maxTokens = min(*maxTokens, left)
	}
	if limit := m.budget.Cost; limit > 0 && p != nil {
		if !p.afford(limit-c.cost, input, maxTokens) {
			return nil, NewError(Spent, fmt.Sprintf("models have cost %.4f of at most %g since the server started, with running requests, and this one costs more than is left", c.cost, limit),
				"Go on without the model, or ask the user to raise models.maxCost in the settings.")
		}
	}
	reserved := Usage{Input: input, Output: *maxTokens}
	add := func(sign int, u Usage) {
		s.tokens += sign * u.Total()
		c.cost += float64(sign) * p.cost(u)
	}
	s.requests++
	c.requests++
	add(1, reserved)
	return func(used Usage) {
		m.mu.Lock()
		defer m.mu.Unlock()
		s.requests--
		c.requests--
		add(-1, reserved)
		add(1, used)
	}, nil
}

// afford reports whether left pays for more than the input of a request. If it does not pay for
// maxTokens of output, it lowers maxTokens.
func (p *Price) afford(left float64, input int, maxTokens *int) bool {
	if left -= p.cost(Usage{Input: input}); left <= 0 {
		return false
	}
	if p.Output > 0 {
		*maxTokens = max(1, min(*maxTokens, int(math.Min(left/p.Output*1e6, MaxMaxTokens))))
	}
	return true
}

// Forget drops the account of an ended session.
func (m *Meter) Forget(o session.Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions.Delete(o)
}
