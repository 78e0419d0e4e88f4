package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
)

func doctorCommand(host *Host) *cobra.Command {
	var c common
	k := checkup{common: &c, host: host}
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "doctor [flags] [DIR ...]",
		Short: "Check this system, the settings and the containment of commands",
		Long: "doctor checks what a server with the same flags needs, with a line for each: ok, warn or fail, and what to do next.\n\n" +
			"For the containment it tries what contained commands must not be able to do, in a process that is contained as they are. " +
			"--verbose also prints each file of a client and of settings, the tools that are not offered, and of the containment what was seen, what is not covered, and what commands may touch.\n\n" +
			"Exit status: 0 if nothing fails, 1 if something does, 2 for a wrong command line.",
		Example:           "  mcp-toolset doctor\n  mcp-toolset doctor --verbose --sandbox on ~/src/app",
		ValidArgsFunction: completeDirs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			k.positional, k.detailed = args, verbose || asJSON
			d, err := k.run(cmd.Context())
			if err != nil {
				return err
			}
			d.noNulls()
			if asJSON {
				enc := json.NewEncoder(host.Out)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				err = enc.Encode(d)
			} else {
				err = d.show(screenOf(host, host.Out), verbose)
			}
			if err == nil && !d.OK {
				return failedResult{}
			}
			return err
		},
	}
	c.add(cmd, host, inWorkspace, inPermissions, inSandbox, inAudit, inDebug)
	k.audit.add(cmd)
	own := flagSection{cmd, ""}
	own.on(&asJSON, "json", "print one JSON object, for programs")
	own.on(&verbose, "verbose", "also print files, tools that are not offered, and what was tried of the containment")
	return cmd
}

// diagnosis holds the findings of doctor. Its JSON is for programs; keys are only added.
type diagnosis struct {
	OK      bool     `json:"ok"` // whether no check failed
	Checks  []check  `json:"checks"`
	Clients []client `json:"clients"`
	// Settings lists the files of settings, the most authoritative first.
	Settings        []settingsFile `json:"settings"`
	LanguageServers []string       `json:"languageServers"` // on PATH
	NotOffered      []absent       `json:"notOffered"`      // tools; empty if a check failed
	System          string         `json:"system"`          // as in linux/amd64
	Sandbox         string         `json:"sandbox"`
	// Holds reports whether what Sandbox requires is in force. Problems lists why not.
	Holds       bool        `json:"holds"`
	Problems    []string    `json:"problems,omitempty"`
	Shell       string      `json:"shell"`
	Tier        string      `json:"tier"`                  // how reliably a process tree is ended
	TierMissing []string    `json:"tierMissing,omitempty"` // why no better tier is available
	Tools       []contained `json:"tools"`
	NotCovered  []string    `json:"notCovered"`
	Roots       []string    `json:"roots"`
	AllowRead   []string    `json:"allowRead,omitempty"`
	AllowWrite  []string    `json:"allowWrite,omitempty"`
	Protected   []string    `json:"protected"` // names in the roots, and files
	Caches      []cacheDir  `json:"caches"`
	CacheLayers string      `json:"cacheLayers,omitempty"` // folder of this workspace's overlays of caches; "" if there is none
	Hidden      []string    `json:"hidden"`                // names in the home folder
	Network     string      `json:"network"`
	Hosts       []knownHost `json:"hosts"` // that commands reach without a rule, if Network is "ask"
	// NetworkProblem is the reason why commands have the network of this machine although
	// Network is "ask"; "" if they have one of their own.
	NetworkProblem string `json:"networkProblem,omitempty"`
	Programs       int    `json:"programs"` // on PATH
	// Unreadable lists the programs on PATH that the sandbox keeps from commands.
	Unreadable []string `json:"unreadable,omitempty"`
	Temp       string   `json:"temp"`
	Output     string   `json:"output"`
}

// settingsFile is a place of settings.
type settingsFile struct {
	Layer    string `json:"layer"`
	Path     string `json:"path"`
	Standing string `json:"standing"` // how much of it applies
}

// knownHost is a host with the package manager that uses it, or the setting that names it.
type knownHost struct {
	Host string `json:"host"`
	For  string `json:"for"`
}

// absent is a tool that is not offered.
type absent struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

// contained holds the findings about the sandbox of one tool's commands.
type contained struct {
	Tool      string    `json:"tool"`
	Contained bool      `json:"contained"`
	Error     string    `json:"error,omitempty"` // why nothing was tried
	Landlock  int       `json:"landlock"`        // the ABI in force, 0 for none
	Seccomp   bool      `json:"seccomp"`
	Mounts    bool      `json:"mounts"`
	Seatbelt  bool      `json:"seatbelt"` // experimental
	Promises  []promise `json:"promises"`
}

// promise is the outcome of one attempt to break out of the sandbox.
type promise struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	Held    bool   `json:"held"`
	Detail  string `json:"detail,omitempty"` // what happened
	Reason  string `json:"reason,omitempty"` // why this system cannot enforce it
}

type cacheDir struct {
	Path   string `json:"path"`
	Why    string `json:"why"`
	Absent bool   `json:"absent"` // created at the first command
	// Shared reports whether content that commands write here is read outside the workspace.
	Shared  bool     `json:"shared"`
	Without []string `json:"without,omitempty"` // names in it that commands cannot write
}

