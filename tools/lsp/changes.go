package lsp

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
	server "mcp-toolset/lsp"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

const (
	// diagnosticsTime is the timeout for diagnostics that a call asks for.
	diagnosticsTime = 75 * time.Second
	// lateTime is the time after which diagnostics of a change are given up.
	lateTime = time.Minute
	// maxNew is the limit of diagnostics after a change.
	maxNew = 10
	// maxMessage is the limit of the message of a diagnostic, in characters.
	maxMessage = 300
)

// Describe returns a diagnostic without its place, in one line.
func Describe(d *server.Diagnostic) string {
	message := []rune(plain.Line(strings.Join(strings.Fields(string(d.Message)), " "))) // some have several lines
	if len(message) > maxMessage {
		message = append(message[:maxMessage-1], '…')
	}
	text := d.Level() + ": " + string(message)
	label := strings.TrimSpace(plain.Line(d.Source) + " " + strings.Trim(plain.Line(string(d.Code)), `"`))
	if len(label) > 0 && len(label) < 60 && label[0] != '{' {
		text += " [" + label + "]"
	}
	return text
}

// Notifier returns the function that file tools call after a change of a file. It returns
// notes on the errors and warnings that the change caused, if a server for the file runs, or
// its row starts it. It waits for them; those that come later are events.
func Notifier(servers *server.Manager, events *event.Registry, wait time.Duration) func(context.Context, *tools.Env, file.Changed) []string {
	return func(ctx context.Context, env *tools.Env, c file.Changed) []string {
		if c.Unchanged || !servers.Watches(c.Written.Path) || len(c.Data) > maxFile || len(c.Old.Data) > maxFile || c.Old.Exists && c.Old.Data == nil {
			return nil
		}
		n := &notice{env: env, servers: servers, path: c.Written.Path, done: make(chan []string)}
		var err error
		if n.after, err = server.NewText(c.Data); err != nil {
			return nil
		}
		if c.Old.Exists {
			if n.before, err = server.NewText(c.Old.Data); err != nil {
				return nil
			}
		}
		// The content of the file is that of the change, unless somebody else wrote it since.
		if info, err := os.Lstat(n.path); err == nil && workspace.IdentityOf(info) == c.Written.Identity {
			n.seen = info
		}
		late := make(chan struct{})
		begun := servers.Background(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, lateTime)
			defer cancel()
			notes := n.compare(ctx)
			select {
			case <-late:
				if len(notes) > 0 {
					events.Add(env.Session.Owner(), event.Event{Source: "diagnostics", Data: true, Text: "After the change of " + newLines(env).shown(n.path) + ": " + strings.Join(notes, "\n")})
				}
			case n.done <- notes:
			}
		})
		if !begun {
			return nil
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case notes := <-n.done:
			return notes
		case <-timer.C:
		case <-ctx.Done():
		}
		close(late)
		select {
		case notes := <-n.done: // at the last moment
			return notes
		default:
			return nil
		}
	}
}

// Learner returns the function that Read and LSP call after a look at a file: a change may follow,
// whose diagnostics are compared with those that the file has now. It starts no server.
func Learner(servers *server.Manager) func(*tools.Env, string) {
	return func(env *tools.Env, path string) {
		if !servers.Watches(path) {
			return
		}
		servers.Background(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, lateTime)
			defer cancel()
			client, done, err := servers.ForChange(ctx, server.In(env.Session), path, false)
			if err != nil || client == nil {
				return
			}
			defer done()
			data, info, _, err := readFile(env, path)
			if err != nil {
				return
			}
			if text, err := server.NewText(data); err == nil {
				client.Learn(ctx, path, text, info)
			}
		})
	}
}

// notice finds the diagnostics that a change of a file caused.
type notice struct {
	env           *tools.Env
	servers       *server.Manager
	path          string
	before, after *server.Text
	seen          os.FileInfo
	done          chan []string
}

// compare returns what the change caused, as notes.
func (n *notice) compare(ctx context.Context) []string {
	client, done, err := n.servers.ForChange(ctx, server.In(n.env.Session), n.path, true)
	if err != nil || client == nil {
		return nil
	}
	defer done()
	change, err := client.Compare(ctx, n.path, n.before, n.after, n.seen)
	if err != nil { // the server has ended, or the file has changed again
		return nil
	}
	files := newLines(n.env)
	files.texts[n.path] = n.after
	change.New = slices.DeleteFunc(change.New, func(f server.Finding) bool { return files.hides(f.Path) })
	if len(change.New) == 0 && change.Fixed == 0 {
		return nil
	}
	name := client.Server.Name
	var note string
	switch {
	case len(change.New) == 0:
		return []string{fmt.Sprintf("%s: this fixed %s", name, file.Plural(change.Fixed, "problem"))}
	case change.Fixed > 0:
		note = fmt.Sprintf("%s: this caused %s and fixed %d:", name, file.Plural(len(change.New), "problem"), change.Fixed)
	default:
		note = fmt.Sprintf("%s: this caused %s:", name, file.Plural(len(change.New), "problem"))
	}
	for i := range change.New {
		if i == maxNew {
			note += fmt.Sprintf("\n  and %d more", len(change.New)-maxNew)
			break
		}
		f := &change.New[i]
		note += fmt.Sprintf("\n  %s:%s: %s", files.shown(f.Path), files.place(client, f.Path, f.Range.Start), Describe(&f.Diagnostic))
	}
	return append([]string{note}, lacks(client)...)
}
