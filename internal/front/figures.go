package front

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// figures count what a front does.
type figures struct {
	mu             sync.Mutex
	starts, crash  int
	refusals, sent map[string]int
}

func (f *figures) started() { f.mu.Lock(); f.starts++; f.mu.Unlock() }
func (f *figures) crashed() { f.mu.Lock(); f.crash++; f.mu.Unlock() }

func (f *figures) refused(reason string) { f.add(&f.refusals, reason) }
func (f *figures) passed(name string)    { f.add(&f.sent, name) }

func (f *figures) add(to *map[string]int, key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *to == nil {
		*to = map[string]int{}
	}
	(*to)[key]++
}

// Metrics serves the figures in the text format of Prometheus.
func (f *Front) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		running := len(f.Running())
		g := &f.figures
		g.mu.Lock()
		defer g.mu.Unlock()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprintf(w, "# TYPE mcp_toolset_workspaces gauge\nmcp_toolset_workspaces %d\n", running)
		fmt.Fprintf(w, "# TYPE mcp_toolset_workspace_starts_total counter\nmcp_toolset_workspace_starts_total %d\n", g.starts)
		fmt.Fprintf(w, "# TYPE mcp_toolset_workspace_crashes_total counter\nmcp_toolset_workspace_crashes_total %d\n", g.crash)
		list := func(name, label string, of map[string]int) {
			fmt.Fprintf(w, "# TYPE %s counter\n", name)
			for _, key := range slices.Sorted(maps.Keys(of)) {
				fmt.Fprintf(w, "%s{%s=%q} %d\n", name, label, key, of[key])
			}
		}
		list("mcp_toolset_workspace_requests_total", "workspace", g.sent)
		list("mcp_toolset_workspace_refusals_total", "reason", g.refusals)
	})
}
