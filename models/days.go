package models

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/durable"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

const (
	// maxCostFile is the limit of the file, in bytes: more than 100,000 principals a day.
	maxCostFile = 16 << 20
	// settleTime is the timeout for storing the cost of an answer. After it the reservation counts.
	settleTime = 10 * time.Second
)

// Days limits the cost of a principal on one day of local time, over all servers of a user. It is
// safe for concurrent use.
type Days struct {
	limit float64
	file  durable.File[costs]
	now   func() time.Time
}

// costs is the content of the file: the cost of principals on a day, with reservations.
type costs struct {
	Version int                `json:"version"`
	Day     string             `json:"day"`
	Costs   map[string]float64 `json:"costs"` // by principal, in the currency of the prices
}

// NewDays returns a limit whose counts are in a file of the state folder.
func NewDays(limit float64, stateFolder string, locks *filelock.Locks, now func() time.Time) *Days {
	return &Days{limit, durable.File[costs]{
		Path: filepath.Join(stateFolder, "costs.json"), Locks: locks, Name: "costs", Max: maxCostFile,
		Empty: costs{Version: durable.Version}, Check: func(costs) error { return nil },
	}, now}
}

// reserve takes the estimated input and the largest output of a request from the rest of the limit
// of today. If less is left, it lowers maxTokens. The caller must call settle with the actual cost; until
// then, and if the server is killed, the reservation counts.
func (d *Days) reserve(ctx context.Context, principal string, input int, maxTokens *int, p *Price) (settle func(cost float64), err error) {
	var day string
	var reserved float64
	err = d.file.Update(ctx, func(c *costs) error {
		if day = d.now().Format(time.DateOnly); c.Day != day || c.Costs == nil {
			c.Day, c.Costs = day, map[string]float64{}
		}
		if !p.afford(d.limit-c.Costs[principal], input, maxTokens) {
			return NewError(Spent, fmt.Sprintf("models have cost %.4f of at most %g today, with running requests, and this one costs more than is left", c.Costs[principal], d.limit),
				"Go on without the model, or ask the user to raise models.maxCostPerDay in the settings.")
		}
		reserved = p.cost(Usage{Input: input, Output: *maxTokens})
		c.Costs[principal] += reserved
		return nil
	})
	if _, ok := errors.AsType[*Error](err); ok || err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		if f, ok := errors.AsType[*fault.Fault](err); ok {
			err = errors.New(f.Fact)
		}
		return nil, NewError(Failed, "the cost of models per day was not counted: "+plain.Line(err.Error()), "Go on without the model, or ask the user to look at "+plain.Line(d.file.Path)+".")
	}
	return func(cost float64) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		_ = d.file.Update(ctx, func(c *costs) error { // after an error, the reservation counts
			if c.Day == day {
				c.Costs[principal] = max(0, c.Costs[principal]+cost-reserved)
			}
			return nil
		})
	}, nil
}