// examine tries the sandbox that a server for roots with these flags would use.
func (c *common) examine(ctx context.Context, host *Host, dirs []string) (d *diagnosis, err error) {
	log, logFile, err := c.logger(host)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, logFile.Close()) }()
	shell, err := c.findShell()
	if err != nil {
		return nil, err
	}
	plan, err := c.planOf(host, dirs, log)
	if err != nil {
		return nil, err
	}
	plan.Shell = shell
	roots, err := workspace.OpenRoots(slices.Concat(plan.Roots, plan.Settings.AdditionalDirectories())) // a server would not start without them
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, roots.Close()) }()
	commands, err := plan.Commands()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, commands.Close()) }()
	d = diagnose(commands.About(), commands.Report(ctx))
	if d.Tools[0].Contained {
		d.Programs, d.Unreadable = commands.Programs()
	}
	if d.Network == string(command.Ask) {
		if err := commands.NetworkContained(ctx); err != nil {
			d.NetworkProblem = err.Error()
		}
		for _, h := range plan.Registries() {
			d.Hosts = append(d.Hosts, knownHost{h.Name, plain.Line(h.For)})
		}
	}
	return d, nil
}

func diagnose(about command.About, r *command.Report) *diagnosis {
	d := &diagnosis{
		System: runtime.GOOS + "/" + runtime.GOARCH, Sandbox: string(about.Mode), Shell: about.Shell, Tier: r.Tier.String(), TierMissing: r.TierMissing,
		Tools: []contained{examined("Bash", r.Write), examined("BashReadOnly", r.ReadOnly)}, NotCovered: sandbox.NotCovered,
		Roots: about.Roots, AllowRead: about.AllowRead, AllowWrite: about.AllowWrite, Protected: about.Protected, Caches: []cacheDir{}, Hidden: about.Hidden,
		Network: string(about.Network), Hosts: []knownHost{}, Temp: about.Temp, Output: about.Output,
	}
	if about.Language == command.PowerShell {
		d.Tools = []contained{examined("PowerShell", r.Write)}
	}
	for _, cache := range about.Caches {
		dir := cacheDir{Path: cache.Path, Why: cache.Reason, Absent: cache.Absent, Shared: !r.Write.Coverage.Layers}
		if dir.Shared && cache.Layered {
			continue
		}
		if dir.Shared {
			dir.Without = cache.Programs
		}
		d.Caches = append(d.Caches, dir)
	}
	if r.Write.Coverage.Layers {
		d.CacheLayers = about.Layers
	}
	d.Problems = problems(about, r, d.Tools)
	d.Holds = len(d.Problems) == 0
	d.noNulls()
	return d
}

// noNulls replaces nil lists by empty ones, since programs do not expect null.
func (d *diagnosis) noNulls() {
	for _, list := range []*[]string{&d.LanguageServers, &d.NotCovered, &d.Roots, &d.Protected, &d.Hidden} {
		if *list == nil {
			*list = []string{}
		}
	}
	if d.Tools == nil {
		d.Tools = []contained{}
	}
	if d.Caches == nil {
		d.Caches = []cacheDir{}
	}
	if d.Hosts == nil {
		d.Hosts = []knownHost{}
	}
	if d.Checks == nil {
		d.Checks = []check{}
	}
	if d.Clients == nil {
		d.Clients = []client{}
	}
	if d.Settings == nil {
		d.Settings = []settingsFile{}
	}
	if d.NotOffered == nil {
		d.NotOffered = []absent{}
	}
}

func examined(tool string, t command.Trial) contained {
	out := contained{Tool: tool, Contained: t.InForce(), Promises: []promise{}}
	if t.Err != nil {
		out.Error = t.Err.Error()
		return out
	}
	out.Landlock, out.Seccomp, out.Mounts, out.Seatbelt = t.Coverage.Landlock, t.Coverage.Seccomp, t.Coverage.Mounts, t.Coverage.Seatbelt
	for _, canary := range t.Canaries {
		p := promise{Name: canary.Promise, Meaning: canary.Meaning, Held: canary.Held, Detail: canary.Detail}
		if !p.Held {
			p.Reason = reason(t.Coverage, p.Name)
		}
		out.Promises = append(out.Promises, p)
	}
	return out
}

// reason returns why this system cannot enforce a promise, as known before the attempt, or "".
func reason(c sandbox.Coverage, name string) string {
	for _, missing := range c.Missing {
		if rest, ok := strings.CutPrefix(missing, name); ok && rest != "" && strings.ContainsRune(": ", rune(rest[0])) {
			return strings.TrimLeft(rest, ": ")
		}
	}
	return ""
}

// problems returns why the sandbox does not meet its mode. On requires everything. Auto requires
// what this system supports, so a failed promise is a problem only if it was expected to hold. Off
// requires only that commands run.
func problems(about command.About, r *command.Report, tools []contained) []string {
	var out []string
	if about.Shell == "" {
		out = append(out, command.ErrNoShell.Error())
	}
	if r.TierErr != nil && (about.Mode == command.On || !errors.Is(r.TierErr, errors.ErrUnsupported)) {
		return append(out, "no command can be started: "+r.TierErr.Error())
	}
	if about.Mode == command.Off {
		return out
	}
	for _, t := range tools {
		switch {
		case t.Error != "" && about.Mode == command.On:
			out = append(out, t.Tool+": "+t.Error)
		case t.Error == "" && len(t.Promises) == 0:
			out = append(out, t.Tool+": the containment could not be tried")
		}
		for _, p := range t.Promises {
			if !p.Held && (about.Mode == command.On || p.Reason == "") {
				out = append(out, fmt.Sprintf("%s: %s: %s", t.Tool, p.Name, p.Detail))
			}
		}
	}
	return out
}
