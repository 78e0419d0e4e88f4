package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"mcp-toolset/clients"
	"mcp-toolset/internal/text/plain"
)

// list prints the clients with the state of their files.
func (in *installer) list() error {
	if !filepath.IsAbs(in.host.Home) {
		return errNoHome
	}
	var b bytes.Buffer
	t := table{cut: []int{2}}
	t.row("CLIENT", "STATE", "FILE")
	for i := range clients.List {
		c := &clients.List[i]
		p := in.system.User(c)
		in.rows(&t, p)
		if len(c.Project) == 0 || in.host.Dir == "" || in.host.Dir == in.host.Home {
			continue
		}
		if p := in.system.InProject(c, in.host.Dir); in.system.Exists(p.Path) {
			in.rows(&t, p)
		}
	}
	t.write(&b, screenOf(in.host, in.host.Out))
	b.WriteString("\n`mcp-toolset install CLIENT DIR` adds this server with the workspace DIR.\n")
	_, err := b.WriteTo(in.host.Out)
	return err
}

// rows adds a row for each server at a place that may be this program.
func (in *installer) rows(t *table, p clients.Place) {
	for _, name := range in.names(p) {
		t.row(p.Client.Name, in.state(p, name), plain.Text(p.Path))
	}
}

// state describes a server at a place in few words.
func (in *installer) state(p clients.Place, name string) string {
	entry, ok, err := p.Entry(name)
	as := ""
	if name != in.name {
		as = " as " + plain.Line(name)
	}
	switch {
	case err != nil:
		_, text, _ := strings.Cut(err.Error(), p.Path+": ")
		return "cannot be read: " + plain.Line(text)
	case ok && !entry.Ours() && entry.URL != "":
		return name + " reaches " + plain.Line(entry.URL)
	case ok && !entry.Ours():
		return name + " is another server"
	case ok && entry.URL != "":
		return "set" + as + ": " + plain.Line(entry.URL)
	case ok && strings.ContainsAny(entry.Command[0], `/\`) && !in.system.Exists(entry.Command[0]):
		return "set" + as + ", but there is no " + plain.Line(entry.Command[0])
	case ok:
		return "set" + as + ": " + plain.Line(strings.Join(entry.Command[1:], " "))
	case p.Found:
		return "found, not set"
	}
	return "not found"
}

// printDiff prints a change that is not made.
func (in *installer) printDiff(c *clients.Change) error {
	if !c.Changed() {
		_, err := fmt.Fprintf(in.host.Out, "%s: no change\n", plain.Line(c.Path))
		return err
	}
	before, after := plain.Line(c.Path), plain.Line(c.Path)
	if c.Before == nil {
		before = "/dev/null"
	}
	if c.After == nil {
		after = "/dev/null"
	}
	// Line endings and the byte order mark are not shown.
	shown := func(text []byte) string {
		return plain.Lines(strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n"))
	}
	_, err := fmt.Fprint(in.host.Out, udiff.Unified(before, after, shown(c.Before), shown(c.After)))
	return err
}

// printInstalled prints what was done, and what the user has to do.
func (in *installer) printInstalled(p clients.Place, c *clients.Change, e clients.Entry) error {
	var b bytes.Buffer
	switch {
	case !c.Changed():
		fmt.Fprintf(&b, "%s is in %s already.\n", in.name, p.Client.Title)
	case len(c.Was.Command) > 0 || c.Was.URL != "":
		fmt.Fprintf(&b, "Changed %s in %s.\n", in.name, p.Client.Title)
	default:
		fmt.Fprintf(&b, "Added %s to %s.\n", in.name, p.Client.Title)
	}
	fmt.Fprintf(&b, "file      %s\n", plain.Text(c.Path))
	if e.URL == "" {
		fmt.Fprintf(&b, "starts    %s\n", plain.Text(strings.Join(e.Command, " ")))
	} else {
		fmt.Fprintf(&b, "reaches   %s\n", plain.Text(e.URL))
	}
	if c.Backup != "" {
		fmt.Fprintf(&b, "backup    %s\n", plain.Text(c.Backup))
	}
	if c.Dropped {
		entry(&b, "warn", 10, "the entry had other settings, such as variables or timeouts; they are in the backup", helpWidth)
	}
	if c.Replaced != nil {
		text := "the entry that was there is gone; it is in the backup"
		if keys := c.Replaced.Keys(); len(keys) > 0 {
			text = "not kept of the entry that was there: " + plain.Line(strings.Join(keys, ", ")) + "; they are in the backup"
		}
		entry(&b, "warn", 10, text, helpWidth)
	}
	if !p.Found {
		fmt.Fprintf(&b, "warn      there is no other sign of %s on this system\n", p.Client.Title)
	}
	if e.URL != "" {
		token := "start " + p.Client.Title + " with MCP_TOOLSET_TOKEN in its environment; the file has only that name. Apps started from the desktop do not get the variables of a shell"
		if !p.Client.RefersToToken() {
			token = p.Client.Title + ` replaces no variables: add "headers": {"Authorization": "Bearer TOKEN"} to the entry by hand`
			if in.project {
				token += ", and do not commit the file then"
			}
		}
		token += ". mcp-toolset http prints where the token is"
		entry(&b, "token", 10, token, helpWidth)
	} else if passing(e.Command[0]) {
		b.WriteString("warn      this program is in a temporary folder; copy it to a lasting one and install again\n")
	}
	entry(&b, "next", 10, p.Client.Next, helpWidth)
	if p.Client.Misleads != "" {
		entry(&b, "misleads", 10, p.Client.Misleads, helpWidth)
	}
	if p.Client.BuiltIn != "" {
		entry(&b, "built-in", 10, p.Client.Title+" has tools of its own for files and commands, and the model sees both. "+p.Client.BuiltIn, helpWidth)
	}
	_, err := b.WriteTo(in.host.Out)
	return err
}

// foreign prints an entry that install did not write.
func (in *installer) foreign(p clients.Place, f *clients.Foreign) error {
	text, err := json.MarshalIndent(f.Value, "", "  ")
	if err != nil {
		return err
	}
	complain(in.host.Err, fmt.Sprintf("%s: install did not write the entry %s. It was not started, and the file is unchanged", plain.Line(p.Path), in.name))
	_, err = fmt.Fprintf(in.host.Err, "%s\nlook at it, then replace it with all its settings by --force, or choose another name with --name\n", plain.Lines(string(text)))
	if err != nil {
		return err
	}
	return exitCode(exitUsage)
}

func (in *installer) printUninstalled(p clients.Place, c *clients.Change) (err error) {
	switch {
	case !c.Changed():
		_, err = fmt.Fprintf(in.host.Out, "%s is not in %s: %s\n", in.name, p.Client.Title, plain.Text(c.Path))
	case c.After == nil:
		_, err = fmt.Fprintf(in.host.Out, "Removed %s from %s, and the file, which had nothing else: %s\n", in.name, p.Client.Title, plain.Text(c.Path))
	case c.Backup == "":
		_, err = fmt.Fprintf(in.host.Out, "Removed %s from %s. The file is as before: %s\n", in.name, p.Client.Title, plain.Text(c.Path))
	default:
		_, err = fmt.Fprintf(in.host.Out, "Removed %s from %s: %s\nbackup    %s\n", in.name, p.Client.Title, plain.Text(c.Path), plain.Text(c.Backup))
	}
	return err
}
