package cli

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"mcp-toolset/internal/exec/command"
)

// show prints the summary. If verbose is set, it also prints the details, with those of the sandbox
// if it was tried.
func (d *diagnosis) show(c screen, verbose bool) error {
	var b bytes.Buffer
	d.summary(&b, c)
	if verbose {
		d.details(&b, c)
	}
	if verbose && len(d.Tools) > 0 {
		b.WriteByte('\n')
		if err := d.print(&b, c); err != nil {
			return err
		}
	}
	_, err := b.WriteTo(c.out)
	return err
}

// print writes the findings about the sandbox.
func (d *diagnosis) print(out io.Writer, c screen) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("system", "%s", d.System)
	row("sandbox", "%s: %s", d.Sandbox, d.verdict())
	row("shell", "%s", or(d.Shell, "none: "+strings.TrimPrefix(command.ErrNoShell.Error(), "there is no shell on this machine: ")))
	row("ended by", "%s", d.Tier)
	for _, why := range d.TierMissing {
		row("", "not better: %s", why)
	}
	if d.Tools[0].Contained {
		d.rules(row)
	}
	row("temporary files", "%s", d.Temp)
	row("stored output", "%s", d.Output)
	if err := w.Flush(); err != nil {
		return err
	}
	for _, t := range d.Tools {
		t.print(&b, c)
	}
	if d.Tools[0].Contained {
		d.limits(&b)
	}
	for i, problem := range d.Problems {
		fmt.Fprintf(&b, "%sproblem: %s\n", map[bool]string{true: "\n"}[i == 0], problem)
	}
	_, err := b.WriteTo(out)
	return err
}

// rules writes the accesses that confined commands have.
func (d *diagnosis) rules(row func(name, format string, args ...any)) {
	row("network", "%s", d.networkText())
	row("roots", "%s", strings.Join(d.Roots, ", "))
	if len(d.AllowRead) > 0 {
		row("also readable", "%s", strings.Join(d.AllowRead, ", "))
	}
	if len(d.AllowWrite) > 0 {
		row("also writable", "%s", strings.Join(d.AllowWrite, ", "))
	}
	row("protected", "%s", strings.Join(d.Protected, ", "))
	row("not read", "%s", d.secrets())
}

// networkText describes the network of commands.
func (d *diagnosis) networkText() string {
	switch {
	case d.Network == string(command.Deny):
		return "denied"
	case d.Network == string(command.Allow):
		return "that of this machine for Bash, none for BashReadOnly"
	case d.NetworkProblem != "":
		return "that of this machine, and commands that are known to use it ask: " + d.NetworkProblem
	}
	return fmt.Sprintf("one of their own; %d hosts of package managers and those of rules are reached, others ask; none for BashReadOnly", len(d.Hosts))
}

// limits writes what the sandbox leaves open, by its nature and on purpose.
func (d *diagnosis) limits(out io.Writer) {
	fmt.Fprintf(out, "\nNot covered by any of it\n")
	for _, text := range d.NotCovered {
		fmt.Fprintf(out, "  - %s\n", text)
	}
	if d.CacheLayers != "" {
		fmt.Fprintf(out, "\nCaches that commands of Bash may use; what they write stays in %s\n", d.CacheLayers)
	} else {
		fmt.Fprintf(out, "\nCaches that commands of Bash may write to and other projects build from: there are no overlays here\n")
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, cache := range d.Caches {
		fmt.Fprintf(w, "  %s\t%s%s", cache.Path, cache.Why, map[bool]string{true: "; made at the first command"}[cache.Absent])
		if len(cache.Without) > 0 {
			fmt.Fprintf(w, "; not %s", strings.Join(cache.Without, ", "))
		}
		fmt.Fprintln(w)
	}
	if len(d.Caches) == 0 {
		fmt.Fprintf(w, "  none\n")
	}
	if d.Network == string(command.Ask) && d.NetworkProblem == "" {
		fmt.Fprintf(w, "\nHosts that commands of Bash reach without a rule\n")
		for _, h := range d.Hosts {
			fmt.Fprintf(w, "  %s\t%s\n", h.Host, h.For)
		}
	}
	_ = w.Flush() // the caller's buffer accepts everything
}

// inForce is the verdict on a sandbox that is complete.
const inForce = "in force"

func (d *diagnosis) verdict() string {
	switch {
	case !d.Holds:
		return "does not hold"
	case d.Sandbox == "off":
		return "commands are not contained, they may touch whatever you may"
	case !d.Tools[0].Contained:
		if why := d.Tools[0].Error; why != "" {
			return "there is no containment here (" + why + "), so commands may touch whatever you may"
		}
		return "there is no containment here, so commands may touch whatever you may"
	case d.Tools[0].Seatbelt:
		return "in force by Seatbelt, which is experimental"
	}
	for _, t := range d.Tools {
		for _, p := range t.Promises {
			if !p.Held {
				return "in force, as far as this system can"
			}
		}
	}
	return inForce
}

// secrets summarizes what is hidden in the home folder.
func (d *diagnosis) secrets() string {
	if len(d.Hidden) == 0 {
		return "nothing: there is no home folder"
	}
	for _, path := range d.Hidden {
		if filepath.Base(path) == ".ssh" {
			return fmt.Sprintf("%d names of secrets in the home folder, such as ~/.ssh", len(d.Hidden))
		}
	}
	return fmt.Sprintf("%d names of secrets in the home folder", len(d.Hidden))
}

func (t contained) print(out io.Writer, c screen) {
	if t.Error != "" {
		fmt.Fprintf(out, "\n%s: not contained: %s\n", t.Tool, t.Error)
		return
	}
	state := "contained"
	if !t.Contained {
		state = "not contained"
	}
	fmt.Fprintf(out, "\n%s: %s (%s)\n", t.Tool, state, t.layers())
	width := 0
	for _, p := range t.Promises {
		width = max(width, len(p.Name))
	}
	for _, p := range t.Promises {
		if p.Held {
			fmt.Fprintf(out, "  %s  %-*s  %s\n", c.judged("pass"), width, p.Name, p.Meaning)
			continue
		}
		fmt.Fprintf(out, "  %s  %-*s  %s\n", c.judged("FAIL"), width, p.Name, p.Meaning)
		fmt.Fprintf(out, "        %*s  tried: %s", width, "", p.Detail)
		if p.Reason != "" {
			fmt.Fprintf(out, "; %s", p.Reason)
		}
		fmt.Fprintln(out)
	}
}

// layers lists the kernel features that confine the commands.
func (t contained) layers() string {
	var layers []string
	if t.Landlock > 0 {
		layers = append(layers, fmt.Sprintf("Landlock ABI %d", t.Landlock))
	}
	if t.Seccomp {
		layers = append(layers, "seccomp")
	}
	if t.Mounts {
		layers = append(layers, "mounts")
	}
	if t.Seatbelt {
		layers = append(layers, "Seatbelt, experimental")
	}
	return or(strings.Join(layers, ", "), "nothing is in force")
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
