package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/console/feed"
)

// TestMerge checks that the logs of several servers are one list, without gaps between its parts.
func TestMerge(t *testing.T) {
	entries := func(server string, times ...int64) []feed.Logged {
		out := []feed.Logged{}
		for _, at := range times {
			out = append(out, feed.Logged{Server: server, Time: at})
		}
		return out
	}
	show := func(a feed.Audit) string {
		var b strings.Builder
		for _, e := range a.Entries {
			fmt.Fprintf(&b, "%s%d ", e.Server, e.Time)
		}
		return fmt.Sprintf("%snext %d, problem %q", b.String(), a.Next, a.Problem)
	}
	one := &feed.Audit{File: "/a", Entries: entries("a", 9, 7, 5), Next: 5, Counts: &feed.Counts{Calls: 3, ByTool: []feed.ByTool{{Tool: "Read", Calls: 3, Median: 2, P95: 9}}}}
	two := &feed.Audit{File: "/b", Entries: entries("b", 8, 6, 4, 2), Counts: &feed.Counts{Calls: 4, Denied: 1, ByTool: []feed.ByTool{{Tool: "Bash", Calls: 3}, {Tool: "Read", Calls: 1, Median: 6, P95: 6}}}}
	same := &feed.Audit{File: "/a", Entries: entries("c", 9, 7, 5), Counts: one.Counts}
	none := &feed.Audit{Entries: entries(""), Problem: "no log"}
	for _, c := range []struct {
		logs  []*feed.Audit
		limit int
		want  string
	}{
		{nil, 0, `next 0, problem ""`},
		{[]*feed.Audit{none, nil}, 0, `next 0, problem "no log"`},
		{[]*feed.Audit{one, none, two, same}, 0, `a9 b8 a7 b6 a5 next 5, problem ""`},
		{[]*feed.Audit{{Problem: "it hangs"}, two}, 0, `b8 b6 b4 b2 next 0, problem "it hangs"`},
		{[]*feed.Audit{one, two}, 2, `a9 b8 next 8, problem ""`},
		{[]*feed.Audit{two, {File: "/c", Entries: entries("c", 6, 6), Problem: "long"}}, 2, `b8 b6 c6 c6 next 6, problem "long"`},
	} {
		if got := show(merge(c.logs, c.limit)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	counts := merge([]*feed.Audit{one, two, same}, 0).Counts
	if got := fmt.Sprintf("%+v", *counts); got != "{Calls:7 Denied:1 Failed:0 ByTool:[{Tool:Read Calls:4 Denied:0 Failed:0 Median:3 P95:9} {Tool:Bash Calls:3 Denied:0 Failed:0 Median:0 P95:0}]}" {
		t.Error(got)
	}
}

// stopped is a server that does not answer.
type stopped struct{ source }

func (s *stopped) Ask(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, &feed.Error{Status: http.StatusNotFound, Fact: "the connection was closed"}
}

// TestAuditStopped checks that a server that does not answer delays a search in the logs of others
// only for a while, and is named as missing.
func TestAuditStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		began := time.Now()
		c := New(Config{Servers: func() (map[string]feed.Source, error) {
			return map[string]feed.Source{"a": &stopped{}, "b": &source{}}, nil
		}})
		defer c.Close()
		c.auditAll(w, httptest.NewRequest(http.MethodGet, "/console/api/audit", nil), json.RawMessage("{}"))
		if took := time.Since(began); took != auditWithin || !strings.Contains(w.Body.String(), "The log of a server is missing") {
			t.Errorf("%v %s", took, w.Body)
		}
	})
}
