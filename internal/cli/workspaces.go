package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-toolset/console/feed"
	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/consent/socket"
	"mcp-toolset/internal/event/trigger"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/front"
	"mcp-toolset/internal/identity"
	"mcp-toolset/internal/memory"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/server"
)

// inherited holds the properties of a workspace that the front passes to its process, as JSON.
type inherited struct {
	Name   string          `json:"name"`
	Base   string          `json:"base"`
	Own    []string        `json:"own"`
	Closed []string        `json:"closed"`
	Events string          `json:"events"` // address of its webhooks, without their names
	Limits assembly.Limits `json:"limits"`
}

// serveWorkspaces serves users who each have a workspace, until ctx ends.
func (o *httpOptions) serveWorkspaces(cmd *cobra.Command, host *Host, c *common, args []string, drain time.Duration) error {
	ctx := cmd.Context()
	rules, err := o.readRules(host, c, args)
	if err != nil {
		return err
	}
	log, logFile, err := c.logger(host)
	if err != nil {
		return err
	}
	defer logFile.Close()
	a := &app{Assembly: &assembly.Assembly{}, log: log}
	if a.State, err = state.Dir(host.Getenv, host.Home); err != nil {
		return err
	}
	var s prepared
	if err := o.prepare(ctx, host, a, &s); err != nil {
		return err
	}
	closed := []string{a.State}
	for _, file := range append(c.closed, o.principals, o.cert, s.token.file) {
		if file != "" {
			closed = append(closed, workspace.Expand(file, host.Dir, host.Home))
		}
	}
	passed := passedFlags(cmd.Flags(), host)
	f, err := front.New(front.Config{
		Rules: rules, Idle: o.idle, Drain: drain, Log: log,
		Program: front.Program{
			Environ: passedEnviron(host.Environ()), Err: os.Stderr,
			Args: func(spec *front.Spec) []string {
				l := spec.Limits
				data, err := json.Marshal(inherited{
					Name: spec.Name, Base: rules.Base, Own: []string{spec.Folder, spec.Temp}, Closed: closed, Events: strings.TrimSuffix(s.endpoint, "/mcp") + trigger.Path + spec.Name + "/",
					Limits: assembly.Limits{Sessions: l.Sessions, Commands: l.Commands, Tasks: l.Tasks, Output: int64(l.OutputMB) << 20},
				})
				if err != nil {
					panic(err) // strings and numbers can always be encoded
				}
				args := append([]string{"workspace"}, passed...)
				for _, root := range spec.Roots {
					args = append(args, "--root="+root)
				}
				if spec.Settings != "" {
					args = append(args, "--settings="+spec.Settings)
				}
				if spec.Mode != "" {
					args = append(args, "--mode="+spec.Mode)
				}
				return append(args, string(data))
			},
		},
	})
	if err != nil {
		return err
	}
	ctx, end := o.untilIdle(ctx, log, func() bool { return len(f.Running()) > 0 })
	defer end()
	link := ""
	if s.operator != "" {
		page := newConsole(s.operator, s.whose, s.listener.Addr(), func() (map[string]feed.Source, error) { return sourcesOf(f.Running()) })
		defer context.AfterFunc(ctx, func() { _ = page.Close() })()
		defer page.Close()
		o.Console, o.Metrics, link = page, f.Metrics(), page.Link()
	}
	if o.named != nil {
		go o.named.Follow(ctx, log, func() { f.EndPrincipals(o.named.Valid) })
	}
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	o.announce(host, s, link)
	memory.Limit()
	log.Info("serving workspaces", "version", version(), "base", rules.Base, "rules", rules.Len())
	go f.Wake(ctx)
	ended := make(chan struct{})
	go func() {
		<-ctx.Done()
		f.Close() // streams end with it
		close(ended)
	}()
	err = server.ServeFront(ctx, s.listener, o.HTTP, f, drain, log)
	if ctx.Err() != nil {
		<-ended
		return err
	}
	f.Close()
	return err
}

// readRules reads the file of --principals. It rejects flags that could have no effect, or an unsafe
// one.
func (o *httpOptions) readRules(host *Host, c *common, args []string) (*front.Rules, error) {
	switch {
	case len(args)+len(c.roots) > 0:
		return nil, usagef("with --principals the folders are those of the rules; leave out DIR and --root")
	case c.sandbox != "on":
		return nil, usagef("--principals needs --sandbox on: without it, the commands of one user could read the files of another")
	case o.NoAuth:
		return nil, usagef("--principals needs users with tokens; leave out --no-auth")
	case c.mode == string(policy.ModeBypass):
		return nil, usagef("the mode bypassPermissions is not for the users of a server; use another")
	case c.trace != "" || c.output != "":
		return nil, usagef("--trace and --output are for one server; leave them out with --principals")
	case o.idle < time.Second:
		return nil, usagef("--idle is %s; use 1s or more", o.idle)
	}
	file := workspace.Expand(o.principals, host.Dir, host.Home)
	text, _, err := state.ReadTrusted(file, front.MaxRules)
	if err != nil {
		return nil, fmt.Errorf("--principals: %w", err)
	}
	rules, err := front.ParseRules(file, text)
	if err == nil {
		err = front.CheckBase(rules.Base, host.Home, filepath.SplitList(host.Getenv("PATH")))
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("--principals: %w", err)}
	}
	return rules, nil
}

