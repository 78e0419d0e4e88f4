package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/tools/builtin"
	"mcp-toolset/upstream"
)

// The statuses of a check.
const (
	checkOK   = "ok"
	checkWarn = "warn" // it works, but the user may want to change something
	checkFail = "fail" // a server would not start or would not work
)

// check is one line of doctor's summary. Its texts are safe to show.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // what the user can do
}

// checkup checks what a server with these flags needs.
type checkup struct {
	*common
	audit      auditFlags // separate from that of common, whose log a plan opens
	host       *Host
	positional []string
	detailed   bool // whether tools that are not offered are of interest
	plan       *assembly.Plan
	checks     []check
}

func (k *checkup) add(status, name, next, format string, args ...any) {
	k.checks = append(k.checks, check{name, status, plain.Text(fmt.Sprintf(format, args...)), next})
}

// fail adds a failed check. Without next, the last clause of err becomes the next step.
func (k *checkup) fail(name string, err error, next string) {
	fact := err.Error()
	if at := strings.LastIndex(fact, "; "); next == "" && at >= 0 {
		fact, next = fact[:at], plain.Text(fact[at+2:])
	}
	k.add(checkFail, name, next, "%s", fact)
}

func (k *checkup) failed() bool {
	return slices.ContainsFunc(k.checks, func(c check) bool { return c.Status == checkFail })
}

// checkOrder lists the checks in the order of output: what users most often have to change, then
// what the containment needs, then the rest. Checks are made in another order.
var checkOrder = []string{"version", "clients", "roots", "settings", "servers", "state folder", "undo", "tools", "containment", "network", "programs", "skills", "upstream", "web search", "models", "language servers", "token", "audit"}

// run makes all checks and returns the findings about the sandbox, which are empty if an earlier
// check failed. An error means a wrong command line.
func (k *checkup) run(ctx context.Context) (*diagnosis, error) {
	k.add(checkOK, "version", "", "mcp-toolset %s", about())
	options, err := k.options(k.host, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	k.plan = assembly.NewPlan(options)
	if err := k.roots(); err != nil {
		return nil, err
	}
	k.state()
	k.settings()
	k.servers(ctx)
	d, err := k.tried(ctx)
	if err != nil {
		return nil, err
	}
	if k.plan.Settings != nil || !k.failed() {
		k.upstreamServers()
		k.skillFiles()
		k.webSearch()
		k.models()
		k.undo()
	}
	d.Settings = k.settingsFiles()
	k.token()
	k.auditLog()
	k.languageServers(d)
	k.clients(d)
	slices.SortStableFunc(k.checks, func(a, b check) int {
		return slices.Index(checkOrder, a.Name) - slices.Index(checkOrder, b.Name)
	})
	d.Checks, d.OK = k.checks, !k.failed()
	return d, nil
}

// roots checks the workspace folders.
func (k *checkup) roots() error {
	dirs, err := k.workspaceDirs(k.host, k.positional)
	var usage usageError
	var implied *wideError
	switch {
	case errors.As(err, &usage):
		return err
	case errors.As(err, &implied):
		k.add(checkWarn, "roots", "name the folder of a project, as in mcp-toolset doctor DIR",
			"none: %s is %s; mcp-toolset stdio serves the folders that are open in the client", implied.from, implied.what)
		return nil
	case err != nil:
		k.fail("roots", err, "")
		return nil
	}
	wide := ""
	for i, dir := range dirs {
		dirs[i] = workspace.Expand(dir, k.host.Dir, k.host.Home)
		if info, err := os.Stat(dirs[i]); errors.Is(err, fs.ErrNotExist) {
			k.add(checkFail, "roots", "name a folder that exists", "%s does not exist", dirs[i])
			return nil
		} else if err != nil {
			k.fail("roots", err, "name another folder")
			return nil
		} else if !info.IsDir() {
			k.add(checkFail, "roots", "name a folder", "%s is not a folder", dirs[i])
			return nil
		}
		if wide == "" {
			wide = tooWide(dirs[i], k.host.Home)
		}
	}
	k.plan.Roots = dirs
	if wide != "" {
		k.add(checkWarn, "roots", "name the folder of a project, as in mcp-toolset stdio DIR", "%s is served, with all that is in it", wide)
		return nil
	}
	k.add(checkOK, "roots", "", "%s", strings.Join(dirs, ", "))
	return nil
}

// state checks the state folder.
func (k *checkup) state() {
	dir, err := state.Dir(k.host.Getenv, k.host.Home)
	if err != nil {
		k.fail("state folder", err, "")
		return
	}
	k.plan.State = dir
	exists, err := tryFolder(dir)
	switch next := "make it writable for this user, or set MCP_TOOLSET_STATE_DIR"; {
	case err != nil:
		k.fail("state folder", err, next)
	case exists:
		k.add(checkOK, "state folder", "", "%s is writable", dir)
	default:
		k.add(checkOK, "state folder", "", "%s is made when it is needed", dir)
	}
}

// undo shows what is stored for undo in the workspace.
func (k *checkup) undo() {
	if !k.plan.Settings.Undo().Enabled {
		k.add(checkOK, "undo", "", "off: changes are not recorded")
		return
	}
	stateDir, err := workspace.Canonical(k.plan.State)
	roots := k.plan.CanonicalRoots()
	if err != nil || len(roots) == 0 {
		return
	}
	text := ""
	if !undo.Commands {
		text = "; on this system, only of file tools"
	}
	u := undo.Measure(undo.Dir(stateDir, roots))
	k.add(checkOK, "undo", "", "changes are recorded%s: %d change sets, %d MiB", text, u.Sets, (u.Bytes+1<<19)>>20)
}

// tryFolder creates and removes a file in a folder, or in its nearest existing parent.
func tryFolder(dir string) (exists bool, err error) {
	at := dir
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return false, fmt.Errorf("%s is not a folder", at)
		}
		if err == nil || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	f, err := os.CreateTemp(at, ".mcp-toolset-*")
	if err != nil {
		return at == dir, fmt.Errorf("writing to %s: %w", at, errors.Unwrap(err))
	}
	return at == dir, errors.Join(f.Close(), os.Remove(f.Name()))
}

