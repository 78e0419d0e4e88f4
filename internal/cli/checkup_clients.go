package cli

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/clients"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/lsp"
)

// The states of a client.
const (
	clientSet     = "set"
	clientNotSet  = "not set"
	clientBroken  = "broken"     // its entry names a program that does not exist
	clientOther   = "other"      // its entry starts another program, or another copy of this one
	clientUnclear = "unreadable" // its file cannot be read
)

// client is the finding about one file of an MCP client on this system. Its texts are safe to show.
type client struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Project bool   `json:"project,omitempty"` // whether the file is that of the first root
	Server  string `json:"server,omitempty"`  // name of the entry, if it is not the usual one
	URL     string `json:"url,omitempty"`     // of an entry over HTTP that does not show that it is this server
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"`
	next    string // the next step after Problem
	found   *clients.Client
}

func (c client) label() string {
	label := c.Name
	if c.Server != "" {
		label += " as " + c.Server
	}
	var more []string
	if c.Project {
		more = append(more, "project")
	}
	if c.URL != "" {
		more = append(more, "reaches "+c.URL)
	}
	if len(more) > 0 {
		label += " (" + strings.Join(more, ", ") + ")"
	}
	return label
}

// clientsOf returns the clients on this system, with the server that install adds if it is given no
// name. project is a folder that may have files of clients, or "".
func clientsOf(host *Host, project string) []client {
	in := newInstaller(host)
	in.name = usualName
	return in.findClients(project)
}

// findClients is clientsOf for the name and the system of in.
func (in *installer) findClients(project string) (list []client) {
	if in.host.Home == "" {
		return nil
	}
	self, _ := in.binary() // without it, no copy of the program counts as another one
	for i := range clients.List {
		c := &clients.List[i]
		set := false
		if len(c.Project) > 0 && project != "" && project != in.host.Home {
			for _, found := range in.findings(in.system.InProject(c, project), self, true) {
				if found.State != clientNotSet {
					list = append(list, found)
					set = set || found.State == clientSet
				}
			}
		}
		p := in.system.User(c)
		for _, found := range in.findings(p, self, false) {
			if p.Found && !(set && found.State == clientNotSet) {
				list = append(list, found)
			}
		}
	}
	return list
}

// findings describes the servers at a place that are this program, whatever their names, or else the
// one with the usual name. self is the absolute path of this program.
func (in *installer) findings(p clients.Place, self string, project bool) (list []client) {
	for _, name := range in.names(p) {
		list = append(list, in.finding(p, name, self, project))
	}
	return list
}

// names returns the names of the servers at a place that are this program, and the usual name if
// there are none or it has a URL, which may be of this program.
func (in *installer) names(p clients.Place) []string {
	names := p.Ours()
	if slices.Contains(names, in.name) {
		return names
	}
	if e, _, err := p.Entry(in.name); len(names) == 0 || err == nil && e.URL != "" {
		names = append(names, in.name)
	}
	return names
}

func (in *installer) finding(p clients.Place, name, self string, project bool) client {
	c := client{Name: p.Client.Name, File: plain.Text(p.Path), Project: project, State: clientSet, found: p.Client}
	install := "mcp-toolset install " + c.Name
	if project {
		install += " --project"
	}
	if name != in.name {
		c.Server = plain.Line(name)
		install += " --name " + c.Server
	}
	entry, ok, err := p.Entry(name)
	switch {
	case err != nil:
		c.State, c.Problem, c.next = clientUnclear, plain.Line(err.Error()), "correct the file"
	case !ok:
		c.State = clientNotSet
	case !entry.Ours() && entry.URL != "":
		c.URL = plain.Line(entry.URL)
	case !entry.Ours():
		c.State, c.Problem = clientOther, fmt.Sprintf("%s in %s is another server", in.name, c.label())
		c.next = install + " --name NAME DIR"
	case entry.URL != "":
	case !filepath.IsAbs(entry.Command[0]): // the client looks for it in its own way
	case !in.system.Exists(entry.Command[0]):
		c.State, c.Problem, c.next = clientBroken, fmt.Sprintf("%s starts %s, which does not exist", c.label(), plain.Line(entry.Command[0])), install+" DIR"
	case self != "" && (clients.Entry{Command: entry.Command[:1]}).Ours() && !sameFile(entry.Command[0], self):
		c.State, c.Problem = clientOther, fmt.Sprintf("%s starts another copy, %s", c.label(), plain.Line(entry.Command[0]))
		c.next = "run doctor of that one, or " + install + " DIR to start this one"
	}
	if c.next != "" && !serverName.MatchString(name) {
		c.next = "correct the entry " + c.Server // install takes no such name
	}
	return c
}

// checkClients summarizes the findings about clients.
func checkClients(list []client) check {
	c := check{Name: "clients", Status: checkOK}
	var set, not, problems []string
	for _, f := range list {
		switch {
		case f.Problem != "":
			problems = append(problems, f.Problem)
			if c.Status != checkFail && f.State == clientBroken && !f.Project { // no repository makes doctor fail
				c.Status, c.Next = checkFail, f.next
			} else if c.Status == checkOK {
				c.Status, c.Next = checkWarn, f.next
			}
		case f.State == clientSet:
			set = append(set, f.label())
		default:
			not = append(not, f.Name)
		}
	}
	switch {
	case len(problems) > 0:
		c.Detail = strings.Join(problems, "; ")
	case len(set) > 0 && len(not) > 0:
		c.Detail = fmt.Sprintf("set in %s; not set in %s", strings.Join(set, ", "), strings.Join(not, ", "))
	case len(set) > 0:
		c.Detail = "set in " + strings.Join(set, ", ")
	case len(not) > 0:
		c.Status, c.Detail, c.Next = checkWarn, "found, not set: "+strings.Join(not, ", "), "mcp-toolset install "+not[0]+" DIR"
	default:
		c.Detail = "none found; mcp-toolset install CLIENT DIR adds this server to one"
	}
	return c
}

// languageServers lists those whose programs are on PATH. Their absence is no fault, except
// for those of the settings.
func (k *checkup) languageServers(d *diagnosis) {
	const name = "language servers"
	var missing []string
	for _, s := range k.plan.Settings.LanguageServers() {
		known := slices.ContainsFunc(lsp.Table, func(t lsp.Server) bool { return t.Name == s.Name && slices.Equal(t.Command, s.Command) })
		switch program, err := exec.LookPath(s.Command[0]); {
		case err == nil && s.Fits(program):
			d.LanguageServers = append(d.LanguageServers, s.Name)
		case !known || s.Starts:
			missing = append(missing, s.Name)
		}
	}
	found := "no well-known one, such as gopls, on PATH"
	if len(d.LanguageServers) > 0 {
		found = strings.Join(d.LanguageServers, ", ") + " on PATH"
	}
	if len(missing) > 0 {
		k.add(checkWarn, name, "install it, or correct lspServers in the settings", "%s; of the settings, %s is not", found, strings.Join(missing, ", "))
		return
	}
	k.add(checkOK, name, "", "%s", found)
}

// clients checks which clients start this program.
func (k *checkup) clients(d *diagnosis) {
	project := ""
	if len(k.plan.Roots) > 0 {
		project = k.plan.Roots[0]
	}
	d.Clients = clientsOf(k.host, project)
	k.checks = append(k.checks, checkClients(d.Clients))
}

// steps returns what to do in each client in which the server is set, in few words.
func steps(list []client) (out []string) {
	for _, c := range list {
		if text := c.found.Title + ": " + c.found.Next; c.State == clientSet && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
