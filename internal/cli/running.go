package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/console/feed"
	"mcp-toolset/internal/consent/socket"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
)

// askRunning is the timeout for a running server to describe its settings.
const askRunning = 3 * time.Second

// runningServers asks the running servers of the user for the settings that hold in them. It
// returns their number, and a sentence about each that holds others than its files have now. found
// has the files of the present command; it may be nil. Servers that do not answer are left out.
// If a server has started this process, it returns none, since no server answers it.
func runningServers(ctx context.Context, host *Host, found *settings.Found) (n int, others []string) {
	folder, err := approvalsFolder(host)
	if err != nil || socket.CheckSelf() != nil {
		return 0, nil
	}
	folders, _ := socket.Servers(folder) // without a folder there are none
	ctx, cancel := context.WithTimeout(ctx, askRunning)
	defer cancel()
	texts, answered := make([]string, len(folders)), make([]bool, len(folders))
	var all sync.WaitGroup
	for i, folder := range folders {
		all.Go(func() { texts[i], answered[i] = heldBy(ctx, feed.Remote{Folder: folder}, found) })
	}
	all.Wait()
	for i, ok := range answered {
		if ok {
			n++
		}
		if texts[i] != "" {
			others = append(others, texts[i])
		}
	}
	slices.Sort(others)
	return n, others
}

// running is a feed.Remote.
type running interface {
	Ask(ctx context.Context, what string, input json.RawMessage) (json.RawMessage, error)
	Watch(ctx context.Context, update func(feed.Update) error) error
}

// heldBy returns a sentence about a server that holds other settings than its files have, or "". ok
// reports whether it answered.
func heldBy(ctx context.Context, r running, found *settings.Found) (text string, ok bool) {
	raw, err := r.Ask(ctx, "settings", json.RawMessage("{}"))
	if e, older := errors.AsType[*feed.Error](err); older && e.Status == http.StatusNotFound {
		return olderServer(ctx, r)
	}
	var s feed.Settings
	if err != nil || json.Unmarshal(raw, &s) != nil || s.Process == os.Getpid() {
		return "", false
	}
	since := time.UnixMilli(s.Since).Local().Format(timeForm)
	name := fmt.Sprintf("the server with process id %d for %s", s.Process, plain.Text(s.Name))
	switch {
	case s.Problem != "":
		return fmt.Sprintf("%s still holds the rules of %s, since its settings cannot be used now: %s", name, since, plain.Line(s.Problem)), true
	case len(s.NeedStart) > 0:
		return fmt.Sprintf("%s holds other values of %s until a new start", name, plain.Line(strings.Join(s.NeedStart, ", "))), true
	case found != nil && slices.Equal(s.Places, found.Places()) && s.Digest != found.Digest():
		return fmt.Sprintf("%s holds other rules, since %s; it sees other files", name, since), true
	}
	return "", true
}

// olderServer returns a sentence about a server of a version that does not describe its settings.
func olderServer(ctx context.Context, r running) (text string, ok bool) {
	seen := errors.New("seen")
	_ = r.Watch(ctx, func(u feed.Update) error {
		if u.Server == nil {
			return nil
		}
		text = fmt.Sprintf("the server with process id %d for %s is of another version and may hold the rules of its start, %s; start it again",
			u.Server.Process, plain.Text(u.Server.Name), time.UnixMilli(u.Server.Started).Local().Format(timeForm))
		return seen
	})
	return text, text != ""
}