// settings checks the settings files in use.
func (k *checkup) settings() {
	if err := k.plan.FindSettings(); err != nil {
		fact, more, _ := strings.Cut(err.Error(), "\n")
		if more != "" {
			fact += fmt.Sprintf(" (and %d more)", 1+strings.Count(more, "\n"))
		}
		k.fail("settings", errors.New(fact), "correct the file; mcp-toolset policy check lists all that is wrong")
		return
	}
	var names []string
	path := ""
	for _, l := range k.plan.Found.Layers {
		if l.Settings != nil || l.Broken {
			names, path = append(names, l.Name), l.Path
		}
	}
	text := fmt.Sprintf("%d files: %s", len(names), strings.Join(names, ", "))
	switch len(names) {
	case 0:
		text = "no file; the defaults hold"
	case 1:
		text = fmt.Sprintf("%s (%s)", path, names[0])
	}
	c := checker{out: io.Discard, tools: builtin.List(builtin.Options{}), home: k.host.Home, servers: k.plan.Settings.UpstreamPrefixes()}
	if n := c.judge(k.plan.Settings, k.plan.CanonicalRoots(), k.plan.Found.Warnings, nil); n > 0 {
		k.add(checkWarn, "settings", "mcp-toolset policy check shows them", "%s: %s", text, count(n, "warning"))
		return
	}
	k.add(checkOK, "settings", "", "%s", text)
}

// servers checks whether the running servers hold the settings that their files have now.
func (k *checkup) servers(ctx context.Context) {
	switch n, others := runningServers(ctx, k.host, k.plan.Found); {
	case len(others) > 0:
		k.add(checkWarn, "servers", "correct the settings, or start the server again", "%s", strings.Join(others, "; "))
	case n > 0:
		k.add(checkOK, "servers", "", "%s, with the settings that the files have now", count(n, "running server"))
	}
}

// settingsFiles returns the places of settings, if they were found.
func (k *checkup) settingsFiles() (list []settingsFile) {
	if k.plan.Found == nil {
		return nil
	}
	for _, l := range k.plan.Found.Layers {
		list = append(list, settingsFile{l.Name, plain.Text(l.Path), l.Standing()})
	}
	return list
}

// upstreamServers checks the upstream servers of the settings without starting any.
func (k *checkup) upstreamServers() {
	o, err := k.plan.Upstreams(func(*upstream.Server) bool { return true })
	if err != nil {
		k.fail("upstream", err, "")
		return
	}
	defer o.Close()
	var names, broken []string
	for _, s := range o.All() {
		names = append(names, s.Name)
		if s.Broken != "" {
			broken = append(broken, s.Name+": "+s.Broken)
		}
	}
	switch {
	case len(names) == 0:
		k.add(checkOK, "upstream", "", "no other servers are configured")
	case len(broken) > 0:
		k.add(checkWarn, "upstream", "correct mcpServers in the settings", "%s", strings.Join(broken, "; "))
	default:
		k.add(checkOK, "upstream", "", "%d configured: %s; mcp-toolset upstream list --connect tries them", len(names), strings.Join(names, ", "))
	}
}

