// The network of commands: what a namespace and the proxy add to a command, to a
// connection, and to a download.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	networkCommands  = 200
	networkRequests  = 40
	networkDownloads = 8
	networkSize      = 1_000_000_000 // bytes
	networkTime      = 5 * time.Minute
	networkMore      = 3   // target for a command, in ms
	networkShare     = 0.7 // target for the throughput through the proxy, of the direct one
)

// networks holds what commands took with the network of the machine and with one of
// their own, in this order.
type networks struct {
	commands, requests, downloads []*shellWay
	absent                        string // why nothing was measured
}

// measureNetwork runs commands in turns with both networks.
func measureNetwork(ctx context.Context, ours *side, tmp string) *networks {
	n := &networks{}
	if _, err := exec.LookPath("curl"); err != nil {
		n.absent = "curl is not installed"
		return n
	}
	ctx, cancel := context.WithTimeout(ctx, networkTime)
	defer cancel()
	if err := n.measure(ctx, ours, tmp); err != nil {
		n.absent = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return n
}

func (n *networks) measure(ctx context.Context, ours *side, tmp string) error {
	block := make([]byte, 1<<20)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/large" {
			return
		}
		for left := networkSize; left > 0; left -= len(block) {
			if _, err := w.Write(block[:min(left, len(block))]); err != nil {
				return
			}
		}
	}))
	defer site.Close()
	dir := filepath.Join(tmp, "network")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	host := strings.TrimPrefix(site.URL, "http://")
	for _, mode := range []string{"allow", "ask"} {
		settings, err := json.Marshal(map[string]any{
			"sandbox":     map[string]string{"network": mode},
			"permissions": map[string][]string{"allow": {"WebFetch(domain:" + host + ")"}},
		})
		file := filepath.Join(tmp, mode+".json")
		if err := errors.Join(err, os.WriteFile(file, settings, 0o600)); err != nil {
			return err
		}
		other := *ours
		other.argv = []string{ours.argv[0], "stdio", "--settings", file, dir}
		c, _, err := other.open(ctx)
		if err != nil {
			return fmt.Errorf("starting %s: %w", ours.name, err)
		}
		defer func() { _ = c.stop() }()
		name := map[string]string{"allow": "the network of the machine", "ask": "one of their own, and the proxy"}[mode]
		n.commands = append(n.commands, toolWay(name, c, "true; eval true", "no output"))
		n.requests = append(n.requests, toolWay(name, c, "curl -sS "+site.URL+"/ && echo done", "done"))
		n.downloads = append(n.downloads, toolWay(name, c, "curl -p -sSo /dev/null "+site.URL+"/large && echo done", "done"))
	}
	return errors.Join(turns(ctx, n.commands, networkCommands), turns(ctx, n.requests, networkRequests), turns(ctx, n.downloads, networkDownloads))
}

// printNetwork prints the medians. missed reports whether a target was missed.
func printNetwork(w io.Writer, n *networks) (missed bool, err error) {
	if n.absent != "" {
		_, err := fmt.Fprintf(w, "\nTHE NETWORK OF COMMANDS: not measured: %s\n", n.absent)
		return false, err
	}
	rows := func(title string, ways []*shellWay, note string) {
		list := make([]turnsOf, len(ways))
		for i, way := range ways {
			list[i] = turnsOf{way.name, way.ms}
		}
		err = errors.Join(err, printRows(w, title, list, note))
	}
	more := median(n.commands[1].ms) - median(n.commands[0].ms)
	share := median(n.downloads[0].ms) / median(n.downloads[1].ms)
	missed = !(more < networkMore) || !(share > networkShare)
	rows("A COMMAND THAT MAY WRITE", n.commands, fmt.Sprintf("%d commands of each, in turns; %.1f ms more, target < %d ms.", networkCommands, more, networkMore))
	rows("A COMMAND WITH ONE REQUEST", n.requests, fmt.Sprintf("%d of each, in turns.", networkRequests))
	rows(fmt.Sprintf("A DOWNLOAD OF %d MB", networkSize/1_000_000), n.downloads,
		fmt.Sprintf("%d of each, in turns; %.0f %% of the direct throughput, target > %.0f %%.", networkDownloads, 100*share, 100*networkShare))
	return missed, err
}
