// Many tools of other servers behind ours: how long the list of tools takes, and
// a search in them.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	poolServers = 12
	poolTools   = 50 // of each server
	poolRounds  = 200
	poolTime    = 3 * time.Minute

	listTarget   = 5 // ms, to the whole answer of tools/list
	searchTarget = 1 // ms, from a query to the whole answer
)

// poolQueries are what is searched for: plain words, other forms and a typo.
var poolQueries = []string{"merge invoices", "assigning calendar events", "serach the wiki page", "+many07 certificate", "read a file"}

// pool is what the list and searches took.
type pool struct {
	list, search []float64 // ms
	size         int       // bytes of the answer of tools/list
	absent       string    // why nothing was measured
}

// measurePool measures a server with many others behind it.
func measurePool(ctx context.Context, ours *side, tmp string) *pool {
	ctx, cancel := context.WithTimeout(ctx, poolTime)
	defer cancel()
	p := &pool{}
	if err := p.measure(ctx, ours, tmp); err != nil {
		p.absent = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return p
}

func (p *pool) measure(ctx context.Context, ours *side, tmp string) (err error) {
	args, err := poolArguments(ctx, tmp)
	if err != nil {
		return err
	}
	s := *ours
	s.argv = append([]string{ours.argv[0], "stdio", "--deferral", "dispatch"}, args...)
	c, _, err := s.open(ctx)
	if err != nil {
		return fmt.Errorf("starting %s: %w", ours.name, err)
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := ready(ctx, c); err != nil {
		return err
	}
	for range poolRounds {
		line, took, err := c.call("tools/list", json.RawMessage("{}"))
		if err != nil || !bytes.Contains(line, []byte(`"ToolSearch"`)) {
			return errors.Join(err, fmt.Errorf("the answer to tools/list: %.300s", line))
		}
		p.list, p.size = append(p.list, millis(took)), len(line)
		for _, q := range poolQueries {
			took, err := searchPool(c, q)
			if err != nil {
				return err
			}
			p.search = append(p.search, took)
		}
	}
	return nil
}

// poolArguments builds the other server and are what has many of it started.
func poolArguments(ctx context.Context, tmp string) ([]string, error) {
	dir, err := moduleDir(ctx)
	if err != nil {
		return nil, err
	}
	other := filepath.Join(tmp, "upstream")
	if runtime.GOOS == "windows" {
		other += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", other, "./e2e/upstream")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building: %w\n%s", err, out)
	}
	servers := map[string]any{}
	for i := range poolServers {
		servers[fmt.Sprintf("many%02d", i+1)] = map[string]any{
			"command": other, "args": []string{"-special=false", "-tools", fmt.Sprint(poolTools)}, "eager": true,
		}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return nil, err
	}
	settings, root := filepath.Join(tmp, "pool.json"), filepath.Join(tmp, "pool")
	if err := os.Mkdir(root, 0o700); err != nil {
		return nil, err
	}
	return []string{"--settings", settings, root}, os.WriteFile(settings, text, 0o600)
}

// ready waits until all servers are connected.
func ready(ctx context.Context, c *client) error {
	for i := range poolServers {
		name := fmt.Sprintf("mcp__many%02d__tool_%02d", i+1, poolTools)
		for {
			line, _, err := c.call("tools/call", searchCall("select:"+name))
			if err != nil {
				return err
			}
			if bytes.Contains(line, []byte(`properties`)) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting for %s: %w: %.300s", name, ctx.Err(), line)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	return nil
}

func searchCall(query string) json.RawMessage {
	params, err := json.Marshal(map[string]any{"name": "ToolSearch", "arguments": map[string]any{"query": query}})
	if err != nil {
		panic(err) // strings only
	}
	return params
}

func searchPool(c *client, query string) (ms float64, err error) {
	line, took, err := c.call("tools/call", searchCall(query))
	if err == nil && (bytes.Contains(line, []byte(`"isError":true`)) || !bytes.Contains(line, []byte(`properties`))) {
		err = fmt.Errorf("the search for %q: %.300s", query, line)
	}
	return millis(took), err
}

// printPool tells whether a target was missed.
func printPool(w io.Writer, p *pool) (missed bool, err error) {
	if p.absent != "" {
		_, err := fmt.Fprintf(w, "\nTOOLS OF OTHER SERVERS: not measured: %s\n", p.absent)
		return false, err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\n%d SERVERS OF %d TOOLS BEHIND OURS\tMEDIAN\tP95\tTARGET\t\n", poolServers, poolTools)
	for _, r := range []struct {
		name   string
		ms     []float64
		target float64
	}{{"tools/list", p.list, listTarget}, {"ToolSearch", p.search, searchTarget}} {
		verdict := "ok"
		if !(median(r.ms) < r.target) {
			missed, verdict = true, "MISSED"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t< %.0f ms\t%s\n", r.name, show("%.2f ms", median(r.ms)), show("%.2f ms", p95(r.ms)), r.target, verdict)
	}
	if err := tw.Flush(); err != nil {
		return missed, err
	}
	_, err = fmt.Fprintf(w, "With --deferral dispatch, %d lists of %d bytes and as many of each of %d searches, all as round trips over stdio.\n", poolRounds, p.size, len(poolQueries))
	return missed, err
}