// skillFiles checks the skills and agent files that a server would use.
func (k *checkup) skillFiles() {
	const name = "skills"
	l := listSkills(k.plan)
	switch n := l.errors(); {
	case n > 0:
		first := slices.IndexFunc(l.Issues, func(i skillIssue) bool { return i.Error })
		text := l.Issues[first].text
		if n > 1 {
			text += fmt.Sprintf(" (and %d more)", n-1)
		}
		k.add(checkWarn, name, "mcp-toolset skills lists what to correct", "%s", text)
	case len(l.Untrusted) > 0:
		k.add(checkWarn, name, "mcp-toolset trust DIR shows them and asks", "those of %s are not used, since the project is not trusted", strings.Join(l.Untrusted, ", "))
	default:
		k.add(checkOK, name, "", "%s", count(len(l.Skills), "skill"))
	}
}

// webSearch checks the search provider of the settings without asking it.
func (k *checkup) webSearch() {
	const name = "web search"
	w := k.plan.Settings.WebSearch()
	switch o := k.plan.WebSearch(k.plan.Settings, nil, nil); {
	case w == nil:
		k.add(checkOK, name, "", "off: webSearch in the settings names no search provider")
	case o.Problem != "":
		fact, next, _ := strings.Cut(o.Problem, "; the user can ")
		k.add(checkWarn, name, next, "off: %s", fact)
	default:
		k.add(checkOK, name, "", "by %s", o.Name)
	}
}

// models checks the models of the settings without asking them.
func (k *checkup) models() {
	const name = "models"
	c := k.plan.Settings.Models()
	problem := k.plan.ModelProblem()
	needed := k.plan.Settings.Summarize() != nil || slices.ContainsFunc(k.plan.Settings.Classifier(), func(s classifier.Stage) bool { return s.Model != "" })
	switch {
	case c == nil && needed:
		k.add(checkWarn, name, "add models to the settings", "none, though summarize or the classifier of the settings needs one")
	case c == nil && len(k.plan.Settings.AgentPrograms()) > 0:
		k.add(checkOK, name, "", "off: models in the settings names no language model, so Agent has only programs")
	case c == nil:
		k.add(checkOK, name, "", "off: models in the settings names no language model, so there is no Agent")
	case problem != "":
		k.add(checkWarn, name, "correct models in the settings, or set the key", "%s", problem)
	case c.Small != nil:
		k.add(checkOK, name, "", "default %s; small %s; not contacted", modelLine(c.Default), modelLine(c.Small))
	default:
		k.add(checkOK, name, "", "default %s; not contacted", modelLine(c.Default))
	}
}

// modelLine describes a model in one line.
func modelLine(e *models.Endpoint) string {
	if e.Provider == "command" {
		return e.Name + " (command)"
	}
	return e.Name + " at " + e.URL
}

// token checks the bearer token of the command http.
func (k *checkup) token() {
	const name = "token"
	if value := strings.TrimSpace(k.host.Getenv("MCP_TOOLSET_TOKEN")); value != "" {
		if len(value) < shortToken {
			k.add(checkWarn, name, fmt.Sprintf("use %d characters or more", remoteToken), "MCP_TOOLSET_TOKEN has %d characters, which can be guessed", len(value))
			return
		}
		k.add(checkOK, name, "", "MCP_TOOLSET_TOKEN is set")
		return
	}
	if k.plan.State == "" {
		return // the check of the state folder has failed
	}
	file := filepath.Join(k.plan.State, "token")
	info, err := os.Stat(file)
	switch {
	case err != nil:
		k.add(checkOK, name, "", "none yet; mcp-toolset http makes one")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		k.add(checkWarn, name, "run chmod 600 "+plain.Text(file), "other users can read or write %s", file)
	default:
		k.add(checkOK, name, "", "in %s", file)
	}
}

// auditLog checks the file of the audit log.
func (k *checkup) auditLog() {
	switch {
	case k.audit.file == "" && k.audit.required:
		k.add(checkFail, "audit", "add --audit FILE", "--audit-required is given without a file")
		return
	case k.audit.file == "":
		k.add(checkOK, "audit", "", "off; --audit FILE switches it on")
		return
	}
	path := workspace.Expand(k.audit.file, k.host.Dir, k.host.Home)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		k.add(checkFail, "audit", "name a file", "%s is not a regular file", path)
	} else if exists, err := tryFolder(filepath.Dir(path)); err != nil {
		k.fail("audit", err, "name a file in a folder that this user can write to")
	} else if !exists {
		k.add(checkFail, "audit", "make the folder", "%s does not exist", filepath.Dir(path))
	} else {
		k.add(checkOK, "audit", "", "%s", path)
	}
}
