package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"mcp-toolset/console/feed"
	"mcp-toolset/internal/text/plain"
)

const (
	// maxMerged is the limit and the default of the entries of several logs.
	maxMerged = 500
	// auditWithin is the timeout for the answer of one server of several.
	auditWithin = 10 * time.Second
)

// auditAll answers a search in the audit logs of all servers. A log that several servers share
// counts once. Medians of calls in several logs are averages, and percentiles the largest.
func (c *Console) auditAll(w http.ResponseWriter, r *http.Request, params json.RawMessage) {
	sources, err := c.Servers()
	if err != nil {
		c.fail(w, r, &feed.Error{Status: http.StatusInternalServerError, Fact: plain.Line(err.Error()), Next: "Try again."})
		return
	}
	var q struct{ Limit int }
	if err := json.Unmarshal(params, &q); err != nil {
		c.fail(w, r, feed.Invalid("the limit is no number", "Reload the page."))
		return
	}
	ids := slices.Sorted(maps.Keys(sources))
	logs := make([]*feed.Audit, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { logs[i] = auditOf(r.Context(), sources[id], id, params) })
	}
	all.Wait()
	writeJSON(w, http.StatusOK, merge(logs, q.Limit))
}

// auditOf returns the answer of one server, or nil if it has ended. An answer without Entries is
// only the problem of a log that could not be read.
func auditOf(ctx context.Context, source feed.Source, id string, params json.RawMessage) *feed.Audit {
	ctx, cancel := context.WithTimeout(ctx, auditWithin)
	defer cancel()
	a := &feed.Audit{}
	data, err := source.Ask(ctx, "audit", params)
	if err == nil {
		err = json.Unmarshal(data, a)
	}
	var refused *feed.Error
	switch {
	case err != nil && ctx.Err() != nil:
		return &feed.Audit{Problem: "The log of a server is missing: the server does not answer. It may be stopped or busy; search again later."}
	case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
		return nil // it has ended
	case err != nil:
		return &feed.Audit{Problem: plain.Line(err.Error())}
	}
	for i := range a.Entries {
		a.Entries[i].Server = id
	}
	return a
}

// merge returns the logs as one, with the first of their problems.
func merge(logs []*feed.Audit, limit int) feed.Audit {
	if limit <= 0 || limit > maxMerged {
		limit = maxMerged
	}
	out := feed.Audit{Entries: []feed.Logged{}}
	files, none := map[string]bool{}, ""
	for _, a := range logs {
		switch {
		case a == nil || a.File != "" && files[a.File]:
			continue
		case a.File == "" && a.Entries != nil && len(a.Entries) == 0: // it has no log
			none = cmp.Or(none, a.Problem)
			continue
		}
		files[a.File] = true
		out.Entries = append(out.Entries, a.Entries...)
		out.Next = max(out.Next, a.Next)
		out.File = cmp.Or(out.File, a.File)
		out.Problem = cmp.Or(out.Problem, a.Problem)
		if a.Counts != nil {
			if out.Counts == nil {
				out.Counts = &feed.Counts{ByTool: []feed.ByTool{}}
			}
			out.Counts.Add(a.Counts)
		}
	}
	if len(files) == 0 {
		out.Problem = none
	}
	slices.SortStableFunc(out.Entries, func(a, b feed.Logged) int { return cmp.Compare(b.Time, a.Time) })
	// Beyond the next of a log, its entries are not known yet.
	end := slices.IndexFunc(out.Entries, func(e feed.Logged) bool { return e.Time < out.Next })
	if end < 0 {
		end = len(out.Entries)
	}
	if end > limit { // entries of the same time are not divided
		for last := out.Entries[limit-1].Time; limit < end && out.Entries[limit].Time == last; limit++ {
		}
		if limit < end {
			end, out.Next = limit, out.Entries[limit-1].Time
		}
	}
	out.Entries = out.Entries[:end]
	return out
}