// sourcesOf returns the servers of running workspaces for the console.
func sourcesOf(running []*front.Spec) (map[string]feed.Source, error) {
	all := map[string]feed.Source{}
	for _, s := range running {
		folders, err := socket.Servers(s.State)
		if err != nil {
			continue // of another OS user, or just begun
		}
		for _, at := range folders {
			one := feed.Remote{Folder: at}
			all[one.ID()] = one
		}
	}
	return all, nil
}

// paths lists the flags whose values are paths.
var paths = []string{"settings", "skills", "log-file", "audit", "output-schema"}

// passedFlags returns the flags of the command line that also hold for each workspace.
func passedFlags(flags *pflag.FlagSet, host *Host) (out []string) {
	of := workspaceCommand(host).Flags()
	flags.Visit(func(f *pflag.Flag) {
		if of.Lookup(f.Name) == nil {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if slices.Contains(paths, f.Name) {
				v = workspace.Expand(v, host.Dir, host.Home)
			}
			out = append(out, "--"+f.Name+"="+v)
		}
	})
	return out
}

// passedEnviron returns the variables that the process of a workspace gets: those of every system,
// and numbers that are settings of ours. Others may be secrets of the operator.
func passedEnviron(environ []string) (out []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case slices.Contains([]string{"PATH", "LANG", "LANGUAGE", "TZ", "TERM", "NO_COLOR", "SSL_CERT_FILE", "SSL_CERT_DIR"}, name), strings.HasPrefix(name, "LC_"):
		case slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}, strings.ToUpper(name)) && !strings.Contains(value, "@"):
		case slices.ContainsFunc(environment, func(one variable) bool { return one.name == name && one.number }):
		default:
			continue
		}
		out = append(out, v)
	}
	return out
}

// workspaceCommand is the process of a workspace. A front starts it.
func workspaceCommand(host *Host) *cobra.Command {
	var c common
	var drain time.Duration
	cmd := &cobra.Command{
		Use:    "workspace [flags] JSON",
		Short:  "Serve the users of one workspace of mcp-toolset http --principals, which starts this",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, end := context.WithCancel(cmd.Context())
			defer end()
			l, err := front.Inherit(end)
			if err != nil {
				return err
			}
			var in inherited
			if err := json.Unmarshal([]byte(args[0]), &in); err != nil {
				return usageError{err}
			}
			host.detach()
			c.closed = slices.DeleteFunc(in.Closed, func(path string) bool {
				_, err := workspace.Canonical(path)
				return errors.Is(err, fs.ErrPermission) // closed to the OS user of the process
			})
			c.inherited, c.remote, c.runs = &in, true, true
			a, err := c.build(host, nil, drain)
			if err != nil {
				return fmt.Errorf("workspace %s: %w", plain.Line(in.Name), err)
			}
			defer a.close()
			if a.mode == policy.ModeBypass {
				return fmt.Errorf("workspace %s: the mode bypassPermissions is not for the users of a server; remove it from the settings", plain.Line(in.Name))
			}
			a.Triggers.ServedIn(in.Events)
			a.Appear()
			memory.Limit()
			a.started(ctx, "http")
			if err := l.Ready(); err != nil {
				return err
			}
			return a.Server.ServeHTTP(ctx, l, server.HTTP{Triggers: a.Triggers, Behind: &server.Behind{Own: a.ownRequests()}})
		},
	}
	c.add(cmd, host)
	addServe(cmd, &c, &drain)
	return cmd
}

// ownRequests serves the requests of the front itself.
func (a *app) ownRequests() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(front.BusyPath, func(w http.ResponseWriter, _ *http.Request) {
		if n := a.Running(); n > 0 {
			fmt.Fprintf(w, "%d background tasks run", n)
		}
	})
	mux.HandleFunc(front.EndPath, func(w http.ResponseWriter, r *http.Request) {
		var gone []identity.Principal
		data, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(data, &gone)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a.Server.EndPrincipals(func(p identity.Principal) bool {
			return !slices.ContainsFunc(gone, func(one identity.Principal) bool { return one.ID == p.ID && one.By == p.By })
		})
	})
	return mux
}
