package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/sandbox"
)

// whole returns the report of a system on which every promise holds.
func whole() *command.Report {
	t := command.Trial{
		Coverage: sandbox.Coverage{Landlock: 7, Seccomp: true, Mounts: true},
		Canaries: []sandbox.Canary{
			{Promise: "write", Meaning: "nothing is written", Held: true, Detail: "permission denied"},
			{Promise: "hide", Meaning: "nothing is read", Held: true, Detail: "permission denied"},
			{Promise: "work", Meaning: "files are written", Held: true},
		},
	}
	r := &command.Report{Tier: process.PIDNamespace, Write: t, ReadOnly: t}
	r.ReadOnly.Canaries = append([]sandbox.Canary{}, t.Canaries...)
	return r
}

func TestDiagnose(t *testing.T) {
	errRoot := errors.New("a workspace root is /")
	for _, tc := range []struct {
		name             string
		edit             func(about *command.About, r *command.Report)
		auto, on, off    bool
		problem, printed string
	}{
		{"whole", func(*command.About, *command.Report) {}, true, true, true, "", "pass  write  nothing is written\n"},
		{"explained", func(_ *command.About, r *command.Report) {
			r.Write.Canaries[1].Held, r.Write.Canaries[1].Detail = false, "it was done"
			r.Write.Coverage.Missing = []string{"hidden: x", "hide: needs mounts"}
		}, true, false, true, "Bash: hide: it was done", "FAIL  hide   nothing is read\n               tried: it was done; needs mounts\n"},
		{"explained by a path", func(_ *command.About, r *command.Report) {
			r.ReadOnly.Canaries[1].Held, r.ReadOnly.Coverage.Missing = false, []string{"hide /x: it is a link"}
		}, true, false, true, "BashReadOnly: hide: ", "/x: it is a link"},
		{"not explained", func(_ *command.About, r *command.Report) {
			r.ReadOnly.Canaries[1].Held, r.ReadOnly.Coverage.Missing = false, []string{"hidden: x"}
		}, false, false, true, "BashReadOnly: hide: ", "problem: "},
		{"does not work", func(_ *command.About, r *command.Report) { r.Write.Canaries[2].Held = false }, false, false, true, "Bash: work: ", "Bash: not contained (Landlock ABI 7"},
		{"nothing tried", func(_ *command.About, r *command.Report) { r.Write.Canaries = nil }, false, false, true, "Bash: the containment could not be tried", "Bash: not contained"},
		{"no containment", func(_ *command.About, r *command.Report) { r.Write.Err, r.ReadOnly.Err = errRoot, errRoot },
			true, false, true, "Bash: a workspace root is /", "there is no containment here (a workspace root is /), so commands may touch whatever you may"},
		{"another system", func(_ *command.About, r *command.Report) {
			r.TierErr = fmt.Errorf("running commands: %w", errors.ErrUnsupported)
			r.Tier, r.Write, r.ReadOnly = process.None, command.Trial{Err: r.TierErr}, command.Trial{Err: r.TierErr}
		}, true, false, true, "no command can be started: ", "ended by         none"},
		{"no process", func(_ *command.About, r *command.Report) {
			r.TierErr = errors.New("no memory")
			r.Write, r.ReadOnly = command.Trial{Err: r.TierErr}, command.Trial{Err: r.TierErr}
		}, false, false, false, "no command can be started: no memory", "BashReadOnly: not contained: no memory"},
		{"no shell", func(about *command.About, _ *command.Report) { about.Shell = "" }, false, false, false, "neither bash nor sh", "shell            none"},
	} {
		for mode, holds := range map[command.Mode]bool{command.Auto: tc.auto, command.On: tc.on, command.Off: tc.off} {
			about, r := command.About{Mode: mode, Shell: "/bin/bash", Roots: []string{"/work"}}, whole()
			tc.edit(&about, r)
			d := diagnose(about, r)
			if d.Holds != holds || d.Holds != (len(d.Problems) == 0) {
				t.Errorf("%s, %s: holds %v: %q", tc.name, mode, d.Holds, d.Problems)
			}
			if !holds && !strings.Contains(strings.Join(d.Problems, "\n"), tc.problem) {
				t.Errorf("%s, %s: problems %q", tc.name, mode, d.Problems)
			}
			var out strings.Builder
			if err := d.print(&out, screen{}); err != nil {
				t.Fatal(err)
			}
			if mode == command.Auto && !strings.Contains(out.String(), tc.printed) {
				t.Errorf("%s: %s is not in\n%s", tc.name, tc.printed, out.String())
			}
			if data, err := json.Marshal(d); err != nil || strings.Contains(string(data), "null") {
				t.Errorf("%s: %s, %v", tc.name, data, err)
			}
		}
	}
}

