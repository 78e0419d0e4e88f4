package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
	"mcp-toolset/upstream/pin"
)

// upstreamDiff shows the changes of servers and asks the user to accept them.
type upstreamDiff struct {
	host        *Host
	store       *pin.Store
	accept, yes bool
}

// shownChanges holds the changes of one server that the user was shown.
type shownChanges struct {
	server  string
	changes []pin.Change
}

// run connects one server, or all for "", and shows the changes. It closes all connections before
// it asks the user.
func (d *upstreamDiff) run(ctx context.Context, found *upstreams, only string) error {
	if len(found.declared) == 0 {
		_, err := fmt.Fprintf(d.host.Out, "There are no other servers: %s.\n", noUpstreams)
		return err
	}
	m, err := found.manage(only)
	if err != nil {
		return err
	}
	done := screenOf(d.host, d.host.Err).progress("connecting ...")
	m.WakeAll(ctx, upstreamTimeout(d.host))
	done()
	servers := m.Servers()
	if err := errors.Join(m.Close(), ctx.Err()); err != nil {
		return err
	}
	var out bytes.Buffer
	var shown []shownChanges
	failed := false
	for _, declared := range found.declared {
		if only != "" && declared.Name != only {
			continue
		}
		changes, whole := d.server(&out, declared.in(servers))
		failed = failed || !whole
		if len(changes) > 0 {
			shown = append(shown, shownChanges{declared.Name, changes})
		}
	}
	if _, err := out.WriteTo(d.host.Out); err != nil {
		return err
	}
	if d.accept && len(shown) > 0 {
		if err := d.agreed(shown); err != nil {
			return err
		}
		shown = nil
	}
	if failed || len(shown) > 0 {
		return failedResult{}
	}
	return nil
}

// server writes the changes of one server. whole is false if the changes could not be determined.
func (d *upstreamDiff) server(b *bytes.Buffer, s tools.Server) (changes []pin.Change, whole bool) {
	whole = s.State == tools.Ready
	changes, err := d.store.Diff(s.Name)
	looked, _ := d.store.Reviewed(s.Name) // Diff has read the store already
	name := plain.Line(s.Name)
	switch {
	case err != nil && !whole:
	case err != nil:
		fmt.Fprintf(b, "%s: %s.\n", name, plain.Text(err.Error()))
		whole = false
	case len(changes) == 0 && whole:
		fmt.Fprintf(b, "%s: nothing changed since %s.\n", name, looked.Local().Format(timeForm))
	case len(changes) > 0:
		fmt.Fprintf(b, "%s: changed since the user last looked, at %s:\n", name, looked.Local().Format(timeForm))
	}
	for i, c := range changes {
		writeChange(b, c)
		if i == len(changes)-1 {
			b.WriteByte('\n')
		}
	}
	if s.State != tools.Ready {
		why := s.State.String()
		if s.Note != "" {
			why += ", " + plain.Line(s.Note)
		}
		fmt.Fprintf(b, "%s: it is not connected (%s), so what it has now is not known.\n", name, why)
	}
	return changes, whole
}

// agreed asks the user to accept the shown changes, and accepts them.
func (d *upstreamDiff) agreed(shown []shownChanges) error {
	if !d.yes {
		if err := agree(d.host, "Have you looked at it? [y/N] ", "it stays changed"); err != nil {
			return err
		}
	}
	for _, s := range shown {
		if err := d.store.Accept(s.server, s.changes); err != nil {
			return shownError(err)
		}
		if _, err := fmt.Fprintf(d.host.Out, "%s: this counts as looked at now.\n", plain.Line(s.server)); err != nil {
			return err
		}
	}
	return nil
}

// writeChange writes a whole change, however long it is: a truncated part could be the important
// one.
func writeChange(b *bytes.Buffer, c pin.Change) {
	fmt.Fprintf(b, "\n  %s: %s\n", plain.Text(c.Tool), strings.TrimSuffix(c.Phrase(), " since the user last looked"))
	if c.Is == nil {
		return
	}
	for _, f := range c.Fields() {
		fmt.Fprintf(b, "    %s\n", f.Name)
		was, is := readable(f.Was), readable(f.Is)
		if was == is { // they differ in content that is not text, or one is a JSON text in a string
			was, is = string(f.Was)+"\n", string(f.Is)+"\n"
		}
		writeLines(b, was, is)
	}
}

// writeLines writes a diff of lines.
func writeLines(b *bytes.Buffer, was, is string) {
	line := func(l string) { fmt.Fprintf(b, "      %s%s\n", l[:1], file.Plain(l[1:])) }
	for i, h := range file.Diff(was, is) {
		if h.Omitted { // the texts are too large to compare
			for _, side := range []struct{ sign, text string }{{"-", was}, {"+", is}} {
				for l := range strings.Lines(side.text) {
					line(side.sign + strings.TrimSuffix(l, "\n"))
				}
			}
			return
		}
		if i > 0 || h.OldStart > 1 {
			fmt.Fprintf(b, "      @@ line %d @@\n", h.NewStart)
		}
		for _, l := range h.Lines {
			line(l)
		}
	}
}

// readable formats a value for the user: a string as its text, other values as indented JSON. The
// result ends in a newline, unless value is nil.
func readable(value json.RawMessage) string {
	if value == nil {
		return ""
	}
	var text string
	if json.Unmarshal(value, &text) == nil && value[0] == '"' {
		return text + "\n"
	}
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value) + "\n"
	}
	return b.String() + "\n"
}