// TestNetworkText checks the description of the network of commands, and doctor's check of it.
func TestNetworkText(t *testing.T) {
	for _, c := range []struct{ network, problem, status, want string }{
		{"ask", "", checkOK, "one of their own; 2 hosts of package managers and those of rules are reached, others ask; none for BashReadOnly"},
		{"ask", "no namespaces", checkWarn, "that of this machine, and commands that are known to use it ask: no namespaces"},
		{"allow", "", checkOK, "that of this machine for Bash, none for BashReadOnly"},
		{"deny", "", checkOK, "denied"},
	} {
		d := diagnose(command.About{Network: command.NetworkMode(c.network)}, whole())
		d.NetworkProblem, d.Hosts = c.problem, []knownHost{{"a.example", "x"}, {"b.example", "y"}}
		k := checkup{common: &common{}}
		k.network(d)
		if len(k.checks) != 1 || k.checks[0].Status != c.status || k.checks[0].Detail != c.want {
			t.Errorf("%s: %+v", c.network, k.checks)
		}
		d.Tools[0].Contained = false
		k.checks = nil
		if k.network(d); len(k.checks) != 0 {
			t.Errorf("%s, not contained: %+v", c.network, k.checks)
		}
	}
}

// Without a sandbox, nothing is reported as protected.
func TestDiagnosisOff(t *testing.T) {
	off := errors.New("switched off")
	about := command.About{Mode: command.Off, Shell: "/bin/bash", Network: command.Deny, Caches: []sandbox.Cache{{Path: "/home/u/.cache", Reason: "x"}}}
	d := diagnose(about, &command.Report{Tier: process.Subreaper, TierMissing: []string{"no namespaces"}, Write: command.Trial{Err: off}, ReadOnly: command.Trial{Err: off}})
	var out strings.Builder
	if err := d.print(&out, screen{}); err != nil {
		t.Fatal(err)
	}
	const want = `system           ` + "SYSTEM" + `
sandbox          off: commands are not contained, they may touch whatever you may
shell            /bin/bash
ended by         subreaper
                 not better: no namespaces
temporary files  
stored output    

Bash: not contained: switched off

BashReadOnly: not contained: switched off
`
	if got := strings.Replace(out.String(), d.System, "SYSTEM", 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The containment of macOS is called experimental, though a trial found it whole.
func TestDiagnosisSeatbelt(t *testing.T) {
	r := whole()
	r.Write.Coverage = sandbox.Coverage{Seatbelt: true}
	d := diagnose(command.About{Mode: command.Auto, Shell: "/bin/bash"}, r)
	var k checkup
	k.common = &common{}
	k.containment(d)
	if c := k.checks[0]; c.Status != checkWarn || c.Detail != "in force by Seatbelt, which is experimental" {
		t.Errorf("got %+v", c)
	}
	var out strings.Builder
	if err := d.print(&out, screen{}); err != nil || !strings.Contains(out.String(), "\nBash: contained (Seatbelt, experimental)\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestDiagnosisPowerShell checks that doctor names the tool that runs commands.
func TestDiagnosisPowerShell(t *testing.T) {
	off := errors.New("unsupported")
	about := command.About{Mode: command.Auto, Shell: `C:\pwsh.exe`, Language: command.PowerShell}
	d := diagnose(about, &command.Report{Tier: process.Job, Write: command.Trial{Err: off}, ReadOnly: command.Trial{Err: off}})
	var out strings.Builder
	if err := d.print(&out, screen{}); err != nil || !strings.HasSuffix(out.String(), "\nPowerShell: not contained: unsupported\n") || strings.Contains(out.String(), "Bash") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// Caches are reported as shared unless commands have overlays over them.
func TestDiagnoseCaches(t *testing.T) {
	for layers, want := range map[bool]string{
		true:  "\nCaches that commands of Bash may use; what they write stays in /state/caches/1\n  /home/u/.npm  npm: packages\n",
		false: "\nCaches that commands of Bash may write to and other projects build from: there are no overlays here\n  /home/u/.npm  npm: packages; not _npx\n",
	} {
		about, r := command.About{Mode: command.Auto, Shell: "/bin/bash", Layers: "/state/caches/1"}, whole()
		about.Caches = []sandbox.Cache{{Path: "/home/u/.npm", Reason: "npm: packages", Programs: []string{"_npx"}}}
		r.Write.Coverage.Layers = layers
		d := diagnose(about, r)
		var out strings.Builder
		if err := d.print(&out, screen{}); err != nil || !strings.HasSuffix(out.String(), want) {
			t.Errorf("layers %v: %v\n%s", layers, err, out.String())
		}
		if d.Caches[0].Shared == layers || (d.CacheLayers == "") == layers {
			t.Errorf("layers %v: %+v", layers, d)
		}
	}
}
